//! The text half of the plugin service: prepare, answer, and streams with an instance of their own.
//!
//! When a fresh version faults, its standby answers, as long as the client has got nothing yet.

use std::sync::{Arc, Mutex};

use gatehouse_model::{Answered, Chunk, Context, Refusal, Reply, Sse, TextFailure, TextRequest};

use crate::calls::tasks::begun_work;
use crate::deploy::fallback::ServedBy;
use crate::exec::instance::Instance;
use crate::exec::instance_permits::InstancePermit;
use crate::exec::queue::family_queue::Origin;
use crate::fault::Fault;
use crate::service::PluginService;
use crate::state::lock;
use crate::version::Version;
use crate::version_text::{Half, PreparedText, RequestInstance, Stream};

/// Translates one stream. Dropping it frees its instance.
#[derive(Debug)]
pub struct Relay {
    service: PluginService,
    progress: Progress,
    version: Arc<Version>,
    /// In whose name it runs.
    origin: Origin,
    _permit: InstancePermit,
}

#[derive(Debug)]
enum Progress {
    /// The first call opens the stream, too.
    New(Box<Opening>),
    Open(Box<Stream>),
    /// A call runs; or one ended with a fault, or its caller was dropped.
    Over,
}

/// What opens a stream.
struct Opening {
    half: Half,
    cx: Context,
    state: Vec<u8>,
    instance: Option<Instance>,
}

impl std::fmt::Debug for Opening {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Opening")
    }
}

/// The input of a stream's first call.
type Input = (Context, Vec<u8>, Option<Vec<Sse>>);
type Translated = Result<Chunk, TextFailure>;
/// How a version reads a whole answer: `text.answer` or `dialect.answer`.
type ReadAnswer<T> =
    fn(&Version, &Context, &[u8], Reply, Option<Instance>) -> Result<Result<T, TextFailure>, Fault>;

impl PluginService {
    /// Prepares a text request. Only the version that served it reads the state it returned. Its instance is kept for the
    /// answer: that of a stream as one of the open streams, that of any other request as one of a few. A request that
    /// `only_asks` has no answer: nothing of it is kept, and it takes no stream's permit.
    ///
    /// # Errors
    /// [`Fault`] when there is no acceptable answer; [`Fault::Busy`] also when the limit of open streams is reached, or the
    /// customer has most of them.
    pub async fn prepare_text(
        &self,
        version: &Arc<Version>,
        cx: Context,
        request: TextRequest,
        only_asks: bool,
    ) -> Result<ServedBy<Result<PreparedText, Refusal>>, Fault> {
        let surface = request.surface.clone();
        let standby = self.standby(version).filter(|standby| standby.serves_text(&surface));
        self.call_with_fallback(
            version,
            standby,
            "prepare",
            (cx, request),
            |version, (cx, request)| async move {
                let origin = self.new_work(&cx, request.body.len());
                let (serving, service) = (Arc::clone(&version), self.clone());
                let prepare = move |_: &Version| {
                    if only_asks {
                        return Ok(serving.prepare(&cx, request)?.map(PreparedText::without_instance));
                    }
                    let permit = |streaming| service.instance_permits(streaming).take(&cx.customer);
                    serving.prepare_and_keep(&cx, request, permit)
                };
                self.call(&version, "prepare", &origin, prepare).await
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
        instance: Option<&mut RequestInstance>,
    ) -> Result<Result<Answered, TextFailure>, Fault> {
        self.answer_by(Version::answer, version, (cx, state, reply), instance).await
    }

    /// Has `read` read a whole answer, in the instance that prepared its request or in another version that reads its state.
    pub(crate) async fn answer_by<T: Send + 'static>(
        &self,
        read: ReadAnswer<T>,
        version: &Arc<Version>,
        input: (Context, Vec<u8>, Reply),
        instance: Option<&mut RequestInstance>,
    ) -> Result<Result<T, TextFailure>, Fault> {
        let standby = self.standby(version).filter(|standby| standby.shares_state_with(version));
        let instance = Mutex::new(instance.and_then(|instance| instance.take(version)));
        let answered = self.call_with_fallback(
            version,
            standby,
            "answer",
            input,
            async |version, (cx, state, reply)| {
                let (origin, instance) = (begun_work(&cx), lock(&instance).take());
                let answer = move |version: &Version| read(version, &cx, &state, reply, instance);
                self.call(&version, "answer", &origin, answer).await
            },
        );
        answered.await.map(|answered| answered.answer)
    }

    /// A stream, in the instance that prepared its request, or one of its own. Nothing is called before its first events.
    ///
    /// # Errors
    /// [`Fault::Busy`] when the limit of open streams is reached, or the customer has most of them.
    pub fn relay(
        &self,
        version: &Arc<Version>,
        cx: Context,
        state: Vec<u8>,
        instance: Option<Box<RequestInstance>>,
    ) -> Result<Relay, Fault> {
        self.stream(Half::Text, version, cx, state, instance)
    }

    pub(crate) fn stream(
        &self,
        half: Half,
        version: &Arc<Version>,
        cx: Context,
        state: Vec<u8>,
        instance: Option<Box<RequestInstance>>,
    ) -> Result<Relay, Fault> {
        let (instance, permit) = match instance {
            Some(mut instance) => (instance.take(version), instance.into_permit()),
            None => (None, self.instance_permits(true).take(&cx.customer).ok_or(Fault::Busy)?),
        };
        let origin = begun_work(&cx);
        let progress = Progress::New(Box::new(Opening { half, cx, state, instance }));
        Ok(Relay { service: self.clone(), progress, version: Arc::clone(version), origin, _permit: permit })
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
        self.translate("push", Some(events)).await
    }

    /// Ends the stream after the provider has closed it.
    ///
    /// # Errors
    /// As [`Relay::push`].
    pub async fn end(&mut self) -> Result<Result<Chunk, TextFailure>, Fault> {
        self.translate("end", None).await
    }

    async fn translate(
        &mut self,
        function: &'static str,
        events: Option<Vec<Sse>>,
    ) -> Result<Translated, Fault> {
        let (answer, stream) = match std::mem::replace(&mut self.progress, Progress::Over) {
            Progress::New(opening) => self.open(function, *opening, events).await?,
            Progress::Open(mut stream) => {
                let call = move |_: &Version| {
                    let answer = stream.translate(events)?;
                    Ok((answer, stream))
                };
                let answer = self.service.call(&self.version, function, &self.origin, call).await;
                if let Err(fault) = &answer {
                    self.service.record_fault(&self.version, fault);
                }
                answer?
            }
            Progress::Over => return Err(Fault::Host("the stream is over".to_owned())),
        };
        self.progress = Progress::Open(stream);
        Ok(answer)
    }

    /// Opens the stream and translates its first events, in one call. The client has got nothing yet: where the version
    /// faults, its standby does both.
    async fn open(
        &mut self,
        function: &'static str,
        opening: Opening,
        events: Option<Vec<Sse>>,
    ) -> Result<(Translated, Box<Stream>), Fault> {
        let Opening { half, cx, state, instance } = opening;
        let instance = Mutex::new(instance);
        let standby =
            self.service.standby(&self.version).filter(|standby| standby.shares_state_with(&self.version));
        let (input, origin, service) = ((cx, state, events), &self.origin, &self.service);
        let open = async |version: Arc<Version>, (cx, state, events): Input| {
            let (serving, instance) = (Arc::clone(&version), lock(&instance).take());
            let open = move |_: &Version| {
                let mut stream = Box::new(serving.open_stream(half, &cx, &state, instance)?);
                let answer = stream.translate(events)?;
                Ok((answer, stream))
            };
            service.call(&version, function, origin, open).await
        };
        let ServedBy { by, answer } =
            service.call_with_fallback(&self.version, standby, function, input, open).await?;
        self.version = by;
        Ok(answer)
    }
}
