//! The messages family: clients speak Messages (`POST /v1/messages`); the provider speaks Messages or chat
//! completions.
//!
//! Owns the check of requests by the specification and by the model's rules, both translations, and what a
//! provider's error means. Models, prices and accounts are the operator's table; sockets, framing, routing and
//! money are the host's.

mod params;
mod prepare;
mod request;
mod response;
mod state;
mod stream;

use gatehouse_sdk::{
    About, Answered, Context, Family, Prepared, Refusal, Reply, Surface, Text, TextFailure, TextRequest,
    Verdict,
};
use gatehouse_text_protocols::usage::told;
use serde_json::json;

use crate::params::Params;
pub use crate::state::State;
pub use gatehouse_text_protocols::relay::Stream;

/// The surface the family serves.
pub const SURFACE: &str = "messages.create";

/// The model of a request that names none.
const DEFAULT_MODEL: &str = "lm-sonnet-4-6";

/// The family.
pub struct Messages;

impl Family for Messages {
    fn about() -> About {
        let hello = json!([{"role": "user", "content": "hello"}]);
        let plain = json!({"model": DEFAULT_MODEL, "max_tokens": 64, "messages": hello});
        let rich = json!({
            "max_tokens": 4096,
            "system": [{"type": "text", "text": "Be brief."}],
            "messages": [
                {"role": "user", "content": [
                    {"type": "text", "text": "What is this?"},
                    {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}},
                ]},
                {"role": "assistant", "content": [
                    {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"at": "it"}},
                ]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "toolu_1", "content": "a kite"},
                ]},
            ],
            "tools": [{"name": "look", "input_schema": {"type": "object"}}],
            "tool_choice": {"type": "auto"},
            "thinking": {"type": "enabled", "budget_tokens": 2048},
            "stop_sequences": ["END"],
            "stream": true,
        });
        let endless = json!({"model": DEFAULT_MODEL, "messages": hello});
        let prefilled = json!({
            "max_tokens": 64,
            "messages": [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "{"}],
        });
        let hot = json!({"max_tokens": 64, "messages": hello, "temperature": 1.5});
        let strange = json!({"max_tokens": 64, "messages": hello, "shade": "blue"});
        About::new("messages", env!("CARGO_PKG_VERSION"))
            .surface(Surface::new::<Params>(SURFACE).default_model(DEFAULT_MODEL))
            .self_test(SURFACE, plain, Verdict::Accepted)
            .self_test(SURFACE, rich, Verdict::Accepted)
            .self_test(SURFACE, endless, Verdict::Refused)
            .self_test(SURFACE, prefilled, Verdict::Accepted)
            .self_test(SURFACE, hot, Verdict::Refused)
            .self_test(SURFACE, strange, Verdict::Refused)
    }
}

impl Text for Messages {
    type State = State;
    type Relay = Stream;

    fn prepare(_: &Context, request: TextRequest) -> Result<Prepared<State>, Refusal> {
        prepare::prepare(&request)
    }

    fn answer(cx: &Context, state: State, reply: Reply) -> Result<Answered, TextFailure> {
        response::read(cx, &state, &reply).map(told)
    }

    fn relay(cx: &Context, state: State) -> Stream {
        stream::begin(cx, state)
    }
}

gatehouse_sdk::export_family!(Messages: text);
