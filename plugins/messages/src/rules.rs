//! What the operator's model table says of a model: the keys of `rules`, all optional, unknown ones ignored.
//!
//! Facts for the table, by upstream id (each can change at the provider; that is why they are data):
//!
//! | upstream | `max_output` | `sampling` | `thinking` | `prefill` |
//! |---|---|---|---|---|
//! | `claude-opus-4-5-20251101` | 64000 | `either` | `["enabled"]` | true |
//! | `claude-opus-4-6`, `claude-sonnet-4-6` | 128000 | `either` | `["enabled", "adaptive"]` | false |
//! | `claude-opus-4-7`, `claude-opus-4-8` | 128000 | `none` | `["adaptive"]` | false |
//!
//! An empty table promises nothing and forbids little: no cap, free sampling, both kinds of thinking, no prefill.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

/// The `rules` of a model.
#[derive(Debug, Deserialize)]
#[serde(default)]
pub(crate) struct Rules {
    /// Cap of `max_tokens`.
    pub(crate) max_output: Option<u32>,
    /// What the model takes of `temperature`, `top_p` and `top_k`.
    pub(crate) sampling: Sampling,
    /// Refuse, in the upstream's words, sampling the model does not take, instead of dropping it.
    pub(crate) strict: bool,
    /// The kinds of thinking the model knows; an empty list is a model that does not think.
    pub(crate) thinking: Vec<Kind>,
    /// Whether a final assistant turn may open the reply of a Messages upstream.
    pub(crate) prefill: bool,
    /// Over the built-in table, tool type by tool type; `null` is a tool that is not available.
    pub(crate) tools: BTreeMap<String, Option<Upgrade>>,
    /// Fields beyond the specification's that are passed on (`output_config`, `cache_control`,
    /// `service_tier`, ...); any other is refused.
    pub(crate) pass: Vec<String>,
    /// Names of the client's `anthropic-beta` that are passed on.
    pub(crate) betas: Vec<String>,
    /// `anthropic-version` sent upstream, whatever the client's own: later versions refuse what the
    /// specification allows.
    pub(crate) version: String,
    /// How a Chat upstream calls `max_tokens`.
    pub(crate) max_tokens_field: MaxTokensField,
    /// A Chat upstream wants its `reasoning_content` back.
    pub(crate) reasoning_history: bool,
    /// A Chat upstream continues a final assistant message.
    pub(crate) continues: bool,
    /// Ask a Chat upstream for `stream_options.include_usage`.
    pub(crate) include_usage: bool,
}

/// What a model takes of the sampling fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Sampling {
    /// All of them.
    #[default]
    Free,
    /// `temperature` or `top_p`, not both.
    Either,
    /// None of them.
    None,
}

/// A kind of thinking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    /// With a budget of tokens.
    Enabled,
    /// As deep as the model sees fit, steered by `output_config.effort`.
    Adaptive,
}

/// The tool a provider gets for a tool type.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Upgrade {
    /// Its type there.
    #[serde(rename = "type")]
    pub(crate) kind: String,
    /// The `anthropic-beta` name it needs.
    pub(crate) beta: Option<String>,
}

/// How a Chat upstream calls `max_tokens`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum MaxTokensField {
    /// OpenAI's name.
    #[default]
    MaxCompletionTokens,
    /// The older one, which many clones know alone.
    MaxTokens,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            max_output: None,
            sampling: Sampling::Free,
            strict: false,
            thinking: vec![Kind::Enabled, Kind::Adaptive],
            prefill: false,
            tools: BTreeMap::new(),
            pass: Vec::new(),
            betas: Vec::new(),
            version: "2023-06-01".to_owned(),
            max_tokens_field: MaxTokensField::default(),
            reasoning_history: false,
            continues: false,
            include_usage: true,
        }
    }
}

impl Rules {
    /// Reads the table.
    ///
    /// # Errors
    /// What of it does not read, for the operator.
    pub(crate) fn read(table: &Value) -> Result<Self, String> {
        Self::deserialize(table).map_err(|error| error.to_string())
    }

    /// Whether the model knows this kind of thinking.
    pub(crate) fn knows(&self, kind: Kind) -> bool {
        self.thinking.contains(&kind)
    }
}
