//! Polling by list: one call asks about many tasks of an account, thousands of them on a busy gateway. So the records
//! are passed on as they came, and each is found by its id, not by a search.

use std::collections::HashMap;

use gatehouse_sdk::{Body, Call, Reply};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use crate::provider::calls::{NAME, POLL_TIMEOUT};

pub(crate) fn merge(items: &[String]) -> Call {
    Call::post(NAME, "/mj/task/list-by-condition").json(&json!({"ids": items})).safe().timeout(POLL_TIMEOUT)
}

/// A task that the list does not mention asks for itself. So do all of them when there is no list, unless the provider is
/// busy or down: then each of them has that answer, and they ask again later.
pub(crate) fn split(items: &[String], reply: &Reply) -> Vec<Option<Reply>> {
    if reply.status == 429 || reply.status >= 500 {
        return vec![Some(reply.clone()); items.len()];
    }
    let records = match &reply.body {
        Body::Inline(bytes) if reply.is_success() => records(bytes),
        _ => HashMap::new(),
    };
    let own = |item: &String| {
        let record = records.get(item.as_str())?;
        Some(Reply {
            status: reply.status,
            headers: reply.headers.clone(),
            body: Body::Inline(record.get().as_bytes().to_vec()),
            affinity: reply.affinity.clone(),
            extra: String::new(),
        })
    };
    items.iter().map(own).collect()
}

#[derive(Deserialize)]
struct Named<'a> {
    /// A text or a number.
    #[serde(borrow)]
    id: &'a RawValue,
}

/// The records of a list by their ids.
fn records(list: &[u8]) -> HashMap<&str, &RawValue> {
    let list: Vec<&RawValue> = serde_json::from_slice(list).unwrap_or_default();
    list.into_iter().filter_map(|record| Some((named_id(record)?, record))).collect()
}

fn named_id(record: &RawValue) -> Option<&str> {
    let named: Named<'_> = serde_json::from_str(record.get()).ok()?;
    Some(named.id.get().trim_matches('"'))
}
