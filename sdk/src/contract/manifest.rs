//! The manifest of a family: one JSON document, of which these types are the form.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::parent::Parent;
use super::parent_written::{self, ParentWritten};
use super::route::HttpRoute;

/// What a family says of itself.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "Manifest of a Gatehouse family")]
pub struct About {
    /// Kebab-case and unique in one gateway, for example "context-image".
    pub family: String,
    /// Semver of this build.
    pub version: String,
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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settings_schema: Option<Value>,
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
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
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Surface {
    /// Its name.
    pub name: String,
    /// The model meant when a request names none (only where the specification gives a default).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_model: Option<String>,
    /// The parameters as a JSON Schema.
    pub schema: Value,
    /// The client's `result`, or the JSON of an answer at once, as a JSON Schema. The API's documentation has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_schema: Option<Value>,
    /// Where the task is named that a request follows up.
    #[serde(default)]
    pub parent: ParentAt,
    /// A request joins its living parent: `submit` judges it, the parent's `advance` gets `joined`, and the client gets the
    /// parent's id. The parent's time limit starts anew. Needs a parent.
    #[serde(default)]
    pub joins: bool,
    /// Where names stand that a customer may own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<NameAt>,
}

/// Where the task is named that a request follows up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NameAt {
    /// A string `<scheme>://...` anywhere in the body.
    Scheme(String),
    /// A field of the body: a name, or a list of names.
    Field(String),
}

/// A request with a known answer.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SelfTest {
    /// The surface, or the dialect.
    pub surface: String,
    /// The request's body; of a dialect a Messages request.
    pub body: Value,
    /// The tasks it follows up.
    #[serde(default, skip_serializing_if = "Vec::is_empty", serialize_with = "parent_written::all")]
    #[schemars(with = "Vec<ParentWritten<'static>>")]
    pub parents: Vec<Parent>,
    /// The expected answer.
    pub expect: Verdict,
}

/// How a request of a self-test is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Accepted.
    Accepted,
    /// Accepted, and failed at once.
    Doomed,
    /// Refused.
    Refused,
}

fn first_state() -> u32 {
    1
}

/// Builders. The host reads the manifest once when a version is loaded, before it can become active.
///
/// ```
/// use gatehouse_sdk::{About, Model, Surface, Verdict};
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
            requires: Vec::new(),
            title: None,
            licence: None,
            homepage: None,
            models: Vec::new(),
            surfaces: Vec::new(),
            routes: Vec::new(),
            dialects: Vec::new(),
            providers: Vec::new(),
            price_keys: Vec::new(),
            units: BTreeMap::new(),
            settings_schema: None,
            state_version: first_state(),
            reads_state: Vec::new(),
            self_tests: Vec::new(),
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

    /// The operator's settings have the shape of `S`, which [`Context::settings_as`](crate::Context::settings_as) reads, and
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
        self.settings_schema = Some(schema.to_value());
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

    /// Adds a text protocol that the family speaks: [`Dialect`](crate::Dialect). An operator names it as `protocol` of a model.
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
        self.self_test_of(surface, body, Vec::new(), expect)
    }

    /// The same with the tasks that the request follows up.
    #[must_use]
    pub fn self_test_of(
        mut self,
        surface: impl Into<String>,
        body: Value,
        parents: Vec<Parent>,
        expect: Verdict,
    ) -> Self {
        self.self_tests.push(SelfTest { surface: surface.into(), body, parents, expect });
        self
    }
}

impl Model {
    /// A model without aliases or surfaces.
    #[must_use]
    pub fn new(id: impl Into<String>) -> Self {
        Self { id: id.into(), aliases: Vec::new(), surfaces: Vec::new(), modality: None }
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
        Self {
            name: name.into(),
            default_model: None,
            schema: schemars::schema_for!(P).to_value(),
            result_schema: None,
            parent: ParentAt::Nowhere,
            joins: false,
            names: Vec::new(),
        }
    }

    /// What the client reads as `result` has the shape of `R`.
    #[must_use]
    pub fn result<R: JsonSchema>(mut self) -> Self {
        self.result_schema = Some(schemars::schema_for!(R).to_value());
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Authors in other languages write the document by this schema.
    #[test]
    fn the_published_schema_is_that_of_the_types() {
        let published = include_str!("../../wit/manifest.schema.json");
        let schema = serde_json::to_string_pretty(&schemars::schema_for!(About)).expect("JSON") + "\n";
        assert!(published == schema, "wit/v1/manifest.schema.json must be:\n{schema}");
    }

    #[test]
    fn a_document_says_what_was_said() {
        let parent = Parent::new("painter", "painter-1", serde_json::json!({"job": 7}));
        let about = About::new("painter", "1.2.0")
            .model(Model::new("painter-1").serves("images.edit").makes("image"))
            .surface(Surface {
                schema: Value::Bool(true),
                ..Surface::new::<u8>("images.edit").parent_in("follows")
            })
            .price_key_per("painter-1", "picture")
            .self_test_of("images.edit", Value::from(1), vec![parent], Verdict::Doomed);
        let expected = serde_json::json!({
            "family": "painter",
            "version": "1.2.0",
            "models": [{"id": "painter-1", "surfaces": ["images.edit"], "modality": "image"}],
            "surfaces": [{"name": "images.edit", "schema": true, "parent": {"field": "follows"}, "joins": false}],
            "price_keys": ["painter-1"],
            "units": {"painter-1": "picture"},
            "state_version": 1,
            "self_tests": [{
                "surface": "images.edit",
                "body": 1,
                "parents": [{
                    "task": "task_01KDWFAMDV000000000000000B",
                    "family": "painter",
                    "model": "painter-1",
                    "status": "completed",
                    "public": null,
                    "private": {"job": 7},
                }],
                "expect": "doomed",
            }],
        });
        assert_eq!(serde_json::to_value(about).expect("JSON"), expected);
    }
}
