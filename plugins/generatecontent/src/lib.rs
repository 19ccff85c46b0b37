//! The dialect `generatecontent`: Google's `generateContent` and `streamGenerateContent`, v1beta. Whatever a client speaks, it
//! gets a Messages request and gives back a Messages answer.
//!
//! Owns the translation of requests (contents and parts, schemas, the configuration of the model), of answers and streams, and
//! the meaning of Google's errors. Never a socket, an account or money, and never a surface: the text families own those.

mod answer;
mod content;
mod errors;
mod forms;
mod names;
mod pieces;
mod request;
mod signature;
mod state;
mod stream;
mod usage;

use gatehouse_sdk::{
    About, Context, Dialect, DialectPrepared, DialectRequest, Family, Refusal, Reply, TextFailure, Verdict,
};
use serde_json::json;

use crate::state::State;
use crate::stream::Stream;

/// The name of the dialect: `protocol` of a model.
pub const DIALECT: &str = "generatecontent";

/// The family.
pub struct GenerateContent;

impl Family for GenerateContent {
    fn about() -> About {
        let user = json!({"role": "user", "content": "What is the weather in Oslo?"});
        let good = json!({"model": "m", "max_tokens": 100, "messages": [user]});
        let schema =
            json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
        let tools = json!({
            "model": "m",
            "max_tokens": 4096,
            "system": [{"type": "text", "text": "Be brief."}],
            "thinking": {"type": "enabled", "budget_tokens": 1024},
            "tools": [{"name": "weather", "input_schema": schema}],
            "tool_choice": {"type": "tool", "name": "weather"},
            "messages": [
                user,
                {"role": "assistant", "content": [
                    {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {"city": "Oslo"}},
                ]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "toolu_1", "content": "rain"},
                ]},
            ],
        });
        let uploaded = json!({"model": "m", "max_tokens": 100, "messages": [{"role": "user", "content": [
            {"type": "image", "source": {"type": "file", "file_id": "file_1"}},
        ]}]});
        About::new("generatecontent", env!("CARGO_PKG_VERSION"))
            .dialect(DIALECT)
            .self_test(DIALECT, good, Verdict::Accepted)
            .self_test(DIALECT, tools, Verdict::Accepted)
            .self_test(DIALECT, uploaded, Verdict::Refused)
    }
}

impl Dialect for GenerateContent {
    type State = State;
    type Reader = Stream;

    fn prepare(_: &Context, request: DialectRequest) -> Result<DialectPrepared<State>, Refusal> {
        request::prepare(&request)
    }

    fn answer(cx: &Context, state: State, reply: Reply) -> Result<String, TextFailure> {
        answer::answer(cx, &state, &reply)
    }

    fn reader(cx: &Context, state: State) -> Stream {
        Stream::new(cx, state)
    }
}

gatehouse_sdk::export_family!(GenerateContent: dialect);
