//! Text families, run natively and as the built component, which must agree to the byte.

use gatehouse_runtime::MAX_OUTPUT_TOKENS;
use gatehouse_sdk::{
    Answered, Chunk, Context, Prepared, Refusal, Reply, Sse, Text, TextFailure, TextRequest,
};
use gatehouse_testkit::{Machine as _, NativeText};

use crate::component::{Component, agreed};

/// Runs a text family as the component and natively, and checks that both return the same.
pub struct TextPlay<'a> {
    component: &'a Component,
    cx: Context,
}

impl<'a> TextPlay<'a> {
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
    /// As [`TextPlay::prepare`].
    pub fn answer<F: Text>(&self, state: &[u8], reply: &Reply) -> Result<Answered, TextFailure> {
        let native = native(NativeText::<F>::NEW.answer(&self.cx, state, reply));
        agreed(self.component.answer(&self.cx, state, reply), &native)
    }

    /// Runs a stream: each batch of events, then its end unless it ended before.
    ///
    /// # Panics
    /// As [`TextPlay::prepare`].
    #[must_use]
    pub fn relay<F: Text>(&self, state: &[u8], batches: &[Vec<Sse>]) -> Vec<Result<Chunk, TextFailure>> {
        let native = native(NativeText::<F>::NEW.relay(&self.cx, state, batches));
        agreed(self.component.relay(&self.cx, state, batches), &native)
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
