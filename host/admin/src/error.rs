//! The only file with the status codes of the admin API's errors and with their envelope.
//!
//! `{"error": {"code", "type", "reason", "message", "param", "request_id"}}`, the generic form of the public API. All other
//! code names a [`Kind`]; the table maps it to what a client reads.

use std::time::Duration;

use axum::response::Response;
use gatehouse_model::RequestId;
use gatehouse_store::StoreError;
use http::header::{ALLOW, ETAG, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderValue, StatusCode};
use serde_json::{Map, Value, json};

use crate::api::error::OperationError;
use crate::reply::json_response;

/// The kinds of error that a client can tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Invalid,
    InvalidCursor,
    MissingIdempotencyKey,
    Unauthenticated,
    Forbidden,
    NotFound,
    UnknownPath,
    WrongMethod,
    RequestTimeout,
    Conflict,
    Stale,
    TooLarge,
    WrongMediaType,
    Misdirected,
    IdempotencyConflict,
    Misconfigured,
    MissingPrecondition,
    TooManyAttempts,
    Internal,
    Busy,
}

/// One line of the error table.
pub(crate) struct ErrorRow {
    pub(crate) kind: Kind,
    /// HTTP status, also `error.code`.
    pub(crate) status: u16,
    /// `error.type`.
    pub(crate) type_word: &'static str,
    /// `error.reason`.
    pub(crate) reason: &'static str,
    /// For the documentation.
    pub(crate) meaning: &'static str,
}

const fn row(
    kind: Kind,
    status: u16,
    type_word: &'static str,
    reason: &'static str,
    meaning: &'static str,
) -> ErrorRow {
    ErrorRow { kind, status, type_word, reason, meaning }
}

const INVALID: &str = "invalid_request_error";

/// One row for each [`Kind`].
#[rustfmt::skip]
pub(crate) static ERRORS: [ErrorRow; 20] = [
    row(Kind::Invalid,               400, INVALID, "invalid_request", "A parameter, header or field is wrong; `param` names it."),
    row(Kind::InvalidCursor,         400, INVALID, "invalid_cursor", "The cursor is not of this list with this filter."),
    row(Kind::MissingIdempotencyKey, 400, INVALID, "idempotency_key_required", "Money and keys need an Idempotency-Key."),
    row(Kind::Unauthenticated,       401, "authentication_error", "invalid_token", "No valid token or session."),
    row(Kind::Forbidden,             403, "permission_error", "role_forbidden", "The role does not allow it."),
    row(Kind::NotFound,              404, "not_found_error", "not_found", "There is no such object."),
    row(Kind::UnknownPath,           404, "not_found_error", "unknown_path", "There is no such path."),
    row(Kind::WrongMethod,           405, INVALID, "method_not_allowed", "The path has other methods; `allow` lists them."),
    row(Kind::RequestTimeout,        408, INVALID, "request_timeout", "The body did not arrive in time."),
    row(Kind::Conflict,              409, INVALID, "conflict", "A rule forbids it in the present state."),
    row(Kind::Stale,                 412, INVALID, "stale", "The object was changed meanwhile; `current` is what it is now."),
    row(Kind::TooLarge,              413, INVALID, "request_too_large", "The body is too large."),
    row(Kind::WrongMediaType,        415, INVALID, "unsupported_media_type", "The body has another content type."),
    row(Kind::Misdirected,           421, INVALID, "unknown_host", "The listener does not serve this host."),
    row(Kind::IdempotencyConflict,   422, INVALID, "idempotency_conflict", "The Idempotency-Key was used with another request."),
    row(Kind::Misconfigured,         422, INVALID, "invalid_configuration", "The configuration has errors, each with its line."),
    row(Kind::MissingPrecondition,   428, INVALID, "if_match_required", "An edit needs If-Match with the object's ETag."),
    row(Kind::TooManyAttempts,       429, "rate_limit_error", "too_many_attempts", "Too many failed logins from this address."),
    row(Kind::Internal,              500, "server_error", "internal_error", "A part of the gateway failed."),
    row(Kind::Busy,                  503, "service_unavailable", "busy", "Too much load; try again."),
];

/// Why a request was not done; nothing has changed.
#[derive(Debug)]
pub(crate) struct ApiError(Box<Detail>);

#[derive(Debug)]
struct Detail {
    kind: Kind,
    message: String,
    param: Option<String>,
    more: Map<String, Value>,
    header: Option<(http::HeaderName, HeaderValue)>,
}

impl ApiError {
    pub(crate) fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self(Box::new(Detail { kind, message: message.into(), param: None, more: Map::new(), header: None }))
    }

    /// A wrong parameter, header or field.
    pub(crate) fn field(param: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(Kind::Invalid, message).with_param(param)
    }

    /// There is no such object.
    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::new(Kind::NotFound, message)
    }

    /// What a look-up gives, or that there is no such `what`.
    pub(crate) fn found<T>(found: Option<T>, what: impl std::fmt::Display) -> Result<T, Self> {
        found.ok_or_else(|| Self::not_found(format!("no {what}")))
    }

    /// A path with other methods.
    pub(crate) fn wrong_method(allowed: &str) -> Self {
        Self::new(Kind::WrongMethod, format!("allowed here: {allowed}")).with_header(ALLOW, allowed)
    }

    /// Too many failed logins.
    pub(crate) fn too_many_attempts(pause: Duration) -> Self {
        let seconds = pause.as_secs().clamp(1, 60).to_string();
        let message = format!("too many failed logins from this address; try again in {seconds} s");
        Self::new(Kind::TooManyAttempts, message).with_header(RETRY_AFTER, &seconds)
    }

    /// The object was changed meanwhile: what it is now, and its `ETag`.
    pub(crate) fn stale(current: Value, etag: &str) -> Self {
        let message = "If-Match: the object was changed meanwhile; `current` is what it is now";
        let mut error = Self::new(Kind::Stale, message).with_param("If-Match").with_header(ETAG, etag);
        error.0.more.insert("current".to_owned(), current);
        error
    }

    pub(crate) fn with_param(mut self, param: impl Into<String>) -> Self {
        self.0.param = Some(param.into());
        self
    }

    fn with_header(mut self, name: http::HeaderName, value: &str) -> Self {
        self.0.header = HeaderValue::from_str(value).ok().map(|value| (name, value));
        self
    }

    pub(crate) fn status(&self) -> u16 {
        self.row().status
    }

    pub(crate) fn message(&self) -> &str {
        &self.0.message
    }

    fn row(&self) -> &'static ErrorRow {
        ERRORS.iter().find(|row| row.kind == self.0.kind).expect("every kind has its row")
    }

    pub(crate) fn into_response(self, id: RequestId) -> Response {
        let row = self.row();
        let mut body = self.0.more;
        body.insert(
            "error".to_owned(),
            json!({
                "code": row.status,
                "type": row.type_word,
                "reason": row.reason,
                "message": self.0.message,
                "param": self.0.param,
                "request_id": id,
            }),
        );
        let status = StatusCode::from_u16(row.status).expect("the table holds valid statuses");
        let mut response = json_response(status, &Value::Object(body));
        if row.status == 401 {
            response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if row.kind == Kind::Busy {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        if let Some((name, value)) = self.0.header {
            response.headers_mut().insert(name, value);
        }
        response
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        OperationError::from(error).into()
    }
}

impl From<OperationError> for ApiError {
    fn from(error: OperationError) -> Self {
        let text = error.to_string();
        let kind = match &error {
            OperationError::Invalid(_) | OperationError::InvalidField { .. } => Kind::Invalid,
            OperationError::Misconfigured(_) => Kind::Misconfigured,
            OperationError::NotFound(_) => Kind::NotFound,
            OperationError::Stale(_) => Kind::Stale,
            OperationError::Refused(_) | OperationError::PluginRefused { .. } => Kind::Conflict,
            OperationError::Busy(_) => Kind::Busy,
            OperationError::Failed(_) => Kind::Internal,
        };
        let mut refusal = match field_of(&text).filter(|_| kind == Kind::Invalid) {
            Some(field) => Self::field(field, text.as_str()),
            None => Self::new(kind, text.as_str()),
        };
        match error {
            OperationError::PluginRefused { stages, .. } => {
                drop(refusal.0.more.insert("stages".to_owned(), json!(stages)));
            }
            OperationError::InvalidField { field, .. } if !field.is_empty() => refusal.0.param = Some(field),
            _ => {}
        }
        refusal
    }
}

/// The field that a message of the service is about: its first word, where a colon follows.
fn field_of(text: &str) -> Option<&str> {
    let (field, _) = text.split_once(": ")?;
    let plain = |letter: char| letter.is_ascii_lowercase() || letter == '_';
    (!field.is_empty() && field.chars().all(plain)).then_some(field)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_one_row() {
        for row in &ERRORS {
            assert_eq!(ERRORS.iter().filter(|other| other.kind == row.kind).count(), 1, "{:?}", row.kind);
            assert!(StatusCode::from_u16(row.status).is_ok() && row.meaning.ends_with('.'), "{:?}", row.kind);
        }
    }

    #[test]
    fn a_message_names_its_field() {
        for (text, field) in [
            ("amount: expected more", Some("amount")),
            ("the body is wrong: x", None),
            ("no account", None),
            ("x", None),
        ] {
            assert_eq!(field_of(text), field, "{text}");
        }
    }
}
