//! The two operations that the command line sends beside `/admin/v1`: they carry a component together with its defaults.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gatehouse_model::Digest;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::api::configuration::FamilyDefaultsFile;

/// One operation. A command performs it on a store that it opened itself, or sends the same value to the
/// gateway that has the store open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "operation", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Operation {
    /// Deploys a component: every stage, the switch of its family included.
    PluginInstall {
        /// Its bytes.
        component: Component,
        /// Refuse any other bytes.
        sha256: Option<Digest>,
        /// The text of its signature file.
        #[serde(default)]
        signature: Option<String>,
        /// Whether it may leave out a model, alias or surface that its predecessor serves.
        #[serde(default)]
        allow_removal: bool,
        /// Prices, providers and models that come with it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        defaults: Option<FamilyDefaultsFile>,
    },
    /// Takes a component through every stage of deployment but the switch.
    PluginCheck {
        /// Its bytes.
        component: Component,
        /// The text of its signature file.
        #[serde(default)]
        signature: Option<String>,
        /// Whether it may leave out a model, alias or surface that its predecessor serves.
        #[serde(default)]
        allow_removal: bool,
        /// As for an installation; what they would change is part of the result.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        defaults: Option<FamilyDefaultsFile>,
    },
}

impl Operation {
    /// The defaults that a plugin brings.
    #[must_use]
    pub fn defaults(&self) -> Option<&FamilyDefaultsFile> {
        match self {
            Self::PluginInstall { defaults, .. } | Self::PluginCheck { defaults, .. } => defaults.as_ref(),
        }
    }
}

/// A component's bytes; base64 on the wire.
#[derive(Clone, PartialEq, Eq)]
pub struct Component(pub Vec<u8>);

impl Component {
    /// The sha256 of the bytes.
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest::of(&self.0)
    }
}

impl std::fmt::Debug for Component {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Component({} bytes)", self.0.len())
    }
}

impl Serialize for Component {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for Component {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        STANDARD.decode(text.as_bytes()).map(Self).map_err(serde::de::Error::custom)
    }
}
