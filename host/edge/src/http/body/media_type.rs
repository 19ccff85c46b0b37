//! What a request's head must announce of its body.

use http::{HeaderMap, header};

use crate::errors::{Kind, Refusal};
use crate::http::body::encoding::Encoding;
use crate::http::query::quoted;

/// Refuses a head that does not announce JSON, plain or compressed in a way that is known.
pub(crate) fn check_type(headers: &HeaderMap) -> Result<(), Refusal> {
    Encoding::of(headers)?;
    let announced = headers.get(header::CONTENT_TYPE).map(|value| value.to_str().unwrap_or_default());
    let essence = announced.and_then(|text| text.split(';').next()).unwrap_or_default().trim();
    if essence.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    let received = announced.map_or_else(|| "none".to_owned(), quoted);
    let message = format!("Content-Type: expected application/json, not {received}");
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
}
