//! One stream: the provider's events in, the client's out. Which of the two translations it is was decided
//! when the request was opened.

use gatehouse_sdk::{Chunk, Context, Rejection, Relay, Sse};

use crate::relay_chat::FromChat;
use crate::relay_messages::FromMessages;
use crate::{State, Wire};

/// A stream under way.
pub struct Stream(From);

enum From {
    Messages(FromMessages),
    Chat(Box<FromChat>),
}

impl Stream {
    pub(crate) fn new(cx: &Context, state: State) -> Self {
        Self(match state.wire {
            Wire::Messages => From::Messages(FromMessages::new(state)),
            Wire::Chat => From::Chat(Box::new(FromChat::new(cx, state))),
        })
    }
}

impl Relay for Stream {
    fn push(&mut self, events: Vec<Sse>) -> Result<Chunk, Rejection> {
        let mut chunk = Chunk::default();
        for event in events {
            match &mut self.0 {
                From::Messages(from) => from.event(event, &mut chunk)?,
                From::Chat(from) => from.event(&event, &mut chunk)?,
            }
        }
        Ok(chunk)
    }

    fn end(&mut self) -> Result<Chunk, Rejection> {
        match &mut self.0 {
            // What was owed is already sent; without a `message_stop` the stream is cut.
            From::Messages(_) => Ok(Chunk::default()),
            From::Chat(from) => from.end(),
        }
    }
}
