//! A text request that is played: its whole answer, or its stream so far.

use gatehouse_sdk::{Context, Reply, Sse, TextRequest};
use serde_json::Value;

use super::checks::twice;
use crate::machine::Machine;
use crate::written::shown_text as shown;

/// A request that was prepared, and the stream so far.
pub(super) struct TextState {
    state: Vec<u8>,
    batches: Vec<Vec<Sse>>,
    over: bool,
}

/// Asks the family; the request is under way unless it was refused.
pub(super) fn prepare(
    machine: &dyn Machine,
    cx: &Context,
    request: &TextRequest,
) -> Result<(Option<TextState>, Value), String> {
    let verdict = twice(|| machine.prepare(cx, request))?;
    let state = |state: &Vec<u8>| TextState { state: state.clone(), batches: Vec::new(), over: false };
    Ok((verdict.as_ref().ok().map(|prepared| state(&prepared.state)), shown::prepared(&verdict)))
}

impl TextState {
    pub(super) fn answer(&self, machine: &dyn Machine, cx: &Context, reply: &Reply) -> Result<Value, String> {
        Ok(shown::answered(&twice(|| machine.answer(cx, &self.state, reply))?))
    }

    pub(super) fn events(
        &mut self,
        machine: &dyn Machine,
        cx: &Context,
        events: &[Sse],
    ) -> Result<Value, String> {
        self.batches.push(events.to_vec());
        self.stream(machine, cx, self.batches.len() - 1)
    }

    pub(super) fn end(&mut self, machine: &dyn Machine, cx: &Context) -> Result<Value, String> {
        self.stream(machine, cx, self.batches.len())
    }

    /// Plays the whole stream so far, to an end, in a relay of its own: a provider may end at any time. The answer is the
    /// one to the batch `at`, or to the end.
    fn stream(&mut self, machine: &dyn Machine, cx: &Context, at: usize) -> Result<Value, String> {
        if self.over {
            return Err("unexpected here: the stream has ended".to_owned());
        }
        let mut answers = twice(|| machine.relay(cx, &self.state, &self.batches))?;
        if at >= answers.len() {
            return Err(format!("expected an answer to each of {} batches, got {}", at + 1, answers.len()));
        }
        let answer = answers.swap_remove(at);
        self.over = at == self.batches.len() || answer.as_ref().map_or(true, |chunk| chunk.last);
        Ok(shown::chunk(&answer))
    }
}
