//! The `rules` of a model in the operator's model table. Every key is optional; unknown keys are ignored. Both
//! text families read one table.
//!
//! Facts for the table, by upstream id (each can change at the provider; that is why they are data):
//!
//! | upstream | `max_output` | `sampling` | `thinking` | `prefill` |
//! |---|---|---|---|---|
//! | `claude-opus-4-5-20251101` | 64000 | `either` | `["enabled"]` | `native` |
//! | `claude-opus-4-6`, `claude-sonnet-4-6` | 128000 | `either` | `["enabled", "adaptive"]` | `emulate` |
//! | `claude-opus-4-7`, `claude-opus-4-8` | 128000 | `none` | `["adaptive"]` | `emulate` |
//!
//! The default of an empty table: no cap, free sampling, both kinds of thinking, an emulated prefill, and the fields of
//! [`PASSED`], [`CHAT_PASSED`] or [`EMBEDDINGS_PASSED`], by what the provider makes.
//! Of a chat provider it is not known whether its model thinks: a Messages client's `thinking` and `effort` are
//! translated where the table lists `thinking`, and left out where it does not.

use std::collections::BTreeMap;

use gatehouse_sdk::{Call, TextRequest, log};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::tool_ids::CallIds;

/// The cap of a request that names none, when the table does not say one.
const DEFAULT_OUTPUT: u32 = 8192;
/// Fields beyond the specification's that a Messages provider takes, when the table does not say which.
pub const PASSED: [&str; 3] = ["cache_control", "output_config", "service_tier"];
/// Fields beyond the protocol's own that a chat provider takes, when the table does not say which: how tokens are chosen
/// and how hard the model thinks, which tokens alone pay for.
pub const CHAT_PASSED: [&str; 26] = [
    "chat_template_kwargs",
    "do_sample",
    "enable_thinking",
    "guided_choice",
    "guided_grammar",
    "guided_json",
    "guided_regex",
    "ignore_eos",
    "include_reasoning",
    "length_penalty",
    "min_p",
    "min_tokens",
    "prompt_mode",
    "random_seed",
    "reasoning",
    "reasoning_format",
    "repetition_penalty",
    "safe_prompt",
    "skip_special_tokens",
    "stop_token_ids",
    "structured_outputs",
    "thinking",
    "thinking_budget",
    "top_a",
    "top_k",
    "typical_p",
];
/// Those of them that bound what the answer may be: it is another one without them.
const FORMS: [&str; 5] =
    ["guided_choice", "guided_grammar", "guided_json", "guided_regex", "structured_outputs"];
/// The same for a provider of embeddings.
pub const EMBEDDINGS_PASSED: [&str; 10] = [
    "input_type",
    "late_chunking",
    "normalize",
    "normalized",
    "output_dimension",
    "output_dtype",
    "prompt_name",
    "task",
    "truncate",
    "truncation",
];
/// Both kinds of thinking, when the table does not say which.
const BOTH_KINDS: [ThinkingKind; 2] = [ThinkingKind::Enabled, ThinkingKind::Adaptive];

/// The `rules` of a model.
#[derive(Debug, Deserialize)]
#[serde(default)]
pub struct Rules {
    /// The most output tokens of the model; a request for more is refused.
    pub max_output: Option<u32>,
    /// The cap of a request that names none. A Messages provider needs one (default: the smaller of
    /// `max_output` and 8192); a chat provider gets one only when this is set.
    pub default_output: Option<u32>,
    /// What the model takes of `temperature`, `top_p` and `top_k`.
    pub sampling: Sampling,
    /// Refuse, in the upstream's words, sampling the model does not take, instead of dropping it.
    pub strict: bool,
    /// The kinds of thinking the model knows; an empty list is a model that does not think. Absent: both, at a Messages
    /// provider.
    pub thinking: Option<Vec<ThinkingKind>>,
    /// What becomes of a final assistant message, which the answer is to continue.
    pub prefill: Prefill,
    /// Over the built-in table, tool type by tool type; `null` is a tool that is not available.
    pub tools: BTreeMap<String, Option<ToolUpgrade>>,
    /// Fields beyond the protocol's plain ones that the provider takes, whichever protocol the client speaks.
    /// Of a Messages provider `output_config`, `cache_control`, `context_management`, ...; absent:
    /// [`PASSED`]. Of a chat provider whatever costs more than its tokens (`service_tier`,
    /// `web_search_options`, `audio` with `modalities`, `store`, `metadata`) and all that the protocol does
    /// not have; absent: [`CHAT_PASSED`]. Of the others hints are left out, and the rest is refused. The
    /// model's `pass_prices` say what a field costs; without an entry there it costs nothing beside its
    /// tokens.
    pub pass: Option<Vec<String>>,
    /// The provider takes messages of role `system` between others. Elsewhere they become text of the user.
    pub system_messages: bool,
    /// Names of the client's `anthropic-beta` that are passed on.
    pub betas: Vec<String>,
    /// `anthropic-version` sent upstream, whatever the client's own: later versions refuse what the
    /// specification allows.
    pub version: String,
    /// The name of `max_tokens` at a chat provider.
    pub max_tokens_field: MaxTokensField,
    /// The ids of calls that a chat provider takes back: `any`, `short` (40 letters), or `nine` letters and digits; absent: by the
    /// upstream id of the model ([`CallIds::of`]).
    pub call_ids: Option<CallIds>,
    /// A chat provider expects its `reasoning_content` back.
    pub reasoning_history: bool,
    /// The older way to say of a chat provider that its `prefill` is `native`.
    pub continues: bool,
    /// Ask a chat provider for `stream_options.include_usage`.
    pub include_usage: bool,
    /// The encoding of vectors that a provider of embeddings is asked for, whatever the client's; absent: the client's.
    pub encoding_format: Option<VectorEncoding>,
}

/// How a vector of an embedding is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum VectorEncoding {
    /// An array of numbers.
    Float,
    /// Base64 of 32-bit floats, the lowest byte first.
    Base64,
}

impl VectorEncoding {
    /// Its name in a request.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Float => "float",
            Self::Base64 => "base64",
        }
    }
}

/// What a model takes of the sampling fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sampling {
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
pub enum ThinkingKind {
    /// With a budget of tokens.
    Enabled,
    /// The model chooses the depth, steered by `output_config.effort`.
    Adaptive,
}

/// What becomes of a final assistant message. Earlier versions wrote `true` and `false`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Value")]
pub enum Prefill {
    /// It is sent: the model continues it.
    Native,
    /// The model is told to begin with its text, which is then taken off the answer.
    #[default]
    Emulate,
    /// The request is refused, in the words of a provider that does not continue one.
    Refuse,
}

impl TryFrom<Value> for Prefill {
    type Error = String;

    fn try_from(written: Value) -> Result<Self, String> {
        match (written.as_bool(), written.as_str()) {
            (Some(true), _) | (_, Some("native")) => Ok(Self::Native),
            (Some(false), _) | (_, Some("refuse")) => Ok(Self::Refuse),
            (_, Some("emulate")) => Ok(Self::Emulate),
            _ => Err(format!("expected `native`, `emulate` or `refuse`, got {written}")),
        }
    }
}

/// The tool type sent to the provider in place of the client's.
#[derive(Clone, Debug, Deserialize)]
pub struct ToolUpgrade {
    /// Its type there.
    #[serde(rename = "type")]
    pub kind: String,
    /// The `anthropic-beta` name it needs.
    pub beta: Option<String>,
}

/// The name of `max_tokens` at a chat provider.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MaxTokensField {
    /// The name of OpenAI.
    #[default]
    MaxCompletionTokens,
    /// The older name; many compatible servers know only this one.
    MaxTokens,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            max_output: None,
            default_output: None,
            sampling: Sampling::Free,
            strict: false,
            thinking: None,
            prefill: Prefill::default(),
            tools: BTreeMap::new(),
            pass: None,
            system_messages: false,
            betas: Vec::new(),
            version: "2023-06-01".to_owned(),
            max_tokens_field: MaxTokensField::default(),
            call_ids: None,
            reasoning_history: false,
            continues: false,
            include_usage: true,
            encoding_format: None,
        }
    }
}

impl MaxTokensField {
    /// The field's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::MaxCompletionTokens => "max_completion_tokens",
            Self::MaxTokens => "max_tokens",
        }
    }
}

/// Whether a field that a chat provider takes only says how tokens are chosen. A Messages provider, which has no word for it,
/// answers without it.
#[must_use]
pub fn chooses_tokens(field: &str) -> bool {
    CHAT_PASSED.contains(&field) && !FORMS.contains(&field)
}

impl Rules {
    /// Reads the table.
    ///
    /// # Errors
    /// The first wrong key, in words for the operator.
    pub fn read(table: &Value) -> Result<Self, String> {
        Self::deserialize(table).map_err(|error| error.to_string())
    }

    /// Reads the table without its wrong keys: each is logged for the operator and counts as absent.
    #[must_use]
    pub fn read_lenient(table: &Value) -> Self {
        if let Ok(rules) = Self::read(table) {
            return rules;
        }
        let keys = table.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
        let good: Map<String, Value> = keys
            .filter(|(name, value)| {
                let alone = Value::Object(Map::from_iter([((*name).clone(), (*value).clone())]));
                Self::read(&alone)
                    .inspect_err(|why| {
                        log::error("a rule of this model is not understood", &[("rule", name), ("why", why)]);
                    })
                    .is_ok()
            })
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        Self::read(&Value::Object(good)).unwrap_or_default()
    }

    /// What becomes of a final assistant message at a provider of that protocol.
    #[must_use]
    pub fn prefill_of(&self, is_chat: bool) -> Prefill {
        if is_chat && self.continues { Prefill::Native } else { self.prefill }
    }

    /// The ids of calls that a chat provider with that name for the model takes back.
    #[must_use]
    pub fn call_ids_of(&self, upstream: &str) -> CallIds {
        self.call_ids.unwrap_or_else(|| CallIds::of(upstream))
    }

    /// Whether the model thinks at all.
    #[must_use]
    pub fn thinks(&self) -> bool {
        !self.kinds().is_empty()
    }

    /// Whether the model knows this kind of thinking.
    #[must_use]
    pub fn knows(&self, kind: ThinkingKind) -> bool {
        self.kinds().contains(&kind)
    }

    /// Whether the table itself says that the model thinks.
    #[must_use]
    pub fn is_known_to_think(&self) -> bool {
        self.thinking.is_some() && self.thinks()
    }

    fn kinds(&self) -> &[ThinkingKind] {
        self.thinking.as_deref().unwrap_or(&BOTH_KINDS)
    }

    /// Whether a Messages provider takes this field, which the specification does not have.
    #[must_use]
    pub fn passes(&self, field: &str) -> bool {
        self.lists(field, &PASSED)
    }

    /// Whether a chat provider takes this field, which may cost more than its tokens.
    #[must_use]
    pub fn chat_passes(&self, field: &str) -> bool {
        self.lists(field, &CHAT_PASSED)
    }

    /// The same of a provider of embeddings.
    #[must_use]
    pub fn embeddings_pass(&self, field: &str) -> bool {
        self.lists(field, &EMBEDDINGS_PASSED)
    }

    fn lists(&self, field: &str, default: &[&str]) -> bool {
        match &self.pass {
            Some(listed) => listed.iter().any(|passed| passed == field),
            None => default.contains(&field),
        }
    }

    /// The cap of a request to a Messages provider that names none.
    #[must_use]
    pub fn default_max_tokens(&self) -> u32 {
        self.default_output
            .unwrap_or_else(|| self.max_output.map_or(DEFAULT_OUTPUT, |max| max.min(DEFAULT_OUTPUT)))
    }

    /// A call to a Messages provider. The version is the operator's: the client's may not fit the request that is sent.
    /// Its betas are those of the client's that the rules pass on, and those that `tools` need, each once.
    #[must_use]
    pub fn messages_call<'r>(
        &'r self,
        request: &'r TextRequest,
        body: String,
        tools: impl Iterator<Item = &'r str>,
    ) -> Call {
        let call = Call::post(request.route.provider.as_str(), "/v1/messages")
            .header("anthropic-version", self.version.as_str())
            .written(body);
        let mut betas = Vec::new();
        for name in self.passed_betas(&request.headers).chain(tools) {
            if !betas.contains(&name) {
                betas.push(name);
            }
        }
        if betas.is_empty() { call } else { call.header("anthropic-beta", betas.join(",")) }
    }

    /// The names of the client's `anthropic-beta` headers that are passed on.
    fn passed_betas<'r>(&'r self, headers: &'r [(String, String)]) -> impl Iterator<Item = &'r str> {
        let headers = headers.iter().filter(|(name, _)| name == "anthropic-beta");
        let names = headers.flat_map(|(_, value)| value.split(',')).map(str::trim);
        names.filter(|name| self.betas.iter().any(|known| known == name))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_lenient_reader_drops_only_the_wrong_keys() {
        let table =
            json!({"max_output": "many", "default_output": 100, "thinking": null, "prefill": "native"});
        assert!(Rules::read(&table).is_err());
        let rules = Rules::read_lenient(&table);
        assert_eq!(
            (rules.max_output, rules.default_output, rules.prefill),
            (None, Some(100), Prefill::Native)
        );
        assert!(rules.knows(ThinkingKind::Adaptive));
    }
}
