//! The engine's versions: how requests write them, how price keys and prompt flags do.

use serde::{Deserialize, Serialize};

/// A version that has a name in price keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Version {
    #[serde(rename = "v8.2")]
    V8_2,
    #[serde(rename = "v8.1")]
    V8_1,
    #[serde(rename = "v7")]
    V7,
    #[serde(rename = "v6.1")]
    V6_1,
    #[serde(rename = "v5.2")]
    V5_2,
    #[serde(rename = "v5.1")]
    V5_1,
    #[serde(rename = "niji7")]
    Niji7,
    #[serde(rename = "niji6")]
    Niji6,
}

impl Version {
    pub(crate) const ALL: [Self; 8] =
        [Self::V8_2, Self::V8_1, Self::V7, Self::V6_1, Self::V5_2, Self::V5_1, Self::Niji7, Self::Niji6];

    /// As price keys have it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::V8_2 => "v8.2",
            Self::V8_1 => "v8.1",
            Self::V7 => "v7",
            Self::V6_1 => "v6.1",
            Self::V5_2 => "v5.2",
            Self::V5_1 => "v5.1",
            Self::Niji7 => "niji7",
            Self::Niji6 => "niji6",
        }
    }

    /// The prompt flag that asks for it.
    pub(crate) fn flag(self) -> String {
        match self.name().strip_prefix("niji") {
            Some(number) => format!("--niji {number}"),
            None => format!("--v {}", self.name().trim_start_matches('v')),
        }
    }

    /// `8.1`, `v8.1` or `V8.1`; `7.0` is `7`.
    pub(crate) fn plain(text: &str) -> Option<Self> {
        let number = text.trim().trim_start_matches(['v', 'V']);
        let number = number.strip_suffix(".0").unwrap_or(number);
        Self::ALL.into_iter().find(|version| version.name().strip_prefix('v') == Some(number))
    }

    /// `7`, `v6` or `niji7`.
    pub(crate) fn niji(text: &str) -> Option<Self> {
        let text = text.trim().to_ascii_lowercase();
        let number = text.strip_prefix("niji").unwrap_or(&text).trim().trim_start_matches('v');
        let number = number.strip_suffix(".0").unwrap_or(number);
        Self::ALL.into_iter().find(|version| version.name().strip_prefix("niji") == Some(number))
    }

    /// Whether the engine has `--draft`.
    pub(crate) fn has_draft(self) -> bool {
        matches!(self, Self::V8_2 | Self::V8_1 | Self::V7)
    }

    /// Whether it is one of version 8, which has `--hd` and remixes, and neither zoom nor pan.
    pub(crate) fn is_eight(self) -> bool {
        matches!(self, Self::V8_2 | Self::V8_1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_normalised() {
        let plain = |text: &str| Version::plain(text).map(Version::name);
        for (text, expected) in [
            ("8.2", Some("v8.2")),
            ("v8.1", Some("v8.1")),
            ("V7", Some("v7")),
            ("7.0", Some("v7")),
            ("6.1", Some("v6.1")),
            ("5.2", Some("v5.2")),
            (" 5.1 ", Some("v5.1")),
            ("6", None),
            ("8", None),
            ("5", None),
            ("niji7", None),
            ("", None),
            ("v", None),
            ("7.1", None),
        ] {
            assert_eq!(plain(text), expected, "{text:?}");
        }
        let niji = |text: &str| Version::niji(text).map(Version::name);
        for (text, expected) in [
            ("7", Some("niji7")),
            ("v6", Some("niji6")),
            ("niji 7", Some("niji7")),
            ("NIJI6", Some("niji6")),
            ("6.0", Some("niji6")),
            ("5", None),
            ("6.1", None),
            ("8.1", None),
        ] {
            assert_eq!(niji(text), expected, "{text:?}");
        }
    }

    #[test]
    fn each_version_is_asked_for_by_its_flag() {
        let flags: Vec<_> = Version::ALL.into_iter().map(Version::flag).collect();
        let expected =
            ["--v 8.2", "--v 8.1", "--v 7", "--v 6.1", "--v 5.2", "--v 5.1", "--niji 7", "--niji 6"];
        assert_eq!(flags, expected);
    }
}
