//! One stream: the provider's events in, the client's out. Which of the two translations it is was decided
//! when the request was opened.

use gatehouse_sdk::{Chunk, Context, Relay, Sse, TextFailure};

use crate::relay_chat::FromChat;
use crate::relay_messages::FromMessages;
use crate::{State, Wire};

/// A stream under way.
pub struct Stream {
    from: From,
    /// Why it ends: told after what came before it, however the events were handed over.
    failed: Option<TextFailure>,
}

enum From {
    Messages(FromMessages),
    Chat(Box<FromChat>),
}

impl Stream {
    pub(crate) fn new(cx: &Context, state: State) -> Self {
        let from = match state.wire {
            Wire::Messages => From::Messages(FromMessages::new(state)),
            Wire::Chat => From::Chat(Box::new(FromChat::new(cx, state))),
        };
        Self { from, failed: None }
    }
}

impl Relay for Stream {
    fn push(&mut self, events: Vec<Sse>) -> Result<Chunk, TextFailure> {
        let mut chunk = Chunk::default();
        for event in events {
            if self.failed.is_some() {
                break;
            }
            let step = match &mut self.from {
                From::Messages(from) => from.event(event, &mut chunk),
                From::Chat(from) => from.event(&event, &mut chunk),
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
        match &mut self.from {
            // What was owed is already sent; without a `message_stop` the stream is cut.
            From::Messages(_) => Ok(Chunk::default()),
            From::Chat(from) => from.end(),
        }
    }
}
