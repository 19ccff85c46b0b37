//! The parameters as published: the schema of the surface. What is accepted is decided in
//! `gatehouse_text_protocols::responses`; a test holds the two together.

use schemars::JsonSchema;
use serde_json::Value;

/// A response. Fields that are not listed are ignored.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct Params {
    /// The model; `<model>-thinking` is the same model, thinking.
    model: String,
    /// A text, or items.
    input: Value,
    /// Comes before everything else; not kept for the next response.
    instructions: Option<String>,
    /// The response that this one goes on from.
    previous_response_id: Option<String>,
    /// Keep the response, so that another can go on from it; `true` by default.
    store: Option<bool>,
    /// Answer with a stream of events; `false` by default.
    stream: Option<bool>,
    stream_options: Option<Value>,
    /// Tokens the model may write at most, thinking included.
    #[schemars(range(min = 16))]
    max_output_tokens: Option<u32>,
    max_tool_calls: Option<u32>,
    /// 0 to 2; what a model does not take is left out.
    #[schemars(range(min = 0, max = 2))]
    temperature: Option<f64>,
    #[schemars(range(min = 0, max = 1))]
    top_p: Option<f64>,
    /// The likeliest tokens at each position of the text, with their log probabilities; a model behind a messages
    /// provider has none.
    #[schemars(range(min = 0, max = 20))]
    top_logprobs: Option<u8>,
    /// `function`, `custom` and `namespace`.
    tools: Option<Vec<Value>>,
    /// `none`, `auto`, `required`, an object that names a tool, or `allowed_tools`.
    tool_choice: Option<Value>,
    /// Whether the model may call several at once.
    parallel_tool_calls: Option<bool>,
    /// How hard to think, and whether to show it.
    reasoning: Option<Reasoning>,
    /// The format of the answer.
    text: Option<Text>,
    include: Option<Vec<String>>,
    /// At most 16 pairs, repeated in the response.
    metadata: Option<std::collections::BTreeMap<String, String>>,
    truncation: Option<String>,
    service_tier: Option<String>,
    safety_identifier: Option<String>,
    prompt_cache_key: Option<String>,
    prompt_cache_retention: Option<String>,
    user: Option<String>,
    /// Not offered: only `false`.
    background: Option<bool>,
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct Reasoning {
    /// `none`, `minimal`, `low`, `medium`, `high`, `xhigh` or `max`.
    effort: Option<String>,
    /// `auto`, `concise` or `detailed`.
    summary: Option<String>,
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct Text {
    /// `text`, `json_object` or `json_schema`.
    format: Option<Value>,
    /// `low`, `medium` or `high`.
    verbosity: Option<String>,
}
