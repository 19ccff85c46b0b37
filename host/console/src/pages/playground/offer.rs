//! What the playground offers: the surfaces of a family, the form of each, and the keys to send it as: a page of those that work, all of
//! them or those that somebody searches for.

use std::collections::BTreeMap;

use gatehouse_admin::{KeyQuery, KeyState, PublicEndpoint};
use gatehouse_model::{CustomerId, FamilyListing, Key, KeyId, SurfaceListing, UnixMs};
use gatehouse_schema::{Field, Reader};
use serde_json::{Map, Value, json};

use crate::error::PageError;
use crate::form::Form;
use crate::request::{PageContext, SandboxSecrets};

/// One surface of a family, and who sends to it.
pub(super) struct Offer {
    pub(super) family: FamilyListing,
    /// By name, with the first path of each.
    pub(super) endpoints: Vec<PublicEndpoint>,
    pub(super) keys: Keys,
    pub(super) key: Option<Key>,
    /// Where the request goes.
    pub(super) endpoint: PublicEndpoint,
    pub(super) fields: Vec<Field>,
    /// A body that the family accepts.
    pub(super) example: Map<String, Value>,
}

/// Every family that the gateway has loaded; empty without a running gateway.
pub(super) fn every_family(pages: &PageContext) -> Vec<FamilyListing> {
    pages.service.playground.offers(None).unwrap_or_default()
}

impl Offer {
    /// The surface and the key of those names. An empty name is the first surface; and nobody's key, for whose customer pays
    /// is the operator's to say. In sandbox mode it is the key of that mode.
    pub(super) async fn find(
        pages: &PageContext,
        family: &str,
        surface: &str,
        key: &str,
        keys: Keys,
    ) -> Result<Self, PageError> {
        let key = match key {
            "" => pages.facts.sandbox.as_ref().and_then(SandboxSecrets::id),
            id => Some(KeyId::from(id.trim_start_matches("sk-"))),
        };
        let key = match key {
            Some(id) => pages.service.store.key(&id).await?,
            None => None,
        };
        let known = every_family(pages);
        let unknown = || PageError::not_found(format!("no family {family:?} is loaded"));
        let all = known.into_iter().find(|one| one.family == family).ok_or_else(unknown)?;
        // A key that may use nothing of it sees what there is; the gateway says the rest.
        let own = pages.service.playground.offers(key.as_ref())?.into_iter().find(|one| one.family == family);
        let family = own.unwrap_or(all);
        let rows = pages.service.playground.endpoints()?;
        let first = |name: &str| rows.iter().find(|row| row.surface == name).copied();
        let endpoints: Vec<PublicEndpoint> =
            family.surfaces.iter().filter_map(|one| first(&one.name)).collect();
        let wanted = endpoints.iter().find(|row| surface.is_empty() || row.surface == surface).copied();
        let none = || PageError::not_found(format!("no surface {surface:?} of that family takes requests"));
        let endpoint = wanted.ok_or_else(none)?;
        let listing = family.surfaces.iter().find(|one| one.name == endpoint.surface).ok_or_else(none)?;
        let (fields, example) = (fields(listing, endpoint), example(listing));
        Ok(Self { endpoints, keys, key, endpoint, fields, example, family })
    }

    /// Whether the path has a task in it.
    pub(super) fn names_task(&self) -> bool {
        self.endpoint.path.contains('{')
    }

    /// The path for that task.
    pub(super) fn path(&self, task: &str) -> String {
        match self.endpoint.path.split_once('{').zip(self.endpoint.path.split_once('}')) {
            Some(((before, _), (_, after))) => format!("{before}{task}{after}"),
            None => self.endpoint.path.to_owned(),
        }
    }
}

/// The fields of a surface. `model` is the gateway's: its values are the models that the key may use.
pub(super) fn fields(surface: &SurfaceListing, endpoint: PublicEndpoint) -> Vec<Field> {
    let schema: Value = serde_json::from_str(&surface.schema).unwrap_or_default();
    let mut fields = Reader::new(&schema).fields(&schema);
    fields.retain(|field| field.name != "model");
    if endpoint.model_in_body {
        let schema = json!({ "enum": surface.models, "default": surface.default_model });
        let required = surface.default_model.is_none();
        fields.insert(0, Reader::new(&schema).field("model", &schema, required));
    }
    fields
}

/// What a form begins with: of the family's own example what has no default, with a model of its key, streamed where it can
/// be. The other values of an example are often the dearest.
fn example(surface: &SurfaceListing) -> Map<String, Value> {
    let parsed = surface.example.as_deref().and_then(|text| serde_json::from_str(text).ok());
    let mut body: Map<String, Value> = parsed.unwrap_or_default();
    let known = |model: &&str| surface.models.iter().any(|own| own == model);
    let usual = surface.default_model.as_deref().filter(known);
    let shown = body.get("model").and_then(Value::as_str).filter(known);
    let model = usual.or(shown).or_else(|| surface.models.first().map(String::as_str)).map(str::to_owned);
    if let Some(model) = model {
        body.insert("model".to_owned(), model.into());
    }
    let schema: Value = serde_json::from_str(&surface.schema).unwrap_or_default();
    body.retain(|name, _| schema["properties"][name].get("default").is_none());
    if schema["properties"].get("stream").is_some() {
        body.insert("stream".to_owned(), true.into());
    }
    // Without it a stream of chat completions does not say its tokens.
    if schema["properties"].get("stream_options").is_some() {
        body.insert("stream_options".to_owned(), json!({ "include_usage": true }));
    }
    body
}

/// Keys of one page.
const KEYS: usize = 100;

/// What is asked for.
#[derive(Clone, Debug, Default)]
pub(super) struct Search {
    /// A part of the name, the beginning of the id, or the customer.
    pub(super) find: String,
    /// The id before the first key of the page; empty for the first page.
    pub(super) after: String,
}

/// A page of keys.
pub(super) struct Keys {
    pub(super) search: Search,
    /// By id; those whose id begins with what was searched for stand first.
    pub(super) rows: Vec<Key>,
    /// Where the next page begins.
    pub(super) next: Option<KeyId>,
}

impl Search {
    pub(super) fn of(form: &Form) -> Self {
        Self { find: form.text("find").to_owned(), after: form.text("after").to_owned() }
    }
}

impl Keys {
    /// Reads a page of the keys that work at that moment.
    pub(super) async fn read(pages: &PageContext, search: Search, now: UnixMs) -> Result<Self, PageError> {
        let Search { find, after } = &search;
        let all = KeyQuery { customer: None, name: None, states: vec![KeyState::Active], at: now };
        let from = (!after.is_empty()).then(|| KeyId::from(after.as_str()));
        let store = &pages.service.store;
        if find.is_empty() {
            let page = store.list_keys(all, from, KEYS).await?;
            return Ok(Self { search, rows: page.rows, next: page.next });
        }
        let named = KeyQuery { name: Some(find.clone()), ..all.clone() };
        let named = store.list_keys(named, from.clone(), KEYS).await?;
        let owned = KeyQuery { customer: Some(CustomerId::from(find.as_str())), ..all.clone() };
        let owned = store.list_keys(owned, from, KEYS).await?;
        // Up to where both lists were looked at.
        let end = [&named.next, &owned.next].into_iter().flatten().min().cloned();
        let found = named.rows.into_iter().chain(owned.rows).map(|key| (key.id.clone(), key));
        let found: BTreeMap<KeyId, Key> =
            found.filter(|(id, _)| end.as_ref().is_none_or(|end| id <= end)).collect();
        let has_more = found.len() > KEYS;
        let page: Vec<Key> = found.into_values().take(KEYS).collect();
        let next = if has_more { page.last().map(|last| last.id.clone()) } else { end };
        let mut rows = Vec::new();
        if after.is_empty() {
            let begin = KeyId::from(find.trim_start_matches("sk-"));
            rows.extend(store.key(&begin).await?.filter(|key| KeyState::of(key, now) == KeyState::Active));
            let below = store.list_keys(all, Some(begin.clone()), KEYS).await?.rows;
            rows.extend(below.into_iter().take_while(|key| key.id.0.starts_with(&begin.0)));
        }
        let rest: Vec<Key> = page.into_iter().filter(|key| rows.iter().all(|one| one.id != key.id)).collect();
        rows.extend(rest);
        Ok(Self { search, rows, next })
    }
}
