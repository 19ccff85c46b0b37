//! The rules of webhooks themselves: made, edited, rotated, removed.

use gatehouse_model::{CustomerId, UnixMs, WebhookId};

use crate::commands::command::Applied;
use crate::commands::rejection::{Rejection, Ruling, Stop, customer_of};
use crate::records::webhook::{
    BY_CUSTOMER, BY_OPERATOR, Disabled, MAX_DESCRIPTION, MAX_OWN_WEBHOOKS, MAX_URL, MAX_WEBHOOKS, OldSecret,
    SealedSecret, WebhookEndpoint, WebhookEvent, WebhookPolicy,
};
use crate::storage::ledger_storage::LedgerStorage;
use crate::webhooks::operators::operators;
use crate::webhooks::schedule::SECRET_OVERLAP;

pub(crate) fn add<B: LedgerStorage>(storage: &mut B, webhook: Box<WebhookEndpoint>) -> Ruling<Applied, B> {
    check(&webhook.customer, &webhook.policy()).map_err(Stop::Rejected)?;
    if webhook.pending != 0 || webhook.last_attempt.is_some() || webhook.old_secret.is_some() {
        return Err(malformed("webhook", "expected one that has sent nothing yet"));
    }
    // Those of the operators belong to no customer.
    if webhook.customer != operators() || webhook.made_by.is_some() {
        customer_of(storage, &webhook.customer)?;
    }
    if storage.webhook(webhook.id)?.is_some() {
        return Err(malformed("id", "expected the id of no other webhook"));
    }
    // Neither an operator nor a customer takes the other's room.
    let limit = if webhook.made_by.is_some() { MAX_OWN_WEBHOOKS } else { MAX_WEBHOOKS };
    let before = storage.webhooks_of(&webhook.customer)?;
    if before.iter().filter(|other| other.made_by.is_some() == webhook.made_by.is_some()).count() >= limit {
        return Err(Stop::Rejected(Rejection::TooManyWebhooks(limit)));
    }
    storage.put_webhook(&webhook)?;
    Ok(Applied::Webhook(webhook))
}

pub(crate) fn edit<B: LedgerStorage>(
    storage: &mut B,
    id: WebhookId,
    revision: u64,
    policy: WebhookPolicy,
    by_customer: bool,
    by_word: bool,
    at: UnixMs,
) -> Ruling<Applied, B> {
    let mut webhook = find(storage, id)?;
    check(&webhook.customer, &policy).map_err(Stop::Rejected)?;
    if webhook.revision != revision {
        let current = webhook.revision;
        return Err(Stop::Rejected(Rejection::WebhookChanged { webhook: id, given: revision, current }));
    }
    let WebhookPolicy { url, events, description, enabled } = policy;
    (webhook.url, webhook.events, webhook.description) = (url, events, description);
    match (enabled, &webhook.disabled) {
        (true, Some(_)) => (webhook.disabled, webhook.failing_since) = (None, None),
        (true, None) => {}
        (false, before) => {
            let by = if by_customer { BY_CUSTOMER } else { BY_OPERATOR };
            // An operator's word holds against the customer, who could take back its own and the gateway's.
            let takes_over = by_word && !by_customer && !webhook.is_disabled_by_operator();
            if before.is_none() || takes_over {
                webhook.disabled = Some(Disabled { at, reason: by.to_owned() });
            }
        }
    }
    put(storage, webhook)
}

pub(crate) fn remove<B: LedgerStorage>(storage: &mut B, id: WebhookId) -> Ruling<Applied, B> {
    let webhook = find(storage, id)?;
    storage.remove_webhook(&webhook)?;
    Ok(Applied::Done)
}

pub(crate) fn rotate<B: LedgerStorage>(
    storage: &mut B,
    id: WebhookId,
    secret: SealedSecret,
    at: UnixMs,
) -> Ruling<Applied, B> {
    let mut webhook = find(storage, id)?;
    let old = std::mem::replace(&mut webhook.secret, secret);
    webhook.old_secret = Some(OldSecret { secret: old, until: at.plus(SECRET_OVERLAP) });
    put(storage, webhook)
}

pub(crate) fn retire<B: LedgerStorage>(storage: &mut B, id: WebhookId) -> Ruling<Applied, B> {
    let mut webhook = find(storage, id)?;
    if webhook.old_secret.take().is_none() {
        return Ok(Applied::Webhook(Box::new(webhook)));
    }
    put(storage, webhook)
}

pub(crate) fn find<B: LedgerStorage>(storage: &B, id: WebhookId) -> Ruling<WebhookEndpoint, B> {
    storage.webhook(id)?.ok_or(Stop::Rejected(Rejection::NoWebhook(id)))
}

fn put<B: LedgerStorage>(storage: &mut B, webhook: WebhookEndpoint) -> Ruling<Applied, B> {
    let revision = webhook.revision.saturating_add(1);
    let webhook = WebhookEndpoint { revision, ..webhook };
    storage.put_webhook(&webhook)?;
    Ok(Applied::Webhook(Box::new(webhook)))
}

fn check(owner: &CustomerId, policy: &WebhookPolicy) -> Result<(), Rejection> {
    let WebhookPolicy { url, events, description, .. } = policy;
    if url.is_empty() || url.len() > MAX_URL {
        let problem = format!("expected 1 to {MAX_URL} bytes, not {}", url.len());
        return Err(Rejection::malformed("url", problem));
    }
    if description.len() > MAX_DESCRIPTION {
        let problem = format!("expected at most {MAX_DESCRIPTION} bytes, not {}", description.len());
        return Err(Rejection::malformed("description", problem));
    }
    let repeats = events.iter().enumerate().any(|(at, event)| events[..at].contains(event));
    let allowed = WebhookEvent::all_of(owner);
    if repeats || events.iter().any(|event| !allowed.contains(event)) {
        let names = allowed.iter().map(|event| event.as_str()).collect::<Vec<_>>().join(", ");
        return Err(Rejection::malformed("events", format!("expected some of {names}, each once")));
    }
    Ok(())
}

fn malformed<E>(field: &'static str, problem: &str) -> Stop<E> {
    Stop::Rejected(Rejection::malformed(field, problem))
}
