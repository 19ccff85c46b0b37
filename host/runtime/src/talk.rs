//! The room's face for text: judge, answer, and streams that live between calls. Faults of a fresh version are
//! put to the one that stands by, as far as the client has been sent nothing.

use std::sync::Arc;

use gatehouse_model::{Answered, Chunk, Context, Prepared, Refusal, Reply, Sse, TextFailure, TextRequest};
use tokio::sync::OwnedSemaphorePermit;

use crate::fault::Fault;
use crate::rescue;
use crate::service::PluginService;
use crate::text::Stream;
use crate::version::Version;

/// A stream's translator. Dropping it frees its instance.
#[derive(Debug)]
pub struct Relay {
    families: PluginService,
    /// Away while a call runs; gone for good after a call that nobody waited for.
    stream: Option<Box<Stream>>,
    version: Arc<Version>,
    _place: OwnedSemaphorePermit,
}

impl PluginService {
    /// Judges a text request; also says who did, for that version reads the state it left.
    ///
    /// # Errors
    /// [`Fault`] when there is no acceptable answer.
    pub async fn prepare_text(
        &self,
        version: &Arc<Version>,
        cx: Context,
        request: TextRequest,
    ) -> Result<rescue::ServedBy<Result<Prepared, Refusal>>, Fault> {
        let surface = request.surface.clone();
        let other = self.stand_in(version).filter(|other| other.talks(&surface));
        self.either(version, other, "open", (cx, request), |version, (cx, request)| async move {
            self.call(&version, "prepare", move |version| version.prepare(&cx, request)).await
        })
        .await
    }

    /// Translates a whole answer.
    ///
    /// # Errors
    /// [`Fault`] when there is no acceptable answer.
    pub async fn answer(
        &self,
        version: &Arc<Version>,
        cx: Context,
        state: Vec<u8>,
        reply: Reply,
    ) -> Result<Result<Answered, TextFailure>, Fault> {
        let other = self.stand_in(version).filter(|other| other.reads_like(version));
        let asked = (cx, state, reply);
        let answered =
            self.either(version, other, "answer", asked, |version, (cx, state, reply)| async move {
                self.call(&version, "answer", move |version| version.answer(&cx, &state, reply)).await
            });
        answered.await.map(|answered| answered.answer)
    }

    /// Begins a stream, in an instance of its own.
    ///
    /// # Errors
    /// [`Fault::Busy`] when as many streams are open as may be; any other when it does not begin.
    pub async fn relay(&self, version: &Arc<Version>, cx: Context, state: Vec<u8>) -> Result<Relay, Fault> {
        let place = self.streams().try_acquire_owned().map_err(|_| Fault::Busy)?;
        let other = self.stand_in(version).filter(|other| other.reads_like(version));
        let begun = self.either(version, other, "relay", (cx, state), |version, (cx, state)| async move {
            let serving = Arc::clone(&version);
            self.call(&version, "relay", move |_| serving.relay(&cx, &state)).await
        });
        let rescue::ServedBy { by, answer: stream } = begun.await?;
        Ok(Relay { families: self.clone(), stream: Some(Box::new(stream)), version: by, _place: place })
    }
}

impl Relay {
    /// The version that serves the stream.
    #[must_use]
    pub fn version(&self) -> &Arc<Version> {
        &self.version
    }

    /// Translates the provider's next events.
    ///
    /// # Errors
    /// [`Fault`] when there is no acceptable answer; the stream is over then.
    pub async fn push(&mut self, events: Vec<Sse>) -> Result<Result<Chunk, TextFailure>, Fault> {
        self.with("push", move |stream| stream.push(events)).await
    }

    /// Tells that the provider has closed the stream.
    ///
    /// # Errors
    /// As [`Relay::push`].
    pub async fn end(&mut self) -> Result<Result<Chunk, TextFailure>, Fault> {
        self.with("end", Stream::end).await
    }

    async fn with(
        &mut self,
        function: &'static str,
        body: impl FnOnce(&mut Stream) -> Result<Result<Chunk, TextFailure>, Fault> + Send + 'static,
    ) -> Result<Result<Chunk, TextFailure>, Fault> {
        let Some(mut stream) = self.stream.take() else {
            return Err(Fault::Host("the stream is over".to_owned()));
        };
        let call = move |_: &Version| {
            let answer = body(&mut stream)?;
            Ok((answer, stream))
        };
        let answer = self.families.call(&self.version, function, call).await;
        if let Err(fault) = &answer {
            self.families.fault(&self.version, fault);
        }
        let (answer, stream) = answer?;
        self.stream = Some(stream);
        Ok(answer)
    }
}
