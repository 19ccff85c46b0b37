//! Streams. For both protocols of providers the client reads standard chunks and `[DONE]`. A stream that ends
//! too early or fails ends in a `TextFailure`; the host writes the error event.

mod from_chat;
mod from_messages;
mod tool_calls;
mod whole_completion;

use gatehouse_sdk::{Chunk, Context, Sse, TextFailure};
use gatehouse_text_protocols::relay::Stream;

use crate::responses::Responses;
use crate::state::State;
use from_chat::FromChat;
use from_messages::FromMessages;

/// The stream that answers a request.
pub(crate) fn begin(cx: &Context, state: State) -> Stream {
    let (other, cx) = (State { translated: !state.translated, ..state.clone() }, cx.clone());
    stream(&cx, state).or(move || stream(&cx, other))
}

fn stream(cx: &Context, mut state: State) -> Stream {
    let incoming = state.incoming();
    match (state.translated, state.response.take()) {
        (true, None) => Stream::new(incoming, FromMessages::new(cx, state)),
        (true, Some(echo)) => Stream::new(incoming, Responses::new(FromMessages::new(cx, state), echo)),
        (false, None) => Stream::new(incoming, FromChat::new(cx, state)),
        (false, Some(echo)) => Stream::new(incoming, Responses::new(FromChat::new(cx, state), echo)),
    }
}

/// Sends a chunk to the client, as JSON.
fn send(chunk: &mut Chunk, data: String) {
    chunk.send.push(Sse { event: None, data });
}

/// Sends the terminal event.
fn done(chunk: &mut Chunk) {
    send(chunk, "[DONE]".to_owned());
    chunk.last = true;
}

/// The provider ended its stream too early.
fn incomplete() -> TextFailure {
    TextFailure::upstream("the provider ended its answer before it was complete")
}
