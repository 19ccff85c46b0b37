//! Text families and dialects: run natively and as the built component, which must agree to the byte; and the dialect half of a
//! component for scripts.

use gatehouse_runtime::{Half, MAX_OUTPUT_TOKENS};
use gatehouse_sdk::{
    Answered, Chunk, Context, Dialect, DialectPrepared, DialectRequest, Prepared, Refusal, Reply, Sse, Text,
    TextFailure, TextRequest,
};
use gatehouse_testkit::{DialectMachine, Machine as _, NativeDialect, NativeText, Played};

use crate::component::{Component, agreed, broke};
use crate::convert;

/// Runs a text family or a dialect as the component and natively, and checks that both return the same.
pub struct Both<'a> {
    component: &'a Component,
    cx: Context,
}

impl<'a> Both<'a> {
    /// Runs against `component` with the context `cx`.
    #[must_use]
    pub fn new(component: &'a Component, cx: Context) -> Self {
        Self { component, cx }
    }

    /// Checks and translates a request.
    ///
    /// # Errors
    /// The family's refusal.
    ///
    /// # Panics
    /// When the component breaks, or returns anything else than the native family.
    pub fn prepare<F: Text>(&self, request: &TextRequest) -> Result<Prepared<Vec<u8>>, Refusal> {
        let native = native(NativeText::<F>::NEW.prepare(&self.cx, request)).map(as_hosted);
        agreed(self.component.prepare(&self.cx, request), &native)
    }

    /// Translates a whole answer.
    ///
    /// # Errors
    /// The family's failure.
    ///
    /// # Panics
    /// As [`Both::prepare`].
    pub fn answer<F: Text>(&self, state: &[u8], reply: &Reply) -> Result<Answered, TextFailure> {
        let native = native(NativeText::<F>::NEW.answer(&self.cx, state, reply));
        agreed(self.component.answer(&self.cx, state, reply), &native)
    }

    /// Runs a stream: each batch of events, then its end unless it ended before.
    ///
    /// # Panics
    /// As [`Both::prepare`].
    #[must_use]
    pub fn relay<F: Text>(&self, state: &[u8], batches: &[Vec<Sse>]) -> Vec<Result<Chunk, TextFailure>> {
        let native = native(NativeText::<F>::NEW.relay(&self.cx, state, batches));
        agreed(self.component.relay(&self.cx, state, batches), &native)
    }

    /// Translates a Messages request.
    ///
    /// # Errors
    /// The family's refusal.
    ///
    /// # Panics
    /// As [`Both::prepare`].
    pub fn translate<F: Dialect>(
        &self,
        request: &DialectRequest,
    ) -> Result<DialectPrepared<Vec<u8>>, Refusal> {
        let native = native(NativeDialect::<F>::NEW.translate(&self.cx, request));
        agreed(self.component.translate(&self.cx, request), &native)
    }

    /// Makes a Messages answer of a whole answer.
    ///
    /// # Errors
    /// The family's failure.
    ///
    /// # Panics
    /// As [`Both::prepare`].
    pub fn read_answer<F: Dialect>(&self, state: &[u8], reply: &Reply) -> Result<String, TextFailure> {
        let native = native(NativeDialect::<F>::NEW.read_answer(&self.cx, state, reply));
        agreed(self.component.read_answer(&self.cx, state, reply), &native)
    }

    /// Reads a stream: each batch of frames, then its end unless it failed before.
    ///
    /// # Panics
    /// As [`Both::prepare`].
    #[must_use]
    pub fn read_stream<F: Dialect>(
        &self,
        state: &[u8],
        batches: &[Vec<Sse>],
    ) -> Vec<Result<Vec<Sse>, TextFailure>> {
        let native = native(NativeDialect::<F>::NEW.read_stream(&self.cx, state, batches));
        agreed(self.component.read_stream(&self.cx, state, batches), &native)
    }
}

/// Plain Rust does not break: it panics.
fn native<T>(played: Result<T, String>) -> T {
    played.unwrap_or_else(|problem| panic!("{problem}"))
}

/// As the host returns it: the token limit is capped.
fn as_hosted(prepared: Prepared<Vec<u8>>) -> Prepared<Vec<u8>> {
    Prepared { max_output_tokens: prepared.max_output_tokens.min(MAX_OUTPUT_TOKENS), ..prepared }
}

impl DialectMachine for Component {
    fn translate(
        &self,
        cx: &Context,
        request: &DialectRequest,
    ) -> Played<Result<DialectPrepared<Vec<u8>>, Refusal>> {
        let request = convert::dialect_request(request);
        let came = self.runner.translate(convert::context(cx)?, request).map_err(broke)?;
        Ok(came.map(convert::translated).map_err(convert::refusal))
    }

    fn read_answer(&self, cx: &Context, state: &[u8], reply: &Reply) -> Played<Result<String, TextFailure>> {
        let reply = convert::same_shape(reply);
        let came = self.runner.read_answer(convert::context(cx)?, state.to_vec(), reply).map_err(broke)?;
        Ok(came.map(Into::into).map_err(|failure| convert::same_shape(&failure)))
    }

    fn read_stream(
        &self,
        cx: &Context,
        state: &[u8],
        batches: &[Vec<Sse>],
    ) -> Played<Vec<Result<Vec<Sse>, TextFailure>>> {
        let batches = convert::same_shape(&batches);
        let came = self
            .runner
            .relay(Half::Dialect, convert::context(cx)?, state.to_vec(), batches)
            .map_err(broke)?;
        let events = |chunk: gatehouse_model::Chunk| convert::same_shape(&chunk.send);
        Ok(came
            .into_iter()
            .map(|answer| answer.map(events).map_err(|failure| convert::same_shape(&failure)))
            .collect())
    }
}
