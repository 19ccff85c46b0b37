//! Webhooks that customers make with their own keys: read and changed by their owner alone, each change with its line in the
//! audit record.
//!
//! Those that operators made for a customer are unknown here: its keys neither see nor change where operators listen. What is
//! sent, and what a customer may have, are rules of `tasks`.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use gatehouse_model::{DeliveryId, Digest, Key, RateVerdict, RequestId, Task, UnixMs, WebhookId};
use gatehouse_store::{DeliveryQuery, StoreError};
use gatehouse_tasks::{
    AdminIdempotency, Applied, AuditedRequest, Command, FieldChange, Rejection, SealedSecret, WebhookChange,
    WebhookDelivery, WebhookEndpoint, WebhookEvent, WebhookPolicy, callback_of, shown_url,
};
use serde_json::Value;

use crate::detached::detached;
use crate::errors::{SubmitError, WebhookError};
use crate::rates::{RateId, RateLimiter};
use crate::shared::Shared;
use crate::webhook_secret::WebhookSecret;

/// Changes of webhooks a minute, of one key and those of its rotations: each leaves a line in the audit record.
const CHANGES_A_MINUTE: NonZeroU32 = NonZeroU32::new(30).expect("not zero");
/// How often a change is tried while others come before it.
const MAX_TRIES: u32 = 16;

/// A customer's request that changes its webhooks.
#[derive(Clone, Debug)]
pub struct WebhookRequest {
    /// The key it came with.
    pub key: Arc<Key>,
    /// Its id, which the answer carries.
    pub id: RequestId,
    /// The client's address, for the audit record.
    pub client: String,
    /// Recognises a repetition: the client's key, and a digest of the request.
    pub idempotency: Option<(String, Digest)>,
    /// What is to be done.
    pub action: WebhookAction,
}

/// What a customer may do.
#[derive(Clone, Debug)]
pub enum WebhookAction {
    /// Makes one.
    Create(WebhookPolicy),
    /// Changes what is given of one.
    Edit(WebhookId, WebhookPatch),
    /// Another secret; the one before signs too for a day.
    Rotate(WebhookId),
    /// Sends an event that only tries it out.
    Test(WebhookId),
    /// Forgets it, with what waits.
    Remove(WebhookId),
}

impl WebhookAction {
    /// The webhook that there must be for it.
    const fn webhook(&self) -> Option<WebhookId> {
        match self {
            Self::Create(_) => None,
            Self::Edit(id, _) | Self::Rotate(id) | Self::Test(id) | Self::Remove(id) => Some(*id),
        }
    }

    /// As the audit record names it.
    const fn operation(&self) -> &'static str {
        match self {
            Self::Create(_) => "createOwnWebhook",
            Self::Edit(..) => "editOwnWebhook",
            Self::Rotate(_) => "rotateOwnWebhook",
            Self::Test(_) => "testOwnWebhook",
            Self::Remove(_) => "removeOwnWebhook",
        }
    }
}

/// The fields of a webhook that are to change.
#[derive(Clone, Debug, Default)]
pub struct WebhookPatch {
    /// Where events are posted to.
    pub url: Option<String>,
    /// Which events; empty for all.
    pub events: Option<Vec<WebhookEvent>>,
    /// For people.
    pub description: Option<String>,
    /// Whether anything is sent.
    pub enabled: Option<bool>,
}

/// What became of a change.
#[derive(Clone, Debug)]
pub struct ChangedWebhook {
    /// The webhook's id.
    pub id: WebhookId,
    /// The webhook after the change, or as it is now where the request came before; nothing where it was removed, or only tried
    /// out.
    pub webhook: Option<WebhookEndpoint>,
    /// The secret that the request made, to be shown this one time.
    pub secret: Option<String>,
    /// The delivery that the request made.
    pub delivery: Option<WebhookDelivery>,
    /// Whether the request came before: nothing was changed now.
    pub repeated: bool,
}

/// What became of the `callback_url` that a task was submitted with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskCallback {
    /// The address, without its query.
    pub url: String,
    /// What was sent; nothing before the task's end, and once deliveries of that time are forgotten.
    pub delivery: Option<WebhookDelivery>,
    /// Whether the task has ended.
    pub is_over: bool,
}

/// A change before it is committed.
struct Prepared {
    /// Nothing for a request that came before.
    change: Option<WebhookChange>,
    webhook: WebhookId,
    /// What a repetition is answered with.
    made: String,
    fields: Vec<FieldChange>,
    secret: Option<WebhookSecret>,
}

impl Prepared {
    fn nothing(webhook: WebhookId) -> Self {
        Self { change: None, webhook, made: webhook.to_string(), fields: Vec::new(), secret: None }
    }
}

/// Customers' own webhooks.
pub struct OwnWebhooks {
    pub(crate) shared: Arc<Shared>,
    /// The changes that each key has made.
    pub(crate) changes: RateLimiter,
}

impl OwnWebhooks {
    /// The webhooks that the customer's keys made, oldest first.
    pub async fn own_webhooks(&self, key: &Key) -> Result<Vec<WebhookEndpoint>, StoreError> {
        let webhooks = self.shared.store.webhooks_of(&key.customer).await?;
        Ok(webhooks.into_iter().filter(|webhook| webhook.made_by.is_some()).collect())
    }

    /// One of them.
    pub async fn own_webhook(&self, key: &Key, id: WebhookId) -> Result<Option<WebhookEndpoint>, StoreError> {
        Ok(self.own_webhooks(key).await?.into_iter().find(|webhook| webhook.id == id))
    }

    /// A page of its deliveries, newest first, and whether more follow; `None` where there is no such webhook.
    pub async fn own_deliveries(
        &self,
        key: &Key,
        id: WebhookId,
        after: Option<DeliveryId>,
        limit: usize,
    ) -> Result<Option<(Vec<WebhookDelivery>, bool)>, StoreError> {
        if self.own_webhook(key, id).await?.is_none() {
            return Ok(None);
        }
        let query = DeliveryQuery { webhook: id, pending: false };
        let page = self.shared.store.list_deliveries(query, after, limit).await?;
        Ok(Some((page.rows, page.next.is_some())))
    }

    /// What became of the callback of a task of this customer; `None` where it has none.
    pub async fn own_callback(&self, task: &Task) -> Result<Option<TaskCallback>, StoreError> {
        let Some(url) = &task.callback else { return Ok(None) };
        let delivery = match callback_of(task) {
            Some(id) => self.shared.store.delivery(id).await?,
            None => None,
        };
        Ok(Some(TaskCallback { url: shown_url(url), delivery, is_over: task.finished.is_some() }))
    }

    /// Changes one of them, also where the client leaves meanwhile.
    ///
    /// # Errors
    /// [`WebhookError`]; nothing was changed.
    pub async fn change_own_webhook(
        self: &Arc<Self>,
        request: WebhookRequest,
    ) -> Result<ChangedWebhook, WebhookError> {
        let own = Arc::clone(self);
        detached(Bytes::new(), async move { own.change_now(request).await }).await
    }

    /// The secret that signs the callbacks of tasks which are submitted with this key.
    #[must_use]
    pub fn callback_secret(&self, key: &Key) -> String {
        WebhookSecret::of_key(&self.shared.pepper, &key.id).reveal()
    }

    async fn change_now(&self, request: WebhookRequest) -> Result<ChangedWebhook, WebhookError> {
        let at = self.shared.now();
        self.take_change(&request.key, at)?;
        // A request names the fields that are to change, so it holds for whatever another one has made of the webhook.
        for _ in 1..MAX_TRIES {
            match self.try_change(&request, at).await {
                Err(WebhookError::Changed(_)) => {}
                outcome => return outcome,
            }
        }
        self.try_change(&request, at).await
    }

    async fn try_change(&self, request: &WebhookRequest, at: UnixMs) -> Result<ChangedWebhook, WebhookError> {
        let (key, action) = (&request.key, &request.action);
        let idempotency = request.idempotency.as_ref().map(|(token, fingerprint)| AdminIdempotency {
            token: Digest::of_fields(&[b"customer", key.id.0.as_bytes(), token.as_bytes()]),
            fingerprint: *fingerprint,
            object: String::new(),
            expires: at.plus(self.shared.config.idempotency_lifetime()),
        });
        // What the first one did may be why the same could not be done now: the webhook is gone, or disabled.
        let prepared = match action.webhook() {
            Some(id) if self.came_before(idempotency.as_ref(), at).await? => Prepared::nothing(id),
            _ => self.prepare(request, at).await?,
        };
        let Prepared { change, webhook, made, fields, secret } = prepared;
        let audit = AuditedRequest {
            id: request.id,
            who: format!("key {}", key.id),
            role: "customer".to_owned(),
            address: request.client.clone(),
            operation: action.operation().to_owned(),
            object: format!("webhooks/{webhook}"),
            status: 200,
            reason: String::new(),
            changes: fields,
        };
        let idempotency = idempotency.map(|memory| AdminIdempotency { object: made, ..memory });
        let change = change.map(|change| Box::new(Command::Webhook { change: Box::new(change), at }));
        let command = Command::Administer { change, audit: Box::new(audit), idempotency, at };
        // What the change has left is in the store's answer: a read that fails now would lose the secret, and have the client make
        // the change again.
        let left = match self.shared.store.execute(command).await?? {
            Applied::Administered { change: Some(left), .. } => *left,
            Applied::Administered { object, .. } => {
                return self.answer_again(key, action, webhook, &object).await;
            }
            other => {
                let message = format!("expected a change of webhooks, got {other:?}");
                return Err(SubmitError::Internal(message).into());
            }
        };
        let (id, secret) = (webhook, secret.map(|secret| secret.reveal()));
        let (webhook, delivery) = match left {
            Applied::Webhook(row) => (Some(*row), None),
            Applied::Delivery(row) => (None, Some(*row)),
            _ => (None, None),
        };
        Ok(ChangedWebhook { id, webhook, secret, delivery, repeated: false })
    }

    /// The answer to a repetition: what has become of what the first request `made`. Nothing is changed, and the secret was shown
    /// then.
    async fn answer_again(
        &self,
        key: &Key,
        action: &WebhookAction,
        minted: WebhookId,
        made: &str,
    ) -> Result<ChangedWebhook, WebhookError> {
        let delivery = match made.parse::<DeliveryId>() {
            Ok(delivery) => self.shared.store.delivery(delivery).await?,
            Err(_) => None,
        };
        let id = action.webhook().or_else(|| made.parse().ok()).unwrap_or(minted);
        let webhook = self.own_webhook(key, id).await?;
        let is_removal = matches!(action, WebhookAction::Remove(_));
        if webhook.is_none() && delivery.is_none() && !is_removal {
            return Err(WebhookError::Unknown(id));
        }
        Ok(ChangedWebhook { id, webhook, secret: None, delivery, repeated: true })
    }

    /// Whether a request with the same idempotency key is remembered. The commit judges whether it was the same request.
    async fn came_before(&self, memory: Option<&AdminIdempotency>, at: UnixMs) -> Result<bool, WebhookError> {
        let Some(memory) = memory else { return Ok(false) };
        let found = self.shared.store.admin_idempotency_record(&memory.token).await?;
        Ok(found.is_some_and(|record| at < record.expires))
    }

    /// The change that a request means.
    async fn prepare(&self, request: &WebhookRequest, at: UnixMs) -> Result<Prepared, WebhookError> {
        let key = &request.key;
        let prepared =
            |id, change, fields| Prepared { change: Some(change), fields, ..Prepared::nothing(id) };
        Ok(match &request.action {
            WebhookAction::Create(policy) => {
                self.check_address(&policy.url)?;
                self.check_allowed(key, &policy.url).await?;
                let (id, policy) = (WebhookId::new(at, &*self.shared.seed), policy.clone());
                let (secret, sealed) = self.mint(id, at);
                let fields = changes(None, Some(&policy));
                let (owner, made_by) = (key.customer.clone(), Some(key.id.clone()));
                let webhook = WebhookEndpoint::new(id, owner, policy, sealed, made_by);
                let change = WebhookChange::Add(Box::new(webhook));
                Prepared { secret: Some(secret), ..prepared(id, change, fields) }
            }
            WebhookAction::Edit(id, patch) => {
                let webhook = self.owned(key, *id).await?;
                let policy = self.patched(&webhook, patch.clone())?;
                // It may have been off when an operator stopped another one at its address.
                let is_switched_on = policy.enabled && webhook.disabled.is_some();
                if is_switched_on || policy.url != webhook.url {
                    self.check_allowed(key, &policy.url).await?;
                }
                let fields = changes(Some(&webhook.policy()), Some(&policy));
                let (id, revision, by_customer, by_word) = (*id, webhook.revision, true, false);
                let change = WebhookChange::Edit { id, revision, policy, by_customer, by_word };
                prepared(id, change, fields)
            }
            WebhookAction::Rotate(id) => {
                let id = self.owned(key, *id).await?.id;
                let (secret, sealed) = self.mint(id, at);
                let change = WebhookChange::Rotate { id, secret: sealed };
                Prepared { secret: Some(secret), ..prepared(id, change, Vec::new()) }
            }
            WebhookAction::Test(id) => {
                let id = self.owned(key, *id).await?.id;
                let delivery = DeliveryId::new(at, &*self.shared.seed);
                let change = WebhookChange::Test { id, delivery };
                Prepared { made: delivery.to_string(), ..prepared(id, change, Vec::new()) }
            }
            WebhookAction::Remove(id) => {
                let webhook = self.owned(key, *id).await?;
                // What an operator stopped stays in sight.
                if webhook.is_disabled_by_operator() {
                    return Err(WebhookError::DisabledByOperator(webhook.id));
                }
                let fields = changes(Some(&webhook.policy()), None);
                prepared(webhook.id, WebhookChange::Remove { id: webhook.id }, fields)
            }
        })
    }

    async fn owned(&self, key: &Key, id: WebhookId) -> Result<WebhookEndpoint, WebhookError> {
        self.own_webhook(key, id).await?.ok_or(WebhookError::Unknown(id))
    }

    fn mint(&self, id: WebhookId, at: UnixMs) -> (WebhookSecret, SealedSecret) {
        let secret = WebhookSecret::mint(&*self.shared.seed);
        let sealed = secret.seal(&self.shared.pepper, id, at, &*self.shared.seed);
        (secret, sealed)
    }

    fn patched(&self, webhook: &WebhookEndpoint, patch: WebhookPatch) -> Result<WebhookPolicy, WebhookError> {
        let mut policy = webhook.policy();
        if let Some(url) = patch.url {
            self.check_address(&url)?;
            policy.url = url;
        }
        policy.events = patch.events.unwrap_or(policy.events);
        policy.description = patch.description.unwrap_or(policy.description);
        policy.enabled = patch.enabled.unwrap_or(policy.enabled);
        // A move would free the address: nothing there would be known as stopped any more.
        let goes_on = policy.enabled || policy.url != webhook.url;
        if goes_on && webhook.is_disabled_by_operator() {
            return Err(WebhookError::DisabledByOperator(webhook.id));
        }
        Ok(policy)
    }

    fn check_address(&self, url: &str) -> Result<(), WebhookError> {
        let checked = self.shared.check_webhook_url(url);
        checked.map_err(|problem| SubmitError::wrong_field("url", problem).into())
    }

    /// Refuses an address at which an operator stopped a webhook of this customer.
    async fn check_allowed(&self, key: &Key, url: &str) -> Result<(), WebhookError> {
        match self.shared.is_stopped_address(&key.customer, url).await? {
            true => Err(WebhookError::StoppedAddress(shown_url(url))),
            false => Ok(()),
        }
    }

    /// Counts one more change of the key's webhooks.
    fn take_change(&self, key: &Key, now: UnixMs) -> Result<(), WebhookError> {
        let id = RateId { lineage: key.lineage().clone(), model: None, tokens: false };
        let mut states = self.changes.lock();
        let state = states.of_mut(&id, now);
        let wait = match state.check(CHANGES_A_MINUTE, 1, now) {
            RateVerdict::Now => {
                state.take(CHANGES_A_MINUTE, 1, now);
                return Ok(());
            }
            RateVerdict::After(wait) => wait,
            // One is never more than the limit.
            RateVerdict::Never => Duration::ZERO,
        };
        Err(WebhookError::TooOften { limit: CHANGES_A_MINUTE, wait })
    }
}

impl From<Rejection> for WebhookError {
    fn from(rejection: Rejection) -> Self {
        match rejection {
            Rejection::NoWebhook(id) => Self::Unknown(id),
            Rejection::Malformed { field, problem } => SubmitError::wrong_field(field, problem).into(),
            Rejection::IdempotencyConflict => SubmitError::IdempotencyConflict.into(),
            Rejection::WebhookChanged { webhook, .. } => Self::Changed(webhook),
            rejection @ (Rejection::TooManyWebhooks(_) | Rejection::WebhookDisabled(_)) => {
                Self::Conflict(rejection.to_string())
            }
            other => SubmitError::Internal(format!("the store answered a change of webhooks with {other:?}"))
                .into(),
        }
    }
}

/// The fields that change, for the audit record: an address without its query, even where that is all that changes.
fn changes(before: Option<&WebhookPolicy>, after: Option<&WebhookPolicy>) -> Vec<FieldChange> {
    let fields = |policy: &WebhookPolicy| -> [(&'static str, Value); 4] {
        let events: Vec<&str> = policy.events.iter().map(|event| event.as_str()).collect();
        [
            ("url", policy.url.clone().into()),
            ("events", events.into()),
            ("description", policy.description.clone().into()),
            ("enabled", policy.enabled.into()),
        ]
    };
    let (before, after) = (before.map(fields), after.map(fields));
    let names = before.as_ref().or(after.as_ref()).into_iter().flatten().map(|(name, _)| *name);
    let changed = names.enumerate().filter_map(|(at, name)| {
        let of =
            |fields: &Option<[(&'static str, Value); 4]>| fields.as_ref().map(|fields| fields[at].1.clone());
        let shown = |value: Value| match (name, &value) {
            ("url", Value::String(url)) => Value::from(shown_url(url)).to_string(),
            _ => value.to_string(),
        };
        let (old, new) = (of(&before), of(&after));
        (old != new).then(|| FieldChange {
            field: name.to_owned(),
            before: old.map(shown),
            after: new.map(shown),
        })
    });
    changed.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without it the record would not tell what a removed webhook was, or that its receiver has changed.
    #[test]
    fn the_audit_record_has_every_field_that_changes_and_no_query() {
        let policy = |url: &str, enabled| WebhookPolicy {
            url: url.to_owned(),
            events: vec![WebhookEvent::Failed],
            description: String::new(),
            enabled,
        };
        let old = policy("https://example.com/hook?token=1", true);
        let [plain, off] = [policy("https://example.com/hook", true), policy(&old.url, false)];
        let token = policy("https://example.com/hook?token=2", true);
        let shown = Some("\"https://example.com/hook?...\"");
        for (before, after, expected) in [
            (Some(&old), Some(&old), vec![]),
            (Some(&old), Some(&off), vec![("enabled", Some("true"), Some("false"))]),
            (Some(&old), Some(&token), vec![("url", shown, shown)]),
            (Some(&old), Some(&plain), vec![("url", shown, Some("\"https://example.com/hook\""))]),
            (
                Some(&old),
                None,
                vec![
                    ("url", shown, None),
                    ("events", Some("[\"task.failed\"]"), None),
                    ("description", Some("\"\""), None),
                    ("enabled", Some("true"), None),
                ],
            ),
            (
                None,
                Some(&old),
                vec![
                    ("url", None, shown),
                    ("events", None, Some("[\"task.failed\"]")),
                    ("description", None, Some("\"\"")),
                    ("enabled", None, Some("true")),
                ],
            ),
        ] {
            let found = changes(before, after);
            let found: Vec<_> = found
                .iter()
                .map(|change| (change.field.as_str(), change.before.as_deref(), change.after.as_deref()))
                .collect();
            assert_eq!(found, expected);
        }
    }
}
