//! `/keys`: API keys with their limits. The secret of a key is in the answer to its creation and nowhere else.

use gatehouse_model::{ChatFormat, Credits, CustomerId, Key, KeyId, KeyPolicy, UnixMs};
use gatehouse_store::{KeyQuery, KeyState};
use gatehouse_tasks::Command;
use ipnet::IpNet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::key_policy::NewKey;
use crate::http::call::{Call, Outcome};
use crate::http::error::ApiError;
use crate::http::reply::Reply;
use crate::http::request::merge_patch::{changes, created};
use crate::http::request::precondition::etag_of;
use crate::http::request::query::{Form, Parameter, filter, filter_any};
use crate::http::route::Route;
use crate::http::values::{List, Moment};

const FILTERS: [Parameter; 3] = [
    filter("customer", Form::Text, "Only keys of this customer."),
    filter("name", Form::Text, "Only keys whose name contains this text."),
    filter_any("state", Form::OneOf(&["active", "expired", "revoked"]), "Only keys in one of these states."),
];

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/keys", "listKeys", "Lists keys by id.", list)
            .query(&FILTERS)
            .paged()
            .returns::<List<ApiKeyView>>(),
        Route::post("/keys", "createKey", "Makes a key; its secret is shown this one time.", create)
            .body::<NewApiKey>()
            .creates::<NewSecret>()
            .idempotent(),
        Route::get("/keys/{key}", "getKey", "Shows one key, never its secret.", show)
            .returns::<ApiKeyView>()
            .tagged(),
        Route::post("/keys/{key}/revoke", "revokeKey", "Revokes a key at once.", revoke)
            .returns::<ApiKeyView>(),
    ]
}

/// A key: its limits and what was spent through it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "ApiKey")]
struct ApiKeyView {
    /// The public part of the key; the key begins with `sk-` and this.
    id: String,
    /// The customer that pays.
    customer: String,
    /// For people.
    name: String,
    /// When it was made.
    created: Moment,
    /// Whether it works.
    state: State,
    /// Spending limit; null is unlimited.
    quota_micro: Option<i64>,
    /// Held and spent through it.
    used_micro: i64,
    /// Models it may use; empty means all.
    models: Vec<String>,
    /// Networks it may be used from; empty means all.
    networks: Vec<String>,
    /// When it stops working.
    expires: Option<Moment>,
    /// When it was revoked.
    revoked: Option<Moment>,
    /// Form of chat completions, where a request does not choose.
    chat_format: Format,
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

/// Form of chat completions.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "ChatFormat")]
enum Format {
    #[default]
    Wrapped,
    Bare,
}

/// A key to be made.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NewApiKey {
    /// The customer that pays.
    customer: String,
    /// 1 to 100 bytes of plain text.
    name: String,
    /// Spending limit, zero or more; null or absent is unlimited.
    #[serde(default)]
    quota_micro: Option<i64>,
    /// Models it may use; empty means all.
    #[serde(default)]
    models: Vec<String>,
    /// Networks it may be used from, such as `10.0.0.0/8`, or addresses; empty means all.
    #[serde(default)]
    networks: Vec<String>,
    /// When it stops working.
    #[serde(default)]
    expires: Option<Moment>,
    /// Form of chat completions, where a request does not choose.
    #[serde(default)]
    chat_format: Format,
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

impl ApiKeyView {
    fn new(key: Key, at: UnixMs) -> Self {
        Self {
            state: match KeyState::of(&key, at) {
                KeyState::Active => State::Active,
                KeyState::Expired => State::Expired,
                KeyState::Revoked => State::Revoked,
            },
            id: key.id.0,
            customer: key.customer.0,
            name: key.name,
            created: key.created.into(),
            quota_micro: key.quota.map(|quota| quota.0),
            used_micro: key.used.0,
            models: key.models,
            networks: key.networks.iter().map(ToString::to_string).collect(),
            expires: key.expires.map(Moment),
            revoked: key.revoked.map(Moment),
            chat_format: match key.chat_format {
                ChatFormat::Wrapped => Format::Wrapped,
                ChatFormat::Bare => Format::Bare,
            },
        }
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
    let page = call.service.keys_page(query, call.position()?.map(KeyId), call.query.limit()).await?;
    let keys = page.rows.into_iter().map(|key| ApiKeyView::new(key, call.at)).collect();
    Ok(call.list(keys, page.next.as_ref().map(|id| id.0.as_str())))
}

async fn show(call: Call) -> Outcome {
    let key = ApiKeyView::new(find(&call, call.path("key"))?, call.at);
    let etag = etag_of(&key);
    Ok(call.object(&key, &etag))
}

async fn create(call: Call) -> Outcome {
    let new: NewApiKey = call.json()?;
    let networks = networks(&new.networks)?;
    let policy = KeyPolicy {
        name: new.name,
        quota: new.quota_micro.map(Credits),
        models: new.models,
        networks,
        expires: new.expires.map(|expires| expires.0),
        chat_format: match new.chat_format {
            Format::Wrapped => ChatFormat::Wrapped,
            Format::Bare => ChatFormat::Bare,
        },
        ..KeyPolicy::default()
    };
    let new = NewKey::with_policy(CustomerId(new.customer), policy);
    let (key, secret) = call.service.mint_key(new)?;
    let view = ApiKeyView::new(key.clone(), call.at);
    let add = Command::AddKey { key: Box::new(key.clone()) };
    let committed = call.commit(add, (object(&key.id), &key.id.0), 201, created(&view)).await?;
    let (key, secret) = match committed.before {
        Some(first) => (ApiKeyView::new(find(&call, &first)?, call.at), None),
        None => (view, Some(secret.0)),
    };
    let secret_shown = secret.is_some();
    Ok(Reply::created(&NewSecret { key, secret, secret_shown }))
}

async fn revoke(call: Call) -> Outcome {
    let id = KeyId::from(call.path("key"));
    let before = ApiKeyView::new(find(&call, &id.0)?, call.at);
    let mut after = before.clone();
    if before.revoked.is_none() {
        after.revoked = Some(Moment(call.at));
        after.state = State::Revoked;
    }
    let command = Command::RevokeKey { id: id.clone(), at: call.at };
    call.commit(command, (object(&id), &id.0), 200, changes(&before, &after)).await?;
    Ok(Reply::json(&ApiKeyView::new(find(&call, &id.0)?, call.at)))
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

fn find(call: &Call, id: &str) -> Result<Key, ApiError> {
    call.service.key(&KeyId::from(id))?.ok_or_else(|| ApiError::not_found(format!("no key {id}")))
}

fn object(id: &KeyId) -> String {
    format!("keys/{id}")
}
