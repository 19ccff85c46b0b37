//! Streams. Whatever the provider speaks, the client reads standard chunks and `[DONE]`; a stream that does
//! not end as it must ends in a rejection, which the host writes as the error it is.

mod chunks;
mod events;
mod tools;
mod unfold;

use gatehouse_sdk::{Chunk, Context, Relay, Sse, TextFailure, Usage};

use crate::state::State;

/// One stream under way.
pub struct Stream {
    side: Side,
    /// What stopped it, while events before it were still to be handed out.
    stopped: Option<TextFailure>,
    over: bool,
}

enum Side {
    Chat(chunks::Chunks),
    Messages(events::Events),
}

impl Stream {
    pub(crate) fn new(cx: &Context, state: State) -> Self {
        let side = if state.translated {
            Side::Messages(events::Events::new(cx, state))
        } else {
            Side::Chat(chunks::Chunks::new(cx, state))
        };
        Self { side, stopped: None, over: false }
    }

    fn event(&mut self, event: &Sse, out: &mut Out) -> Result<(), TextFailure> {
        match &mut self.side {
            Side::Chat(side) => side.event(event, out),
            Side::Messages(side) => side.event(event, out),
        }
    }

    fn usage(&self) -> Option<Usage> {
        match &self.side {
            Side::Chat(side) => side.usage(),
            Side::Messages(side) => side.usage(),
        }
    }

    /// What is to be handed out.
    fn chunk(&mut self, out: Out) -> Chunk {
        self.over |= out.last;
        Chunk { send: out.send, usage: self.usage(), output_bytes: out.written, last: out.last }
    }
}

impl Relay for Stream {
    /// What stopped the stream waits for its turn until everything before it has been handed out, so that
    /// it does not matter in which pieces events arrive.
    fn push(&mut self, events: Vec<Sse>) -> Result<Chunk, TextFailure> {
        if let Some(stopped) = &self.stopped {
            return Err(stopped.clone());
        }
        let (mut out, known) = (Out::default(), self.usage());
        for event in &events {
            if self.over || out.last {
                break;
            }
            if let Err(stopped) = self.event(event, &mut out) {
                self.stopped = Some(stopped.clone());
                if out.send.is_empty() && self.usage() == known {
                    return Err(stopped);
                }
                break;
            }
        }
        Ok(self.chunk(out))
    }

    fn end(&mut self) -> Result<Chunk, TextFailure> {
        if let Some(stopped) = &self.stopped {
            return Err(stopped.clone());
        }
        let mut out = Out::default();
        if !self.over {
            match &mut self.side {
                Side::Chat(side) => side.finish(&mut out)?,
                Side::Messages(side) => side.finish(&mut out)?,
            }
        }
        Ok(self.chunk(out))
    }
}

/// Events for the client.
#[derive(Default)]
struct Out {
    send: Vec<Sse>,
    written: u32,
    last: bool,
}

impl Out {
    fn send(&mut self, data: String) {
        self.send.push(Sse { event: None, data });
    }

    fn wrote(&mut self, bytes: u64) {
        self.written = self.written.saturating_add(u32::try_from(bytes).unwrap_or(u32::MAX));
    }

    fn done(&mut self) {
        self.send("[DONE]".to_owned());
        self.last = true;
    }
}

/// Nothing but white space, or what a provider says to keep the line open.
fn is_idle(event: &Sse) -> bool {
    event.data.trim().is_empty()
}

/// The provider stopped before it was done.
fn early() -> TextFailure {
    TextFailure::upstream("the provider ended its answer before it was complete")
}
