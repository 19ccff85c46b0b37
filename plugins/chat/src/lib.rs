//! The chat family: clients speak chat completions; the provider speaks the same, or messages. Which models
//! there are and who serves them is the operator's table; see `rules` for what it may say of one.
//!
//! Owns the surface's parameters, the translation of requests, answers and streams between the two protocols,
//! and what a provider's error means. What passes between equal protocols keeps its bytes. Never a socket, a
//! clock, an account or money; the host owns those, and the events' framing.

mod answer;
mod format;
mod json;
mod messages;
mod open;
mod params;
mod parts;
mod pass;
mod read;
mod relay;
mod request;
mod rules;
mod state;
mod thinking;
mod tools;
mod translate;
mod translated;
mod trouble;
mod turns;
mod usage;

use gatehouse_sdk::{
    About, Answered, Context, Family, Prepared, Refusal, Reply, Surface, Text, TextFailure, TextRequest,
    Verdict,
};
use serde_json::json;

use crate::params::Params;
use crate::state::State;

/// The surface the family serves.
pub const SURFACE: &str = "chat.completions";

/// The family, as the host loads it.
pub struct Chat;

impl Family for Chat {
    type Jobs = ();
    type Text = Self;

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
        About::new("chat", env!("CARGO_PKG_VERSION"))
            .surface(Surface::new::<Params>(SURFACE))
            .self_test(SURFACE, good, Verdict::Accepted)
            .self_test(SURFACE, tools, Verdict::Accepted)
            .self_test(SURFACE, silent, Verdict::Refused)
            .self_test(SURFACE, quoted, Verdict::Refused)
    }
}

impl Text for Chat {
    type State = State;
    type Relay = relay::Stream;

    fn prepare(_: &Context, request: TextRequest) -> Result<Prepared<State>, Refusal> {
        if request.surface != SURFACE {
            return Err(Refusal::NotFound(format!("this family does not serve {:?}", request.surface)));
        }
        open::prepare(&request)
    }

    fn answer(cx: &Context, state: State, reply: Reply) -> Result<Answered, TextFailure> {
        answer::answer(cx, &state, &reply)
    }

    fn relay(cx: &Context, state: State) -> relay::Stream {
        relay::Stream::new(cx, state)
    }
}

gatehouse_sdk::export_family!(Chat);
