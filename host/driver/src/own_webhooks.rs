//! Webhooks that customers make with their own keys: read and changed by their owner alone, each change with its line in the
//! audit record.
//!
//! Those that operators made for a customer are unknown here: its keys neither see nor change where operators listen. What is
//! sent, and what a customer may have, are rules of `tasks`.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use gatehouse_model::{
    Clock, DeliveryId, Digest, Key, Pepper, RateVerdict, RequestId, Seed, UnixMs, WebhookId,
};
use gatehouse_store::{DeliveryQuery, Store, StoreError};
use gatehouse_tasks::{
    AdminIdempotency, Applied, AuditedRequest, Command, FieldChange, MAX_OWN_WEBHOOKS, MAX_WEBHOOKS,
    Rejection, WebhookChange, WebhookDelivery, WebhookEndpoint, WebhookEvent, WebhookPolicy, shown_url,
};
use gatehouse_upstream::Upstream;
use serde_json::Value;

use crate::detached::detached;
use crate::errors::{SubmitError, WebhookError};
use crate::rates::{RateId, RateLimiter};
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
    /// The webhook, as it is now; as it was, where it was removed.
    pub webhook: WebhookEndpoint,
    /// The secret that the request made, to be shown this one time.
    pub secret: Option<String>,
    /// The delivery that the request made.
    pub delivery: Option<WebhookDelivery>,
    /// Whether the request came before: nothing was changed now.
    pub repeated: bool,
}

/// A change before it is committed.
struct Prepared {
    change: WebhookChange,
    operation: &'static str,
    webhook: WebhookId,
    /// What a repetition is answered with.
    made: String,
    fields: Vec<FieldChange>,
    secret: Option<WebhookSecret>,
}

/// Customers' own webhooks.
pub(crate) struct OwnWebhooks {
    pub(crate) store: Store,
    pub(crate) upstream: Upstream,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) seed: Arc<dyn Seed>,
    pub(crate) pepper: Pepper,
    pub(crate) over_http: bool,
    /// How long a request with an idempotency key is remembered.
    pub(crate) remembered: Duration,
    /// The changes that each key has made.
    pub(crate) changes: RateLimiter,
}

impl OwnWebhooks {
    /// The webhooks that the customer's keys made, oldest first.
    ///
    /// # Errors
    /// A failed store.
    pub(crate) async fn list(&self, key: &Key) -> Result<Vec<WebhookEndpoint>, StoreError> {
        let most = MAX_WEBHOOKS + MAX_OWN_WEBHOOKS;
        let page = self.store.list_webhooks(Some(key.customer.clone()), None, most).await?;
        Ok(page.rows.into_iter().filter(|webhook| webhook.made_by.is_some()).collect())
    }

    /// One of them.
    ///
    /// # Errors
    /// A failed store.
    pub(crate) async fn find(&self, key: &Key, id: WebhookId) -> Result<Option<WebhookEndpoint>, StoreError> {
        Ok(self.list(key).await?.into_iter().find(|webhook| webhook.id == id))
    }

    /// A page of its deliveries, newest first, and whether more follow; `None` where there is no such webhook.
    ///
    /// # Errors
    /// A failed store.
    pub(crate) async fn deliveries(
        &self,
        key: &Key,
        id: WebhookId,
        (after, limit): (Option<DeliveryId>, usize),
    ) -> Result<Option<(Vec<WebhookDelivery>, bool)>, StoreError> {
        if self.find(key, id).await?.is_none() {
            return Ok(None);
        }
        let page =
            self.store.list_deliveries(DeliveryQuery { webhook: id, pending: false }, after, limit).await?;
        Ok(Some((page.rows, page.next.is_some())))
    }

    /// Changes a webhook. Runs to its end even if the client leaves meanwhile.
    ///
    /// # Errors
    /// [`WebhookError`]; nothing was changed.
    pub(crate) async fn change(
        self: &Arc<Self>,
        request: WebhookRequest,
    ) -> Result<ChangedWebhook, WebhookError> {
        let own = Arc::clone(self);
        detached(Bytes::new(), async move { own.change_now(request).await }).await
    }

    /// The secret that signs the callbacks of tasks which are submitted with this key.
    pub(crate) fn callback_secret(&self, key: &Key) -> String {
        WebhookSecret::of_key(&self.pepper, &key.id).reveal()
    }

    async fn change_now(&self, request: WebhookRequest) -> Result<ChangedWebhook, WebhookError> {
        let at = self.clock.now();
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
        let (before, prepared) = self.prepare(request, at).await?;
        let Prepared { change, operation, webhook, made, fields, secret } = prepared;
        let key = &request.key;
        let audit = AuditedRequest {
            id: request.id,
            who: format!("key {}", key.id),
            role: "customer".to_owned(),
            address: request.client.clone(),
            operation: operation.to_owned(),
            object: format!("webhooks/{webhook}"),
            status: 200,
            reason: String::new(),
            changes: fields,
        };
        let idempotency = request.idempotency.as_ref().map(|(token, fingerprint)| AdminIdempotency {
            token: Digest::of_fields(&[b"customer", key.id.0.as_bytes(), token.as_bytes()]),
            fingerprint: *fingerprint,
            object: made.clone(),
            expires: at.plus(self.remembered),
        });
        let change = Some(Box::new(Command::Webhook { change: Box::new(change), at }));
        let command = Command::Administer { change, audit: Box::new(audit), idempotency, at };
        let (made, repeated) = match self.store.execute(command).await.map_err(SubmitError::from)? {
            Ok(Applied::Administered { object, repeated: true, .. }) => (object, true),
            Ok(_) => (made, false),
            Err(rejection) => return Err(rejection.into()),
        };
        let delivery = match made.parse::<DeliveryId>() {
            Ok(delivery) => self.store.delivery(delivery).await.map_err(SubmitError::from)?,
            Err(_) => None,
        };
        let id = made.parse().unwrap_or(webhook);
        let now = self.find(key, id).await.map_err(SubmitError::from)?;
        let webhook = now.or(before).ok_or(WebhookError::Unknown(id))?;
        let secret = secret.filter(|_| !repeated).map(|secret| secret.reveal());
        Ok(ChangedWebhook { webhook, secret, delivery, repeated })
    }

    /// The change that a request means, and the webhook before it.
    async fn prepare(
        &self,
        request: &WebhookRequest,
        at: UnixMs,
    ) -> Result<(Option<WebhookEndpoint>, Prepared), WebhookError> {
        let key = &request.key;
        let prepared = |change, operation, webhook: WebhookId, fields| Prepared {
            change,
            operation,
            webhook,
            made: webhook.to_string(),
            fields,
            secret: None,
        };
        let id = match &request.action {
            WebhookAction::Create(policy) => {
                self.check_address(&policy.url)?;
                let id = WebhookId::new(at, &*self.seed);
                let (secret, policy) = (WebhookSecret::mint(&*self.seed), policy.clone());
                let sealed = secret.seal(&self.pepper, id, at, &*self.seed);
                let fields = changes(None, &policy);
                let owner = (id, key.customer.clone());
                let webhook = WebhookEndpoint::new(owner, policy, sealed, Some(key.id.clone()));
                let change = WebhookChange::Add(Box::new(webhook));
                let prepared = prepared(change, "createOwnWebhook", id, fields);
                return Ok((None, Prepared { secret: Some(secret), ..prepared }));
            }
            WebhookAction::Edit(id, _)
            | WebhookAction::Rotate(id)
            | WebhookAction::Test(id)
            | WebhookAction::Remove(id) => *id,
        };
        let found = self.find(key, id).await.map_err(SubmitError::from)?;
        let webhook = found.ok_or(WebhookError::Unknown(id))?;
        let prepared = match &request.action {
            WebhookAction::Edit(_, patch) => {
                let policy = self.patched(&webhook, patch.clone())?;
                let fields = changes(Some(&webhook.policy()), &policy);
                let revision = webhook.revision;
                let change = WebhookChange::Edit { id, revision, policy, by_customer: true };
                prepared(change, "editOwnWebhook", id, fields)
            }
            WebhookAction::Rotate(_) => {
                let secret = WebhookSecret::mint(&*self.seed);
                let sealed = secret.seal(&self.pepper, id, at, &*self.seed);
                let change = WebhookChange::Rotate { id, secret: sealed };
                Prepared { secret: Some(secret), ..prepared(change, "rotateOwnWebhook", id, Vec::new()) }
            }
            WebhookAction::Test(_) => {
                let delivery = DeliveryId::new(at, &*self.seed);
                let change = WebhookChange::Test { id, delivery };
                let made = delivery.to_string();
                Prepared { made, ..prepared(change, "testOwnWebhook", id, Vec::new()) }
            }
            WebhookAction::Remove(_) | WebhookAction::Create(_) => {
                prepared(WebhookChange::Remove { id }, "removeOwnWebhook", id, Vec::new())
            }
        };
        Ok((Some(webhook), prepared))
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
        if policy.enabled && webhook.is_disabled_by_operator() {
            return Err(WebhookError::DisabledByOperator(webhook.id));
        }
        Ok(policy)
    }

    fn check_address(&self, url: &str) -> Result<(), WebhookError> {
        let checked = self.upstream.fetcher().check_post_url(url, self.over_http);
        checked.map_err(|error| invalid("url", &error.to_string()))
    }

    /// Counts one more change of the key's webhooks.
    fn take_change(&self, key: &Key, now: UnixMs) -> Result<(), WebhookError> {
        let id = RateId { lineage: key.lineage().clone(), model: None, tokens: false };
        let mut states = self.changes.lock();
        let state = states.of_mut(&id, now);
        match state.check(CHANGES_A_MINUTE, 1, now) {
            RateVerdict::Now => {
                state.take(CHANGES_A_MINUTE, 1, now);
                Ok(())
            }
            RateVerdict::After(wait) => Err(WebhookError::TooOften { limit: CHANGES_A_MINUTE, wait }),
            // One is never more than the limit.
            RateVerdict::Never => {
                Err(WebhookError::TooOften { limit: CHANGES_A_MINUTE, wait: Duration::ZERO })
            }
        }
    }
}

fn invalid(field: &str, problem: &str) -> WebhookError {
    let (field, message) = (Some(field.to_owned()), format!("{field}: {problem}"));
    SubmitError::Invalid { field, message }.into()
}

impl From<Rejection> for WebhookError {
    fn from(rejection: Rejection) -> Self {
        match rejection {
            Rejection::NoWebhook(id) => Self::Unknown(id),
            Rejection::Malformed { field, problem } => invalid(field, &problem),
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

/// The fields that change, for the audit record: an address without its query.
fn changes(before: Option<&WebhookPolicy>, after: &WebhookPolicy) -> Vec<FieldChange> {
    let fields = |policy: &WebhookPolicy| -> [(&'static str, Value); 4] {
        let events: Vec<&str> = policy.events.iter().map(|event| event.as_str()).collect();
        [
            ("url", shown_url(&policy.url).into()),
            ("events", events.into()),
            ("description", policy.description.clone().into()),
            ("enabled", policy.enabled.into()),
        ]
    };
    let before = before.map(fields);
    let old = |at: usize| before.as_ref().map(|fields| fields[at].1.to_string());
    let new = fields(after).into_iter().enumerate().map(|(at, (name, value))| FieldChange {
        field: name.to_owned(),
        before: old(at),
        after: Some(value.to_string()),
    });
    new.filter(|change| change.before != change.after).collect()
}
