//! Streams. For both protocols of providers the client reads standard chunks and `[DONE]`. A stream that ends
//! too early or fails ends in a `TextFailure`; the host writes the error event.

mod from_chat;
mod from_messages;
mod output;
mod tool_calls;
mod whole_completion;

use gatehouse_sdk::{Chunk, Context, Relay, Sse, TextFailure, Usage};

use crate::state::State;
use from_chat::FromChat;
use from_messages::FromMessages;
use output::Output;

/// One stream under way.
pub struct Stream {
    translation: Translation,
    /// Why it failed; returned once the events before it are handed out.
    failed: Option<TextFailure>,
    over: bool,
}

enum Translation {
    Chat(FromChat),
    Messages(FromMessages),
}

impl Stream {
    pub(crate) fn new(cx: &Context, state: State) -> Self {
        let translation = if state.translated {
            Translation::Messages(FromMessages::new(cx, state))
        } else {
            Translation::Chat(FromChat::new(cx, state))
        };
        Self { translation, failed: None, over: false }
    }

    fn event(&mut self, event: &Sse, out: &mut Output) -> Result<(), TextFailure> {
        match &mut self.translation {
            Translation::Chat(stream) => stream.event(event, out),
            Translation::Messages(stream) => stream.event(event, out),
        }
    }

    fn usage(&self) -> Option<Usage> {
        match &self.translation {
            Translation::Chat(stream) => stream.usage(),
            Translation::Messages(stream) => stream.usage(),
        }
    }

    fn chunk(&mut self, out: Output) -> Chunk {
        self.over |= out.last;
        Chunk { send: out.send, usage: self.usage(), output_bytes: out.output_bytes, last: out.last }
    }
}

impl Relay for Stream {
    /// A failure is returned only after the events before it, so that the grouping of events does not matter.
    fn push(&mut self, events: Vec<Sse>) -> Result<Chunk, TextFailure> {
        if let Some(failed) = &self.failed {
            return Err(failed.clone());
        }
        let (mut out, known) = (Output::default(), self.usage());
        for event in &events {
            if self.over || out.last {
                break;
            }
            if let Err(failed) = self.event(event, &mut out) {
                self.failed = Some(failed.clone());
                if out.send.is_empty() && self.usage() == known {
                    return Err(failed);
                }
                break;
            }
        }
        Ok(self.chunk(out))
    }

    fn end(&mut self) -> Result<Chunk, TextFailure> {
        if let Some(failed) = &self.failed {
            return Err(failed.clone());
        }
        let mut out = Output::default();
        if !self.over {
            match &mut self.translation {
                Translation::Chat(stream) => stream.finish(&mut out)?,
                Translation::Messages(stream) => stream.finish(&mut out)?,
            }
        }
        Ok(self.chunk(out))
    }
}
