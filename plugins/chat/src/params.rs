//! The parameters as published: the schema of the surface. What is accepted is decided in `request`; a test
//! holds the two together.

use schemars::JsonSchema;
use serde_json::Value;

/// A chat completion. A field that may cost more than its tokens, or that is not listed, goes along only where the model's `pass` has
/// it: a hint (`service_tier`, `store`, `metadata`) is left out elsewhere, and the rest is refused.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct Params {
    /// The model; `<model>-thinking` is the same model, thinking.
    model: String,
    /// The conversation.
    #[schemars(length(min = 1, max = 100_000))]
    messages: Vec<Message>,
    /// Tokens the model may write at most, thinking included.
    #[schemars(range(min = 1))]
    max_completion_tokens: Option<u32>,
    /// The older name of it.
    #[schemars(range(min = 1))]
    max_tokens: Option<u32>,
    /// 0 to 2; what a model does not take is left out.
    #[schemars(range(min = 0, max = 2))]
    temperature: Option<f64>,
    /// 0 to 1.
    #[schemars(range(min = 0, max = 1))]
    top_p: Option<f64>,
    /// A text or at most four at which the model stops.
    stop: Option<Stop>,
    /// Answers; models behind a messages provider give one.
    #[schemars(range(min = 1, max = 128))]
    n: Option<u32>,
    /// Answer with a stream of chunks; `false` by default.
    stream: Option<bool>,
    /// What the stream holds besides.
    stream_options: Option<StreamOptions>,
    /// How hard to think.
    reasoning_effort: Option<Effort>,
    /// Functions the model may call.
    tools: Option<Vec<Value>>,
    /// `none`, `auto`, `required`, or an object that names a function.
    tool_choice: Option<Value>,
    /// Whether the model may call several at once.
    parallel_tool_calls: Option<bool>,
    /// `text`, `json_object` or `json_schema`.
    response_format: Option<Value>,
    /// The client's own user, for the provider.
    user: Option<String>,
    #[schemars(range(min = -2, max = 2))]
    frequency_penalty: Option<f64>,
    #[schemars(range(min = -2, max = 2))]
    presence_penalty: Option<f64>,
    seed: Option<i64>,
    logit_bias: Option<std::collections::BTreeMap<String, f64>>,
    logprobs: Option<bool>,
    #[schemars(range(min = 0, max = 20))]
    top_logprobs: Option<u8>,
    modalities: Option<Vec<Modality>>,
    audio: Option<Value>,
    prediction: Option<Value>,
    verbosity: Option<Verbosity>,
    functions: Option<Vec<Value>>,
    function_call: Option<Value>,
    service_tier: Option<String>,
    store: Option<bool>,
    metadata: Option<std::collections::BTreeMap<String, String>>,
    safety_identifier: Option<String>,
    prompt_cache_key: Option<String>,
    prompt_cache_retention: Option<String>,
    web_search_options: Option<Value>,
    moderation: Option<Value>,
}

/// One message.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct Message {
    role: Role,
    /// A text, or parts; `null` where there are `tool_calls`.
    content: Option<Value>,
    name: Option<String>,
    tool_calls: Option<Vec<Value>>,
    tool_call_id: Option<String>,
    refusal: Option<String>,
    /// Signed thinking of an earlier answer, unchanged.
    thinking_blocks: Option<Vec<Value>>,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "lowercase")]
#[expect(dead_code, reason = "only its schema is used")]
enum Role {
    Developer,
    System,
    User,
    Assistant,
    Tool,
    Function,
}

#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "only its schema is used")]
enum Stop {
    One(String),
    Some(#[schemars(length(max = 4))] Vec<String>),
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct StreamOptions {
    /// One more chunk at the end counts the tokens.
    include_usage: Option<bool>,
    include_obfuscation: Option<bool>,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "lowercase")]
#[expect(dead_code, reason = "only its schema is used")]
enum Effort {
    None,
    Minimal,
    Low,
    Medium,
    High,
    Xhigh,
    Max,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "lowercase")]
#[expect(dead_code, reason = "only its schema is used")]
enum Modality {
    Text,
    Audio,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "lowercase")]
#[expect(dead_code, reason = "only its schema is used")]
enum Verbosity {
    Low,
    Medium,
    High,
}
