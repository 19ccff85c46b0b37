//! The manifest of a plugin version, read when it is loaded. Its serde form is the document that `manifest.describe`
//! returns.

use std::collections::BTreeMap;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::contract::call::Affinity;
use crate::contract::facts::Facts;
use crate::contract::json::Json;
use crate::contract::names::Parent;
use crate::contract::route::{RouteInfo, specified_routes};
use crate::contract::task_contract::ModelName;
use crate::status::Status;

/// A loaded version's manifest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct About {
    /// Kebab-case, unique in one gateway.
    pub family: String,
    /// Semver of the build.
    pub version: String,
    /// Which interfaces of the contract it exports; the component says so, not the document.
    #[serde(skip)]
    pub offers: Offers,
    /// Features without which the host must not take the version.
    #[serde(default)]
    pub requires: Vec<String>,
    /// A name for people.
    pub title: Option<String>,
    /// An SPDX expression.
    pub licence: Option<String>,
    /// Where to read more about it.
    pub homepage: Option<String>,
    /// Models served.
    #[serde(default)]
    pub models: Vec<ModelInfo>,
    /// Surfaces served.
    #[serde(default)]
    pub surfaces: Vec<SurfaceInfo>,
    /// The ways to them; a surface of the specification has its own without one.
    #[serde(default)]
    pub routes: Vec<RouteInfo>,
    /// Text protocols that its dialect half speaks.
    #[serde(default)]
    pub dialects: Vec<String>,
    /// Providers that must be configured.
    #[serde(default)]
    pub providers: Vec<String>,
    /// The least specific price keys; each must have a price.
    #[serde(default)]
    pub price_keys: Vec<String>,
    /// What one unit of a price key is: "picture", "second", "character".
    #[serde(default)]
    pub units: BTreeMap<String, String>,
    /// JSON Schema of the operator's settings for the family.
    #[serde(default, deserialize_with = "optional_text")]
    pub settings_schema: Option<String>,
    /// Stamped on every state the build writes.
    #[serde(default = "first_state")]
    pub state_version: u32,
    /// Older state versions it can migrate.
    #[serde(default)]
    pub reads_state: Vec<u32>,
    /// Requests with known answers.
    #[serde(default)]
    pub self_tests: Vec<SelfTest>,
}

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
    pub fn all_routes(&self) -> Vec<RouteInfo> {
        let is_declared = |surface: &str| self.routes.iter().any(|route| route.surface == surface);
        let specified = specified_routes().iter().filter(|route| {
            !is_declared(&route.surface) && self.surfaces.iter().any(|own| own.name == route.surface)
        });
        self.routes.iter().map(with_words).chain(specified.cloned()).collect()
    }
}

/// A route that the specification has too is documented in its words, where its family has none.
fn with_words(route: &RouteInfo) -> RouteInfo {
    let specified = specified_routes().iter().find(|other| other.means(route));
    let is_silent = route.tag.is_none() && route.summary.is_none();
    specified.filter(|_| is_silent).unwrap_or(route).clone()
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

/// One model.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct ModelInfo {
    /// Its own id.
    pub id: String,
    /// Other names for it.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// Surfaces it serves.
    #[serde(default)]
    pub surfaces: Vec<String>,
    /// What it makes: "text", "image", "video", "audio", or another word.
    pub modality: Option<String>,
}

/// One surface of a family.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct SurfaceInfo {
    /// "images.generate", ...
    pub name: String,
    /// The model meant when a request names none.
    pub default_model: Option<String>,
    /// JSON Schema of the parameters.
    #[serde(deserialize_with = "text")]
    pub schema: String,
    /// JSON Schema of the result.
    #[serde(default, deserialize_with = "optional_text")]
    pub result_schema: Option<String>,
    /// Where the task a request follows up is named.
    #[serde(default)]
    pub parent: ParentAt,
    /// Whether a request joins its living parent instead of making a task.
    #[serde(default)]
    pub joins: bool,
    /// Where names stand that a customer may own.
    #[serde(default)]
    pub names: Vec<NameAt>,
}

/// Where the task a request follows up is named.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ParentAt {
    /// It follows up no task.
    #[default]
    Nowhere,
    /// In the request's path.
    Path,
    /// In a field of the body: a task id, or a list of task ids.
    Field(String),
}

/// Where names stand that a customer may own.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NameAt {
    /// A string `<scheme>://...` anywhere in the body.
    Scheme(String),
    /// A field of the body: a name, or a list of names.
    Field(String),
}

/// A request with a known answer, run twice before every switch.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct SelfTest {
    /// The surface.
    pub surface: String,
    /// The request body, JSON.
    #[serde(deserialize_with = "text")]
    pub body: String,
    /// The tasks it follows up.
    #[serde(default, deserialize_with = "parents")]
    pub parents: Vec<Parent>,
    /// The expected answer.
    pub expect: Verdict,
}

/// How a submission ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Accepted.
    Accepted,
    /// Accepted only to fail.
    Doomed,
    /// Refused.
    Refused,
}

/// Whether a name has lower-case letters, digits and single inner hyphens, a letter first, and no more than 64 of them.
#[must_use]
pub fn is_kebab_case(name: &str) -> bool {
    let words = name.split('-').all(|word| {
        !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    });
    words && name.len() <= 64 && name.starts_with(|first: char| first.is_ascii_lowercase())
}

/// A parent of a self-test as the document writes it; all others come from the host.
#[derive(Deserialize)]
struct ParentWritten {
    #[serde(default = "some_task")]
    task: String,
    family: String,
    model: String,
    #[serde(default = "completed")]
    status: Status,
    #[serde(default, deserialize_with = "optional_text")]
    public: Option<String>,
    #[serde(default, deserialize_with = "optional_text")]
    private: Option<String>,
    #[serde(default)]
    media: Vec<Facts>,
    affinity: Option<Affinity>,
    #[serde(default)]
    joining: Vec<String>,
}

impl ParentWritten {
    fn read(self) -> Result<Parent, String> {
        let record = |text: Option<String>| text.map_or(Json::from_static("null"), Json::from);
        Ok(Parent {
            task: self.task.parse().map_err(|_| format!("expected a task id, got {:?}", self.task))?,
            family: self.family,
            model: self.model,
            status: self.status,
            public: record(self.public),
            private: record(self.private),
            media: self.media,
            affinity: self.affinity,
            joining: self.joining.into_iter().map(Into::into).collect(),
        })
    }
}

fn some_task() -> String {
    "task_01KDWFAMDV000000000000000B".to_owned()
}

fn completed() -> Status {
    Status::Completed
}

fn first_state() -> u32 {
    1
}

/// A JSON value as its text.
fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Ok(Box::<RawValue>::deserialize(deserializer)?.get().to_owned())
}

fn optional_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(Option::<Box<RawValue>>::deserialize(deserializer)?.map(|value| value.get().to_owned()))
}

fn parents<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Parent>, D::Error> {
    let written = Vec::<ParentWritten>::deserialize(deserializer)?;
    written.into_iter().map(ParentWritten::read).collect::<Result<_, _>>().map_err(D::Error::custom)
}
