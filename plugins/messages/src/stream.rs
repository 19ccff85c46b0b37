//! One stream: the provider's events in, the client's events out. A failure is returned after the events
//! before it.

mod block_assembler;
mod from_chat;
mod from_messages;
mod whole_message;

use gatehouse_sdk::{Chunk, Context, Relay, Sse, TextFailure};

use crate::state::{State, Wire};
use from_chat::FromChat;
use from_messages::FromMessages;

/// A stream under way.
pub struct Stream {
    translation: Translation,
    /// Why it failed; returned once the events before it are handed out.
    failed: Option<TextFailure>,
}

enum Translation {
    Messages(FromMessages),
    Chat(Box<FromChat>),
}

impl Stream {
    pub(crate) fn new(cx: &Context, state: State) -> Self {
        let translation = match state.wire {
            Wire::Messages => Translation::Messages(FromMessages::new(state)),
            Wire::Chat => Translation::Chat(Box::new(FromChat::new(cx, state))),
        };
        Self { translation, failed: None }
    }
}

impl Relay for Stream {
    fn push(&mut self, events: Vec<Sse>) -> Result<Chunk, TextFailure> {
        let mut chunk = Chunk::default();
        for event in events {
            if self.failed.is_some() {
                break;
            }
            let step = match &mut self.translation {
                Translation::Messages(stream) => stream.event(event, &mut chunk),
                Translation::Chat(stream) => stream.event(&event, &mut chunk),
            };
            self.failed = step.err();
        }
        match &self.failed {
            Some(failed) if chunk == Chunk::default() => Err(failed.clone()),
            _ => Ok(chunk),
        }
    }

    fn end(&mut self) -> Result<Chunk, TextFailure> {
        if let Some(failed) = &self.failed {
            return Err(failed.clone());
        }
        match &mut self.translation {
            // Everything is sent already; without `message_stop` the stream was cut.
            Translation::Messages(_) => Ok(Chunk::default()),
            Translation::Chat(stream) => stream.end(),
        }
    }
}
