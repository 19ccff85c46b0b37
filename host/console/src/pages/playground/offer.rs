//! What the playground offers: the surfaces of a family, the form of each, and the keys to send it as.

use gatehouse_admin::{FamilyListing, PublicEndpoint, SurfaceListing};
use gatehouse_model::{Key, KeyId};
use gatehouse_schema::{Choice, Field, Kind, Reader};
use serde_json::{Map, Value, json};

use super::keys::Keys;
use crate::context::{PageContext, SandboxSecrets};
use crate::error::PageError;

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
            Some(id) => pages.service.keys.get(&id).await?,
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
    let mut fields = match Reader::new(&schema).kind(&schema) {
        Kind::Object(fields) => fields,
        _ => Vec::new(),
    };
    fields.retain(|field| field.name != "model");
    if endpoint.model_in_body {
        let choice = |model: &String| Choice { value: model.as_str().into(), help: None };
        let model = Field {
            name: "model".to_owned(),
            required: surface.default_model.is_none(),
            nullable: false,
            kind: Kind::Choice(surface.models.iter().map(choice).collect()),
            title: None,
            help: None,
            default: surface.default_model.as_deref().map(Value::from),
            examples: Vec::new(),
            deprecated: false,
            widget: None,
            order: None,
        };
        fields.insert(0, model);
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
