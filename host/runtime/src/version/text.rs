//! A version's calls for text and for dialects: prepare, a whole answer, and the instance behind one stream. Checks the size of
//! each input and the rules of each answer. Never frames an event, never counts money.

use std::sync::Arc;

use gatehouse_guest::shorten;
use gatehouse_model::{
    Answered, Chunk, Context, DialectPrepared, DialectRequest, Framing, Json, Prepared, Refusal, Reply, Sse,
    TextFailure, TextRequest,
};
use wasmtime::component::ResourceAny;

use crate::abi_v1::answers::Translated;
use crate::abi_v1::exports::{self, Callee, Half, Judged};
use crate::exec::answer_rules;
use crate::exec::instance::{Instance, InstancePermit};
use crate::exec::limits::Limits;
use crate::fault::Fault;
use crate::version::loaded::{MAX_KEPT, REPLY, REQUEST, Verdict, Version};

/// More tokens than any model writes in one answer. A client may ask for more, and that is no fault of the plugin; a
/// higher value would only hold more of the customer's credits.
pub const MAX_OUTPUT_TOKENS: u32 = 10_000_000;

/// What of a request its prepared call is judged by.
pub(crate) struct Asked {
    bytes: usize,
    provider: String,
    /// Whether a stream is wanted, where the host knows it.
    streaming: bool,
}

/// A request that one half of a family makes its provider's call of.
pub(crate) trait TextAsk: Send + 'static {
    /// What the plugin returns.
    type Returned;
    /// The same once it is checked.
    type Prepared: Send + 'static;

    fn asked(&self) -> Asked;
    fn prepare(self, callee: &mut Callee<'_>, cx: &Context) -> Judged<Self::Returned>;
    fn state(returned: &Self::Returned) -> &[u8];
    fn check(returned: Self::Returned, asked: &Asked, limits: &Limits) -> Result<Self::Prepared, Fault>;
    fn is_stream(prepared: &Self::Prepared, asked: &Asked) -> bool;
}

impl TextAsk for TextRequest {
    type Returned = Prepared;
    type Prepared = Prepared;

    fn asked(&self) -> Asked {
        // Whether the client wants a stream its plugin says.
        Asked { bytes: self.body.len(), provider: self.route.provider.clone(), streaming: false }
    }

    fn prepare(self, callee: &mut Callee<'_>, cx: &Context) -> Judged<Prepared> {
        callee.prepare(cx, self)
    }

    fn state(returned: &Prepared) -> &[u8] {
        &returned.state
    }

    fn check(prepared: Prepared, asked: &Asked, limits: &Limits) -> Result<Prepared, Fault> {
        answer_rules::text_call(&prepared.call, &asked.provider)?;
        answer_rules::text_state(&prepared.state, asked.bytes, limits)?;
        let max_output_tokens = prepared.max_output_tokens.min(MAX_OUTPUT_TOKENS);
        Ok(Prepared { max_output_tokens, ..prepared })
    }

    fn is_stream(prepared: &Prepared, _: &Asked) -> bool {
        prepared.streaming
    }
}

impl TextAsk for DialectRequest {
    type Returned = Translated;
    type Prepared = DialectPrepared;

    fn asked(&self) -> Asked {
        Asked { bytes: self.body.len(), provider: self.route.provider.clone(), streaming: self.streaming }
    }

    fn prepare(self, callee: &mut Callee<'_>, cx: &Context) -> Judged<Translated> {
        callee.translate(cx, self)
    }

    fn state(returned: &Translated) -> &[u8] {
        &returned.state
    }

    fn check(translated: Translated, asked: &Asked, limits: &Limits) -> Result<DialectPrepared, Fault> {
        let Translated { call, framing, state } = translated;
        answer_rules::text_call(&call, &asked.provider)?;
        answer_rules::text_state(&state, asked.bytes, limits)?;
        // A whole answer has no frames, whatever its plugin says of them.
        let whole = (!asked.streaming).then_some(Framing::Whole);
        let Some(known) = Framing::named(&framing).or(whole) else {
            let names = Framing::NAMES.map(|(name, _)| name);
            let why = format!("expected one of {names:?}, got {:?}", shorten(&framing, 100));
            return Err(Fault::bad("framing", why));
        };
        Ok(DialectPrepared { call, framing: known, state })
    }

    fn is_stream(_: &DialectPrepared, asked: &Asked) -> bool {
        asked.streaming
    }
}

/// A whole answer that one half of a family makes of its provider's.
pub(crate) trait WholeAnswer: Sized + Send + 'static {
    fn read(callee: &mut Callee<'_>, cx: &Context, state: &[u8], reply: Reply) -> exports::Translated<Self>;
    fn body(&self) -> &Json;
}

impl WholeAnswer for Answered {
    fn read(callee: &mut Callee<'_>, cx: &Context, state: &[u8], reply: Reply) -> exports::Translated<Self> {
        callee.answer(cx, state, reply)
    }

    fn body(&self) -> &Json {
        &self.body
    }
}

impl WholeAnswer for Json {
    fn read(callee: &mut Callee<'_>, cx: &Context, state: &[u8], reply: Reply) -> exports::Translated<Self> {
        callee.read_answer(cx, state, reply)
    }

    fn body(&self) -> &Json {
        self
    }
}

impl Version {
    /// Prepares a request in a fresh instance.
    pub(crate) fn prepare<Q: TextAsk>(
        &self,
        budget_ms: u32,
        cx: &Context,
        request: Q,
    ) -> Verdict<Q::Prepared> {
        let asked = request.asked();
        self.check_input(REQUEST, asked.bytes, self.limits().text())?;
        let prepare = |callee: &mut Callee<'_>| request.prepare(callee, cx);
        let answer = self.call_for_input(REQUEST, asked.bytes, budget_ms, prepare)?;
        self.judge_prepared::<Q>(answer, &asked)
    }

    /// Prepares a request in an instance that its answer or stream may use too, where `permit` allows it to be kept;
    /// it is told whether a stream is wanted. A stream without a permit is busy.
    pub(crate) fn prepare_and_keep<Q: TextAsk>(
        self: &Arc<Self>,
        cx: &Context,
        request: Q,
        permit: impl FnOnce(bool) -> Option<InstancePermit>,
    ) -> Verdict<PreparedRequest<Q::Prepared>> {
        let (asked, budget_ms) = (request.asked(), self.limits().call_ms.get());
        self.check_input(REQUEST, asked.bytes, self.limits().text())?;
        let prepare = |callee: &mut Callee<'_>| request.prepare(callee, cx);
        let (instance, answer) = if asked.bytes > MAX_KEPT {
            (None, self.call_for_input(REQUEST, asked.bytes, budget_ms, prepare)?)
        } else {
            let mut instance = Instance::new(&self.pre, self.call_setup(None, budget_ms))?;
            let answer = instance.call(prepare)?;
            (Some(instance), answer)
        };
        let prepared = match self.judge_prepared::<Q>(answer, &asked)? {
            Ok(prepared) => prepared,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let is_stream = Q::is_stream(&prepared, &asked);
        let instance = match permit(is_stream) {
            Some(permit) => Some(Box::new(RequestInstance { instance, version: Arc::clone(self), permit })),
            None if is_stream => return Err(Fault::Busy),
            None => None,
        };
        Ok(Ok(PreparedRequest { prepared, instance }))
    }

    fn judge_prepared<Q: TextAsk>(
        &self,
        answer: Result<Q::Returned, Refusal>,
        asked: &Asked,
    ) -> Verdict<Q::Prepared> {
        match answer {
            Ok(returned) => {
                let state = Q::state(&returned).len();
                let checked = Q::check(returned, asked, &self.limits()).map(Ok);
                checked.map_err(|fault| fault.for_state_of(asked.bytes, state))
            }
            Err(refusal) => Ok(Err(answer_rules::refusal(refusal))),
        }
    }

    /// Translates a whole answer, in the instance that was kept for it, if any.
    pub(crate) fn answer<A: WholeAnswer>(
        &self,
        cx: &Context,
        state: &[u8],
        reply: Reply,
        instance: Option<Instance>,
    ) -> Result<Result<A, TextFailure>, Fault> {
        let bytes = self.check_reply(&reply)?;
        let read = |callee: &mut Callee<'_>| A::read(callee, cx, state, reply);
        let mut answer: Result<A, TextFailure> = match instance.filter(|_| bytes <= MAX_KEPT) {
            Some(mut instance) => instance.call(read)?,
            None => self.call_for_input(REPLY, bytes, self.limits().call_ms.get(), read)?,
        };
        match &mut answer {
            Ok(answer) => answer_rules::json("answer", answer.body().as_bytes())?,
            Err(failure) => answer_rules::trim(&mut failure.message),
        }
        Ok(answer)
    }

    /// Begins a stream with one half of the family.
    pub(crate) fn open_stream(
        &self,
        half: Half,
        cx: &Context,
        state: &[u8],
        instance: Option<Instance>,
    ) -> Result<Stream, Fault> {
        let mut instance = match instance {
            Some(instance) => instance,
            None => Instance::new(&self.pre, self.call_setup(None, self.limits().call_ms.get()))?,
        };
        let resource = instance.call(|callee| callee.open(half, cx, state))?;
        Ok(Stream { instance, half, resource, bytes: 0 })
    }
}

/// A prepared request.
pub struct PreparedRequest<T> {
    /// What is to be asked.
    pub prepared: T,
    /// For the answer or the stream, where one may be kept.
    pub instance: Option<Box<RequestInstance>>,
}

/// A request as its text family sends it.
pub type PreparedText = PreparedRequest<Prepared>;
/// A request as its dialect sends it.
pub type PreparedDialect = PreparedRequest<DialectPrepared>;

/// The instance that prepared a text request, for the call that translates its answer: to make another one costs as much
/// as that call. And the permit to keep one, which a stream keeps to its end.
pub struct RequestInstance {
    /// `None` when it was used, or was not worth keeping.
    instance: Option<Instance>,
    version: Arc<Version>,
    permit: InstancePermit,
}

impl RequestInstance {
    /// The instance, once, if `version` made it.
    pub(crate) fn take(&mut self, version: &Version) -> Option<Instance> {
        if std::ptr::eq(&*self.version, version) { self.instance.take() } else { None }
    }

    pub(crate) fn into_permit(self) -> InstancePermit {
        self.permit
    }
}

/// One stream and its instance. Each call has the processor time, log and data of one call; the memory limit is that
/// of the instance.
pub(crate) struct Stream {
    instance: Instance,
    half: Half,
    resource: ResourceAny,
    /// Of the provider's events so far: its memory is that of all of them.
    bytes: usize,
}

impl Stream {
    /// The provider's next events, or its end.
    pub(crate) fn translate(
        &mut self,
        events: Option<Vec<Sse>>,
    ) -> Result<Result<Chunk, TextFailure>, Fault> {
        let (half, resource) = (self.half, self.resource);
        let came = events.iter().flatten().map(|event| event.data.len());
        self.bytes = came.fold(self.bytes, usize::saturating_add);
        let pushed = self.instance.call(|callee| callee.push(half, resource, events));
        let mut chunk = pushed.map_err(|fault| fault.for_input(REPLY, self.bytes))?;
        match &mut chunk {
            Ok(chunk) => check_chunk(chunk)?,
            Err(failure) => answer_rules::trim(&mut failure.message),
        }
        Ok(chunk)
    }
}

/// Only the host writes line ends: an event must not contain another one.
fn check_chunk(chunk: &Chunk) -> Result<(), Fault> {
    for event in &chunk.send {
        let name = event.event.as_deref().unwrap_or_default().as_bytes();
        let has_line_end = memchr::memchr3(b'\r', b'\n', b'\0', name).is_some();
        if has_line_end || memchr::memchr2(b'\r', b'\0', event.data.as_bytes()).is_some() {
            return Err(Fault::bad(
                "event",
                "expected text without carriage returns, zero bytes and line feeds in its name",
            ));
        }
    }
    Ok(())
}
