//! Streams. For both protocols of providers the client reads standard chunks and `[DONE]`. A stream that ends
//! too early or fails ends in a `TextFailure`; the host writes the error event.

mod from_chat;
mod from_messages;
mod output;
mod tool_calls;
mod whole_completion;

use gatehouse_sdk::Context;
use gatehouse_text_protocols::relay::Stream;

use crate::state::State;
use from_chat::FromChat;
use from_messages::FromMessages;

/// The stream that answers a request.
pub(crate) fn begin(cx: &Context, state: State) -> Stream {
    if state.translated {
        Stream::new(FromMessages::new(cx, state))
    } else {
        Stream::new(FromChat::new(cx, state))
    }
}
