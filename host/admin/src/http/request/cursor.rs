//! Cursors of lists: the position of the last row and the digest of the filter, as one opaque text. A cursor with another
//! filter, or of another list, is refused. Pure.
//!
//! Nothing secret is in it, and a made-up position only begins a page elsewhere, so it needs no signature. Lists go one way,
//! newest first; there is no cursor back.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use gatehouse_model::Digest;

use super::query::Query;
use crate::error::{ApiError, Kind};

const VERSION: u8 = 1;
const DIGEST_BYTES: usize = 12;

/// The cursor after the row at `position`.
pub(crate) fn write(list: &str, query: &Query, position: &str) -> String {
    let mut bytes = vec![VERSION];
    bytes.extend_from_slice(&filter_digest(list, query));
    bytes.extend_from_slice(position.as_bytes());
    URL_SAFE_NO_PAD.encode(bytes)
}

/// The position in the request's cursor, if it has one.
pub(crate) fn read(list: &str, query: &Query) -> Result<Option<String>, ApiError> {
    let Some(text) = query.one("cursor") else { return Ok(None) };
    let wrong = |message: &str| ApiError::new(Kind::InvalidCursor, message).with_param("cursor");
    let malformed = || wrong("cursor: expected `next` of the page before");
    let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| malformed())?;
    let (digest, position) = match bytes.split_first() {
        Some((&VERSION, rest)) => rest.split_at_checked(DIGEST_BYTES).ok_or_else(malformed)?,
        _ => return Err(malformed()),
    };
    if digest != filter_digest(list, query) {
        return Err(wrong("cursor: it is of another list or of another filter; leave it out to begin anew"));
    }
    String::from_utf8(position.to_vec()).map(Some).map_err(|_| malformed())
}

fn filter_digest(list: &str, query: &Query) -> [u8; DIGEST_BYTES] {
    let mut fields = vec![list.as_bytes()];
    for (name, value) in query.filters() {
        fields.extend([name.as_bytes(), value.as_bytes()]);
    }
    let digest = Digest::of_fields(&fields);
    let mut short = [0; DIGEST_BYTES];
    short.copy_from_slice(&digest.0[..DIGEST_BYTES]);
    short
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::request::query::{Form, PAGE, Parameter, filter, filter_any};

    const KNOWN: [Parameter; 4] =
        [filter("customer", Form::Text, ""), filter_any("status", Form::Text, ""), PAGE[0], PAGE[1]];

    fn query(text: &str) -> Query {
        Query::parse(Some(text), &KNOWN).unwrap()
    }

    #[test]
    fn a_cursor_belongs_to_its_list_and_filter() {
        let cursor = write("keys", &query("customer=a&status=x&status=y"), "k7");
        let with = |filter: &str| query(&format!("{filter}&cursor={cursor}&limit=3"));
        // The order of values does not matter, nor does the limit.
        let same = with("status=y&status=x&customer=a");
        assert_eq!(read("keys", &same).unwrap().as_deref(), Some("k7"));
        for (list, filter) in [
            ("keys", "customer=a"),
            ("keys", "customer=b&status=x&status=y"),
            ("tasks", "customer=a&status=x&status=y"),
        ] {
            assert!(
                read(list, &with(filter)).unwrap_err().message().contains("another filter"),
                "{list} {filter}"
            );
        }
        assert_eq!(read("keys", &query("customer=a")).unwrap(), None);
    }

    #[test]
    fn other_text_is_no_cursor() {
        for text in ["x", "AA", "AQ", "****", "Ag1234567890123456789"] {
            assert!(read("keys", &query(&format!("cursor={text}"))).is_err(), "{text}");
        }
    }
}
