//! A family that can be called, natively or as a component.

use std::marker::PhantomData;

use gatehouse_sdk::{
    About, Accepted, Answered, Call, Chunk, Context, Dialect, DialectPrepared, DialectRequest, Event,
    FrameReader as _, Jobs, Prepared, Refusal, Relay as _, Reply, Sse, Step, Submission, TaskView, Text,
    TextFailure, TextRequest, run,
};
use serde_json::Value;

use crate::direct::DirectMachine;
use crate::rules;

/// What a call came to; `Err` when the family broke, or has no such interface here.
pub type Played<T> = Result<T, String>;

/// What a manifest says that scripts are held against.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declared {
    /// The surfaces, by name.
    pub surfaces: Vec<String>,
    /// The versions of states that `migrate` reads.
    pub reads_state: Vec<u32>,
}

/// A family behind the contract: state is bytes, nothing is kept between calls. [`Script::run`](crate::Script::run) plays any;
/// this kit has one for a family as plain Rust, and the host has one for a component.
pub trait Machine {
    /// What its manifest says.
    fn declared(&self) -> Declared;

    /// Checks a request.
    fn submit(&self, cx: &Context, request: &Submission) -> Played<Result<Accepted<Vec<u8>>, Refusal>> {
        let _ = (cx, request);
        absent("jobs")
    }

    /// One step.
    fn advance(&self, cx: &Context, state: &[u8], event: &Event) -> Played<Step<Vec<u8>>> {
        let _ = (cx, state, event);
        absent("jobs")
    }

    /// Rewrites the state of an older version, or says why it cannot.
    fn migrate(&self, from: u32, state: &[u8]) -> Played<Result<Vec<u8>, String>> {
        let _ = (from, state);
        absent("jobs")
    }

    /// Renders a task.
    fn view(&self, cx: &Context, surface: &str, view: &TaskView) -> Played<Value> {
        let _ = (cx, surface, view);
        absent("views")
    }

    /// Makes one call of several.
    fn merge(&self, cx: &Context, key: &str, items: &[String]) -> Played<Call> {
        let _ = (cx, key, items);
        absent("bulk")
    }

    /// Reads the reply to a merged call.
    fn split(&self, cx: &Context, key: &str, items: &[String], reply: &Reply) -> Played<Vec<Option<Reply>>> {
        let _ = (cx, key, items, reply);
        absent("bulk")
    }

    /// Checks and translates a text request.
    fn prepare(&self, cx: &Context, request: &TextRequest) -> Played<Result<Prepared<Vec<u8>>, Refusal>> {
        let _ = (cx, request);
        absent("text")
    }

    /// Its dialect half, if it has one here.
    fn dialect(&self) -> Played<&dyn DialectMachine> {
        absent("dialect")
    }

    /// Its half that answers at once, if it has one here.
    fn direct(&self) -> Played<&dyn DirectMachine> {
        absent("direct")
    }

    /// Translates a whole answer.
    fn answer(&self, cx: &Context, state: &[u8], reply: &Reply) -> Played<Result<Answered, TextFailure>> {
        let _ = (cx, state, reply);
        absent("text")
    }

    /// Runs a stream: each batch of events, then its end, unless it ended before.
    fn relay(
        &self,
        cx: &Context,
        state: &[u8],
        batches: &[Vec<Sse>],
    ) -> Played<Vec<Result<Chunk, TextFailure>>> {
        let _ = (cx, state, batches);
        absent("text")
    }
}

/// A family that speaks a dialect, behind the contract.
pub trait DialectMachine {
    /// Translates a Messages request.
    fn translate(
        &self,
        cx: &Context,
        request: &DialectRequest,
    ) -> Played<Result<DialectPrepared<Vec<u8>>, Refusal>>;

    /// Makes a Messages answer of a whole answer.
    fn read_answer(&self, cx: &Context, state: &[u8], reply: &Reply) -> Played<Result<String, TextFailure>>;

    /// Reads a stream: each batch of frames, then its end, unless it failed before.
    fn read_stream(
        &self,
        cx: &Context,
        state: &[u8],
        batches: &[Vec<Sse>],
    ) -> Played<Vec<Result<Vec<Sse>, TextFailure>>>;
}

pub(crate) fn declared(about: &About, reads_state: &[u32]) -> Declared {
    let surfaces = about.surfaces.iter().map(|surface| surface.name.clone());
    Declared { surfaces: surfaces.collect(), reads_state: reads_state.to_vec() }
}

fn absent<T>(interface: &str) -> Played<T> {
    Err(format!("the interface {interface:?} is not played here: play the component"))
}

/// Plain Rust, with the host's rules checked here because no host is there to do it.
pub(crate) struct Native<F> {
    about: About,
    family: PhantomData<F>,
}

impl<F: Jobs> Native<F> {
    pub(crate) fn new() -> Self {
        Self { about: F::about(), family: PhantomData }
    }
}

impl<F: Jobs> Machine for Native<F> {
    fn declared(&self) -> Declared {
        declared(&self.about, F::READS_STATE)
    }

    fn submit(&self, cx: &Context, request: &Submission) -> Played<Result<Accepted<Vec<u8>>, Refusal>> {
        let verdict = run::submit::<F>(cx, request.clone());
        if let Ok(accepted) = &verdict {
            rules::accepted(&self.about, &request.surface, accepted)?;
        }
        Ok(verdict.map_err(rules::told))
    }

    fn advance(&self, cx: &Context, state: &[u8], event: &Event) -> Played<Step<Vec<u8>>> {
        let step = run::advance::<F>(cx, state, event.clone());
        rules::step(&self.about, cx, &step)?;
        Ok(step)
    }

    fn migrate(&self, from: u32, state: &[u8]) -> Played<Result<Vec<u8>, String>> {
        Ok(run::migrate::<F>(from, state))
    }
}

/// A text family as plain Rust.
pub struct NativeText<F>(PhantomData<F>);

impl<F> NativeText<F> {
    /// The family.
    pub const NEW: Self = Self(PhantomData);
}

impl<F: Text> Machine for NativeText<F> {
    fn declared(&self) -> Declared {
        declared(&F::about(), &[])
    }

    fn prepare(&self, cx: &Context, request: &TextRequest) -> Played<Result<Prepared<Vec<u8>>, Refusal>> {
        Ok(run::prepare::<F>(cx, request.clone()).map_err(rules::told))
    }

    fn answer(&self, cx: &Context, state: &[u8], reply: &Reply) -> Played<Result<Answered, TextFailure>> {
        Ok(run::answer::<F>(cx, state, reply.clone()))
    }

    fn relay(
        &self,
        cx: &Context,
        state: &[u8],
        batches: &[Vec<Sse>],
    ) -> Played<Vec<Result<Chunk, TextFailure>>> {
        let mut relay = run::relay::<F>(cx, state);
        let mut answers = vec![];
        for batch in batches {
            let answer = relay.push(batch.clone());
            let over = answer.as_ref().map_or(true, |chunk| chunk.last);
            answers.push(answer);
            if over {
                return Ok(answers);
            }
        }
        answers.push(relay.end());
        Ok(answers)
    }
}

/// A family that speaks a dialect, as plain Rust.
pub struct NativeDialect<F>(PhantomData<F>);

impl<F> NativeDialect<F> {
    /// The dialect of `F`.
    pub const NEW: Self = Self(PhantomData);
}

impl<F: Dialect> Machine for NativeDialect<F> {
    fn declared(&self) -> Declared {
        declared(&F::about(), &[])
    }

    fn dialect(&self) -> Played<&dyn DialectMachine> {
        Ok(self)
    }
}

impl<F: Dialect> DialectMachine for NativeDialect<F> {
    fn translate(
        &self,
        cx: &Context,
        request: &DialectRequest,
    ) -> Played<Result<DialectPrepared<Vec<u8>>, Refusal>> {
        Ok(run::translate::<F>(cx, request.clone()))
    }

    fn read_answer(&self, cx: &Context, state: &[u8], reply: &Reply) -> Played<Result<String, TextFailure>> {
        Ok(run::read_answer::<F>(cx, state, reply.clone()))
    }

    fn read_stream(
        &self,
        cx: &Context,
        state: &[u8],
        batches: &[Vec<Sse>],
    ) -> Played<Vec<Result<Vec<Sse>, TextFailure>>> {
        let mut reader = run::reader::<F>(cx, state);
        let mut answers = vec![];
        for batch in batches {
            answers.push(reader.push(batch.clone()));
            if answers.last().is_some_and(Result::is_err) {
                return Ok(answers);
            }
        }
        answers.push(reader.end());
        Ok(answers)
    }
}
