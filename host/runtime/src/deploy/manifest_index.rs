//! What each kept version declares, read without loading it: family, semver, models, surfaces, state versions.
//!
//! One file for each component, written when it is kept. The plugin store reads them all at start, so that a list of
//! versions loads nothing.

use gatehouse_model::About;
use serde::{Deserialize, Serialize};

/// The entry of one version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ManifestEntry {
    pub(crate) family: String,
    /// Its semver.
    pub(crate) version: String,
    #[serde(default)]
    pub(crate) models: Vec<String>,
    #[serde(default)]
    pub(crate) surfaces: Vec<String>,
    pub(crate) state_version: u32,
    #[serde(default)]
    pub(crate) reads_state: Vec<u32>,
}

impl From<&About> for ManifestEntry {
    fn from(about: &About) -> Self {
        Self {
            family: about.family.clone(),
            version: about.version.clone(),
            models: about.models.iter().map(|model| model.id.clone()).collect(),
            surfaces: about.surfaces.iter().map(|surface| surface.name.clone()).collect(),
            state_version: about.state_version,
            reads_state: about.reads_state.clone(),
        }
    }
}
