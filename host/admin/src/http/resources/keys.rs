//! `/keys`: API keys with their limits. The secret of a key is in the answer to its creation and nowhere else.
//!
//! What of a key an operator decides, as the API reads and writes it.

use std::collections::BTreeMap;
use std::time::Duration;

use gatehouse_model::{ChatFormat, Credits, CustomerId, Key, KeyId, KeyPolicy, Limits, UnixMs, view};
use gatehouse_store::{KeyQuery, KeyState};
use gatehouse_tasks::{Applied, Command, MAX_OVERLAP};
use ipnet::IpNet;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::api::values::{List, Moment, Period};
use crate::audit::told;
use crate::error::ApiError;
use crate::http::call::{Call, Outcome};
use crate::http::request::body::{changes, created, from_value, patched};
use crate::http::request::precondition::{Edited, check_edited};
use crate::http::request::query::{Form, Parameter, filter, filter_any, option};
use crate::http::route::Route;
use crate::reply::Reply;
use crate::service::{NewKey, before_prefix, of_prefix};

const FILTERS: [Parameter; 4] = [
    filter("customer", Form::Text, "Only keys of this customer."),
    filter("name", Form::Text, "Only keys whose name contains this text."),
    filter("id_prefix", Form::Text, "Only keys whose id begins with this."),
    filter_any("state", Form::OneOf(&["active", "expired", "revoked"]), "Only keys in one of these states."),
];

/// For both ways of naming models.
const FORCE: [Parameter; 1] = [option(
    "force",
    Form::Flag,
    "True: its models may come later; names that are not served now are taken.",
)];

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/keys", "listKeys", list)
            .says("Lists keys by id.")
            .query(&FILTERS)
            .paged()
            .returns::<List<ApiKeyView>>(),
        Route::post("/keys", "createKey", create)
            .says("Makes a key; its secret is shown this one time.")
            .query(&FORCE)
            .body::<NewApiKey>()
            .creates::<NewSecret>()
            .idempotent(),
        Route::get("/keys/{key}", "getKey", show)
            .says("Shows one key, never its secret.")
            .returns::<ApiKeyView>()
            .tagged(),
        Route::patch("/keys/{key}", "editKey", edit)
            .says("Changes what a key may do.")
            .query(&FORCE)
            .patches::<PolicyView>()
            .returns::<ApiKeyView>()
            .tagged(),
        Route::post("/keys/{key}/rotate", "rotateKey", rotate)
            .says("Makes a successor of a key; its secret is shown this one time.")
            .body::<Rotation>()
            .creates::<NewSecret>()
            .idempotent(),
        Route::post("/keys/{key}/revoke", "revokeKey", revoke)
            .says("Revokes a key at once.")
            .returns::<ApiKeyView>(),
    ]
}

view! {
    /// A key: its limits and what was spent through it.
    #[derive(Clone, Debug, Serialize, JsonSchema)]
    #[schemars(rename = "ApiKey")]
    struct ApiKeyView of ((key, at): (Key, UnixMs)) where {
        let quota = key.quota_use(at);
        let policy = PolicyView::from(key.policy());
        let state = match KeyState::of(&key, at) {
            KeyState::Active => State::Active,
            KeyState::Expired => State::Expired,
            KeyState::Revoked => State::Revoked,
        };
    } {
        /// The public part of the key; the key begins with `sk-` and this.
        id: String = key.id.0,
        /// The customer that pays.
        customer: String = key.customer.0,
        /// When it was made.
        created: Moment = key.created.into(),
        /// Whether it works.
        state: State = state,
        /// Held and spent through it and those that it replaced.
        used_micro: i64 = key.used.0,
        /// What of that counts against the quota now: all of it, or that of the present period. Null without a quota.
        quota_used_micro: Option<i64> = quota.map(|quota| quota.used.0),
        /// When the quota resets next; null where it never does.
        quota_resets: Option<Moment> = quota.and_then(|quota| quota.resets).map(Moment),
        /// Live tasks and open text requests at present, by model.
        open: BTreeMap<String, u32> = key.open,
        /// When it was revoked.
        revoked: Option<Moment> = key.revoked.map(Moment),
        /// Counts edits, rotations and the revocation.
        revision: u64 = key.revision,
        /// The key that it replaced.
        rotated_from: Option<String> = key.rotated_from.map(|id| id.0),
        /// The key that replaced it.
        rotated_to: Option<String> = key.rotated_to.map(|id| id.0),
        #[serde(flatten)]
        policy: PolicyView = policy,
    }
}

/// Whether a key works.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "ApiKeyState")]
enum State {
    Active,
    Expired,
    Revoked,
}

/// A key to be made.
// For the document: it is read in two parts, of which the second refuses an unknown field.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "describes a body that is read in two parts")]
struct NewApiKey {
    /// The customer that pays.
    customer: String,
    #[schemars(flatten)]
    policy: PolicyView,
}

/// How a key is replaced.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Rotation {
    /// How long the old key goes on working, at most seven days; zero ends it at once.
    #[serde(default)]
    overlap_ms: u64,
}

/// A new key.
#[derive(Debug, Serialize, JsonSchema)]
struct NewSecret {
    /// The key.
    key: ApiKeyView,
    /// The whole key, for the client. Null in the answer to a repetition: it is shown once.
    secret: Option<String>,
    /// Whether the secret is in this answer.
    secret_shown: bool,
}

impl Edited for ApiKeyView {
    fn revision(&self) -> u64 {
        self.revision
    }
}

async fn list(call: Call) -> Outcome {
    let state = |word: String| match word.as_str() {
        "expired" => KeyState::Expired,
        "revoked" => KeyState::Revoked,
        _ => KeyState::Active,
    };
    let query = KeyQuery {
        customer: call.query.one("customer").map(CustomerId::from),
        name: call.query.one("name").map(str::to_owned),
        states: call.query.all("state").into_iter().map(state).collect(),
        at: call.at,
    };
    let prefix = call.query.one("id_prefix");
    let after = call.position::<String>()?.or_else(|| prefix.map(before_prefix)).map(KeyId);
    let page = call.service.store.list_keys(query, after, call.query.limit()).await?;
    let page = of_prefix(page, prefix, |key| &key.id.0, |id| &id.0);
    let keys = page.rows.into_iter().map(|key| ApiKeyView::from((key, call.at))).collect();
    call.list(keys, page.next.map(|id| id.0))
}

async fn show(call: Call) -> Outcome {
    let key = shown(&call, call.path("key")).await?;
    call.object(&key, &key.etag())
}

async fn create(call: Call) -> Outcome {
    let mut fields: Map<String, Value> = call.json()?;
    let Some(Value::String(customer)) = fields.remove("customer") else {
        return Err(ApiError::field("customer", "customer: expected the id of a customer, as text"));
    };
    let policy: PolicyView = from_value(Value::Object(fields))?;
    let (customer, policy) = (CustomerId(customer), policy.policy()?);
    let new = NewKey { customer, policy, force: call.query.flag("force") };
    let (key, secret) = call.service.keys.mint(new)?;
    let view = ApiKeyView::from((key.clone(), call.at));
    let add = Command::AddKey { key: Box::new(key.clone()) };
    let committed = call.commit(add, object(&key.id), &key.id.0, 201, created(&view)).await?;
    let (key, secret) = match committed.before {
        Some(first) => (shown(&call, &first).await?, None),
        None => (view, Some(secret.0)),
    };
    let secret_shown = secret.is_some();
    Ok(Reply::created(&NewSecret { key, secret, secret_shown }))
}

async fn revoke(call: Call) -> Outcome {
    let id = KeyId::from(call.path("key"));
    let before = shown(&call, &id.0).await?;
    let mut after = before.clone();
    if before.revoked.is_none() {
        after.revoked = Some(Moment(call.at));
        after.state = State::Revoked;
    }
    let command = Command::RevokeKey { id: id.clone(), at: call.at };
    let committed = call.commit(command, object(&id), &id.0, 200, changes(&before, &after)).await?;
    let key = committed.shown(|left| left_of(left, call.at), shown(&call, &id.0)).await?;
    Ok(Reply::json(&key))
}

async fn edit(call: Call) -> Outcome {
    let row = find(&call, call.path("key")).await?;
    let before = ApiKeyView::from((row.clone(), call.at));
    check_edited(&call.headers, &before)?;
    let mut patch: Value = call.json()?;
    // By the models' own ids, as the key has them: another name would be merged beside its own.
    if let Some(Value::Object(limits)) = patch.get_mut("model_limits") {
        let named = std::mem::take(limits).into_iter().collect();
        *limits = call.service.keys.own_names(named, &row.model_limits)?.into_iter().collect();
    }
    let after: PolicyView = from_value(patched(&before.policy, patch)?)?;
    let policy = call.service.keys.check_edit(after.policy()?, &row, call.query.flag("force"))?;
    let changes = changes(&before.policy, &PolicyView::from(policy.clone()));
    let (id, revision) = (row.id, row.revision);
    let command = Command::EditKey { id: id.clone(), revision, policy: Box::new(policy), at: call.at };
    let view = |left| left_of(left, call.at);
    call.commit_edit(command, object(&id), &id.0, changes, view, shown(&call, &id.0)).await
}

async fn rotate(call: Call) -> Outcome {
    let Rotation { overlap_ms } = call.json()?;
    let overlap = Duration::from_millis(overlap_ms);
    if overlap > MAX_OVERLAP {
        let message = format!("overlap_ms: expected 0 to {}, got {overlap_ms}", MAX_OVERLAP.as_millis());
        return Err(ApiError::field("overlap_ms", message));
    }
    let old = KeyId::from(call.path("key"));
    let ((secret, digest), until) = (call.service.keys.mint_secret(), call.at.plus(overlap));
    let new = secret.id();
    let command = Command::RotateKey { id: old.clone(), new: new.clone(), digest, until, at: call.at };
    let changes = vec![told("rotated_to", new.0.as_str()), told("expires", until.to_string())];
    let committed = call.commit(command, object(&old), &new.0, 201, changes).await?;
    let (made, secret) = match committed.before.clone() {
        Some(first) => (first, None),
        None => (new.0, Some(secret.reveal().to_owned())),
    };
    let key = committed.shown(|left| left_of(left, call.at), shown(&call, &made)).await?;
    let secret_shown = secret.is_some();
    Ok(Reply::created(&NewSecret { key, secret, secret_shown }))
}

/// The key that a change has left.
fn left_of(left: Applied, at: UnixMs) -> Option<ApiKeyView> {
    match left {
        Applied::Key(row) => Some(ApiKeyView::from((*row, at))),
        _ => None,
    }
}

async fn shown(call: &Call, id: &str) -> Result<ApiKeyView, ApiError> {
    Ok(ApiKeyView::from((find(call, id).await?, call.at)))
}

async fn find(call: &Call, id: &str) -> Result<Key, ApiError> {
    ApiError::found(call.service.store.key(&KeyId::from(id)).await?, format_args!("key {id}"))
}

fn object(id: &KeyId) -> String {
    format!("keys/{id}")
}

view! {
    /// What an edit of a key may change. `null` takes a limit away.
    #[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    #[schemars(rename = "ApiKeyPolicy")]
    pub(super) struct PolicyView of (policy: KeyPolicy) {
        /// 1 to 100 bytes of plain text.
        #[serde(default)]
        pub(super) name: String = policy.name,
        /// Spending limit, zero or more; null is unlimited.
        #[serde(default)]
        pub(super) quota_micro: Option<i64> = policy.quota.map(|quota| quota.0),
        /// How often the quota resets; null is never. Another period begins with nothing used.
        #[serde(default)]
        pub(super) quota_period: Option<Period> = policy.quota_period.map(Period),
        /// Its customer's webhooks get `quota.reached` once so many percent of its quota are used, 1 to 100; null tells nothing.
        #[serde(default)]
        pub(super) quota_alert_percent: Option<u8> = policy.quota_alert,
        /// Models it may use; empty or null means all.
        #[serde(default, deserialize_with = "or_empty")]
        pub(super) models: Vec<String> = policy.models,
        /// Networks it may be used from, such as `10.0.0.0/8`, or addresses; empty or null means all.
        #[serde(default, deserialize_with = "or_empty")]
        pub(super) networks: Vec<String> = policy.networks.iter().map(ToString::to_string).collect(),
        /// When it stops working.
        #[serde(default)]
        pub(super) expires: Option<Moment> = policy.expires.map(Moment),
        /// Form of chat completions, where a request does not choose.
        #[serde(default, deserialize_with = "or_empty")]
        pub(super) chat_format: ChatFormat = policy.chat_format,
        /// How fast and how much at a time, of all models together.
        #[serde(default, deserialize_with = "or_empty")]
        pub(super) limits: Limits = policy.limits,
        /// The same of single models, by id or alias.
        #[serde(default, deserialize_with = "or_empty")]
        pub(super) model_limits: BTreeMap<String, Limits> = policy.model_limits,
    }
}

/// Every limit of a key: its name in the API, and what it means. The options of commands are made of it.
#[must_use]
pub fn key_limits() -> Vec<(String, String)> {
    let schema = schemars::schema_for!(Limits);
    let limits = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    let meaning = |limit: &Value| limit["description"].as_str().unwrap_or_default().to_owned();
    limits.map(|(name, limit)| (name.clone(), meaning(limit))).collect()
}

impl PolicyView {
    /// The policy it says.
    pub(super) fn policy(self) -> Result<KeyPolicy, ApiError> {
        Ok(KeyPolicy {
            name: self.name,
            quota: self.quota_micro.map(Credits),
            quota_period: self.quota_period.map(|period| period.0),
            quota_alert: self.quota_alert_percent,
            models: self.models,
            networks: networks(&self.networks)?,
            expires: self.expires.map(|expires| expires.0),
            chat_format: self.chat_format,
            limits: self.limits,
            // A model without any limit has none of its own.
            model_limits: self.model_limits.into_iter().filter(|(_, limits)| !limits.is_empty()).collect(),
        })
    }
}

/// `null` as nothing.
fn or_empty<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// Networks, and single addresses.
fn networks(texts: &[String]) -> Result<Vec<IpNet>, ApiError> {
    let read = |(at, text): (usize, &String)| {
        let network = text.parse::<IpNet>().ok();
        network.or_else(|| Some(IpNet::from(text.parse::<std::net::IpAddr>().ok()?))).ok_or_else(|| {
            let field = format!("networks[{at}]");
            let message =
                format!("{field}: expected a network such as 10.0.0.0/8 or an address, got {text:?}");
            ApiError::field(field, message)
        })
    };
    texts.iter().enumerate().map(read).collect()
}
