//! Events for the client, collected during one call of the relay.

use gatehouse_sdk::{Sse, TextFailure};

/// Events for the client.
#[derive(Default)]
pub(crate) struct Output {
    pub(crate) send: Vec<Sse>,
    /// Bytes of text the model wrote in them.
    pub(crate) output_bytes: u32,
    /// Whether `[DONE]` is among them.
    pub(crate) last: bool,
}

impl Output {
    pub(crate) fn send(&mut self, data: String) {
        self.send.push(Sse { event: None, data });
    }

    pub(crate) fn count_bytes(&mut self, bytes: u64) {
        self.output_bytes = self.output_bytes.saturating_add(u32::try_from(bytes).unwrap_or(u32::MAX));
    }

    pub(crate) fn done(&mut self) {
        self.send("[DONE]".to_owned());
        self.last = true;
    }
}

/// Whether an event is only white space: some providers send one to keep the connection open.
pub(crate) fn is_idle(event: &Sse) -> bool {
    event.data.trim().is_empty()
}

/// The provider ended its stream too early.
pub(crate) fn incomplete() -> TextFailure {
    TextFailure::upstream("the provider ended its answer before it was complete")
}
