//! The manifest of a plugin version, read when it is loaded.

use serde::{Deserialize, Serialize};

use crate::contract::names::Parent;
use crate::contract::route::{RouteInfo, RouteUse, specified_routes};

/// A loaded version's manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// Kebab-case, unique in one gateway.
    pub family: String,
    /// Semver of the build.
    pub version: String,
    /// Which interfaces of the contract it exports.
    pub offers: Offers,
    /// Models served.
    pub models: Vec<ModelInfo>,
    /// Surfaces served.
    pub surfaces: Vec<SurfaceInfo>,
    /// The ways to them; a surface of the specification has its own without one.
    #[serde(default)]
    pub routes: Vec<RouteInfo>,
    /// Providers that must be configured.
    pub providers: Vec<String>,
    /// The least specific price keys; each must have a price.
    pub price_keys: Vec<String>,
    /// Stamped on every state the build writes.
    pub state_version: u32,
    /// Older state versions it can migrate.
    pub reads_state: Vec<u32>,
    /// Requests with known answers.
    pub self_tests: Vec<SelfTest>,
}

impl About {
    /// Every route of the family: those that it declares, and those that its other surfaces have by the specification.
    #[must_use]
    pub fn all_routes(&self) -> Vec<RouteInfo> {
        let is_declared = |surface: &str| self.routes.iter().any(|route| route.surface == surface);
        let specified = specified_routes().iter().filter(|route| {
            let serves = match route.does {
                RouteUse::View => self.offers.views,
                _ => self.surfaces.iter().any(|own| own.name == route.surface),
            };
            serves && !is_declared(&route.surface)
        });
        self.routes.iter().chain(specified).cloned().collect()
    }
}

/// The interfaces of the contract a component exports beside `manifest`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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
    #[serde(default)]
    pub direct: bool,
}

/// One model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelInfo {
    /// Its own id.
    pub id: String,
    /// Other names for it.
    pub aliases: Vec<String>,
    /// Surfaces it serves.
    pub surfaces: Vec<String>,
}

/// One surface of a family.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SurfaceInfo {
    /// "images.generate", ...
    pub name: String,
    /// The model meant when a request names none.
    pub default_model: Option<String>,
    /// JSON Schema of the parameters.
    pub schema: String,
    /// Where the task a request follows up is named.
    pub parent: ParentAt,
    /// Whether a request joins its living parent instead of making a task.
    pub joins: bool,
    /// Where names stand that a customer may own.
    pub names: Vec<NameAt>,
}

/// Where the task a request follows up is named.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ParentAt {
    /// It follows up no task.
    Nowhere,
    /// In the request's path.
    Path,
    /// In a field of the body: a task id, or a list of task ids.
    Field(String),
}

/// Where names stand that a customer may own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum NameAt {
    /// A string `<scheme>://...` anywhere in the body.
    Scheme(String),
    /// A field of the body: a name, or a list of names.
    Field(String),
}

/// A request with a known answer, run twice before every switch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SelfTest {
    /// The surface.
    pub surface: String,
    /// The request body, JSON.
    pub body: String,
    /// The tasks it follows up.
    pub parents: Vec<Parent>,
    /// The expected answer.
    pub expect: Verdict,
}

/// How a submission ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verdict {
    /// Accepted.
    Accepted,
    /// Accepted only to fail.
    Doomed,
    /// Refused.
    Refused,
}
