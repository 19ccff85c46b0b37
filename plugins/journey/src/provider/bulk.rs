//! Polling by list: one call asks about many tasks of an account.

use gatehouse_sdk::{Body, Call, Reply};
use serde_json::{Value, json};

use crate::provider::calls::{NAME, POLL_TIMEOUT};
use crate::provider::polled::record_of;

pub(crate) fn merge(items: &[String]) -> Call {
    Call::post(NAME, "/mj/task/list-by-condition").json(&json!({"ids": items})).safe().timeout(POLL_TIMEOUT)
}

/// A task that the list does not mention asks for itself. So do all of them when there is no list, unless the provider is
/// busy or down: then each of them has that answer, and they ask again later.
pub(crate) fn split(items: &[String], reply: &Reply) -> Vec<Option<Reply>> {
    if reply.status == 429 || reply.status >= 500 {
        return vec![Some(reply.clone()); items.len()];
    }
    let list: Vec<Value> = if reply.is_success() { reply.json().unwrap_or_default() } else { Vec::new() };
    let own = |item: &String| {
        let body = record_of(&list, item)?.to_string();
        Some(Reply { body: Body::Inline(body.into_bytes()), ..reply.clone() })
    };
    items.iter().map(own).collect()
}
