//! A stream as both families relay it, around the translation of one event.

use gatehouse_sdk::{Chunk, Counter, Relay, Sse, TextFailure, Usage};

use crate::incoming::{Incoming, speaks_chat};
use crate::json::Writer;
use crate::usage::{TokenCounts, apart, may_report};

/// One protocol's stream as another's.
pub trait Translation: 'static {
    /// The provider's next event that has data; nothing follows one that set [`Chunk::last`].
    ///
    /// # Errors
    /// The stream is over. What `chunk` got before is still handed out.
    fn event(&mut self, event: Sse, chunk: &mut Chunk) -> Result<(), TextFailure>;

    /// Writes an event that differs from an earlier one in its text, or its thinking, alone as that one was written; `false` where it is
    /// to be read.
    fn repeat(&mut self, event: &Sse, chunk: &mut Chunk) -> bool;

    /// The provider has closed the stream before its last event.
    ///
    /// # Errors
    /// It was not complete.
    fn end(&mut self, chunk: &mut Chunk) -> Result<(), TextFailure>;

    /// Every token so far, once the provider has reported some.
    fn usage(&self) -> Option<Usage>;

    /// What the provider has reported so far.
    fn counts(&self) -> &TokenCounts;
}

/// A stream under way. A failure is returned only after the events before it, so that the grouping of events does not
/// matter.
pub struct Stream {
    incoming: Incoming,
    translation: Box<dyn Translation>,
    /// The readers of the other protocol, until it is known which one the provider speaks.
    other: Option<Box<dyn FnOnce() -> Self>>,
    /// The provider's last event, held back for counts that come behind it.
    held: Option<Sse>,
    /// The counts that are known.
    counts: Counts,
    failed: Option<TextFailure>,
    over: bool,
}

/// What a translation has counted.
type Counts = (Option<Usage>, Vec<Counter>);

impl Stream {
    /// Before the first event.
    #[must_use]
    pub fn new(incoming: Incoming, translation: impl Translation) -> Self {
        let translation = Box::new(translation);
        let counts = Counts::default();
        Self { incoming, translation, other: None, held: None, counts, failed: None, over: false }
    }

    /// With the stream that it is where the provider speaks the other protocol.
    #[must_use]
    pub fn or(self, other: impl FnOnce() -> Self + 'static) -> Self {
        Self { other: Some(Box::new(other)), ..self }
    }

    /// Chooses the readers by what comes.
    fn turn_to(&mut self, event: &Sse) {
        let asked_chat = self.incoming.is_chat();
        let spoken = self.other.as_ref().and_then(|_| speaks_chat(&event.data, asked_chat));
        let Some(speaks_chat) = spoken else { return };
        if let Some(other) = self.other.take().filter(|_| speaks_chat != asked_chat) {
            let Self { incoming, translation, .. } = other();
            (self.incoming, self.translation) = (incoming, translation);
            self.counts = Counts::default();
        }
    }

    /// Translates into `chunk`, and keeps in it what is known from then on.
    fn step(
        &mut self,
        chunk: &mut Chunk,
        translate: impl FnOnce(&mut dyn Translation, &mut Chunk) -> Result<(), TextFailure>,
    ) -> Result<(), TextFailure> {
        let done = translate(self.translation.as_mut(), chunk);
        self.over |= chunk.last;
        self.count(chunk);
        done
    }

    /// Keeps in `chunk` what was counted since the last time.
    fn count(&mut self, chunk: &mut Chunk) {
        let counts = (self.translation.usage(), self.translation.counts().counters());
        // A provider may tell its searches after its tokens, or what of the same tokens has a price of its own.
        if counts == self.counts {
            return;
        }
        if let (Some(usage), counters) = &counts {
            let (usage, counters) = apart(*usage, counters.clone());
            (chunk.usage, chunk.counters) = (Some(usage), counters);
        }
        self.counts = counts;
    }

    /// Translates an event like one before it, of which nothing is to be read; `false` where that is not known.
    fn repeat(&mut self, event: &Sse, chunk: &mut Chunk) -> bool {
        let is_under_way = self.failed.is_none() && !self.over && self.held.is_none() && self.other.is_none();
        let done = is_under_way && self.incoming.is_at_rest() && self.translation.repeat(event, chunk);
        if done {
            self.count(chunk);
        }
        done
    }

    /// Whether the provider has reported what was written.
    fn is_counted(&self) -> bool {
        self.translation.counts().is_complete()
    }

    /// Translates an event in its turn: some servers count an answer behind its end, so that an end without counts waits for them,
    /// or for the end of the stream.
    fn take(&mut self, event: Sse, chunk: &mut Chunk) -> Result<(), TextFailure> {
        if self.held.is_none() && is_end(&event) && !self.is_counted() {
            self.held = Some(event);
            return Ok(());
        }
        if self.held.is_some() && !may_report(&event.data) {
            return Ok(());
        }
        self.step(chunk, |translation, chunk| translation.event(event, chunk))?;
        if self.held.is_some() && self.is_counted() { self.take_held(chunk) } else { Ok(()) }
    }

    fn take_held(&mut self, chunk: &mut Chunk) -> Result<(), TextFailure> {
        let Some(held) = self.held.take() else { return Ok(()) };
        self.step(chunk, |translation, chunk| translation.event(held, chunk))
    }
}

impl Relay for Stream {
    fn push(&mut self, events: Vec<Sse>) -> Result<Chunk, TextFailure> {
        let mut chunk = Chunk::default();
        for event in events {
            // Some providers send one to keep the connection open.
            if self.repeat(&event, &mut chunk) || event.data.trim().is_empty() {
                continue;
            }
            self.turn_to(&event);
            for event in self.incoming.event(event) {
                if self.failed.is_some() || self.over {
                    break;
                }
                self.failed = self.take(event, &mut chunk).err();
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
                self.take(event, &mut chunk)?;
            }
            self.take_held(&mut chunk)?;
        }
        if !self.over {
            self.step(&mut chunk, |translation, chunk| translation.end(chunk))?;
        }
        Ok(chunk)
    }
}

/// Whether a provider calls an event the end of its answer. Few other events are as short.
fn is_end(event: &Sse) -> bool {
    let says_it = |data: &str| data == "[DONE]" || (data.len() < 64 && data.contains("\"message_stop\""));
    event.event.as_deref() == Some("message_stop") || says_it(event.data.trim())
}

/// Adds an event of the Messages protocol, its members JSON.
pub fn event(events: &mut Vec<Sse>, name: &str, members: &[(&str, &str)]) {
    let mut data = Writer::new(128);
    data.string("type", name);
    members.iter().for_each(|(member, json)| data.member(member, json));
    events.push(Sse { event: Some(name.to_owned()), data: data.done() });
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

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::json::Object;

    /// What the counts of both protocols make of a stream.
    struct Counting(TokenCounts);

    impl Translation for Counting {
        fn event(&mut self, event: Sse, _: &mut Chunk) -> Result<(), TextFailure> {
            let fields = Object::parse(&event.data).expect("an object");
            if !self.0.read_completion(&fields) {
                self.0.read_event(&fields);
            }
            Ok(())
        }

        fn repeat(&mut self, _: &Sse, _: &mut Chunk) -> bool {
            false
        }

        fn end(&mut self, _: &mut Chunk) -> Result<(), TextFailure> {
            Ok(())
        }

        fn usage(&self) -> Option<Usage> {
            self.0.reported()
        }

        fn counts(&self) -> &TokenCounts {
            &self.0
        }
    }

    /// Without it what a provider tells with its last event, beside tokens it has told before, is free.
    #[test]
    fn what_a_provider_counts_after_its_tokens_is_counted() {
        let chat = |more: Value| {
            let mut usage = json!({"prompt_tokens": 100, "completion_tokens": 50});
            usage.as_object_mut().expect("counts").extend(more.as_object().expect("fields").clone());
            json!({"choices": [], "usage": usage})
        };
        let messages = |more: Value| {
            let mut usage = json!({"input_tokens": 100, "output_tokens": 50});
            usage.as_object_mut().expect("counts").extend(more.as_object().expect("fields").clone());
            json!({"type": "message_delta", "delta": {}, "usage": usage})
        };
        let reasoning = json!({"completion_tokens_details": {"reasoning_tokens": 15}});
        let sound = json!({"prompt_tokens_details": {"audio_tokens": 30}});
        let thinking = json!({"output_tokens_details": {"thinking_tokens": 15}});
        let searches = json!({"server_tool_use": {"web_search_requests": 2}});
        for (is_chat, begins, ends, (name, count), tokens) in [
            (true, chat(json!({})), chat(json!({"num_search_queries": 2})), ("searches", 2), (100, 50)),
            (true, chat(json!({})), chat(reasoning), ("output-reasoning", 15), (100, 35)),
            (true, chat(json!({})), chat(sound), ("input-audio", 30), (70, 50)),
            (false, messages(json!({})), messages(searches), ("searches", 2), (100, 50)),
            (false, messages(json!({})), messages(thinking), ("output-reasoning", 15), (100, 35)),
        ] {
            let mut stream = Stream::new(Incoming::new(is_chat, ""), Counting(TokenCounts::default()));
            let event = |data: &Value| Sse {
                event: data["type"].as_str().map(str::to_owned),
                data: data.to_string(),
            };
            assert_eq!(stream.push(vec![event(&begins)]).expect("a chunk").counters, []);
            let chunk = stream.push(vec![event(&ends)]).expect("a chunk");
            assert_eq!(chunk.counters, [(name.to_owned(), count)], "{ends}");
            assert_eq!(chunk.usage.map(|it| (it.input, it.output)), Some(tokens), "{ends}");
            // What says nothing new is not told again.
            assert_eq!(stream.push(vec![event(&ends)]).expect("a chunk").usage, None, "{ends}");
        }
    }
}
