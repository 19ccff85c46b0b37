//! Text families, played natively and as the built component, which must agree to the byte.

use gatehouse_runtime::MAX_OUTPUT_TOKENS;
use gatehouse_sdk::{
    Answered, Chunk, Context, Family, Payload, Prepared, Refusal, Relay, Reply, Sse, TextFailure,
    TextRequest, run,
};

use crate::component::Component;
use crate::convert;

/// What the component said to a text request, the native family having said the same.
pub struct TextPlay<'a> {
    component: &'a Component,
    cx: Context,
}

impl<'a> TextPlay<'a> {
    /// Plays against `component` in the circumstances of `cx`.
    #[must_use]
    pub fn new(component: &'a Component, cx: Context) -> Self {
        Self { component, cx }
    }

    /// Judges a request; a call's JSON comes out as [`Payload::Written`].
    ///
    /// # Errors
    /// The family's refusal.
    ///
    /// # Panics
    /// When the component breaks, or says anything else than the native family.
    pub fn prepare<F: Family>(&self, request: &TextRequest) -> Result<Prepared<Vec<u8>>, Refusal> {
        let said =
            self.component.runner().prepare(convert::context(&self.cx), convert::text::inquiry(request));
        let said = said
            .unwrap_or_else(|fault| panic!("the component broke: {fault}"))
            .map(convert::text::prepared)
            .map_err(convert::refusal);
        let native = run::prepare::<F>(&self.cx, request.clone()).map(as_hosted);
        assert_eq!(said, native, "component and native family differ");
        said
    }

    /// Translates a whole answer.
    ///
    /// # Errors
    /// The family's rejection.
    ///
    /// # Panics
    /// As [`TextPlay::open`].
    pub fn answer<F: Family>(&self, state: &[u8], reply: &Reply) -> Result<Answered, TextFailure> {
        let said =
            self.component.runner().answer(convert::context(&self.cx), state.to_vec(), convert::reply(reply));
        let said = said
            .unwrap_or_else(|fault| panic!("the component broke: {fault}"))
            .map(convert::text::answered)
            .map_err(convert::text::rejection);
        let native = run::answer::<F>(&self.cx, state, reply.clone());
        assert_eq!(said, native, "component and native family differ");
        said
    }

    /// Plays a stream: each batch of events, then its end unless something ended it before.
    ///
    /// # Panics
    /// As [`TextPlay::open`].
    #[must_use]
    pub fn relay<F: Family>(&self, state: &[u8], batches: &[Vec<Sse>]) -> Vec<Result<Chunk, TextFailure>> {
        let sent = batches.iter().map(|batch| batch.iter().map(convert::text::sse).collect()).collect();
        let said: Vec<_> = self
            .component
            .runner()
            .relay(convert::context(&self.cx), state.to_vec(), sent)
            .unwrap_or_else(|fault| panic!("the component broke: {fault}"))
            .into_iter()
            .map(|answer| answer.map(convert::text::chunk).map_err(convert::text::rejection))
            .collect();
        assert_eq!(said, self.native::<F>(state, batches), "component and native family differ");
        said
    }

    fn native<F: Family>(&self, state: &[u8], batches: &[Vec<Sse>]) -> Vec<Result<Chunk, TextFailure>> {
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

/// As the host hands it on.
fn as_hosted(prepared: Prepared<Vec<u8>>) -> Prepared<Vec<u8>> {
    let mut prepared =
        Prepared { max_output_tokens: prepared.max_output_tokens.min(MAX_OUTPUT_TOKENS), ..prepared };
    if let Payload::Json(body) = &prepared.call.body {
        prepared.call.body = Payload::Written(body.to_string());
    }
    prepared
}
