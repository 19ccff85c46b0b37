//! One stream: the provider's events in, the client's events out.

mod block_assembler;
mod from_chat;
mod from_messages;
mod whole_message;

use gatehouse_sdk::Context;
use gatehouse_text_protocols::incoming::Incoming;
use gatehouse_text_protocols::relay::Stream;

use crate::state::{State, Wire};
use from_chat::FromChat;
use from_messages::FromMessages;

/// The stream that answers a request.
pub(crate) fn begin(cx: &Context, state: State) -> Stream {
    let (other, cx) = (state.other(), cx.clone());
    stream(&cx, state).or(move || stream(&cx, other))
}

fn stream(cx: &Context, state: State) -> Stream {
    let incoming = Incoming::new(state.wire == Wire::Chat, &state.lead);
    match state.wire {
        Wire::Messages => Stream::new(incoming, FromMessages::new(cx, state)),
        Wire::Chat => Stream::new(incoming, FromChat::new(cx, state)),
    }
}
