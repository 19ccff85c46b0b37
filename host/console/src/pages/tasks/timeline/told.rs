//! Rows of the timeline about webhooks: the event that was made, and every attempt to deliver it.

use gatehouse_admin::{DeliveryState, WebhookAttempt, WebhookDelivery};
use gatehouse_model::UnixMs;
use maud::{Markup, html};

use crate::format::moment;
use crate::parts::elements::Tone;

/// The tone, the word and the text of a row; without an attempt, of the event itself.
pub(super) fn row(
    delivery: &WebhookDelivery,
    attempt: Option<&WebhookAttempt>,
    now: UnixMs,
) -> (Tone, &'static str, Markup) {
    let link = html! { a href={ "/webhooks/" (delivery.webhook) } { code { (delivery.webhook) } } };
    match attempt {
        None => {
            let (tone, state) = match &delivery.state {
                DeliveryState::Pending { due } => (Tone::Warn, html! { "next attempt " (moment(*due, now)) }),
                DeliveryState::Delivered { .. } => (Tone::Ok, html! { "delivered" }),
                DeliveryState::Failed { reason, .. } => (Tone::Error, html! { "failed: " (reason) }),
            };
            (tone, "webhook", html! { (delivery.event.as_str()) " for " (link) ", " (state) })
        }
        Some(attempt) if attempt.succeeded() => {
            (Tone::Ok, "told", html! { (link) " answered " (attempt.status.unwrap_or_default()) })
        }
        Some(attempt) => (Tone::Error, "not told", html! { (link) ": " (attempt.problem()) }),
    }
}
