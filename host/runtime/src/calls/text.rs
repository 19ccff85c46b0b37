//! The calls for text, for dialects (between a text family and a provider whose protocol no text family speaks), and for requests
//! that are answered while the client waits. Streams have an instance of their own.
//!
//! A version serves a request to its end. When a fresh version faults, its standby answers, as long as nothing of the answer was
//! handed on.

use std::sync::{Arc, Mutex};

use gatehouse_model::{
    Answered, Chunk, Context, DialectRequest, DirectPlan, DirectRequest, DirectResponse, Failure, Json,
    Refusal, Reply, Sse, TextFailure, TextRequest,
};

use crate::abi_v1::exports::Half;
use crate::calls::fallback::{ServedBy, begun_work};
use crate::calls::service::PluginService;
use crate::exec::instance::{Instance, InstancePermit};
use crate::exec::lock;
use crate::exec::queue::family_queue::Origin;
use crate::fault::Fault;
use crate::version::loaded::Version;
use crate::version::text::{
    PreparedDialect, PreparedRequest, PreparedText, RequestInstance, Stream, TextAsk, WholeAnswer,
};

/// Translates one stream. Dropping it frees its instance.
pub struct Relay {
    service: PluginService,
    progress: Progress,
    version: Arc<Version>,
    /// In whose name it runs.
    origin: Origin,
    _permit: InstancePermit,
}

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

/// The input of a stream's first call.
type Input = (Context, Vec<u8>, Option<Vec<Sse>>);
type Translated = Result<Chunk, TextFailure>;

/// The instance that `maker` has prepared the request in, where `called` is that version. Its standby, which is the first to be
/// called once the version was rolled back, makes one of its own: in this one the code of `maker` would run.
fn take(kept: &Mutex<Option<Instance>>, maker: &Arc<Version>, called: &Arc<Version>) -> Option<Instance> {
    lock(kept).take().filter(|_| Arc::ptr_eq(maker, called))
}

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
        let standby = self.standby(version).filter(|standby| standby.serves_text(&request.surface));
        let origin = self.new_work(&cx, request.body.len());
        self.prepare(version, standby, &origin, cx, request, only_asks).await
    }

    /// Translates a Messages request for its provider. Its instance is kept as that of a text family is, and a stream takes a
    /// permit of its own.
    pub async fn prepare_dialect(
        &self,
        version: &Arc<Version>,
        cx: Context,
        request: DialectRequest,
        only_asks: bool,
    ) -> Result<ServedBy<Result<PreparedDialect, Refusal>>, Fault> {
        let standby = self.standby(version).filter(|standby| standby.speaks(request.route.protocol.as_str()));
        let origin = begun_work(&cx);
        self.prepare(version, standby, &origin, cx, request, only_asks).await
    }

    async fn prepare<Q: TextAsk + Clone>(
        &self,
        version: &Arc<Version>,
        standby: Option<Arc<Version>>,
        origin: &Origin,
        cx: Context,
        request: Q,
        only_asks: bool,
    ) -> Result<ServedBy<Result<PreparedRequest<Q::Prepared>, Refusal>>, Fault> {
        let prepare = async |version: Arc<Version>, (cx, request): (Context, Q)| {
            let capacity = Arc::clone(&self.capacity);
            let prepare = move |version: &Arc<Version>| {
                if only_asks {
                    let prepared = version.prepare(version.limits().call_ms.get(), &cx, request)?;
                    return Ok(prepared.map(|prepared| PreparedRequest { prepared, instance: None }));
                }
                let permit = |streaming| capacity.instance_permits(streaming).take(&cx.customer);
                version.prepare_and_keep(&cx, request, permit)
            };
            self.call(&version, "prepare", origin, prepare).await
        };
        self.call_with_fallback(version, standby, "prepare", (cx, request), prepare).await
    }

    /// Translates a whole answer.
    pub async fn answer(
        &self,
        version: &Arc<Version>,
        cx: Context,
        state: Vec<u8>,
        reply: Reply,
        instance: Option<&mut RequestInstance>,
    ) -> Result<Result<Answered, TextFailure>, Fault> {
        self.read_whole(version, cx, state, reply, instance).await
    }

    /// A whole answer as that of a Messages provider.
    pub async fn read_dialect(
        &self,
        version: &Arc<Version>,
        cx: Context,
        state: Vec<u8>,
        reply: Reply,
        instance: Option<&mut RequestInstance>,
    ) -> Result<Result<Json, TextFailure>, Fault> {
        self.read_whole(version, cx, state, reply, instance).await
    }

    /// In the instance that prepared its request, or in one of another version that reads its state.
    async fn read_whole<A: WholeAnswer>(
        &self,
        version: &Arc<Version>,
        cx: Context,
        state: Vec<u8>,
        reply: Reply,
        instance: Option<&mut RequestInstance>,
    ) -> Result<Result<A, TextFailure>, Fault> {
        let standby = self.standby_that_reads(version);
        let instance = Mutex::new(instance.and_then(|instance| instance.take(version)));
        let read = async |called: Arc<Version>, (cx, state, reply): (Context, Vec<u8>, Reply)| {
            let (origin, instance) = (begun_work(&cx), take(&instance, version, &called));
            let answer = move |called: &Arc<Version>| called.answer(&cx, &state, reply, instance);
            self.call(&called, "answer", &origin, answer).await
        };
        let served = self.call_with_fallback(version, standby, "answer", (cx, state, reply), read);
        served.await.map(|served| served.answer)
    }

    /// A stream through one half of a family, in the instance that prepared its request, or one of its own. Nothing is called before
    /// its first events. The chunks of a dialect are events of a Messages provider, of which nothing is counted.
    ///
    /// # Errors
    /// [`Fault::Busy`] when the limit of open streams is reached, or the customer has most of them.
    pub fn relay(
        &self,
        half: Half,
        version: &Arc<Version>,
        cx: Context,
        state: Vec<u8>,
        instance: Option<Box<RequestInstance>>,
    ) -> Result<Relay, Fault> {
        let (instance, permit) = match instance {
            Some(mut instance) => (instance.take(version), instance.into_permit()),
            None => (None, self.capacity.instance_permits(true).take(&cx.customer).ok_or(Fault::Busy)?),
        };
        let origin = begun_work(&cx);
        let progress = Progress::New(Box::new(Opening { half, cx, state, instance }));
        Ok(Relay { service: self.clone(), progress, version: Arc::clone(version), origin, _permit: permit })
    }

    /// Prepares a request that is answered while the client waits. The version that served it reads the state it returned.
    pub async fn prepare_direct(
        &self,
        version: &Arc<Version>,
        cx: Context,
        request: DirectRequest,
    ) -> Result<ServedBy<Result<DirectPlan, Refusal>>, Fault> {
        let serves = |standby: &Arc<Version>| {
            standby.about().offers.direct && standby.surface(&request.surface).is_some()
        };
        let standby = self.standby(version).filter(serves);
        let prepare = async |version: Arc<Version>, (cx, request): (Context, DirectRequest)| {
            let origin = self.new_work(&cx, request.body.len());
            let call = move |version: &Arc<Version>| {
                version.prepare_direct(&cx, request, version.limits().call_ms.get())
            };
            self.call(&version, "prepare", &origin, call).await
        };
        self.call_with_fallback(version, standby, "prepare", (cx, request), prepare).await
    }

    /// Translates an answer to it.
    pub async fn answer_direct(
        &self,
        version: &Arc<Version>,
        cx: Context,
        state: Vec<u8>,
        reply: Reply,
    ) -> Result<Result<DirectResponse, Failure>, Fault> {
        let standby = self.standby_that_reads(version);
        let answer = async |version: Arc<Version>, (cx, state, reply): (Context, Vec<u8>, Reply)| {
            let origin = begun_work(&cx);
            let call = move |version: &Arc<Version>| version.answer_direct(&cx, &state, reply);
            self.call(&version, "answer", &origin, call).await
        };
        let served = self.call_with_fallback(version, standby, "answer", (cx, state, reply), answer);
        served.await.map(|served| served.answer)
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
                let call = move |_: &Arc<Version>| {
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
        let standby = self.service.standby_that_reads(&self.version);
        let (input, origin, service, version) =
            ((cx, state, events), &self.origin, &self.service, &self.version);
        let open = async |called: Arc<Version>, (cx, state, events): Input| {
            let instance = take(&instance, version, &called);
            let open = move |called: &Arc<Version>| {
                let mut stream = Box::new(called.open_stream(half, &cx, &state, instance)?);
                let answer = stream.translate(events)?;
                Ok((answer, stream))
            };
            service.call(&called, function, origin, open).await
        };
        let ServedBy { by, answer } =
            service.call_with_fallback(version, standby, function, input, open).await?;
        self.version = by;
        Ok(answer)
    }
}
