//! A stream of a provider that speaks Chat, as the events of a message.
//!
//! ```text
//! first choice     -> message_start (counts unknown: zeros)
//! text, reasoning, -> blocks, one at a time, in order (see `weave`); a ping after the first one opens
//! tool calls
//! a whole message  -> the same blocks, each in one piece
//! finish_reason    -> remembered: the counts come later
//! counts, [DONE]   -> the last block closes, message_delta, message_stop
//! or the end
//! ```

use std::borrow::Cow;

use gatehouse_sdk::{Chunk, Context, Sse, TextFailure};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::raw::Text;
use crate::shapes::{Ending, Event, Message, Reported, Stop};
use crate::usage::Tally;
use crate::weave::{Piece, Weave};
use crate::{State, errors, ids};

/// The stream so far.
pub(crate) struct FromChat {
    state: State,
    cx: Context,
    tally: Tally,
    weave: Option<Weave>,
    refused: bool,
    finish: Option<String>,
    last: bool,
}

#[derive(Deserialize)]
struct Step<'a> {
    #[serde(borrow, default)]
    id: Option<Text<'a>>,
    #[serde(borrow, default)]
    choices: Option<Vec<Choice<'a>>>,
    #[serde(borrow, default)]
    usage: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(default)]
    index: Option<u64>,
    #[serde(borrow, default)]
    delta: Option<Delta<'a>>,
    /// All of it at once, from a provider that does not stream. Some send it along with every delta.
    #[serde(borrow, default)]
    message: Option<&'a RawValue>,
    #[serde(borrow, default)]
    finish_reason: Option<Text<'a>>,
}

#[derive(Deserialize)]
struct Delta<'a> {
    #[serde(borrow, default)]
    content: Option<Text<'a>>,
    #[serde(borrow, default)]
    refusal: Option<Text<'a>>,
    #[serde(borrow, default)]
    reasoning_content: Option<Text<'a>>,
    #[serde(borrow, default)]
    reasoning: Option<Text<'a>>,
    #[serde(borrow, default)]
    tool_calls: Option<Vec<Call<'a>>>,
}

#[derive(Deserialize)]
struct Call<'a> {
    #[serde(default)]
    index: Option<u64>,
    #[serde(borrow, default)]
    id: Option<Text<'a>>,
    #[serde(borrow, default)]
    function: Option<Function<'a>>,
}

#[derive(Deserialize)]
struct Function<'a> {
    #[serde(borrow, default)]
    name: Option<Text<'a>>,
    #[serde(borrow, default)]
    arguments: Option<Text<'a>>,
}

impl FromChat {
    pub(crate) fn new(cx: &Context, state: State) -> Self {
        Self {
            state,
            cx: cx.clone(),
            tally: Tally::default(),
            weave: None,
            refused: false,
            finish: None,
            last: false,
        }
    }

    /// The provider's next event.
    ///
    /// # Errors
    /// An error inside the stream, what does not read, and an end without a reason.
    pub(crate) fn event(&mut self, event: &Sse, chunk: &mut Chunk) -> Result<(), TextFailure> {
        let data = event.data.trim();
        if self.last || data.is_empty() {
            return Ok(());
        }
        if data == "[DONE]" {
            return self.finish(chunk);
        }
        let step: Step<'_> = serde_json::from_str(data).map_err(|_| errors::unreadable())?;
        if step.error.is_some() || event.event.as_deref() == Some("error") {
            return Err(errors::inside(data));
        }
        let counted = step.usage.is_some_and(|usage| self.tally.chat(usage));
        if counted {
            chunk.usage = self.tally.reported();
        }
        let choices = step.choices.unwrap_or_default();
        let only_counts = choices.is_empty();
        for choice in choices.into_iter().filter(|choice| choice.index.unwrap_or(0) == 0) {
            self.choice(step.id.as_ref(), choice, chunk)?;
        }
        // Some servers count along; the counts that are final come alone, after the reason.
        if counted && only_counts && self.finish.is_some() { self.finish(chunk) } else { Ok(()) }
    }

    /// The provider has closed the stream; some never say `[DONE]`.
    ///
    /// # Errors
    /// An end without a reason.
    pub(crate) fn end(&mut self) -> Result<Chunk, TextFailure> {
        let mut chunk = Chunk::default();
        if !self.last {
            self.finish(&mut chunk)?;
        }
        Ok(chunk)
    }

    fn choice(
        &mut self,
        id: Option<&Text<'_>>,
        choice: Choice<'_>,
        chunk: &mut Chunk,
    ) -> Result<(), TextFailure> {
        let shown = self.state.shown;
        let whole = choice.message.filter(|_| self.weave.is_none() && choice.delta.is_none());
        let is_whole = whole.is_some();
        let whole = whole.map(|raw| serde_json::from_str(raw.get()).map_err(|_| errors::unreadable()));
        let delta = choice.delta.or(whole.transpose()?);
        if self.weave.is_none() {
            self.start(id.map_or("", |id| &id.0), chunk);
        }
        if let (Some(delta), Some(weave)) = (delta, self.weave.as_mut()) {
            let thought = delta.reasoning_content.or(delta.reasoning);
            if let Some(Text(text)) = thought.filter(|text| !text.0.is_empty()) {
                chunk.output_bytes =
                    chunk.output_bytes.saturating_add(crate::answer::clamp(text.len() as u64));
                if shown {
                    weave.push(Piece::Thought(&text), chunk)?;
                }
            }
            self.refused |= delta.refusal.as_ref().is_some_and(|text| !text.0.is_empty());
            for Text(text) in delta.content.into_iter().chain(delta.refusal) {
                if !text.is_empty() {
                    chunk.output_bytes =
                        chunk.output_bytes.saturating_add(crate::answer::clamp(text.len() as u64));
                    weave.push(Piece::Text(&text), chunk)?;
                }
            }
            for (place, call) in (0..).zip(delta.tool_calls.unwrap_or_default()) {
                let function = call.function.unwrap_or(Function { name: None, arguments: None });
                let arguments = function.arguments.map_or(Cow::Borrowed(""), |text| text.0);
                chunk.output_bytes =
                    chunk.output_bytes.saturating_add(crate::answer::clamp(arguments.len() as u64));
                weave.push(
                    Piece::Call {
                        index: call.index.or_else(|| is_whole.then_some(place)),
                        id: call.id.as_ref().map(|id| id.0.as_ref()),
                        name: function.name.as_ref().map(|name| name.0.as_ref()),
                        arguments: &arguments,
                    },
                    chunk,
                )?;
            }
        }
        if let Some(Text(reason)) = choice.finish_reason.filter(|reason| !reason.0.is_empty()) {
            self.finish = Some(reason.into_owned());
        } else if is_whole {
            // It is complete, whether it says why or not.
            self.finish.get_or_insert_default();
        }
        Ok(())
    }

    fn start(&mut self, id: &str, chunk: &mut Chunk) {
        let id = ids::message(id, &self.cx);
        let usage = Reported::Short(self.tally.counts());
        chunk.send.push(Event::MessageStart { message: Message::new(&id, &self.state.model, usage) }.sse());
        self.weave = Some(Weave::new(id));
    }

    fn finish(&mut self, chunk: &mut Chunk) -> Result<(), TextFailure> {
        let (Some(reason), Some(weave)) = (&self.finish, self.weave.as_mut()) else {
            return Err(TextFailure::upstream("the provider's stream ended before its answer did"));
        };
        let called = weave.finish(chunk)?;
        let stop = if self.refused { Stop::Refusal } else { Stop::of_chat(reason, called) };
        let delta = Ending { stop_reason: stop, stop_sequence: None };
        chunk.send.push(Event::MessageDelta { delta, usage: self.tally.counts() }.sse());
        chunk.send.push(Event::MessageStop.sse());
        (self.last, chunk.last) = (true, true);
        Ok(())
    }
}
