//! The sixteen actions, and how fast the provider is asked to work.

use schemars::JsonSchema;
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

    /// As price keys and surfaces have it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Imagine => "imagine",
            Self::Blend => "blend",
            Self::Describe => "describe",
            Self::Edits => "edits",
            Self::Upscale => "upscale",
            Self::Variation => "variation",
            Self::HighVariation => "high_variation",
            Self::LowVariation => "low_variation",
            Self::Reroll => "reroll",
            Self::Zoom => "zoom",
            Self::Pan => "pan",
            Self::Inpaint => "inpaint",
            Self::Modal => "modal",
            Self::Video => "video",
            Self::RemixStrong => "remix_strong",
            Self::RemixSubtle => "remix_subtle",
        }
    }

    /// Its surface: `journey.<name>`.
    pub(crate) fn surface(self) -> String {
        format!("journey.{}", self.name())
    }

    /// The action of a surface.
    pub(crate) fn of_surface(surface: &str) -> Option<Self> {
        let name = surface.strip_prefix("journey.")?;
        Self::ALL.into_iter().find(|action| action.name() == name)
    }

    /// As clients read it: `HIGH_VARIATION`.
    pub(crate) fn shown(self) -> String {
        self.name().to_ascii_uppercase()
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
