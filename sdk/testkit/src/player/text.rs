//! A text request that is played, by a text family or by a dialect: its whole answer, or its stream so far.

use gatehouse_sdk::{Context, DialectRequest, Reply, Sse, TextRequest};
use serde_json::Value;

use super::checks::twice;
use crate::machine::Machine;
use crate::written::shown_text as shown;

/// A request that was prepared, and the stream so far.
pub(super) struct TextState {
    half: Half,
    state: Vec<u8>,
    batches: Vec<Vec<Sse>>,
    over: bool,
}

/// Which half of a family plays it.
#[derive(Clone, Copy)]
enum Half {
    Text,
    Dialect,
}

/// Asks the family; the request is under way unless it was refused.
pub(super) fn prepare(
    machine: &dyn Machine,
    cx: &Context,
    request: &TextRequest,
) -> Result<(Option<TextState>, Value), String> {
    let verdict = twice(|| machine.prepare(cx, request))?;
    let state = verdict.as_ref().ok().map(|prepared| TextState::new(Half::Text, &prepared.state));
    Ok((state, shown::prepared(&verdict)))
}

/// The same of a dialect.
pub(super) fn translate(
    machine: &dyn Machine,
    cx: &Context,
    request: &DialectRequest,
) -> Result<(Option<TextState>, Value), String> {
    let dialect = machine.dialect()?;
    let verdict = twice(|| dialect.translate(cx, request))?;
    let state = verdict.as_ref().ok().map(|prepared| TextState::new(Half::Dialect, &prepared.state));
    Ok((state, shown::translated(&verdict)))
}

impl TextState {
    fn new(half: Half, state: &[u8]) -> Self {
        Self { half, state: state.to_vec(), batches: Vec::new(), over: false }
    }

    pub(super) fn answer(&self, machine: &dyn Machine, cx: &Context, reply: &Reply) -> Result<Value, String> {
        if let Half::Dialect = self.half {
            let dialect = machine.dialect()?;
            return Ok(shown::read(&twice(|| dialect.read_answer(cx, &self.state, reply))?));
        }
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
        let is_end = at == self.batches.len();
        if let Half::Dialect = self.half {
            let dialect = machine.dialect()?;
            let answer = nth(twice(|| dialect.read_stream(cx, &self.state, &self.batches))?, at)?;
            self.over = is_end || answer.is_err();
            return Ok(shown::events(&answer));
        }
        let answer = nth(twice(|| machine.relay(cx, &self.state, &self.batches))?, at)?;
        self.over = is_end || answer.as_ref().map_or(true, |chunk| chunk.last);
        Ok(shown::chunk(&answer))
    }
}

/// The answer to the batch `at`, or to the end after all of them.
fn nth<T>(mut answers: Vec<T>, at: usize) -> Result<T, String> {
    if at >= answers.len() {
        return Err(format!("expected an answer to each of {} batches, got {}", at + 1, answers.len()));
    }
    Ok(answers.swap_remove(at))
}
