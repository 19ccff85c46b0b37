//! Text for clients that speak Messages: `POST /v1/messages`, answered by providers that speak Messages too or
//! Chat.
//!
//! Owns the judging of requests by the specification and by the model's rules, both translations, and what
//! each error of a provider means. Models, prices and accounts are the operator's table; sockets, framing,
//! routing and money are the host's.

mod answer;
mod at;
mod blocks;
mod chat_turns;
mod errors;
mod ids;
mod open;
mod open_chat;
mod open_messages;
mod params;
mod raw;
mod relay;
mod relay_chat;
mod relay_messages;
mod request;
mod rules;
mod shapes;
mod thinking;
mod tools;
mod unfold;
mod usage;
mod weave;

use gatehouse_sdk::{
    About, Answered, Context, Family, Prepared, Protocol, Refusal, Reply, Surface, Text, TextFailure,
    TextRequest, Verdict,
};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::params::Params;
pub use crate::relay::Stream;

/// The surface the family serves.
pub const SURFACE: &str = "messages.create";

/// The model of a request that names none.
const DEFAULT_MODEL: &str = "lm-sonnet-4-6";

/// The family, as the host loads it.
pub struct Messages;

/// What the answer has to know of the request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// The public id.
    model: String,
    /// What the provider speaks.
    wire: Wire,
    /// Whether the client asked for thinking, and so is shown a chat provider's.
    shown: bool,
}

/// [`Protocol`], in a form that can be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Wire {
    Messages,
    Chat,
}

impl From<Protocol> for Wire {
    fn from(protocol: Protocol) -> Self {
        match protocol {
            Protocol::Messages => Self::Messages,
            Protocol::Chat => Self::Chat,
        }
    }
}

impl Family for Messages {
    type Jobs = ();
    type Text = Self;

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
            .self_test(SURFACE, prefilled, Verdict::Refused)
            .self_test(SURFACE, hot, Verdict::Refused)
            .self_test(SURFACE, strange, Verdict::Refused)
    }
}

impl Text for Messages {
    type State = State;
    type Relay = Stream;

    fn prepare(_: &Context, inquiry: TextRequest) -> Result<Prepared<State>, Refusal> {
        open::judge(&inquiry)
    }

    fn answer(cx: &Context, state: State, reply: Reply) -> Result<Answered, TextFailure> {
        answer::read(cx, &state, &reply)
    }

    fn relay(cx: &Context, state: State) -> Stream {
        Stream::new(cx, state)
    }
}

gatehouse_sdk::export_family!(Messages);
