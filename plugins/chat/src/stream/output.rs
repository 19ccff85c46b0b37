//! Events for the client, as chat clients read them.

use gatehouse_sdk::{Chunk, Sse, TextFailure};

/// Sends a chunk, as JSON.
pub(super) fn send(chunk: &mut Chunk, data: String) {
    chunk.send.push(Sse { event: None, data });
}

/// Sends the terminal event.
pub(super) fn done(chunk: &mut Chunk) {
    send(chunk, "[DONE]".to_owned());
    chunk.last = true;
}

/// The provider ended its stream too early.
pub(super) fn incomplete() -> TextFailure {
    TextFailure::upstream("the provider ended its answer before it was complete")
}
