//! The data plane's HTTP errors: one place that writes their bodies.

use http::Response;
use serde_json::json;

use crate::ark::faults::Marker;
use crate::common::faults::errors;
use crate::common::kept::random_word;
use crate::common::schema::{Dialect, Kind, Violation, quoted};
use crate::common::server::{self, Body};

/// Why a request is refused.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) status: u16,
    pub(crate) code: &'static str,
    message: String,
    param: Option<String>,
}

impl Refusal {
    pub(crate) fn new(status: u16, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into(), param: None }
    }

    /// 400 about one field.
    pub(crate) fn invalid(param: impl Into<String>, message: impl Into<String>) -> Self {
        Self { param: Some(param.into()), ..Self::new(400, "InvalidParameter", message) }
    }

    pub(crate) fn unauthenticated() -> Self {
        Self::new(401, "AuthenticationError", "The API key in the request is missing or invalid.")
    }

    pub(crate) fn not_found(what: &str) -> Self {
        Self::new(404, "ResourceNotFound", format!("The specified {what} is not found."))
    }

    /// The refusal a marker asks for, the same as with a real cause.
    pub(crate) fn of(fault: Marker) -> Self {
        let (status, code, message) = errors! { fault;
            Authentication => return Self::unauthenticated();
            Overdue => (403, "AccountOverdueError", "The account 2100000001 has an overdue balance.");
            Denied => (403, "AccessDenied", "The request failed because you do not have access.");
            NotOpen => (404, "ModelNotOpen", "Your account has not activated the model.");
            NoEndpoint => (404, "InvalidEndpointOrModel.NotFound", "The model or endpoint does not exist.");
            Invalid => return Self::invalid("content", "The parameter content is not valid.");
            TextModerated => (400, "InputTextSensitiveContentDetected", "The input text may contain sensitive information.");
            ImageModerated => (400, "InputImageSensitiveContentDetected", "The input image may contain sensitive information.");
            FaceModerated => (400, "InputImageSensitiveContentDetected.PrivacyInformation", "The input image may contain a real person.");
            PolicyModerated => (400, "InputImageSensitiveContentDetected.PolicyViolation", "The input image may violate a copyright.");
            VideoModerated => (400, "InputVideoSensitiveContentDetected", "The input video may contain sensitive information.");
            TooMany | PollTooMany => (429, "RateLimitExceeded.EndpointRPMExceeded", "The requests per minute limit is exceeded.");
            TooManyOfModel => (429, "ModelAccountRpmRateLimitExceeded", "The limit of the account for the model is exceeded.");
            Quota => (429, "QuotaExceeded", "The quota of your account is used up.");
            Overloaded => (429, "ServerOverloaded", "The service is overloaded, try again later.");
            Loading => (429, "ModelLoadingError", "The model is loading, try again later.");
            _ => (500, "InternalServiceError", "The service encountered an internal error.");
        };
        Self::new(status, code, message)
    }

    /// The reply.
    pub(crate) fn response(&self) -> Response<Body> {
        let id = format!("0217{}", random_word(28));
        let kind = match self.status {
            401 => "Unauthorized",
            403 => "Forbidden",
            404 => "NotFound",
            409 => "Conflict",
            429 => "TooManyRequests",
            500.. => "InternalServerError",
            _ => "BadRequest",
        };
        let error = json!({
            "code": self.code, "message": format!("{} Request id: {id}", self.message),
            "param": self.param.as_deref().unwrap_or_default(), "type": kind,
        });
        let response = server::json(self.status, &json!({ "error": error }));
        server::with(response, "x-request-id", &id)
    }
}

/// How the data plane writes the violation of a schema.
pub(crate) struct ArkDialect;

impl Dialect for ArkDialect {
    type Refusal = Refusal;
    const NULL_IS_MISSING: bool = true;
    const TAG_IN_PATH: bool = false;

    fn item(path: &str, at: usize) -> String {
        format!("{path}[{at}]")
    }

    fn refuse(path: &str, violation: Violation<'_>) -> Refusal {
        let text = match violation {
            Violation::Missing => {
                let message = format!("The request failed because it is missing the {path} parameter.");
                return Refusal {
                    param: Some(path.to_owned()),
                    ..Refusal::new(400, "MissingParameter", message)
                };
            }
            Violation::Unknown => "it is not supported by the model".to_owned(),
            Violation::Word(words, came) => format!("expected {}, received {came}", quoted(words).join(", ")),
            Violation::Tag(_, words, _) => format!("expected the type to be {}", quoted(&words).join(", ")),
            Violation::Above(Kind::Integer(_, max), came) => {
                format!("expected at most {max}, received {came}")
            }
            Violation::Below(Kind::Integer(min, _), came) => {
                format!("expected at least {min}, received {came}")
            }
            Violation::TooLong(max, came) => format!("expected at most {max} items, received {came}"),
            Violation::TooShort => "expected at least one item".to_owned(),
            _ => "it has a wrong type".to_owned(),
        };
        Refusal::invalid(path, format!("The parameter {path} specified in the request is not valid: {text}."))
    }
}
