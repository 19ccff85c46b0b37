//! The body of a request: read within its size and its time, then as JSON. An error names the field.

use std::fmt::Display;
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use gatehouse_model::{Clock, check_json_text};
use http::header::CONTENT_TYPE;
use http::request::Parts;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use serde::de::DeserializeOwned;

use crate::error::{ApiError, Kind};

/// Of JSON; nothing an operator writes is as large.
pub(crate) const MAX_JSON_BYTES: usize = 1 << 20;
/// Enough for the largest component that a configuration can allow (64 MiB), also in base64.
pub(crate) const MAX_UPLOAD_BYTES: usize = 88 << 20;
const TIMEOUT: Duration = Duration::from_secs(60);

/// Reads the whole body.
pub(crate) async fn read(body: Body, most: usize, clock: &dyn Clock) -> Result<Bytes, ApiError> {
    let read = tokio::select! {
        biased;
        read = Limited::new(body, most).collect() => read,
        () = clock.pause(TIMEOUT) => {
            return Err(ApiError::new(Kind::RequestTimeout, "the body did not arrive in time"));
        }
    };
    read.map(http_body_util::Collected::to_bytes).map_err(|error| {
        if error.is::<LengthLimitError>() {
            return ApiError::new(Kind::TooLarge, format!("the body is larger than {most} bytes"));
        }
        ApiError::new(Kind::Invalid, format!("the body could not be read: {error}"))
    })
}

/// Checks the content type against those that fit.
pub(crate) fn check_type(head: &Parts, accepted: &[&str]) -> Result<(), ApiError> {
    let sent = head.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = sent.split(';').next().unwrap_or_default().trim();
    if accepted.iter().any(|known| known.eq_ignore_ascii_case(essence)) {
        return Ok(());
    }
    let message = format!("content-type: expected {}, got {essence:?}", accepted.join(" or "));
    Err(ApiError::new(Kind::WrongMediaType, message).with_param("content-type"))
}

/// Reads JSON. The error names the field by its path.
pub(crate) fn json<T: DeserializeOwned>(body: &[u8]) -> Result<T, ApiError> {
    let invalid = |why: &dyn Display| ApiError::new(Kind::Invalid, format!("the body: {why}"));
    let text = str::from_utf8(body).map_err(|error| invalid(&error))?;
    check_json_text(text).map_err(|why| match why.field() {
        Some(field) => ApiError::field(field, why.to_string()),
        None => invalid(&why),
    })?;
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let path = error.path().to_string();
        let problem = error.into_inner();
        match path.as_str() {
            "." | "?" => invalid(&problem),
            path => ApiError::field(path, format!("{path}: {problem}")),
        }
    })?;
    reader.end().map_err(|error| invalid(&error))?;
    Ok(value)
}

/// The same from a value that is read already.
pub(crate) fn from_value<T: DeserializeOwned>(value: serde_json::Value) -> Result<T, ApiError> {
    json(&serde_json::to_vec(&value).map_err(|error| ApiError::new(Kind::Invalid, error.to_string()))?)
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Sample {
        #[serde(rename = "names")]
        _names: Vec<String>,
    }

    #[test]
    fn an_error_names_its_field() {
        for (body, expected) in [
            (r#"{"names":["a",7]}"#, "names[1]: invalid type: integer `7`, expected a string"),
            (r#"{"names":[],"nammes":1}"#, "unknown field `nammes`"),
            (r#"{}"#, "missing field `names`"),
            (r#"{"names":[]} x"#, "the body: trailing characters"),
            ("", "the body: EOF"),
            (r#"{"names":[1e400]}"#, "the body: expected numbers below 1.8e308, got 1e400 at byte 10"),
            (r#"{"names":[],"names":[]}"#, "names: expected one value, got the same field twice"),
        ] {
            let message = json::<Sample>(body.as_bytes()).unwrap_err().message().to_owned();
            assert!(message.contains(expected), "{body}: {message}");
        }
    }
}
