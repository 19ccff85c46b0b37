//! Lists as CSV (RFC 4180, UTF-8): made page by page while it is sent, so that no answer is held in memory.
//!
//! A cell that a spreadsheet would take for a formula gets a leading `'`. A page that cannot be read cuts the answer short:
//! the client sees a broken transfer, never a shorter list.

use std::borrow::Cow;
use std::future::Future;
use std::io;

use axum::body::Body;
use bytes::Bytes;
use futures_util::stream;
use serde::Serialize;
use serde_json::Value;

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

/// An answer of the rows that `page` reads after a position, in pages, until one has no next; each page has its own copy of
/// `shared`. `columns` are fields of a row, each as `name` or as `name=path`.
pub(crate) fn reply<S, P, R, F>(
    columns: &'static str,
    shared: S,
    page: impl Fn(S, Option<P>) -> F + Send + 'static,
) -> Reply
where
    S: Clone + Send + 'static,
    P: Send + 'static,
    R: Serialize + Send,
    F: Future<Output = Result<(Vec<R>, Option<P>), ApiError>> + Send + 'static,
{
    let columns = columns.split_whitespace().map(|column| column.split_once('=').unwrap_or((column, column)));
    let (names, paths): (Vec<_>, Vec<_>) = columns.unzip();
    let first = line(names.into_iter());
    // The text to send before the next page, and where that begins; none once all was read.
    let state = (first, Some(None), shared, page, paths);
    let pages = stream::try_unfold(state, |(before, from, shared, page, paths)| async move {
        let Some(from) = from else { return Ok::<_, io::Error>(None) };
        let read = page(shared.clone(), from).await;
        let (rows, next) = read.map_err(|error| io::Error::other(error.message().to_owned()))?;
        let mut text = before;
        for row in rows {
            let row = serde_json::to_value(row)?;
            let cells: Vec<String> = paths.iter().map(|path| cell(&row, path)).collect();
            text.push_str(&line(cells.iter().map(String::as_str)));
        }
        Ok(Some((Bytes::from(text), (String::new(), next.map(Some), shared, page, paths))))
    });
    Reply::typed(CONTENT_TYPE, Body::from_stream(pages))
}

/// A text as it is, nothing as an empty cell, lists and names with values as JSON.
fn cell(row: &Value, path: &str) -> String {
    let value = path.split('.').fold(row, |of, name| {
        debug_assert!(of.is_null() || of.get(name).is_some(), "no field {path}");
        &of[name]
    });
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Object(pairs) if pairs.is_empty() => String::new(),
        other => other.to_string(),
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
