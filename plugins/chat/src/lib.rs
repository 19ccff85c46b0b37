//! The chat family: clients speak chat completions, responses or embeddings; the provider speaks chat completions,
//! or Messages.
//! The models and their providers are the operator's table; `gatehouse_text_protocols::rules` documents its `rules`.
//!
//! Owns the surface's parameters, the translation of requests, answers and streams between the two protocols,
//! and what a provider's error means. Between equal protocols the bytes are kept. Never a socket, a clock, an
//! account or money; the host owns those, and the framing of events.

mod embeddings;
mod params;
mod prepare;
mod request;
mod response;
mod responses;
mod state;
mod stream;

use gatehouse_sdk::{
    About, Answered, Context, Family, Prepared, Refusal, Reply, Surface, Text, TextFailure, TextRequest,
    Verdict,
};
use gatehouse_text_protocols::relay::Stream;
use gatehouse_text_protocols::usage::told;
use serde_json::json;

use crate::params::Params;
use crate::state::State;

/// The surface the family serves.
pub const SURFACE: &str = "chat.completions";

pub use embeddings::SURFACE as EMBEDDINGS;
pub use responses::SURFACE as RESPONSES;

/// The family.
pub struct Chat;

impl Family for Chat {
    fn about() -> About {
        let user = json!({"role": "user", "content": "What is the weather in Oslo?"});
        let good = json!({"model": "m", "messages": [user]});
        let function = json!({"name": "weather", "parameters": {"type": "object", "properties": {}}});
        let tools = json!({
            "model": "m",
            "stream": true,
            "stream_options": {"include_usage": true},
            "max_completion_tokens": 4096,
            "tools": [{"type": "function", "function": function}],
            "tool_choice": "auto",
            "messages": [
                {"role": "system", "content": "Be brief."},
                user,
                {"role": "assistant", "content": null, "tool_calls": [
                    {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": "{}"}},
                ]},
                {"role": "tool", "tool_call_id": "call_1", "content": "rain"},
            ],
        });
        let silent = json!({"model": "m", "messages": []});
        let quoted = json!({"model": "m", "messages": [user], "temperature": "0.5"});
        let response = json!({"model": "m", "input": "What is the weather in Oslo?", "stream": true});
        let unpaired = json!({"model": "m", "input": [
            {"type": "function_call_output", "call_id": "call_1", "output": "rain"},
        ]});
        let texts = json!({"model": "m", "input": ["a kite", "a lighthouse"], "encoding_format": "base64"});
        let nothing = json!({"model": "m", "input": []});
        About::new("chat", env!("CARGO_PKG_VERSION"))
            .surface(Surface::new::<Params>(SURFACE))
            .surface(Surface::new::<responses::params::Params>(RESPONSES))
            .surface(Surface::new::<embeddings::params::Params>(EMBEDDINGS))
            .self_test(SURFACE, good, Verdict::Accepted)
            .self_test(SURFACE, tools, Verdict::Accepted)
            .self_test(SURFACE, silent, Verdict::Refused)
            .self_test(SURFACE, quoted, Verdict::Refused)
            .self_test(RESPONSES, response, Verdict::Accepted)
            .self_test(RESPONSES, unpaired, Verdict::Refused)
            .self_test(EMBEDDINGS, texts, Verdict::Accepted)
            .self_test(EMBEDDINGS, nothing, Verdict::Refused)
    }
}

impl Text for Chat {
    type State = State;
    type Relay = Stream;

    fn prepare(cx: &Context, request: TextRequest) -> Result<Prepared<State>, Refusal> {
        match request.surface.as_str() {
            SURFACE => prepare::prepare(&request),
            RESPONSES => responses::prepare(cx, request),
            EMBEDDINGS => embeddings::prepare(&request),
            other => Err(Refusal::NotFound(format!("this family does not serve {other:?}"))),
        }
    }

    fn answer(cx: &Context, state: State, reply: Reply) -> Result<Answered, TextFailure> {
        responses::answer(cx, state, &reply).map(told)
    }

    fn relay(cx: &Context, state: State) -> Stream {
        stream::begin(cx, state)
    }
}

gatehouse_sdk::export_family!(Chat: text);
