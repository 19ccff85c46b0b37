//! Lists as CSV (RFC 4180, UTF-8): made page by page while it is sent, so that no answer is held in memory.
//!
//! A cell that a spreadsheet would take for a formula gets a leading `'`. A page that cannot be read cuts the answer short:
//! the client sees a broken transfer, never a shorter list.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::future::Future;
use std::io;

use axum::body::Body;
use bytes::Bytes;
use futures_util::stream;

use crate::error::{ApiError, Kind};
use crate::reply::Reply;

/// Rows of one answer, at most.
pub(crate) const MAX_ROWS: u64 = 1_000_000;
pub(crate) const CONTENT_TYPE: &str = "text/csv; charset=utf-8";

/// Refuses a range with more rows than one answer may have.
pub(crate) fn check_rows(rows: u64) -> Result<(), ApiError> {
    if rows <= MAX_ROWS {
        return Ok(());
    }
    let message =
        format!("the range has up to {rows} rows, one answer at most {MAX_ROWS}: ask for a shorter range");
    Err(ApiError::new(Kind::Invalid, message).with_param("created_after"))
}

/// An answer of the rows that `page` reads after a position, in pages, until one has no next.
pub(crate) fn reply<P, F>(header: &[&str], page: impl Fn(Option<P>) -> F + Send + 'static) -> Reply
where
    P: Send + 'static,
    F: Future<Output = Result<(Vec<Vec<String>>, Option<P>), ApiError>> + Send + 'static,
{
    let first = line(header.iter().copied());
    // The text to send before the next page, and where that begins; none once all was read.
    let state = (first, Some(None), page);
    let pages = stream::try_unfold(state, |(before, from, page)| async move {
        let Some(from) = from else { return Ok::<_, io::Error>(None) };
        let (rows, next) = page(from).await.map_err(|error| io::Error::other(error.message().to_owned()))?;
        let mut text = before;
        rows.iter().for_each(|row| text.push_str(&line(row.iter().map(String::as_str))));
        Ok(Some((Bytes::from(text), (String::new(), next.map(Some), page))))
    });
    Reply::typed(CONTENT_TYPE, Body::from_stream(pages))
}

/// Names and values in one cell, as names differ from row to row.
pub(crate) fn pairs(pairs: &BTreeMap<String, String>) -> String {
    match pairs.is_empty() {
        true => String::new(),
        false => serde_json::to_string(pairs).unwrap_or_default(),
    }
}

fn line<'c>(cells: impl Iterator<Item = &'c str>) -> String {
    let mut writer = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(Vec::new());
    // Nothing fails in memory.
    drop(writer.write_record(cells.map(plain)));
    String::from_utf8(writer.into_inner().unwrap_or_default()).unwrap_or_default()
}

/// A cell that a spreadsheet takes for text.
fn plain(text: &str) -> Cow<'_, [u8]> {
    match text.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        true => Cow::Owned(format!("'{text}").into_bytes()),
        false => Cow::Borrowed(text.as_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_quoted_and_no_formulas() {
        for (text, expected) in [
            ("plain", "plain"),
            ("", ""),
            ("a,b", "\"a,b\""),
            ("say \"a\"", "\"say \"\"a\"\"\""),
            ("two\nlines", "\"two\nlines\""),
            ("=1+1", "'=1+1"),
            ("+1", "'+1"),
            ("-4.50", "'-4.50"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("\tx", "'\tx"),
            ("=\"a\"", "\"'=\"\"a\"\"\""),
        ] {
            assert_eq!(line([text, "x"].into_iter()), format!("{expected},x\r\n"), "{text:?}");
        }
    }

    #[test]
    fn a_range_has_its_length() {
        assert!(check_rows(MAX_ROWS).is_ok());
        assert_eq!(check_rows(MAX_ROWS + 1).unwrap_err().status(), 400);
    }
}
