//! What the operators' own webhooks are told: of accounts that cannot be used, and of canaries that were rolled back. Decided by
//! the command that keeps the news, in its commit.
//!
//! These webhooks belong to no customer: they are kept under the one name that no customer can have.

use gatehouse_model::{CustomerId, Digest, UnixMs};
use serde::Serialize;

use crate::records::webhook::WebhookEvent;
use crate::storage::ledger_storage::LedgerStorage;
use crate::webhooks::deliveries::{enqueue, new};
use crate::webhooks::payload::{body_of, event_id};

/// A version that failed its canary.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct RolledBackCanary<'a> {
    pub(crate) family: &'a str,
    /// The version that serves again.
    pub(crate) version: &'a str,
    pub(crate) digest: Option<Digest>,
    /// The one that was rolled back.
    pub(crate) rolled_back: Option<Digest>,
    pub(crate) reason: &'a str,
}

/// An account that cannot be used, or can be again.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct AccountNews<'a> {
    pub(crate) provider: &'a str,
    pub(crate) account: &'a str,
    /// Since when it could not be used.
    pub(crate) since: &'a str,
    pub(crate) reason: &'a str,
}

/// Whose webhooks those of the operators are.
#[must_use]
pub fn operators() -> CustomerId {
    CustomerId(String::new())
}

/// Tells that a canary was rolled back at that moment; once, however many reports say so.
pub(crate) fn canary_rolled_back<B: LedgerStorage>(
    storage: &mut B,
    news: &RolledBackCanary<'_>,
    at: UnixMs,
) -> Result<(), B::Error> {
    let digest = news.rolled_back.map(|digest| digest.0).unwrap_or_default();
    tell(storage, WebhookEvent::CanaryRolledBack, news, &[news.family.as_bytes(), &digest], at)
}

/// Tells that an account cannot be used, or can be again.
pub(crate) fn account<B: LedgerStorage>(
    storage: &mut B,
    is_down: bool,
    news: &AccountNews<'_>,
    at: UnixMs,
) -> Result<(), B::Error> {
    let event = if is_down { WebhookEvent::AccountDown } else { WebhookEvent::AccountUp };
    let about = [news.provider.as_bytes(), news.account.as_bytes(), news.since.as_bytes()];
    tell(storage, event, news, &about, at)
}

/// Writes a delivery for every webhook of the operators that takes it; what was told before is not told again.
fn tell<B: LedgerStorage>(
    storage: &mut B,
    event: WebhookEvent,
    data: &impl Serialize,
    about: &[&[u8]],
    at: UnixMs,
) -> Result<(), B::Error> {
    let operators = operators();
    for webhook in storage.webhooks_of(&operators)? {
        if !webhook.takes(event) {
            continue;
        }
        let number = webhook.id.bits().to_be_bytes();
        let common: [&[u8]; 3] = [b"operators' event", &number, event.as_str().as_bytes()];
        let id = event_id(&[&common[..], about].concat(), at);
        if storage.delivery(id)?.is_none() {
            let delivery = new(id, webhook.id, &operators, event, body_of(event, at, data), at);
            enqueue(storage, webhook, &delivery, at)?;
        }
    }
    Ok(())
}
