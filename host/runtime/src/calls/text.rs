//! The text half of the plugin service: prepare, answer, and streams with an instance of their own.
//!
//! When a fresh version faults, its standby answers, as long as the client has got nothing yet.

use std::sync::Arc;

use gatehouse_model::{Answered, Chunk, Context, Prepared, Refusal, Reply, Sse, TextFailure, TextRequest};
use tokio::sync::OwnedSemaphorePermit;

use crate::calls::tasks::begun_work;
use crate::deploy::fallback::ServedBy;
use crate::exec::queue::family_queue::Origin;
use crate::fault::Fault;
use crate::service::PluginService;
use crate::version::Version;
use crate::version_text::Stream;

/// Translates one stream. Dropping it frees its instance.
#[derive(Debug)]
pub struct Relay {
    service: PluginService,
    /// `None` while a call runs, and after a fault or a call whose caller was dropped.
    stream: Option<Box<Stream>>,
    version: Arc<Version>,
    /// In whose name it runs.
    origin: Origin,
    _permit: OwnedSemaphorePermit,
}

impl PluginService {
    /// Prepares a text request. Only the version that served it reads the state it returned.
    ///
    /// # Errors
    /// [`Fault`] when there is no acceptable answer.
    pub async fn prepare_text(
        &self,
        version: &Arc<Version>,
        cx: Context,
        request: TextRequest,
    ) -> Result<ServedBy<Result<Prepared, Refusal>>, Fault> {
        let surface = request.surface.clone();
        let standby = self.standby(version).filter(|standby| standby.serves_text(&surface));
        self.call_with_fallback(
            version,
            standby,
            "prepare",
            (cx, request),
            |version, (cx, request)| async move {
                let origin = self.new_work(&cx, request.body.len());
                self.call(&version, "prepare", &origin, move |version| version.prepare(&cx, request)).await
            },
        )
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
        let standby = self.standby(version).filter(|standby| standby.shares_state_with(version));
        let input = (cx, state, reply);
        let answered = self.call_with_fallback(
            version,
            standby,
            "answer",
            input,
            |version, (cx, state, reply)| async move {
                let origin = begun_work(&cx);
                let answer = move |version: &Version| version.answer(&cx, &state, reply);
                self.call(&version, "answer", &origin, answer).await
            },
        );
        answered.await.map(|answered| answered.answer)
    }

    /// Begins a stream, in an instance of its own.
    ///
    /// # Errors
    /// [`Fault::Busy`] when the limit of open streams is reached; any other when it does not begin.
    pub async fn relay(&self, version: &Arc<Version>, cx: Context, state: Vec<u8>) -> Result<Relay, Fault> {
        let permit = self.streams().try_acquire_owned().map_err(|_| Fault::Busy)?;
        let standby = self.standby(version).filter(|standby| standby.shares_state_with(version));
        let origin = begun_work(&cx);
        let begun = self.call_with_fallback(
            version,
            standby,
            "relay",
            (cx, state),
            |version, (cx, state)| async move {
                let serving = Arc::clone(&version);
                let origin = begun_work(&cx);
                self.call(&version, "relay", &origin, move |_| serving.relay(&cx, &state)).await
            },
        );
        let ServedBy { by, answer: stream } = begun.await?;
        let stream = Some(Box::new(stream));
        Ok(Relay { service: self.clone(), stream, version: by, origin, _permit: permit })
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

    /// Ends the stream after the provider has closed it.
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
        let answer = self.service.call(&self.version, function, &self.origin, call).await;
        if let Err(fault) = &answer {
            self.service.record_fault(&self.version, fault);
        }
        let (answer, stream) = answer?;
        self.stream = Some(stream);
        Ok(answer)
    }
}
