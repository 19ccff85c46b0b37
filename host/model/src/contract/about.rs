//! The manifest of a plugin version, read when it is loaded.

use serde::{Deserialize, Serialize};

/// A loaded version's manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// Kebab-case, unique in one gateway.
    pub family: String,
    /// Semver of the build.
    pub version: String,
    /// Which halves of the contract are real.
    pub offers: Offers,
    /// Models served.
    pub models: Vec<ModelInfo>,
    /// Surfaces served.
    pub surfaces: Vec<SurfaceInfo>,
    /// Providers that must be configured.
    pub providers: Vec<String>,
    /// Every price key a charge may name.
    pub price_keys: Vec<String>,
    /// Stamped on every state the build writes.
    pub state_version: u32,
    /// Older state versions it can migrate.
    pub reads_state: Vec<u32>,
    /// Requests with known answers.
    pub self_tests: Vec<SelfTest>,
}

/// Which halves of the contract a family fills.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offers {
    /// Long jobs.
    pub jobs: bool,
    /// Text.
    pub text: bool,
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
}

/// A request with a known answer, run twice before every switch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SelfTest {
    /// The surface.
    pub surface: String,
    /// The request body, JSON.
    pub body: String,
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
