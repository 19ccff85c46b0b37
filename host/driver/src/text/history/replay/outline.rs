//! The outline of a stream: which events it had, of which item, and how much text each told.
//!
//! ```text
//! event = code [position in the output] [bytes of the delta, as JSON] [log probabilities]     LEB128 each
//! ```
//! A member that a kind of event does not have is left out. Pure.

use gatehouse_model::{Sse, words};
use serde::Deserialize;
use serde_json::value::RawValue;

/// Bytes of the longest outline that is kept: about 60,000 events.
const MAX_BYTES: usize = 256 * 1024;

words! {
    /// A kind of event. Its code is its position here. Outlines are stored: a new kind goes to the end.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(super) enum Kind {
        Created = "response.created",
        InProgress = "response.in_progress",
        ItemAdded = "response.output_item.added",
        ItemDone = "response.output_item.done",
        PartAdded = "response.content_part.added",
        PartDone = "response.content_part.done",
        TextDelta = "response.output_text.delta",
        TextDone = "response.output_text.done",
        RefusalDelta = "response.refusal.delta",
        RefusalDone = "response.refusal.done",
        SummaryPartAdded = "response.reasoning_summary_part.added",
        SummaryPartDone = "response.reasoning_summary_part.done",
        SummaryDelta = "response.reasoning_summary_text.delta",
        SummaryDone = "response.reasoning_summary_text.done",
        ArgumentsDelta = "response.function_call_arguments.delta",
        ArgumentsDone = "response.function_call_arguments.done",
        InputDelta = "response.custom_tool_call_input.delta",
        InputDone = "response.custom_tool_call_input.done",
        Completed = "response.completed",
        Incomplete = "response.incomplete",
    }
}

impl Kind {
    fn has_item(self) -> bool {
        !matches!(self, Self::Created | Self::InProgress | Self::Completed | Self::Incomplete)
    }

    fn has_delta(self) -> bool {
        matches!(
            self,
            Self::TextDelta
                | Self::RefusalDelta
                | Self::SummaryDelta
                | Self::ArgumentsDelta
                | Self::InputDelta
        )
    }
}

/// One event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) kind: Kind,
    /// The item's position in the output.
    pub(super) item: usize,
    /// Bytes of the delta, as JSON without quotes.
    pub(super) delta: usize,
    /// Log probabilities in the event.
    pub(super) logprobs: usize,
}

impl Step {
    /// An event without a delta.
    pub(super) fn plain(kind: Kind, item: usize) -> Self {
        Self { kind, item, delta: 0, logprobs: 0 }
    }
}

/// An outline under construction.
#[derive(Debug, Default)]
pub(in crate::text) struct Outline {
    bytes: Vec<u8>,
    /// It became too long, or an event is of no known kind.
    is_lost: bool,
}

#[derive(Deserialize)]
struct Members<'a> {
    #[serde(default)]
    output_index: usize,
    #[serde(borrow)]
    delta: Option<&'a RawValue>,
    #[serde(default)]
    logprobs: Vec<&'a RawValue>,
}

impl Outline {
    /// Takes note of events that go to the client.
    pub(in crate::text) fn add(&mut self, events: &[Sse]) {
        for event in events {
            if !self.is_lost && self.take(event).is_none() {
                self.is_lost = true;
                self.bytes = Vec::new();
            }
        }
    }

    /// What is kept of it; empty if it cannot be told again by its numbers.
    pub(in crate::text) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    fn take(&mut self, event: &Sse) -> Option<()> {
        let name = event.event.as_deref()?;
        let code = Kind::ALL.iter().position(|known| known.as_str() == name)?;
        let kind = Kind::ALL[code];
        write(&mut self.bytes, code);
        if kind.has_item() {
            let members: Members<'_> = serde_json::from_str(&event.data).ok()?;
            write(&mut self.bytes, members.output_index);
            if kind.has_delta() {
                write(&mut self.bytes, members.delta?.get().len().checked_sub(2)?);
            }
            if kind == Kind::TextDelta {
                write(&mut self.bytes, members.logprobs.len());
            }
        }
        (self.bytes.len() <= MAX_BYTES).then_some(())
    }
}

/// The events of an outline; `None` if it is damaged.
pub(super) fn decode(mut bytes: &[u8]) -> Option<Vec<Step>> {
    let mut steps = Vec::new();
    while !bytes.is_empty() {
        let kind = *Kind::ALL.get(read(&mut bytes)?)?;
        let mut step = Step::plain(kind, 0);
        if kind.has_item() {
            step.item = read(&mut bytes)?;
        }
        if kind.has_delta() {
            step.delta = read(&mut bytes)?;
        }
        if kind == Kind::TextDelta {
            step.logprobs = read(&mut bytes)?;
        }
        steps.push(step);
    }
    Some(steps)
}

fn write(bytes: &mut Vec<u8>, mut number: usize) {
    loop {
        let low = u8::try_from(number & 0x7f).unwrap_or_default();
        number >>= 7;
        if number == 0 {
            return bytes.push(low);
        }
        bytes.push(low | 0x80);
    }
}

fn read(bytes: &mut &[u8]) -> Option<usize> {
    let mut number = 0_usize;
    for shift in (0..usize::BITS).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= usize::from(byte & 0x7f).checked_shl(shift)?;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_back() {
        for number in [0, 1, 127, 128, 300, 16_384, usize::try_from(u32::MAX).unwrap()] {
            let mut bytes = Vec::new();
            write(&mut bytes, number);
            let mut rest = bytes.as_slice();
            assert_eq!((read(&mut rest), rest), (Some(number), &[][..]));
            assert_eq!(read(&mut &bytes[..bytes.len() - 1]), None);
        }
    }

    #[test]
    fn an_outline_that_becomes_too_long_is_not_kept() {
        let data = format!(r#"{{"output_index":0,"delta":"{}","logprobs":[]}}"#, "x".repeat(20_000));
        let event = Sse { event: Some("response.output_text.delta".to_owned()), data };
        let mut outline = Outline::default();
        // Six bytes each.
        for _ in 0..MAX_BYTES / 6 {
            outline.add(std::slice::from_ref(&event));
        }
        assert!(!outline.bytes.is_empty());
        outline.add(&[event.clone(), event]);
        assert_eq!(outline.into_bytes(), Vec::<u8>::new());
    }
}
