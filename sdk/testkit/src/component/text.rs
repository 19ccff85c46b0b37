//! Text families, run natively and as the built component, which must agree to the byte.

use gatehouse_runtime::MAX_OUTPUT_TOKENS;
use gatehouse_sdk::{
    Answered, Chunk, Context, Prepared, Refusal, Relay, Reply, Sse, Text, TextFailure, TextRequest, run,
};

use super::{Component, convert};

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
        let came =
            self.component.runner().prepare(convert::context(&self.cx), convert::text_request(request));
        let came = came
            .unwrap_or_else(|fault| panic!("the component broke: {fault}"))
            .map(convert::prepared)
            .map_err(convert::refusal);
        let native = run::prepare::<F>(&self.cx, request.clone()).map(as_hosted);
        assert_eq!(came, native, "component and native family differ");
        came
    }

    /// Translates a whole answer.
    ///
    /// # Errors
    /// The family's failure.
    ///
    /// # Panics
    /// As [`TextPlay::prepare`].
    pub fn answer<F: Text>(&self, state: &[u8], reply: &Reply) -> Result<Answered, TextFailure> {
        let came = self.component.runner().answer(
            convert::context(&self.cx),
            state.to_vec(),
            convert::same_shape(reply),
        );
        let came = came
            .unwrap_or_else(|fault| panic!("the component broke: {fault}"))
            .map(convert::answered)
            .map_err(convert::text_failure);
        let native = run::answer::<F>(&self.cx, state, reply.clone());
        assert_eq!(came, native, "component and native family differ");
        came
    }

    /// Runs a stream: each batch of events, then its end unless it ended before.
    ///
    /// # Panics
    /// As [`TextPlay::prepare`].
    #[must_use]
    pub fn relay<F: Text>(&self, state: &[u8], batches: &[Vec<Sse>]) -> Vec<Result<Chunk, TextFailure>> {
        let sent = batches.iter().map(|batch| batch.iter().map(convert::sse).collect()).collect();
        let came: Vec<_> = self
            .component
            .runner()
            .relay(convert::context(&self.cx), state.to_vec(), sent)
            .unwrap_or_else(|fault| panic!("the component broke: {fault}"))
            .into_iter()
            .map(|answer| answer.map(convert::chunk).map_err(convert::text_failure))
            .collect();
        assert_eq!(came, self.native::<F>(state, batches), "component and native family differ");
        came
    }

    fn native<F: Text>(&self, state: &[u8], batches: &[Vec<Sse>]) -> Vec<Result<Chunk, TextFailure>> {
        let mut relay = run::relay::<F>(&self.cx, state);
        let mut answers = vec![];
        for batch in batches {
            let answer = relay.push(batch.clone());
            let over = answer.as_ref().map_or(true, |chunk| chunk.last);
            answers.push(answer);
            if over {
                return answers;
            }
        }
        answers.push(relay.end());
        answers
    }
}

/// As the host returns it: the token limit is capped.
fn as_hosted(prepared: Prepared<Vec<u8>>) -> Prepared<Vec<u8>> {
    Prepared { max_output_tokens: prepared.max_output_tokens.min(MAX_OUTPUT_TOKENS), ..prepared }
}
