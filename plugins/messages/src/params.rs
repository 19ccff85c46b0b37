//! The published shape of a request: the fields of the specification, for the manifest's schema. The checks
//! read the raw body, so that passed values keep their bytes.

use schemars::JsonSchema;
use serde_json::{Map, Value};

/// A request to `messages.create`.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is read")]
pub(crate) struct Params {
    /// A public model id, or one with `-thinking` behind it.
    model: Option<String>,
    /// The conversation. The model continues a final assistant message, if it can.
    #[schemars(length(min = 1, max = 100_000))]
    messages: Vec<Message>,
    /// Tokens the model may write at most; the greatest value differs by model.
    #[schemars(range(min = 1))]
    max_tokens: u32,
    /// Switches thinking on; its blocks are returned with unchanged `signature`.
    thinking: Option<Thinking>,
    /// The system prompt: a text, or text blocks.
    system: Option<TextOrBlocks>,
    #[schemars(range(min = 0.0, max = 1.0))]
    temperature: Option<f64>,
    /// This or `temperature`.
    #[schemars(range(min = 0.0, max = 1.0))]
    top_p: Option<f64>,
    top_k: Option<u32>,
    /// Answer with server-sent events.
    stream: Option<bool>,
    #[schemars(length(max = 4))]
    stop_sequences: Option<Vec<String>>,
    metadata: Option<Metadata>,
    /// Custom tools, and the computer, text editor and bash tools.
    tools: Option<Vec<Map<String, Value>>>,
    tool_choice: Option<Choice>,
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is read")]
struct Message {
    role: Role,
    content: TextOrBlocks,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "lowercase")]
#[expect(dead_code, reason = "only its schema is read")]
enum Role {
    User,
    Assistant,
}

#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "only its schema is read")]
enum TextOrBlocks {
    Text(String),
    Blocks(Vec<Map<String, Value>>),
}

#[derive(JsonSchema)]
#[schemars(tag = "type", rename_all = "lowercase")]
#[expect(dead_code, reason = "only its schema is read")]
enum Thinking {
    Enabled {
        #[schemars(range(min = 1024))]
        budget_tokens: u32,
    },
    Adaptive,
    Disabled,
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is read")]
struct Metadata {
    user_id: Option<String>,
}

#[derive(JsonSchema)]
#[schemars(tag = "type", rename_all = "lowercase")]
#[expect(dead_code, reason = "only its schema is read")]
enum Choice {
    Auto { disable_parallel_tool_use: Option<bool> },
    Any { disable_parallel_tool_use: Option<bool> },
    Tool { name: String, disable_parallel_tool_use: Option<bool> },
    None,
}
