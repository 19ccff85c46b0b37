//! What the operator's table says of a model: its `rules`. This family reads the keys below; `tools`, `pass`,
//! `reasoning_history` and `continues` of the same table concern clients that speak messages, and any other
//! key is ignored.
//!
//! | Key | Means | Default |
//! |---|---|---|
//! | `max_output` | the most tokens the model writes; a request for more is refused | no cap |
//! | `default_output` | `max_tokens` for a request that names none: a messages provider must be told one, a chat provider is told only when this is set | the smaller of `max_output` and 8192 |
//! | `sampling` | `free`; `either`: `temperature` or `top_p`, both are refused; `none`: the model takes neither | `free` |
//! | `strict` | under `none`, refuse the two instead of dropping them | `false` |
//! | `thinking` | what the model knows of `enabled` (a budget) and `adaptive` (an effort); `[]`: it does not think, and a request for it is refused | both |
//! | `prefill` | a messages provider continues a final assistant message | `false` |
//! | `betas` | the names a client's `anthropic-beta` may pass on | none |
//! | `version` | `anthropic-version` | `2023-06-01` |
//! | `max_tokens_field` | what a chat provider calls the cap: `max_completion_tokens` or `max_tokens` | `max_completion_tokens` |
//! | `include_usage` | ask a chat provider to count the tokens of a stream | `true` |
//!
//! Of the models the specification lists: opus-4-5 knows `enabled` alone, takes one of the two samplings,
//! continues an assistant message and writes 64,000 tokens; opus-4-6 and sonnet-4-6 know both kinds of
//! thinking and take one of the two samplings; opus-4-7 and 4-8 know `adaptive` alone and take no sampling at
//! all. These four write 128,000 tokens and continue nothing.

use gatehouse_sdk::log;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// What a request gets that names no cap, when the table does not say.
const DEFAULT_OUTPUT: u32 = 8192;

/// The table of one model, as far as this family reads it.
#[derive(Debug)]
pub(crate) struct Rules {
    pub(crate) max_output: Option<u32>,
    default_output: Option<u32>,
    pub(crate) sampling: Sampling,
    pub(crate) strict: bool,
    /// `None`: the table does not say.
    thinking: Option<Vec<Mode>>,
    pub(crate) prefill: bool,
    pub(crate) betas: Vec<String>,
    pub(crate) version: String,
    pub(crate) cap: Cap,
    pub(crate) include_usage: bool,
}

/// What a model takes of `temperature` and `top_p`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Sampling {
    #[default]
    Free,
    Either,
    None,
}

/// A kind of thinking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Mode {
    Enabled,
    Adaptive,
}

/// What a chat provider calls the cap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Cap {
    #[default]
    MaxCompletionTokens,
    MaxTokens,
}

impl Cap {
    pub(crate) fn field(self) -> &'static str {
        match self {
            Self::MaxCompletionTokens => "max_completion_tokens",
            Self::MaxTokens => "max_tokens",
        }
    }
}

impl Rules {
    pub(crate) fn read(table: &Value) -> Self {
        Self {
            max_output: key(table, "max_output"),
            default_output: key(table, "default_output"),
            sampling: key(table, "sampling").unwrap_or_default(),
            strict: key(table, "strict").unwrap_or(false),
            thinking: key(table, "thinking"),
            prefill: key(table, "prefill").unwrap_or(false),
            betas: key(table, "betas").unwrap_or_default(),
            version: key(table, "version").unwrap_or_else(|| "2023-06-01".to_owned()),
            cap: key(table, "max_tokens_field").unwrap_or_default(),
            include_usage: key(table, "include_usage").unwrap_or(true),
        }
    }

    pub(crate) fn thinks(&self) -> bool {
        self.thinking.as_ref().is_none_or(|modes| !modes.is_empty())
    }

    pub(crate) fn knows(&self, mode: Mode) -> bool {
        self.thinking.as_ref().is_none_or(|modes| modes.contains(&mode))
    }

    /// The cap for a request that names none.
    pub(crate) fn unnamed(&self) -> u32 {
        self.default_output
            .unwrap_or_else(|| self.max_output.map_or(DEFAULT_OUTPUT, |most| most.min(DEFAULT_OUTPUT)))
    }

    /// The same where the provider need not be told: only what the operator wrote.
    pub(crate) fn told(&self) -> Option<u32> {
        self.default_output
    }
}

/// A key that does not read is the operator's slip, never the client's: it is logged and taken as absent.
fn key<T: DeserializeOwned>(table: &Value, name: &str) -> Option<T> {
    let value = table.get(name).filter(|value| !value.is_null())?;
    T::deserialize(value)
        .inspect_err(|error| {
            log::error(
                "a rule of this model is not understood",
                &[("rule", name), ("why", &error.to_string())],
            );
        })
        .ok()
}
