//! The lines of a text request: the request, its whole answer, or its stream.

use gatehouse_sdk::{Reply, Sse, TextRequest};
use serde_json::Value;

use super::Player;
use super::checks::twice;
use crate::written::shown_text as shown;

/// A request that was prepared, and the stream so far.
pub(super) struct TextState {
    state: Vec<u8>,
    batches: Vec<Vec<Sse>>,
    over: bool,
}

const NOT_PREPARED: &str = "unexpected here: no text request has been prepared";

impl Player<'_> {
    pub(super) fn text_request(&mut self, request: &TextRequest) -> Result<Value, String> {
        self.begin();
        let prepared = twice(|| self.machine.prepare(&self.cx, request))?;
        self.text = prepared.as_ref().ok().map(|prepared| TextState {
            state: prepared.state.clone(),
            batches: Vec::new(),
            over: false,
        });
        Ok(shown::prepared(&prepared))
    }

    pub(super) fn text_answer(&mut self, reply: &Reply) -> Result<Value, String> {
        let text = self.text.as_ref().ok_or(NOT_PREPARED)?;
        Ok(shown::answered(&twice(|| self.machine.answer(&self.cx, &text.state, reply))?))
    }

    pub(super) fn text_events(&mut self, events: &[Sse]) -> Result<Value, String> {
        let text = self.text.as_mut().ok_or(NOT_PREPARED)?;
        let at = text.batches.len();
        text.batches.push(events.to_vec());
        self.stream(at)
    }

    pub(super) fn text_end(&mut self) -> Result<Value, String> {
        let at = self.text.as_ref().ok_or(NOT_PREPARED)?.batches.len();
        self.stream(at)
    }

    /// Plays the whole stream so far, to an end, in a relay of its own: a provider may end at any time. The answer is the
    /// one to the batch `at`, or to the end.
    fn stream(&mut self, at: usize) -> Result<Value, String> {
        let text = self.text.as_mut().ok_or(NOT_PREPARED)?;
        if text.over {
            return Err("unexpected here: the stream has ended".to_owned());
        }
        let mut answers = twice(|| self.machine.relay(&self.cx, &text.state, &text.batches))?;
        if at >= answers.len() {
            return Err(format!("expected an answer to each of {} batches, got {}", at + 1, answers.len()));
        }
        let answer = answers.swap_remove(at);
        text.over = at == text.batches.len() || answer.as_ref().map_or(true, |chunk| chunk.last);
        Ok(shown::chunk(&answer))
    }
}
