//! The rules of deliveries: made with the end of a task, tried, tried again, ended, forgotten.
//!
//! ```text
//! Pending(due) --2xx--> Delivered
//!   ^   |  |---410, last attempt, too many wait--> Failed
//!   |   '--any other failure: later due
//!   '-- sent again by hand, from any state
//! ```

use gatehouse_model::{Customer, CustomerId, DeliveryId, Key, Task, UnixMs, WebhookId};

use crate::commands::command::Applied;
use crate::commands::rejection::{Rejection, Ruling, Stop};
use crate::records::webhook::{
    Callback, DeliveryState, Disabled, MAX_ATTEMPTS, MAX_PENDING, MAX_RESENT, WebhookAttempt,
    WebhookDelivery, WebhookEndpoint, WebhookEvent,
};
use crate::storage::ledger_storage::{AuditRecord, LedgerStorage};
use crate::webhooks::endpoints::find;
use crate::webhooks::payload;
use crate::webhooks::schedule::{FAILING_DAYS, is_old, wait_after};

/// The status by which a receiver says that it wants nothing more.
const GONE: u16 = 410;

/// Writes a delivery for every webhook of the task's customer that takes its end, and for the address that the task was
/// submitted with. A customer without either costs one look-up.
pub(crate) fn task_ended<B: LedgerStorage>(storage: &mut B, task: &Task, at: UnixMs) -> Ruling<(), B> {
    if let Some(url) = &task.callback {
        let callback = Callback { url: url.clone(), key: task.key.clone() };
        let queue = payload::callback_queue(&task.customer, url);
        // Each task has one such delivery at most, so what waits is bounded by what was paid for.
        storage.put_delivery(&WebhookDelivery {
            callback: Some(callback),
            task: Some(task.id),
            ..new(
                payload::callback_delivery_id(task, at),
                queue,
                &task.customer,
                payload::event_of(task),
                payload::of_task(task, at),
                at,
            )
        })?;
    }
    for webhook in storage.webhooks_of(&task.customer)? {
        let event = payload::event_of(task);
        if webhook.takes(event) {
            let id = payload::delivery_id(webhook.id, task, at);
            let body = payload::of_task(task, at);
            let delivery = WebhookDelivery {
                task: Some(task.id),
                ..new(id, webhook.id, &webhook.customer, event, body, at)
            };
            enqueue(storage, webhook, &delivery, at)?;
        }
    }
    Ok(())
}

/// Writes a delivery of an event about the customer itself, or about one of its keys, for every webhook that takes it.
pub(crate) fn customer_event<B: LedgerStorage>(
    storage: &mut B,
    customer: &Customer,
    key: Option<&Key>,
    event: WebhookEvent,
    body: &[u8],
    at: UnixMs,
) -> Result<(), B::Error> {
    for webhook in storage.webhooks_of(&customer.id)? {
        if webhook.takes(event) {
            let id = payload::customer_event_id(webhook.id, customer, key, event, at);
            let delivery = new(id, webhook.id, &webhook.customer, event, body.to_vec(), at);
            enqueue(storage, webhook, &delivery, at)?;
        }
    }
    Ok(())
}

pub(crate) fn test<B: LedgerStorage>(
    storage: &mut B,
    id: WebhookId,
    delivery: DeliveryId,
    at: UnixMs,
) -> Ruling<Applied, B> {
    let webhook = find(storage, id)?;
    if webhook.disabled.is_some() {
        return Err(Stop::Rejected(Rejection::WebhookDisabled(id)));
    }
    let body = payload::of_test(id, at);
    let delivery = new(delivery, webhook.id, &webhook.customer, WebhookEvent::Test, body, at);
    enqueue(storage, webhook, &delivery, at)?;
    Ok(Applied::Delivery(Box::new(delivery)))
}

pub(crate) fn resend<B: LedgerStorage>(storage: &mut B, id: DeliveryId, at: UnixMs) -> Ruling<Applied, B> {
    let found = storage.delivery(id)?;
    let mut delivery = found.ok_or(Stop::Rejected(Rejection::NoDelivery(id)))?;
    let waited = delivery.due().is_some();
    delivery.state = DeliveryState::Pending { due: at };
    delivery.tries = 0;
    if delivery.callback.is_some() {
        storage.put_delivery(&delivery)?;
        return Ok(Applied::Delivery(Box::new(delivery)));
    }
    let webhook = find(storage, delivery.webhook)?;
    if webhook.disabled.is_some() {
        return Err(Stop::Rejected(Rejection::WebhookDisabled(webhook.id)));
    }
    // One that waits tells the sender to look, too.
    if waited {
        storage.put_delivery(&delivery)?;
    } else {
        enqueue(storage, webhook, &delivery, at)?;
    }
    Ok(Applied::Delivery(Box::new(delivery)))
}

/// Sends several again. One that was forgotten meanwhile is left out, and so is another webhook's.
pub(crate) fn resend_all<B: LedgerStorage>(
    storage: &mut B,
    id: WebhookId,
    deliveries: Vec<DeliveryId>,
    at: UnixMs,
) -> Ruling<Applied, B> {
    if deliveries.len() > MAX_RESENT {
        let problem = format!("expected at most {MAX_RESENT}, got {}", deliveries.len());
        return Err(Stop::Rejected(Rejection::malformed("deliveries", problem)));
    }
    if find(storage, id)?.disabled.is_some() {
        return Err(Stop::Rejected(Rejection::WebhookDisabled(id)));
    }
    for delivery in deliveries {
        if storage.delivery(delivery)?.is_some_and(|found| found.webhook == id) {
            resend(storage, delivery, at)?;
        }
    }
    Ok(Applied::Done)
}

/// Keeps an attempt and what follows from it. The delivery may have ended meanwhile; a success counts all the same.
pub(crate) fn record<B: LedgerStorage>(
    storage: &mut B,
    id: DeliveryId,
    attempt: WebhookAttempt,
    retry_after_ms: Option<u64>,
    chance: u32,
    at: UnixMs,
) -> Ruling<Applied, B> {
    let Some(mut delivery) = storage.delivery(id)? else { return Ok(Applied::Done) };
    let waited = delivery.due().is_some();
    delivery.tries = delivery.tries.saturating_add(1);
    if attempt.succeeded() {
        delivery.state = DeliveryState::Delivered { at };
    } else if waited {
        let asked = retry_after_ms.map(std::time::Duration::from_millis);
        let next = wait_after(delivery.tries, f64::from(chance) / 1_000.0, asked);
        delivery.state = match next.filter(|_| attempt.status != Some(GONE)) {
            Some(wait) => DeliveryState::Pending { due: at.plus(wait) },
            None => DeliveryState::Failed { at, reason: attempt.problem() },
        };
    }
    if delivery.attempts.len() >= MAX_ATTEMPTS {
        delivery.attempts.remove(0);
    }
    delivery.attempts.push(attempt.clone());
    if let Some(mut webhook) = storage.webhook(delivery.webhook)? {
        if waited && delivery.due().is_none() {
            webhook.pending = webhook.pending.saturating_sub(1);
        }
        let disabled = judge(&mut webhook, attempt, at);
        storage.put_webhook(&webhook)?;
        if let Some(reason) = disabled {
            let text =
                format!("webhook {} of account {} was disabled: {reason}", webhook.id, webhook.customer);
            storage.append_audit(&AuditRecord { at, task: delivery.task, text, ..AuditRecord::default() })?;
        }
    }
    storage.put_delivery(&delivery)?;
    Ok(Applied::Done)
}

/// Forgets a delivery of that customer, if its time is over; whether it was there.
pub(crate) fn forget<B: LedgerStorage>(
    storage: &mut B,
    customer: &CustomerId,
    id: DeliveryId,
    at: UnixMs,
) -> Result<bool, B::Error> {
    let Some(delivery) = storage.delivery(id)?.filter(|row| row.customer == *customer && is_old(row.id, at))
    else {
        return Ok(false);
    };
    if delivery.due().is_some()
        && let Some(mut webhook) = storage.webhook(delivery.webhook)?
    {
        webhook.pending = webhook.pending.saturating_sub(1);
        storage.put_webhook(&webhook)?;
    }
    storage.remove_delivery(&delivery)?;
    Ok(true)
}

/// What an attempt says of its webhook; the reason where it is disabled for it.
fn judge(webhook: &mut WebhookEndpoint, attempt: WebhookAttempt, at: UnixMs) -> Option<String> {
    let (succeeded, status) = (attempt.succeeded(), attempt.status);
    webhook.last_attempt = Some(attempt);
    if succeeded {
        (webhook.last_success, webhook.failing_since) = (Some(at), None);
        return None;
    }
    let since = *webhook.failing_since.get_or_insert(at);
    let reason = if status == Some(GONE) {
        "the receiver answered 410: it wants no more events".to_owned()
    } else if at.since(since) >= FAILING_DAYS {
        format!("no event was delivered since {since}")
    } else {
        return None;
    };
    if webhook.disabled.is_some() {
        return None;
    }
    webhook.disabled = Some(Disabled { at, reason: reason.clone() });
    webhook.revision = webhook.revision.saturating_add(1);
    Some(reason)
}

pub(crate) fn new(
    id: DeliveryId,
    webhook: WebhookId,
    customer: &CustomerId,
    event: WebhookEvent,
    body: Vec<u8>,
    at: UnixMs,
) -> WebhookDelivery {
    WebhookDelivery {
        id,
        webhook,
        callback: None,
        customer: customer.clone(),
        task: None,
        event,
        body,
        created: at,
        state: DeliveryState::Pending { due: at },
        tries: 0,
        attempts: Vec::new(),
    }
}

/// Adds one that waits. Where too many do, the oldest fails for it.
pub(crate) fn enqueue<B: LedgerStorage>(
    storage: &mut B,
    mut webhook: WebhookEndpoint,
    delivery: &WebhookDelivery,
    at: UnixMs,
) -> Result<(), B::Error> {
    if webhook.pending < MAX_PENDING {
        webhook.pending += 1;
    } else if let Some(mut oldest) = storage.oldest_pending_delivery(webhook.id)? {
        let reason = format!("{MAX_PENDING} newer events waited for this webhook");
        oldest.state = DeliveryState::Failed { at, reason };
        storage.put_delivery(&oldest)?;
    }
    storage.put_webhook(&webhook)?;
    storage.put_delivery(delivery)?;
    Ok(())
}
