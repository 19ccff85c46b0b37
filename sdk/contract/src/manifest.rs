//! The manifest of a family: one JSON document, of which these types are the form. A family writes it, a host reads it.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::parent::ParentWritten;
use crate::raw;
use crate::route::{HttpRoute, specified_routes};

/// What a family says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "Manifest of a Gatehouse family")]
pub struct About {
    /// Kebab-case and unique in one gateway, for example "context-image".
    pub family: String,
    /// Semver of this build.
    pub version: String,
    /// Which interfaces of the contract the component exports: not part of the document, the host looks.
    #[doc(hidden)]
    #[serde(skip)]
    pub offers: Offers,
    /// Features without which a host must not take this version.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requires: Vec<String>,
    /// A name for people, shown to operators.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// An SPDX expression, shown to operators.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub licence: Option<String>,
    /// Where to read more about it, shown to operators.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub homepage: Option<String>,
    /// The models; the operator configures those of text families.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<Model>,
    /// The surfaces: at least one, but for a family that has dialects alone.
    pub surfaces: Vec<Surface>,
    /// The ways to the surfaces; a surface of the specification has its own without one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub routes: Vec<HttpRoute>,
    /// The text protocols of providers that `dialect` speaks, kebab-case; `protocol` of a model in the operator's configuration
    /// names one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dialects: Vec<String>,
    /// Providers the operator must have configured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub providers: Vec<String>,
    /// The least specific price keys. Each must have a price when the family is switched on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub price_keys: Vec<String>,
    /// What one unit of a price key is: "picture", "second", "character"; shown to operators.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub units: BTreeMap<String, String>,
    /// The operator's settings for the family as a JSON Schema.
    #[serde(default, with = "raw::optional", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Value>")]
    pub settings_schema: Option<String>,
    /// Stamped on every state this build writes.
    #[serde(default = "first_state")]
    pub state_version: u32,
    /// Older versions that `jobs.migrate` accepts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reads_state: Vec<u32>,
    /// Requests with known answers. The host runs each one twice before every switch.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub self_tests: Vec<SelfTest>,
}

/// The operator's bounds: the field `pace` of every family's settings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PaceSettings {
    /// The shortest interval between two polls, in milliseconds.
    pub shortest_ms: Option<NonZeroU32>,
    /// The longest one.
    pub longest_ms: Option<NonZeroU32>,
}

/// The settings of a family without any of its own: [`About::settings`].
#[derive(Clone, Copy, Debug, Default, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct NoSettings {}

/// A model of a family.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Model {
    /// The model's own id.
    pub id: String,
    /// Other names for the same model, answered identically.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
    /// The surfaces this model serves, at least one.
    pub surfaces: Vec<String>,
    /// What it makes: "text", "image", "video", "audio", or another word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub modality: Option<String>,
}

/// One surface ("images.generate", "videos.remix", ...).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Surface {
    /// Its name.
    pub name: String,
    /// The model meant when a request names none (only where the specification gives a default).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_model: Option<String>,
    /// The parameters as a JSON Schema.
    #[serde(with = "raw")]
    #[schemars(with = "Value")]
    pub schema: String,
    /// The client's `result`, or the JSON of an answer at once, as a JSON Schema. The API's documentation has it.
    #[serde(default, with = "raw::optional", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Value>")]
    pub result_schema: Option<String>,
    /// Where the task is named that a request follows up.
    #[serde(default)]
    pub parent: ParentAt,
    /// A request joins its living parent: `submit` judges it, the parent's `advance` gets `joined`, and the client gets the
    /// parent's id. The parent's time limit starts anew. Needs a parent.
    #[serde(default)]
    pub joins: bool,
    /// The provider fetches links among the words of `prompt` and `extra`: those before the text, and the values of flags. The host
    /// refuses such a link where it would not fetch it itself.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reads_links: bool,
    /// Where names stand that a customer may own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<NameAt>,
}

/// Where the task is named that a request follows up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ParentAt {
    /// It follows up no task.
    #[default]
    Nowhere,
    /// In the path of the request.
    Path,
    /// In a field of the body: a task id, or a list of task ids.
    Field(String),
}

/// Where names stand that a customer may own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NameAt {
    /// A string `<scheme>://...` anywhere in the body.
    Scheme(String),
    /// A field of the body: a name, or a list of names.
    Field(String),
}

/// A request with a known answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SelfTest {
    /// The surface, or the dialect.
    pub surface: String,
    /// The request's body; of a dialect a Messages request.
    #[serde(with = "raw")]
    #[schemars(with = "Value")]
    pub body: String,
    /// The tasks it follows up.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parents: Vec<ParentWritten>,
    /// The expected answer.
    pub expect: Verdict,
}

/// How a request of a self-test is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Accepted.
    Accepted,
    /// Accepted, and failed at once.
    Doomed,
    /// Refused.
    Refused,
}

/// The interfaces of the contract a component exports beside `manifest`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offers {
    /// Long jobs.
    pub jobs: bool,
    /// Text.
    pub text: bool,
    /// Its own rendering of a task.
    pub views: bool,
    /// Calls of many tasks as one.
    pub bulk: bool,
    /// Requests answered while the client waits.
    pub direct: bool,
    /// Text protocols of providers.
    pub dialect: bool,
}

/// A model as a request names it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelName {
    /// The model's own id.
    pub id: String,
    /// The other name under which the request asked for it.
    pub alias: Option<String>,
}

fn first_state() -> u32 {
    1
}

/// Builders. The host reads the manifest once when a version is loaded, before it can become active.
///
/// ```
/// use gatehouse_contract::{About, Model, Surface, Verdict};
/// use schemars::JsonSchema;
/// use serde_json::json;
///
/// #[derive(JsonSchema)]
/// struct Params {
///     #[expect(dead_code, reason = "read by serde in a real family")]
///     prompt: String,
/// }
///
/// let about = About::new("painter", "1.2.0")
///     .model(Model::new("painter-1").alias("painter-1-ext").serves("images.generate"))
///     .surface(Surface::new::<Params>("images.generate"))
///     .provider("painter")
///     .price_key("painter-1")
///     .self_test("images.generate", json!({"model": "painter-1", "prompt": "a kite"}), Verdict::Accepted);
/// assert_eq!(about.models[0].aliases, ["painter-1-ext"]);
/// ```
impl About {
    /// A family of that name; `version` is usually `env!("CARGO_PKG_VERSION")`.
    #[must_use]
    pub fn new(family: impl Into<String>, version: impl Into<String>) -> Self {
        Self {
            family: family.into(),
            version: version.into(),
            state_version: first_state(),
            ..Self::default()
        }
    }

    /// Sets the name for people.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Names a feature without which a host must not take this version.
    #[must_use]
    pub fn requires(mut self, feature: impl Into<String>) -> Self {
        self.requires.push(feature.into());
        self
    }

    /// The operator's settings have the shape of `S`, which `Context::settings_as` reads, and
    /// the `pace` that every family may have. With `#[schemars(deny_unknown_fields)]` a host refuses misspelt keys.
    #[must_use]
    pub fn settings<S: JsonSchema>(mut self) -> Self {
        let mut schema = schemars::schema_for!(S);
        let mut pace = schemars::schema_for!(PaceSettings);
        pace.remove("$schema");
        let properties = schema.ensure_object().entry("properties").or_insert_with(|| serde_json::json!({}));
        if let Value::Object(properties) = properties {
            properties.insert("pace".to_owned(), pace.to_value());
        }
        self.settings_schema = Some(schema.to_value().to_string());
        self
    }

    /// Adds a model.
    #[must_use]
    pub fn model(mut self, model: Model) -> Self {
        self.models.push(model);
        self
    }

    /// Adds a surface.
    #[must_use]
    pub fn surface(mut self, surface: Surface) -> Self {
        self.surfaces.push(surface);
        self
    }

    /// Adds a way to a surface.
    #[must_use]
    pub fn route(mut self, route: HttpRoute) -> Self {
        self.routes.push(route);
        self
    }

    /// Adds a text protocol that the family speaks: `Dialect`. An operator names it as `protocol` of a model.
    #[must_use]
    pub fn dialect(mut self, name: impl Into<String>) -> Self {
        self.dialects.push(name.into());
        self
    }

    /// Adds a provider the operator must configure.
    #[must_use]
    pub fn provider(mut self, name: impl Into<String>) -> Self {
        self.providers.push(name.into());
        self
    }

    /// Adds a price key with which a charge may end. The operator must set a price for it.
    #[must_use]
    pub fn price_key(mut self, key: impl Into<String>) -> Self {
        self.price_keys.push(key.into());
        self
    }

    /// The same, and says what one unit of it is: "picture", "second", "character".
    #[must_use]
    pub fn price_key_per(mut self, key: impl Into<String>, unit: impl Into<String>) -> Self {
        let key = key.into();
        self.units.insert(key.clone(), unit.into());
        self.price_key(key)
    }

    /// Adds a request with a known answer, which the host checks before every switch.
    #[must_use]
    pub fn self_test(self, surface: impl Into<String>, body: Value, expect: Verdict) -> Self {
        self.self_test_of(surface, body, Vec::<ParentWritten>::new(), expect)
    }

    /// The same with the tasks that the request follows up.
    #[must_use]
    pub fn self_test_of(
        mut self,
        surface: impl Into<String>,
        body: Value,
        parents: Vec<impl Into<ParentWritten>>,
        expect: Verdict,
    ) -> Self {
        let parents = parents.into_iter().map(Into::into).collect();
        self.self_tests.push(SelfTest { surface: surface.into(), body: body.to_string(), parents, expect });
        self
    }
}

impl Model {
    /// A model without aliases or surfaces.
    #[must_use]
    pub fn new(id: impl Into<String>) -> Self {
        Self { id: id.into(), ..Self::default() }
    }

    /// Adds another name for it.
    #[must_use]
    pub fn alias(mut self, name: impl Into<String>) -> Self {
        self.aliases.push(name.into());
        self
    }

    /// Says what it makes: "text", "image", "video", "audio", or another word.
    #[must_use]
    pub fn makes(mut self, modality: impl Into<String>) -> Self {
        self.modality = Some(modality.into());
        self
    }

    /// Adds a surface it serves.
    #[must_use]
    pub fn serves(mut self, surface: impl Into<String>) -> Self {
        self.surfaces.push(surface.into());
        self
    }
}

impl Surface {
    /// A surface whose parameters have the shape of `P`.
    #[must_use]
    pub fn new<P: JsonSchema>(name: impl Into<String>) -> Self {
        Self { name: name.into(), schema: schemars::schema_for!(P).to_value().to_string(), ..Self::default() }
    }

    /// The parameters' schema, parsed.
    ///
    /// # Panics
    /// Where `schema` is not JSON: a bug of the family.
    #[must_use]
    pub fn parsed_schema(&self) -> Value {
        serde_json::from_str(&self.schema).expect("the schema of a surface is JSON")
    }

    /// What the client reads as `result` has the shape of `R`.
    #[must_use]
    pub fn result<R: JsonSchema>(mut self) -> Self {
        self.result_schema = Some(schemars::schema_for!(R).to_value().to_string());
        self
    }

    /// A request follows up the task in its path.
    #[must_use]
    pub fn parent_in_path(mut self) -> Self {
        self.parent = ParentAt::Path;
        self
    }

    /// A request follows up the task, or the tasks, named in a field of its body.
    #[must_use]
    pub fn parent_in(mut self, field: impl Into<String>) -> Self {
        self.parent = ParentAt::Field(field.into());
        self
    }

    /// A request joins its living parent instead of making a task. The parent's time limit starts anew.
    #[must_use]
    pub fn joins(mut self) -> Self {
        self.joins = true;
        self
    }

    /// The provider fetches links among the words of `prompt` and `extra`.
    #[must_use]
    pub fn reads_links(mut self) -> Self {
        self.reads_links = true;
        self
    }

    /// A string `<scheme>://...` anywhere in the body may be a name that the customer owns.
    #[must_use]
    pub fn names_with_scheme(mut self, scheme: impl Into<String>) -> Self {
        self.names.push(NameAt::Scheme(scheme.into()));
        self
    }

    /// A field of the body holds a name that the customer may own, or a list of such names.
    #[must_use]
    pub fn names_in(mut self, field: impl Into<String>) -> Self {
        self.names.push(NameAt::Field(field.into()));
        self
    }

    /// Names the model meant when a request names none.
    #[must_use]
    pub fn default_model(mut self, model: impl Into<String>) -> Self {
        self.default_model = Some(model.into());
        self
    }
}

/// What a host asks of it.
impl About {
    /// The model that a request on `surface` means by the name `requested`, or by none.
    #[must_use]
    pub fn model_name(&self, surface: &str, requested: Option<&str>) -> Option<ModelName> {
        let default = || self.surfaces.iter().find(|own| own.name == surface)?.default_model.as_deref();
        let name = requested.or_else(default)?;
        let model = self
            .models
            .iter()
            .find(|model| model.id == name || model.aliases.iter().any(|alias| alias == name))?;
        let alias = (model.id != name).then(|| name.to_owned());
        Some(ModelName { id: model.id.clone(), alias })
    }

    /// Every route of the family: those that it declares, and those that its other surfaces have by the specification.
    #[must_use]
    pub fn all_routes(&self) -> Vec<HttpRoute> {
        let is_declared = |surface: &str| self.routes.iter().any(|route| route.surface == surface);
        let specified = specified_routes().iter().filter(|route| {
            !is_declared(&route.surface) && self.surfaces.iter().any(|own| own.name == route.surface)
        });
        self.routes.iter().map(with_words).chain(specified.cloned()).collect()
    }
}

/// A route that the specification has too is documented in its words, where its family has none.
fn with_words(route: &HttpRoute) -> HttpRoute {
    let specified = specified_routes().iter().find(|other| other.means(route));
    let is_silent = route.tag.is_none() && route.summary.is_none();
    specified.filter(|_| is_silent).unwrap_or(route).clone()
}

/// Whether a name has lower-case letters, digits and single inner hyphens, a letter first, and no more than 64 of them.
#[must_use]
pub fn is_kebab_case(name: &str) -> bool {
    let words = name.split('-').all(|word| {
        !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    });
    words && name.len() <= 64 && name.starts_with(|first: char| first.is_ascii_lowercase())
}
