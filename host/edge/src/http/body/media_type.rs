//! What a request's head must announce of its body.

use http::{HeaderMap, header};

use crate::errors::{Kind, Refusal};
use crate::http::body::encoding::Encoding;
use crate::http::query::quoted;

/// How a body is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum MediaType {
    Json,
    /// `multipart/form-data`, with its boundary.
    Form(String),
}

/// Refuses a head that does not announce plain JSON.
pub(crate) fn check_type(headers: &HeaderMap) -> Result<(), Refusal> {
    media_type(headers, false).map(drop)
}

/// What a head announces: JSON, or a form where `takes_forms` says so.
pub(crate) fn media_type(headers: &HeaderMap, takes_forms: bool) -> Result<MediaType, Refusal> {
    Encoding::of(headers)?;
    let announced = headers.get(header::CONTENT_TYPE).map(|value| value.to_str().unwrap_or_default());
    let essence = announced.and_then(|text| text.split(';').next()).unwrap_or_default().trim();
    if essence.eq_ignore_ascii_case("application/json") {
        return Ok(MediaType::Json);
    }
    let boundary = announced.filter(|_| takes_forms).and_then(|text| multer::parse_boundary(text).ok());
    if let Some(boundary) = boundary.filter(|boundary| !boundary.is_empty()) {
        return Ok(MediaType::Form(boundary));
    }
    let received = announced.map_or_else(|| "none".to_owned(), quoted);
    let forms = if takes_forms { " or multipart/form-data with its boundary" } else { "" };
    let message = format!("Content-Type: expected application/json{forms}, not {received}");
    Err(Refusal::new(Kind::WrongMediaType, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_json_is_accepted() {
        for (kind, encoding, fits) in [
            (Some("application/json"), None, true),
            (Some("Application/JSON ; charset=utf-8"), None, true),
            (Some("application/json"), Some("identity"), true),
            (Some("application/json"), Some("gzip"), true),
            (Some("application/json"), Some("br"), false),
            (Some("text/json"), None, false),
            (Some("application/jsonl"), None, false),
            (Some("multipart/form-data; boundary=x"), None, false),
            (Some(""), None, false),
            (None, None, false),
        ] {
            let mut headers = HeaderMap::new();
            kind.map(|kind| headers.insert(header::CONTENT_TYPE, kind.parse().unwrap()));
            encoding.map(|encoding| headers.insert(header::CONTENT_ENCODING, encoding.parse().unwrap()));
            assert_eq!(check_type(&headers).is_ok(), fits, "{kind:?} {encoding:?}");
        }
    }

    #[test]
    fn a_form_is_accepted_where_the_route_takes_one() {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, "multipart/form-data; boundary=x".parse().unwrap());
        assert_eq!(media_type(&headers, true).ok(), Some(MediaType::Form("x".to_owned())));
        headers.insert(header::CONTENT_TYPE, "multipart/form-data".parse().unwrap());
        assert!(media_type(&headers, true).is_err(), "it has no boundary");
    }
}
