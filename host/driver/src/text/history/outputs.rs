//! What kept responses have answered: the items of their outputs, and those of them that a later request names. Pure.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use gatehouse_tasks::ResponseRecord;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::errors::SubmitError;
use crate::text::history::keep::Item;

/// What of a kept response goes into a later request.
#[derive(Deserialize)]
struct Answer<'a> {
    #[serde(borrow)]
    output: Vec<&'a RawValue>,
}

/// The items of a response's output; none where it cannot be read.
pub(super) fn output(record: &ResponseRecord) -> Vec<&RawValue> {
    serde_json::from_slice::<Answer<'_>>(&record.response).map(|answer| answer.output).unwrap_or_default()
}

/// The responses that were found, each once.
pub(super) fn distinct(found: &[Option<Arc<ResponseRecord>>]) -> Vec<&ResponseRecord> {
    let mut seen = HashSet::new();
    let all = found.iter().flatten().map(|record| &**record);
    all.filter(|record| seen.insert(record.id.as_str())).collect()
}

/// The items of these ids, JSON, each of the response beside it.
///
/// # Errors
/// One is not there.
pub(super) fn named<'a>(
    ids: &[String],
    found: &'a [Option<Arc<ResponseRecord>>],
) -> Result<Vec<&'a str>, SubmitError> {
    // A response is read once, however many of its items are named.
    let outputs: HashMap<&str, HashMap<String, &'a RawValue>> =
        distinct(found).into_iter().map(|record| (record.id.as_str(), by_id(record))).collect();
    let items = ids.iter().zip(found).map(|(id, record)| {
        let output = record.as_ref().and_then(|record| outputs.get(record.id.as_str()));
        let item = output.and_then(|output| output.get(id)).map(|item| item.get());
        item.ok_or_else(|| SubmitError::UnknownItem(id.clone()))
    });
    items.collect()
}

fn by_id(record: &ResponseRecord) -> HashMap<String, &RawValue> {
    let id = |item: &RawValue| serde_json::from_str::<Item>(item.get()).ok().map(|item| item.id);
    // Of two items with one id the first counts.
    output(record).into_iter().rev().filter_map(|item| Some((id(item)?, item))).collect()
}

#[cfg(test)]
mod tests {
    use gatehouse_model::{CustomerId, UnixMs};

    use super::*;

    fn response(id: &str, response: &str) -> Option<Arc<ResponseRecord>> {
        Some(Arc::new(ResponseRecord {
            customer: CustomerId::from("acme"),
            id: id.to_owned(),
            previous: None,
            kept: UnixMs(0),
            expires: UnixMs(1),
            items: Vec::new(),
            input: Vec::new(),
            response: response.as_bytes().to_vec(),
            outline: Vec::new(),
        }))
    }

    #[test]
    fn items_are_found_in_the_responses_beside_them() {
        let one = response("one", r#"{"output":[{"id":"a","n":1},7,{"id":"b","n":2},{"id":"a","n":4}]}"#);
        // An upstream may give the same id twice: the response beside it decides.
        let two = response("two", r#"{"output":[{"id":"a","n":3}]}"#);
        let ids = ["b", "a", "a"].map(str::to_owned);
        let found = [one.clone(), one.clone(), two];
        let expected = [r#"{"id":"b","n":2}"#, r#"{"id":"a","n":1}"#, r#"{"id":"a","n":3}"#];
        assert_eq!(named(&ids, &found).unwrap(), expected);
        let responses: Vec<&str> = distinct(&found).into_iter().map(|record| record.id.as_str()).collect();
        assert_eq!(responses, ["one", "two"]);

        for other in [None, response("three", "no JSON"), response("four", r#"{"output":[{"id":"b"}]}"#)] {
            let error = named(&ids[..2], &[one.clone(), other]).unwrap_err();
            assert!(matches!(&error, SubmitError::UnknownItem(id) if id == "a"), "{error}");
        }
    }
}
