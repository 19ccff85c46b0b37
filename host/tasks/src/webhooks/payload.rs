//! What a webhook is told: a thin JSON object, `{"type", "timestamp", "data"}`.
//!
//! No result and no link: links would expire between two attempts. The receiver asks `GET /v1/tasks/{id}`.

use gatehouse_model::{
    Credits, Customer, CustomerId, DeliveryId, Digest, Key, KeyId, QuotaUse, Status, Task, UnixMs, WebhookId,
};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::records::webhook::WebhookEvent;
use gatehouse_model::FailureKind;

#[derive(Serialize)]
struct Payload<D> {
    r#type: &'static str,
    timestamp: String,
    data: D,
}

#[derive(Serialize)]
struct EndedTask<'a> {
    id: String,
    status: &'a str,
    model: &'a str,
    /// Credits, as a number.
    charged: Box<RawValue>,
}

#[derive(Serialize)]
struct LowBalance<'a> {
    account: &'a str,
    available: Box<RawValue>,
    held: Box<RawValue>,
    threshold: Box<RawValue>,
}

#[derive(Serialize)]
struct ReachedQuota<'a> {
    account: &'a str,
    /// Absent where it is the quota of all keys together.
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<&'a str>,
    used: Box<RawValue>,
    limit: Box<RawValue>,
    percent: u8,
    resets_at: Option<String>,
}

#[derive(Serialize)]
struct Tried {
    webhook: String,
}

/// The event of a task that ended.
pub(crate) fn event_of(task: &Task) -> WebhookEvent {
    let cancelled = task.failure.as_ref().is_some_and(|failure| failure.kind == FailureKind::Cancelled);
    match task.status {
        Status::Completed => WebhookEvent::Completed,
        _ if cancelled => WebhookEvent::Cancelled,
        _ => WebhookEvent::Failed,
    }
}

/// The body of the event of a task that ended at `at`.
pub(crate) fn of_task(task: &Task, at: UnixMs) -> Vec<u8> {
    let event = event_of(task);
    let data = EndedTask {
        id: task.id.to_string(),
        // The word of `GET /v1/tasks/{id}`: a cancelled task has failed there, too. The event says which it is.
        status: task.status.as_str(),
        model: &task.model,
        charged: number(task.cost.unwrap_or(Credits::ZERO)),
    };
    body_of(event, at, data)
}

/// The body of the event that a customer's balance is low.
pub(crate) fn of_balance(customer: &Customer, at: UnixMs) -> Vec<u8> {
    let data = LowBalance {
        account: &customer.id.0,
        available: number(customer.available),
        held: number(customer.reserved),
        threshold: number(customer.low_balance.unwrap_or(Credits::ZERO)),
    };
    body_of(WebhookEvent::BalanceLow, at, data)
}

/// The body of the event that a customer's quota is used up to its share.
pub(crate) fn of_quota(customer: &Customer, at: UnixMs) -> Vec<u8> {
    reached_quota(&customer.id, None, customer.quota_use(at), customer.quota_alert, at)
}

/// The same of a key's own quota.
pub(crate) fn of_key_quota(key: &Key, at: UnixMs) -> Vec<u8> {
    reached_quota(&key.customer, Some(&key.id), key.quota_use(at), key.quota_alert, at)
}

fn reached_quota(
    customer: &CustomerId,
    key: Option<&KeyId>,
    quota: Option<QuotaUse>,
    alert: Option<u8>,
    at: UnixMs,
) -> Vec<u8> {
    let of = |read: fn(&QuotaUse) -> Credits| number(quota.as_ref().map_or(Credits::ZERO, read));
    let data = ReachedQuota {
        account: &customer.0,
        key: key.map(|key| key.0.as_str()),
        used: of(|quota| quota.used),
        limit: of(|quota| quota.limit),
        percent: alert.unwrap_or(100),
        resets_at: quota.as_ref().and_then(|quota| quota.resets).map(|resets| resets.to_string()),
    };
    body_of(WebhookEvent::QuotaReached, at, data)
}

/// The id of an event about a customer, or one of its keys, for a webhook. The customer's ledger and the revision of what it is
/// about tell any two apart.
pub(crate) fn customer_event_id(
    webhook: WebhookId,
    customer: &Customer,
    key: Option<&Key>,
    event: WebhookEvent,
    at: UnixMs,
) -> DeliveryId {
    let (webhook, entries) = (webhook.bits().to_be_bytes(), customer.head.next.to_be_bytes());
    let revision = key.map_or(customer.revision, |key| key.revision).to_be_bytes();
    let common: [&[u8]; 4] = [&webhook, event.as_str().as_bytes(), &entries, &revision];
    let about: Vec<&[u8]> = match key {
        None => [&[b"customer event" as &[u8]], &common[..]].concat(),
        Some(key) => [&[b"key event" as &[u8], key.id.0.as_bytes()], &common[..]].concat(),
    };
    event_id(&about, at)
}

/// The body of an event that only tries a webhook out.
pub(crate) fn of_test(webhook: WebhookId, at: UnixMs) -> Vec<u8> {
    let data = Tried { webhook: webhook.to_string() };
    body_of(WebhookEvent::Test, at, data)
}

/// The id of the event of a task for a webhook: the same whenever it is worked out, different for any two.
pub(crate) fn delivery_id(webhook: WebhookId, task: &Task, at: UnixMs) -> DeliveryId {
    event_id(&[b"webhook delivery", &webhook.bits().to_be_bytes(), &task.id.bits().to_be_bytes()], at)
}

/// The moment, and a digest of what the event is about.
pub(crate) fn event_id(about: &[&[u8]], at: UnixMs) -> DeliveryId {
    let digest = Digest::of_fields(about);
    let random = digest.0.iter().take(10).fold(0_u128, |bits, byte| bits << 8 | u128::from(*byte));
    DeliveryId::from_bits(u128::from(at.0 & 0xffff_ffff_ffff) << 80 | random)
}

/// Where a callback waits: with those of its customer for the same host alone. A host that is down holds up no other.
pub(crate) fn callback_queue(customer: &CustomerId, url: &str) -> WebhookId {
    let host = url.split(['/', '?', '#']).nth(2).unwrap_or_default();
    let digest = Digest::of_fields(&[b"callback queue", customer.0.as_bytes(), host.as_bytes()]);
    WebhookId::from_bits(digest.0.iter().take(16).fold(0, |bits, byte| bits << 8 | u128::from(*byte)))
}

/// The id of a task's callback: the same whenever it is worked out.
pub(crate) fn callback_delivery_id(task: &Task, at: UnixMs) -> DeliveryId {
    event_id(&[b"callback delivery", &task.id.bits().to_be_bytes()], at)
}

/// The id of the callback of a task that has ended.
#[must_use]
pub fn callback_of(task: &Task) -> Option<DeliveryId> {
    task.callback.as_ref()?;
    task.finished.map(|at| callback_delivery_id(task, at))
}

/// The id of the event of a task that has ended.
#[must_use]
pub fn delivery_of(webhook: WebhookId, task: &Task) -> Option<DeliveryId> {
    task.finished.map(|at| delivery_id(webhook, task, at))
}

/// A body with that `data`.
pub(crate) fn body_of(event: WebhookEvent, at: UnixMs, data: impl Serialize) -> Vec<u8> {
    bytes(&Payload { r#type: event.as_str(), timestamp: at.to_string(), data })
}

fn number(credits: Credits) -> Box<RawValue> {
    RawValue::from_string(credits.to_string()).expect("credits are written as digits and a point")
}

fn bytes(payload: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(payload).expect("a payload has string keys only")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without it a host that is down, or asks for a pause, holds up another one's callbacks.
    #[test]
    fn callbacks_wait_with_those_of_their_customer_for_the_same_host() {
        let queue = |customer: &str, url: &str| callback_queue(&CustomerId(customer.to_owned()), url);
        let mut queues: Vec<WebhookId> =
            (0..500).map(|host| queue("c", &format!("https://host{host}.example/hook"))).collect();
        queues.push(queue("d", "https://host1.example/hook"));
        queues.sort();
        queues.dedup();
        assert_eq!(queues.len(), 501);
        for same in ["https://host.example", "https://host.example/a?b=/c", "https://host.example#d"] {
            assert_eq!(queue("c", same), queue("c", "https://host.example/hook"), "{same}");
        }
    }
}
