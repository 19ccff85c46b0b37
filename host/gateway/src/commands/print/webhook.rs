//! Webhooks for people: a table of them, or one with its deliveries.

use std::io::{self, Write};

use gatehouse_admin::{AttemptView, DeliveryStatus, DeliveryView, Moment, ResentRange, WebhookView};

use super::table::{rfc3339, table};

/// Webhooks in a table.
pub(super) fn list(out: &mut dyn Write, webhooks: &[WebhookView]) -> io::Result<()> {
    let row = |webhook: &WebhookView| {
        vec![
            webhook.id.clone(),
            webhook.customer.clone(),
            state(webhook),
            webhook.pending.to_string(),
            webhook.last_attempt.as_ref().map_or_else(|| "-".to_owned(), attempt),
            webhook.url.clone(),
        ]
    };
    table(out, &["WEBHOOK", "ACCOUNT", "STATE", "WAITING", "LAST", "URL"], webhooks.iter().map(row))
}

/// One webhook.
pub(super) fn details(out: &mut dyn Write, webhook: &WebhookView) -> io::Result<()> {
    let events: Vec<String> = webhook
        .events
        .iter()
        .filter_map(|event| serde_json::to_value(event).ok()?.as_str().map(str::to_owned))
        .collect();
    let moment = |at: Option<Moment>| at.map_or_else(|| "-".to_owned(), |at| rfc3339(at.0));
    let lines = [
        ("webhook", webhook.id.clone()),
        ("account", webhook.customer.clone()),
        ("url", webhook.url.clone()),
        ("events", if events.is_empty() { "all".to_owned() } else { events.join(", ") }),
        ("state", state(webhook)),
        ("waiting", webhook.pending.to_string()),
        ("secret of", rfc3339(webhook.secret_created.0)),
        ("old until", moment(webhook.old_secret_until)),
        ("delivered", moment(webhook.last_success)),
        ("note", webhook.description.clone()),
    ];
    lines.iter().try_for_each(|(name, value)| writeln!(out, "{name:<11}{value}"))
}

/// Deliveries, newest first.
pub(super) fn deliveries(out: &mut dyn Write, deliveries: &[DeliveryView]) -> io::Result<()> {
    let row = |delivery: &DeliveryView| {
        let state = match (delivery.status, delivery.due) {
            (DeliveryStatus::Delivered, _) => "delivered".to_owned(),
            (DeliveryStatus::Failed, _) => "failed".to_owned(),
            (DeliveryStatus::Pending, due) => {
                due.map_or_else(|| "waits".to_owned(), |due| format!("waits until {}", rfc3339(due.0)))
            }
        };
        vec![
            delivery.id.clone(),
            delivery.event.clone(),
            delivery.task.clone().unwrap_or_else(|| "-".to_owned()),
            state,
            delivery.attempts.len().to_string(),
            delivery.attempts.last().map_or_else(|| "-".to_owned(), attempt),
        ]
    };
    table(out, &["DELIVERY", "EVENT", "TASK", "STATE", "ATTEMPTS", "LAST"], deliveries.iter().map(row))
}

fn state(webhook: &WebhookView) -> String {
    match &webhook.disabled_reason {
        Some(reason) => format!("disabled: {reason}"),
        None => "enabled".to_owned(),
    }
}

fn attempt(attempt: &AttemptView) -> String {
    match attempt.status {
        Some(status) => format!("{status} in {} ms", attempt.took_ms),
        None => attempt.problem.clone(),
    }
}

/// How many events were sent again, and how to go on.
pub(super) fn resent(out: &mut dyn Write, resent: &ResentRange) -> io::Result<()> {
    writeln!(out, "{} events are sent again", resent.resent)?;
    match &resent.next {
        Some(cursor) => writeln!(out, "there are more: --cursor {cursor}"),
        None => Ok(()),
    }
}
