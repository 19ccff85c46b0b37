//! What an operator has checked or installed: a component, and what belongs to it. One type for both, so that they cannot
//! differ.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gatehouse_model::Digest;
use gatehouse_runtime::Package;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::api::configuration::FamilyDefaultsFile;

/// A plugin to check or to install.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PluginOffer {
    /// Its bytes, in base64.
    pub component: Component,
    /// Refuse any other bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub sha256: Option<Digest>,
    /// The text of its signature file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
    /// Whether it may leave out a model, alias or surface that its predecessor serves.
    #[serde(default)]
    pub allow_removal: bool,
    /// Prices, providers and models that come with it, in place of those in the component.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub defaults: Option<FamilyDefaultsFile>,
}

impl PluginOffer {
    /// A component alone.
    #[must_use]
    pub fn of(component: Component) -> Self {
        Self { component, sha256: None, signature: None, allow_removal: false, defaults: None }
    }

    /// The defaults that it brings: the file of the operator, or else what the component carries. What is wrong with the
    /// component's sections is the deployment's to say.
    #[must_use]
    pub fn defaults(&self) -> Option<FamilyDefaultsFile> {
        self.defaults.clone().or_else(|| {
            let text = Package::read(&self.component.0).ok()?.defaults?;
            Some(FamilyDefaultsFile { name: "defaults of the plugin".to_owned(), text })
        })
    }
}

/// A component's bytes; base64 on the wire.
#[derive(Clone, PartialEq, Eq, JsonSchema)]
pub struct Component(#[schemars(with = "String")] pub Vec<u8>);

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
