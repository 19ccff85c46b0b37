//! What each kept version declares, read without loading it: family, semver, models, surfaces, state versions.
//!
//! One file for each component, written when it is kept. The plugin store reads them all at start, so that a list of
//! versions loads nothing.

use std::collections::BTreeMap;

use gatehouse_model::{About, RouteInfo, view};
use serde::{Deserialize, Serialize};

/// One model of a version.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelNames {
    /// Its own id.
    pub id: String,
    /// Its other names.
    pub aliases: Vec<String>,
}

view! {
    /// What a manifest says of its family to people.
    #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    pub struct ManifestFacts of (about: &About) {
        /// A name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub title: Option<String> = about.title.clone(),
        /// An SPDX expression.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub licence: Option<String> = about.licence.clone(),
        /// Where to read more.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub homepage: Option<String> = about.homepage.clone(),
        /// What one unit of a price key is.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        pub units: BTreeMap<String, String> = about.units.clone(),
    }
}

view! {
    /// The entry of one version.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub(crate) struct ManifestEntry of (about: &About) where {
        let models = about.models.iter();
        let named = models.clone().filter(|model| !model.aliases.is_empty());
    } {
        pub(crate) family: String = about.family.clone(),
        /// Its semver.
        pub(crate) version: String = about.version.clone(),
        #[serde(default)]
        pub(crate) models: Vec<String> = models.map(|model| model.id.clone()).collect(),
        /// Other names by model; absent in entries of earlier releases.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        pub(crate) aliases: BTreeMap<String, Vec<String>> =
            named.map(|model| (model.id.clone(), model.aliases.clone())).collect(),
        #[serde(default)]
        pub(crate) surfaces: Vec<String> = about.surfaces.iter().map(|surface| surface.name.clone()).collect(),
        /// Absent in entries of earlier releases.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub(crate) routes: Vec<RouteInfo> = about.all_routes(),
        pub(crate) state_version: u32 = about.state_version,
        #[serde(default)]
        pub(crate) reads_state: Vec<u32> = about.reads_state.clone(),
        /// The schema of the operator's settings.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub(crate) settings_schema: Option<String> = about.settings_schema.clone(),
        /// Empty in entries of earlier releases.
        #[serde(default, flatten)]
        pub(crate) facts: ManifestFacts = about.into(),
    }
}

impl ManifestEntry {
    /// Every name of its models.
    pub(crate) fn all_names(&self) -> Vec<String> {
        self.models.iter().chain(self.aliases.values().flatten()).cloned().collect()
    }

    /// Its models with all their names.
    pub(crate) fn model_names(&self) -> Vec<ModelNames> {
        let names = |id: &String| ModelNames {
            id: id.clone(),
            aliases: self.aliases.get(id).cloned().unwrap_or_default(),
        };
        self.models.iter().map(names).collect()
    }
}
