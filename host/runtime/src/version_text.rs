//! A version's calls for text, and the instance behind one stream. Checks the size of each input and the rules of each
//! answer. Never frames an event, never counts money.

use gatehouse_guest::Guest;
use std::sync::Arc;

use gatehouse_model::{
    Answered, Body, Chunk, Context, Prepared, Refusal, Reply, Sse, TextFailure, TextRequest, UnixMs,
};
use wasmtime::Store;
use wasmtime::component::ResourceAny;

use crate::abi_v1::exports::Family;
use crate::abi_v1::{dialect, text};
use crate::exec::answer_rules;
use crate::exec::instance::Instance;
use crate::exec::instance_permits::InstancePermit;
use crate::fault::Fault;
use crate::version::{REPLY, REQUEST, Version};

/// More tokens than any model writes in one answer. A client may ask for more, and that is no fault of the plugin; a
/// higher value would only hold more of the customer's credits.
pub const MAX_OUTPUT_TOKENS: u32 = 10_000_000;

impl Version {
    pub(crate) fn prepare(
        &self,
        cx: &Context,
        request: TextRequest,
    ) -> Result<Result<Prepared, Refusal>, Fault> {
        self.prepare_within(self.limits().call_ms.get(), cx, request)
    }

    pub(crate) fn prepare_within(
        &self,
        budget_ms: u32,
        cx: &Context,
        request: TextRequest,
    ) -> Result<Result<Prepared, Refusal>, Fault> {
        let (bytes, provider) = (request.body.len(), request.route.provider.clone());
        self.check_input(REQUEST, bytes, self.limits().text())?;
        let answer =
            self.call_for_input(bytes, budget_ms, |family, store| text::prepare(family, store, cx, request));
        self.judge_prepared(answer, bytes, provider)
    }

    /// Prepares a request in an instance that its answer or stream may use too, where `permit` allows it to be kept;
    /// it is told whether a stream is wanted. A stream without a permit is busy.
    pub(crate) fn prepare_and_keep(
        self: &Arc<Self>,
        cx: &Context,
        request: TextRequest,
        permit: impl FnOnce(bool) -> Option<InstancePermit>,
    ) -> Result<Result<PreparedText, Refusal>, Fault> {
        let (bytes, provider) = (request.body.len(), request.route.provider.clone());
        let (instance, answer) =
            self.call_kept(bytes, |family, store| text::prepare(family, store, cx, request))?;
        let prepared = match self.judge_prepared(answer, bytes, provider)? {
            Ok(prepared) => prepared,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let instance = self.keep(instance, prepared.streaming, permit(prepared.streaming))?;
        Ok(Ok(PreparedText { prepared, instance }))
    }

    /// The first call for a request of that many bytes, and its instance if it may be kept.
    pub(crate) fn call_kept<R>(
        &self,
        bytes: usize,
        call: impl FnOnce(&Family, &mut Store<Guest>) -> wasmtime::Result<R>,
    ) -> Result<(Option<Instance>, Result<R, Fault>), Fault> {
        self.check_input(REQUEST, bytes, self.limits().text())?;
        let budget_ms = self.limits().call_ms.get();
        if bytes > MAX_KEPT {
            return Ok((None, self.call_for_input(bytes, budget_ms, call)));
        }
        let mut instance = Instance::new(&self.pre, self.call_setup(None, budget_ms))?;
        let answer = instance.call(call);
        Ok((Some(instance), answer))
    }

    /// Keeps the instance of a request where it has a permit. A stream without one is busy.
    pub(crate) fn keep(
        self: &Arc<Self>,
        instance: Option<Instance>,
        streaming: bool,
        permit: Option<InstancePermit>,
    ) -> Result<Option<Box<RequestInstance>>, Fault> {
        match permit {
            Some(permit) => {
                Ok(Some(Box::new(RequestInstance { instance, version: Arc::clone(self), permit })))
            }
            None if streaming => Err(Fault::Busy),
            None => Ok(None),
        }
    }

    fn judge_prepared(
        &self,
        answer: Result<Result<Prepared, Refusal>, Fault>,
        bytes: usize,
        provider: String,
    ) -> Result<Result<Prepared, Refusal>, Fault> {
        match answer.map_err(|fault| fault.for_input(REQUEST, bytes))? {
            Ok(prepared) => {
                let state = prepared.state.len();
                let checked = self.check_prepared(prepared, bytes, provider).map(Ok);
                checked.map_err(|fault| fault.for_state_of(bytes, state))
            }
            Err(refusal) => Ok(Err(answer_rules::refusal(refusal))),
        }
    }

    fn check_prepared(&self, prepared: Prepared, bytes: usize, provider: String) -> Result<Prepared, Fault> {
        answer_rules::text_call(&prepared.call, provider)?;
        answer_rules::text_state(&prepared.state, bytes, &self.limits())?;
        let max_output_tokens = prepared.max_output_tokens.min(MAX_OUTPUT_TOKENS);
        Ok(Prepared { max_output_tokens, ..prepared })
    }

    pub(crate) fn answer(
        &self,
        cx: &Context,
        state: &[u8],
        reply: Reply,
        instance: Option<Instance>,
    ) -> Result<Result<Answered, TextFailure>, Fault> {
        let bytes = size(&reply);
        let whole = |family: &Family, store: &mut Store<Guest>| text::whole(family, store, cx, state, reply);
        match self.read_reply(bytes, instance, whole)? {
            Ok(answered) => {
                answer_rules::json("answer", &answered.body)?;
                Ok(Ok(answered))
            }
            Err(failure) => Ok(Err(shorten_message(failure))),
        }
    }

    /// A call that reads a reply of that many bytes, in the instance that was kept for it, if any.
    pub(crate) fn read_reply<R>(
        &self,
        bytes: usize,
        instance: Option<Instance>,
        call: impl FnOnce(&Family, &mut Store<Guest>) -> wasmtime::Result<R>,
    ) -> Result<R, Fault> {
        self.check_input(REPLY, bytes, self.limits().crossing())?;
        let answer = match instance.filter(|_| bytes <= MAX_KEPT) {
            Some(mut instance) => instance.call(call),
            None => self.call_for_input(bytes, self.limits().call_ms.get(), call),
        };
        answer.map_err(|fault| fault.for_input(REPLY, bytes))
    }

    /// Begins a stream with one half of the family.
    pub(crate) fn open_stream(
        self: &Arc<Self>,
        half: Half,
        cx: &Context,
        state: &[u8],
        instance: Option<Instance>,
    ) -> Result<Stream, Fault> {
        let mut instance = match instance {
            Some(instance) => instance,
            None => Instance::new(&self.pre, self.call_setup(None, self.limits().call_ms.get()))?,
        };
        let resource = instance.call(|family, store| match half {
            Half::Text => text::relay(family, store, cx, state),
            Half::Dialect => dialect::reader(family, store, cx, state),
        })?;
        Ok(Stream { instance, half, resource, version: Arc::clone(self), begun: cx.now, bytes: 0 })
    }
}

/// The bytes of a reply that its plugin is handed.
pub(crate) fn size(reply: &Reply) -> usize {
    match &reply.body {
        Body::Inline(bytes) => bytes.len(),
        Body::Blob(_) => 0,
    }
}

/// Which half of a family translates a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Half {
    /// For the client.
    Text,
    /// From its provider; of its chunks only the events are known.
    Dialect,
}

/// A request and an answer up to this many bytes share an instance; larger ones need its memory for themselves.
pub(crate) const MAX_KEPT: usize = 256 << 10;

/// A prepared request.
#[derive(Debug)]
pub struct PreparedText {
    /// What is to be asked.
    pub prepared: Prepared,
    /// For the answer or the stream, where one may be kept.
    pub instance: Option<Box<RequestInstance>>,
}

impl PreparedText {
    pub(crate) fn without_instance(prepared: Prepared) -> Self {
        Self { prepared, instance: None }
    }
}

/// The instance that prepared a text request, for the call that translates its answer: to make another one costs as much
/// as that call. And the permit to keep one, which a stream keeps to its end.
pub struct RequestInstance {
    /// `None` when it was used, or was not worth keeping.
    instance: Option<Instance>,
    version: Arc<Version>,
    permit: InstancePermit,
}

impl std::fmt::Debug for RequestInstance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "RequestInstance({:?})", self.version)
    }
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
    version: Arc<Version>,
    begun: UnixMs,
    /// Of the provider's events so far: its memory is that of all of them.
    bytes: usize,
}

impl std::fmt::Debug for Stream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Stream({:?} since {})", self.version, self.begun)
    }
}

impl Stream {
    /// The provider's next events, or its end.
    pub(crate) fn translate(
        &mut self,
        events: Option<Vec<Sse>>,
    ) -> Result<Result<Chunk, TextFailure>, Fault> {
        match events {
            Some(events) => self.push(events),
            None => self.end(),
        }
    }

    pub(crate) fn push(&mut self, events: Vec<Sse>) -> Result<Result<Chunk, TextFailure>, Fault> {
        let (half, resource) = (self.half, self.resource);
        self.bytes = events.iter().fold(self.bytes, |bytes, event| bytes.saturating_add(event.data.len()));
        let pushed = self.instance.call(|family, store| match half {
            Half::Text => text::push(family, store, resource, events),
            Half::Dialect => dialect::push(family, store, resource, events),
        });
        chunk(pushed.map_err(|fault| fault.for_input(REPLY, self.bytes))?)
    }

    pub(crate) fn end(&mut self) -> Result<Result<Chunk, TextFailure>, Fault> {
        let (half, resource) = (self.half, self.resource);
        let ended = self.instance.call(|family, store| match half {
            Half::Text => text::end(family, store, resource),
            Half::Dialect => dialect::end(family, store, resource),
        });
        chunk(ended.map_err(|fault| fault.for_input(REPLY, self.bytes))?)
    }
}

fn chunk(pushed: Result<Chunk, TextFailure>) -> Result<Result<Chunk, TextFailure>, Fault> {
    let chunk = match pushed {
        Ok(chunk) => chunk,
        Err(failure) => return Ok(Err(shorten_message(failure))),
    };
    // Only the host writes line ends: an event must not contain another one.
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
    Ok(Ok(chunk))
}

pub(crate) fn shorten_message(mut failure: TextFailure) -> TextFailure {
    answer_rules::trim(&mut failure.message);
    failure
}
