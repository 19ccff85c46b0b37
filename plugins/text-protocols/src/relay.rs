//! A stream as both families relay it, around the translation of one event.

use gatehouse_sdk::{Chunk, Counter, Relay, Sse, TextFailure, Usage};

use crate::incoming::Incoming;
use crate::usage::apart;

/// One protocol's stream as another's.
pub trait Translation: 'static {
    /// The provider's next event that has data; nothing follows one that set [`Chunk::last`].
    ///
    /// # Errors
    /// The stream is over. What `chunk` got before is still handed out.
    fn event(&mut self, event: Sse, chunk: &mut Chunk) -> Result<(), TextFailure>;

    /// The provider has closed the stream before its last event.
    ///
    /// # Errors
    /// It was not complete.
    fn end(&mut self, chunk: &mut Chunk) -> Result<(), TextFailure>;

    /// Every token so far, once the provider has reported some.
    fn usage(&self) -> Option<Usage>;

    /// What of them has a name of its own, and what else the provider has counted.
    fn counters(&self) -> Vec<Counter>;
}

/// A stream under way. A failure is returned only after the events before it, so that the grouping of events does not
/// matter.
pub struct Stream {
    incoming: Incoming,
    translation: Box<dyn Translation>,
    failed: Option<TextFailure>,
    over: bool,
}

impl Stream {
    /// Before the first event.
    #[must_use]
    pub fn new(incoming: Incoming, translation: impl Translation) -> Self {
        Self { incoming, translation: Box::new(translation), failed: None, over: false }
    }

    /// Translates into `chunk`, and keeps in it what is known from then on.
    fn step(
        &mut self,
        chunk: &mut Chunk,
        translate: impl FnOnce(&mut dyn Translation, &mut Chunk) -> Result<(), TextFailure>,
    ) -> Result<(), TextFailure> {
        let known = self.translation.usage();
        let done = translate(self.translation.as_mut(), chunk);
        self.over |= chunk.last;
        let counted = self.translation.usage();
        if let Some(usage) = counted.filter(|_| counted != known) {
            let (usage, counters) = apart(usage, self.translation.counters());
            (chunk.usage, chunk.counters) = (Some(usage), counters);
        }
        done
    }
}

impl Relay for Stream {
    fn push(&mut self, events: Vec<Sse>) -> Result<Chunk, TextFailure> {
        let mut chunk = Chunk::default();
        for event in events {
            // Some providers send one to keep the connection open.
            if event.data.trim().is_empty() {
                continue;
            }
            for event in self.incoming.event(event) {
                if self.failed.is_some() || self.over {
                    break;
                }
                self.failed =
                    self.step(&mut chunk, |translation, chunk| translation.event(event, chunk)).err();
            }
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
        let mut chunk = Chunk::default();
        if !self.over {
            for event in self.incoming.end() {
                self.step(&mut chunk, |translation, chunk| translation.event(event, chunk))?;
            }
            self.step(&mut chunk, |translation, chunk| translation.end(chunk))?;
        }
        Ok(chunk)
    }
}

/// Adds text of the model to the count of a chunk.
pub fn count_bytes(chunk: &mut Chunk, bytes: u64) {
    chunk.output_bytes = chunk.output_bytes.saturating_add(clamp(bytes));
}

/// A count of bytes as the contract has it.
#[must_use]
pub fn clamp(bytes: u64) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}
