//! The models and what each of them takes, as data.

/// A model.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Model {
    pub(super) id: &'static str,
    /// Tokens of a prompt and its answer.
    pub(super) context: u64,
    /// Tokens of an answer.
    pub(super) max_output: u64,
    /// Thinks before it answers: no `max_tokens`, no sampling, and an effort.
    pub(super) reasons: bool,
    /// Only means to be compatible: no newer fields, usage on the last chunk of content, `reasoning_content`.
    pub(super) clone: bool,
}

/// Every model there is.
pub(super) const MODELS: &[Model] = &[
    Model { id: "gpt-sim", context: 128_000, max_output: 16_384, reasons: false, clone: false },
    Model { id: "gpt-sim-reasoning", context: 400_000, max_output: 128_000, reasons: true, clone: false },
    Model { id: "clone-sim", context: 64_000, max_output: 8192, reasons: false, clone: true },
];

/// Every field a request may have.
pub(super) const FIELDS: &[&str] = &[
    "model",
    "messages",
    "max_completion_tokens",
    "max_tokens",
    "temperature",
    "top_p",
    "frequency_penalty",
    "presence_penalty",
    "seed",
    "logit_bias",
    "logprobs",
    "top_logprobs",
    "n",
    "stop",
    "response_format",
    "modalities",
    "audio",
    "prediction",
    "verbosity",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "functions",
    "function_call",
    "reasoning_effort",
    "stream",
    "stream_options",
    "service_tier",
    "store",
    "metadata",
    "user",
    "safety_identifier",
    "prompt_cache_key",
    "prompt_cache_retention",
    "web_search_options",
    "moderation",
];

/// What the clone never heard of.
pub(super) const NEWER: &[&str] = &[
    "max_completion_tokens",
    "modalities",
    "audio",
    "prediction",
    "verbosity",
    "reasoning_effort",
    "service_tier",
    "store",
    "metadata",
    "safety_identifier",
    "prompt_cache_key",
    "prompt_cache_retention",
    "web_search_options",
    "moderation",
];
