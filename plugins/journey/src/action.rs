//! The sixteen actions, and how fast the provider is asked to work.

use std::fmt;

use schemars::JsonSchema;
use serde::de::IntoDeserializer;
use serde::de::value::{Error, StrDeserializer};
use serde::{Deserialize, Serialize};

/// What a task does: the gateway's own word, never the provider's, which names several of them alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Action {
    Imagine,
    Blend,
    Describe,
    Edits,
    Upscale,
    Variation,
    HighVariation,
    LowVariation,
    Reroll,
    Zoom,
    Pan,
    Inpaint,
    Modal,
    Video,
    RemixStrong,
    RemixSubtle,
}

impl Action {
    /// In the order of the specification.
    pub(crate) const ALL: [Self; 16] = [
        Self::Imagine,
        Self::Blend,
        Self::Describe,
        Self::Edits,
        Self::Upscale,
        Self::Variation,
        Self::HighVariation,
        Self::LowVariation,
        Self::Reroll,
        Self::Zoom,
        Self::Pan,
        Self::Inpaint,
        Self::Modal,
        Self::Video,
        Self::RemixStrong,
        Self::RemixSubtle,
    ];

    /// Its surface: `journey.<name>`.
    pub(crate) fn surface(self) -> String {
        format!("journey.{self}")
    }

    /// The action of a surface.
    pub(crate) fn of_surface(surface: &str) -> Option<Self> {
        let name: StrDeserializer<'_, Error> = surface.strip_prefix("journey.")?.into_deserializer();
        Self::deserialize(name).ok()
    }

    /// As clients read it: `HIGH_VARIATION`.
    pub(crate) fn shown(self) -> String {
        let mut shown = self.to_string();
        shown.make_ascii_uppercase();
        shown
    }
}

/// As price keys and surfaces have it.
impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// How fast, which is part of the price.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Speed {
    #[default]
    Relax,
    Fast,
    Turbo,
}

impl Speed {
    /// The word of a body and of a prompt flag.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Relax => "relax",
            Self::Fast => "fast",
            Self::Turbo => "turbo",
        }
    }

    /// The speed of a prompt flag such as `--fast`.
    pub(crate) fn of_flag(name: &str) -> Option<Self> {
        [Self::Relax, Self::Fast, Self::Turbo].into_iter().find(|speed| speed.name() == name)
    }
}
