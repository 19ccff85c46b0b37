//! What the provider's error codes mean, on both planes and inside a task. Codes are compared; a text only tells a used-up
//! trial from a full queue, which have the same code.
//!
//! A refusal by a code that is known to be about the request, or by moderation, is the client's to read; whatever concerns
//! the operator's account, the provider's names or its servers goes to the operator's log.

use gatehouse_sdk::job::Policy;
use gatehouse_sdk::lenient::word_of;
use gatehouse_sdk::provider::{REFUSED, is_account_code, meant_status, plain_code, says_spent, shown};
use gatehouse_sdk::{Failure, Reply, log};
use serde_json::Value;

/// An error as both planes write it, but for the case of its fields.
#[derive(Clone, Debug, Default)]
pub(crate) struct UpstreamError {
    pub(crate) code: String,
    pub(crate) message: String,
    param: Option<String>,
}

/// Whose an error is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ErrorKind {
    /// Too many requests; nothing was done.
    Busy,
    /// The operator's account, key or configuration.
    Account,
    Moderation,
    /// The request, in the provider's judgement.
    Request,
    /// The provider itself.
    Provider,
}

/// Beginnings of codes about the operator's account (reference 4.5 and 5.1).
const ACCOUNT: &[&str] = &[
    "AccessDenied",
    "AuthenticationError",
    "AuthFailure",
    "InvalidAccessKey",
    "InvalidAccountStatus",
    "InvalidActionOrVersion",
    "InvalidAuthorization",
    "InvalidCredential",
    "InvalidEndpoint",
    "InvalidSecurityToken",
    "InvalidTimestamp",
    "MissingAuthenticationToken",
    "ModelNotOpen",
    "ServiceNotOpen",
    "UnsupportedModel",
    "Forbidden",
    "OperationDenied",
    "SignatureDoesNotMatch",
    "Unauthorized",
];
/// Beginnings of codes about the rate of requests.
const BUSY: &[&str] = &[
    "AccountRateLimitExceeded",
    "FlowLimitExceeded",
    "InflightBatchsizeExceeded",
    "RequestBurstTooFast",
    "ModelAccountRpmRateLimitExceeded",
    "ModelLoadingError",
    "QuotaExceeded",
    "RateLimitExceeded",
    "RequestLimitExceeded",
    "ServerOverloaded",
    "Throttling",
    "TooManyRequests",
];
/// Beginnings of codes about the request.
const REQUEST: &[&str] = &[
    "InvalidArgument",
    "InvalidAsset",
    "InvalidAudio",
    "InvalidImage",
    "InvalidPixel",
    "InvalidVideo",
    "InvalidParameter",
    "MissingParameter",
    "OutofContextError",
    "ResourceNotFound",
    "NotFound",
];
/// Parts of codes about a file that cannot be fetched.
const MISSING_FILE: &[&str] = &["Download", "Fetch", "Unreachable"];
/// Parts of codes of a server that failed itself.
const OF_SERVER: &[&str] = &["Internal", "ServiceError", "ServiceUnavailable", "Timeout", "LoadBalancer"];
/// Ends of the first part of codes of moderation.
const MODERATED: [&str; 2] = ["SensitiveContentDetected", "RiskDetection"];

impl UpstreamError {
    /// Out of `{"error": {...}}`.
    pub(crate) fn of(reply: &Reply) -> Self {
        Self::read(&reply.json::<Value>().unwrap_or_default()["error"])
    }

    /// An error in either case of its fields, or its message alone. A value of another type says nothing.
    pub(crate) fn read(error: &Value) -> Self {
        let word = |names: [&str; 2]| names.iter().find_map(|name| word_of(&error[*name]));
        let message = word(["message", "Message"]).or_else(|| word_of(error));
        Self {
            code: word(["code", "Code"]).unwrap_or_default(),
            message: message.unwrap_or_default(),
            param: word(["param", "Param"]),
        }
    }

    /// An answer that is no error and still of no use.
    pub(crate) fn unreadable(reason: &str) -> Self {
        Self { message: reason.to_owned(), ..Self::default() }
    }

    /// By the code, and without a known one by the status.
    pub(crate) fn kind(&self, status: u16) -> ErrorKind {
        let (plain, status) = (plain_code(&self.code), meant_status(status, &self.code));
        let begins = |table: &[&str]| table.iter().any(|start| plain.starts_with(&plain_code(start)));
        let head = plain_code(self.code.split('.').next().unwrap_or_default());
        if MODERATED.iter().any(|end| head.ends_with(&plain_code(end))) {
            return ErrorKind::Moderation;
        }
        let is_busy = begins(BUSY) || status == 429;
        match status {
            _ if is_account_code(&self.code) || is_busy && says_spent(&self.message) => ErrorKind::Account,
            _ if is_busy => ErrorKind::Busy,
            _ if begins(ACCOUNT) => ErrorKind::Account,
            401..=403 => ErrorKind::Account,
            500.. => ErrorKind::Provider,
            _ if begins(REQUEST) => ErrorKind::Request,
            _ => ErrorKind::Provider,
        }
    }

    /// The failure a client reads. `what` is the thing that was to be made; `names` are replaced in the provider's
    /// words.
    pub(crate) fn failure(&self, kind: ErrorKind, what: &str, names: &[(&str, &str)]) -> Failure {
        match kind {
            ErrorKind::Moderation => Failure::moderation(moderated(&self.code)),
            ErrorKind::Request => Failure::request(self.words(names)),
            ErrorKind::Account => Policy::DEFAULT.account(),
            ErrorKind::Busy => Policy::DEFAULT.unavailable(),
            ErrorKind::Provider => Failure::upstream(format!("the upstream failed to {what}")),
        }
    }

    /// The provider's words about the request, without its request id.
    pub(crate) fn words(&self, names: &[(&str, &str)]) -> String {
        let text = ["Request id:", "request id:", "Request ID:"]
            .iter()
            .filter_map(|mark| self.message.find(mark))
            .min()
            .map_or(self.message.as_str(), |at| &self.message[..at]);
        let text = text.trim_end_matches([' ', '.', ',', '(']);
        let text = shown(text, names, &[]).unwrap_or_else(|| REFUSED.to_owned());
        match &self.param {
            Some(param) if !text.contains(param.as_str()) => {
                format!("{text} (at {param})")
            }
            _ => text,
        }
    }

    /// Whether a file of the request could not be fetched.
    pub(crate) fn is_missing_file(&self) -> bool {
        MISSING_FILE.iter().any(|part| self.code.contains(part))
    }

    /// Whether the server says that it failed itself.
    pub(crate) fn is_of_server(&self) -> bool {
        OF_SERVER.iter().any(|part| self.code.contains(part))
    }

    /// For the operator.
    pub(crate) fn log(&self, what: &str, status: u16) {
        let status = status.to_string();
        let fields = [("status", status.as_str()), ("code", &self.code), ("reason", &self.message)];
        log::error(what, &fields);
    }
}

/// `OutputVideoSensitiveContentDetected.PolicyViolation` in words.
fn moderated(code: &str) -> String {
    let (head, detail) = code.split_once('.').unwrap_or((code, ""));
    let what = match MODERATED.iter().find_map(|end| head.strip_suffix(end)).unwrap_or_default() {
        "InputText" => "the prompt was stopped by input moderation",
        "InputImage" => "an image was stopped by input moderation",
        "InputVideo" => "a reference video was stopped by input moderation",
        "InputAudio" => "a reference audio was stopped by input moderation",
        "OutputVideo" => "the generated video was stopped by output moderation",
        "OutputAudio" => "the generated audio was stopped by output moderation",
        _ => "the request was stopped by moderation",
    };
    match detail {
        "PrivacyInformation" => format!("{what}: it may show a real person"),
        "PolicyViolation" => format!("{what}: it may violate a policy, such as a copyright"),
        _ => what.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn error(code: &str, message: &str) -> UpstreamError {
        UpstreamError { code: code.to_owned(), message: message.to_owned(), param: None }
    }

    #[test]
    fn every_code_of_the_table_has_an_owner() {
        for (status, code, kind) in [
            (400, "MissingParameter", ErrorKind::Request),
            (400, "missing_parameter", ErrorKind::Request),
            (400, "InvalidArgumentError.UnknownRole", ErrorKind::Request),
            (400, "InvalidImageURL.EmptyURL", ErrorKind::Request),
            (400, "InvalidPixelLimit", ErrorKind::Request),
            (404, "UnsupportedModel", ErrorKind::Account),
            (200, "InvalidAccountStatus", ErrorKind::Account),
            (200, "401", ErrorKind::Account),
            (200, "429", ErrorKind::Busy),
            (200, "RequestBurstTooFast", ErrorKind::Busy),
            (200, "InflightBatchsizeExceeded", ErrorKind::Busy),
            (400, "SensitiveContentDetected.SevereViolation", ErrorKind::Moderation),
            (400, "input_text_sensitive_content_detected", ErrorKind::Moderation),
            (400, "InvalidParameter", ErrorKind::Request),
            (400, "InvalidParameter.UnsupportedImageFormat", ErrorKind::Request),
            (401, "AuthenticationError", ErrorKind::Account),
            (403, "AccountOverdueError", ErrorKind::Account),
            (403, "AccessDenied", ErrorKind::Account),
            (404, "InvalidEndpointOrModel.NotFound", ErrorKind::Account),
            (404, "ModelNotOpen", ErrorKind::Account),
            (429, "RateLimitExceeded.EndpointRPMExceeded", ErrorKind::Busy),
            (429, "ModelAccountRpmRateLimitExceeded", ErrorKind::Busy),
            (429, "AccountRateLimitExceeded", ErrorKind::Busy),
            (429, "QuotaExceeded", ErrorKind::Busy),
            (429, "SetLimitExceeded", ErrorKind::Account),
            (400, "InvalidSubscription", ErrorKind::Account),
            (404, "InvalidEndpoint.ClosedEndpoint", ErrorKind::Account),
            (400, "InvalidEndpoint.ClosedEndpoint", ErrorKind::Account),
            (400, "ContentSecurityDetectionError", ErrorKind::Provider),
            (400, "NobodyKnowsIt", ErrorKind::Provider),
            (400, "InputTextRiskDetection", ErrorKind::Moderation),
            (400, "InputImageRiskDetection", ErrorKind::Moderation),
            (429, "ServerOverloaded", ErrorKind::Busy),
            (429, "ModelLoadingError", ErrorKind::Busy),
            (429, "", ErrorKind::Busy),
            (400, "InputTextSensitiveContentDetected", ErrorKind::Moderation),
            (400, "InputImageSensitiveContentDetected.PrivacyInformation", ErrorKind::Moderation),
            (200, "OutputAudioSensitiveContentDetected.PolicyViolation", ErrorKind::Moderation),
            (500, "InternalServiceError", ErrorKind::Provider),
            (503, "", ErrorKind::Provider),
            (400, "", ErrorKind::Provider),
            (404, "", ErrorKind::Provider),
            (200, "SubscriptionRequired", ErrorKind::Account),
            (200, "InvalidParameter.URL", ErrorKind::Request),
            (200, "NotFound.Group", ErrorKind::Request),
            (200, "InternalError", ErrorKind::Provider),
            (429, "AssetLimitExceeded", ErrorKind::Busy),
            (500, "LoadBalancerError", ErrorKind::Provider),
        ] {
            assert_eq!(error(code, "").kind(status), kind, "{status} {code}");
        }
        // One code for two reasons: the one passes, the other does not.
        let trial = error("QuotaExceeded", "The free trial quota of your account is used up.");
        assert_eq!(trial.kind(429), ErrorKind::Account);
    }

    /// Without it an error that is about the account, or moderation, is the provider's failure.
    #[test]
    fn an_error_is_read_whatever_stands_beside_it() {
        for (body, expected) in [
            (json!({"error": {"code": "A", "message": "m", "param": 5, "type": []}}), ("A", "m")),
            (json!({"error": {"code": "A", "Code": "B", "message": null, "Message": "m"}}), ("A", "m")),
            (json!({"error": {"code": 7, "message": {}}}), ("7", "")),
            (json!({"error": "busy"}), ("", "busy")),
            (json!({"error": null}), ("", "")),
            (json!([]), ("", "")),
        ] {
            let read = UpstreamError::of(&Reply::new(400, &body));
            assert_eq!((read.code.as_str(), read.message.as_str()), expected, "{body}");
        }
    }

    #[test]
    fn clients_read_the_reason_without_the_providers_names() {
        let long = error("InvalidParameter", "the model big-1 has no 4k. Request id: 0217abc");
        assert_eq!(long.words(&[("big-1", "clip-2.0")]), "the model clip-2.0 has no 4k");
        let located =
            UpstreamError { param: Some("content[1]".to_owned()), ..error("InvalidParameter", "too small") };
        assert_eq!(located.words(&[]), "too small (at content[1])");
        assert_eq!(error("InvalidParameter", "").words(&[]), "the upstream refused the request");
        assert_eq!(error("InvalidParameter", &"x".repeat(500)).words(&[]).len(), 400);
    }

    #[test]
    fn moderation_says_what_was_stopped() {
        for (code, expected) in [
            ("InputTextSensitiveContentDetected", "the prompt was stopped by input moderation"),
            ("InputTextRiskDetection", "the prompt was stopped by input moderation"),
            ("InputImageRiskDetection", "an image was stopped by input moderation"),
            (
                "InputImageSensitiveContentDetected.PrivacyInformation",
                "an image was stopped by input moderation: it may show a real person",
            ),
            ("InputVideoSensitiveContentDetected", "a reference video was stopped by input moderation"),
            (
                "OutputVideoSensitiveContentDetected.PolicyViolation",
                "the generated video was stopped by output moderation: it may violate a policy, such as a copyright",
            ),
            ("OutputAudioSensitiveContentDetected", "the generated audio was stopped by output moderation"),
            ("SensitiveContentDetected", "the request was stopped by moderation"),
        ] {
            assert_eq!(moderated(code), expected);
        }
    }
}
