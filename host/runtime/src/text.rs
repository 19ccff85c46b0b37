//! A version's text half: its calls, what the host demands of their answers, and the instance behind one
//! stream. Never frames an event, never counts money.

use std::sync::Arc;

use gatehouse_model::{
    Answered, Body, Chunk, Context, Prepared, Refusal, Reply, Sse, TextFailure, TextRequest, UnixMs,
};
use wasmtime::component::ResourceAny;

use crate::check;
use crate::fault::Fault;
use crate::run::Instance;
use crate::v1;
use crate::version::{REQUEST, Version};

/// Tokens no model writes in one answer. A client may allow more, which is no fault of the plugin's that says
/// so; more than this would only tie up the customer's money.
pub const MAX_OUTPUT_TOKENS: u32 = 10_000_000;

impl Version {
    pub(crate) fn prepare(
        &self,
        cx: &Context,
        request: TextRequest,
    ) -> Result<Result<Prepared, Refusal>, Fault> {
        self.prepare_within(self.limits.call_ms.get(), cx, request)
    }

    pub(crate) fn prepare_within(
        &self,
        budget_ms: u32,
        cx: &Context,
        request: TextRequest,
    ) -> Result<Result<Prepared, Refusal>, Fault> {
        let (bytes, provider) = (request.body.len(), request.route.provider.clone());
        self.admit(REQUEST, bytes, self.limits.text())?;
        let judged = self
            .call_with(bytes, budget_ms, |family, store| v1::text::prepare(family, store, cx, request))
            .map_err(|fault| fault.over(REQUEST, bytes))?;
        match judged {
            Ok(prepared) => {
                let state = prepared.state.len();
                self.check_opened(prepared, provider).map(Ok).map_err(|fault| fault.of_request(bytes, state))
            }
            Err(no) => Ok(Err(check::refused(no))),
        }
    }

    fn check_opened(&self, prepared: Prepared, provider: String) -> Result<Prepared, Fault> {
        // Which provider serves a text model is the operator's to say, request by request.
        if prepared.call.provider != provider {
            let why = format!(
                "expected a call to the route's provider {provider:?}, got {:?}",
                prepared.call.provider
            );
            return Err(Fault::bad("call", why));
        }
        check::call(&prepared.call, &[provider])?;
        check::state(&prepared.state, &self.limits)?;
        let max_output_tokens = prepared.max_output_tokens.min(MAX_OUTPUT_TOKENS);
        Ok(Prepared { max_output_tokens, ..prepared })
    }

    pub(crate) fn answer(
        &self,
        cx: &Context,
        state: &[u8],
        reply: Reply,
    ) -> Result<Result<Answered, TextFailure>, Fault> {
        let bytes = match &reply.body {
            Body::Inline(bytes) => bytes.len(),
            Body::Blob(_) => 0,
        };
        self.admit("the upstream's reply", bytes, self.limits.crossing())?;
        let judged = self.call_with(bytes, self.limits.call_ms.get(), |family, store| {
            v1::text::whole(family, store, cx, state, reply)
        })?;
        match judged {
            Ok(answered) => {
                check::json("answer", &answered.body)?;
                Ok(Ok(answered))
            }
            Err(no) => Ok(Err(rejected(no))),
        }
    }

    pub(crate) fn relay(self: &Arc<Self>, cx: &Context, state: &[u8]) -> Result<Stream, Fault> {
        let mut instance = Instance::new(&self.pre, self.frame(None, self.limits.call_ms.get()))?;
        let relay = instance.call(|family, store| v1::text::relay(family, store, cx, state))?;
        Ok(Stream { instance, relay, version: Arc::clone(self), begun: cx.now })
    }
}

/// One stream: an instance that lives as long as it does. Each call has the processor time, the log and the
/// crossing a call has; memory is the instance's.
pub(crate) struct Stream {
    instance: Instance,
    relay: ResourceAny,
    version: Arc<Version>,
    begun: UnixMs,
}

impl std::fmt::Debug for Stream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Stream({:?} since {})", self.version, self.begun)
    }
}

impl Stream {
    pub(crate) fn push(&mut self, events: Vec<Sse>) -> Result<Result<Chunk, TextFailure>, Fault> {
        let relay = self.relay;
        let pushed = self.instance.call(|family, store| v1::text::push(family, store, relay, events))?;
        chunk(pushed)
    }

    pub(crate) fn end(&mut self) -> Result<Result<Chunk, TextFailure>, Fault> {
        let relay = self.relay;
        chunk(self.instance.call(|family, store| v1::text::end(family, store, relay))?)
    }
}

fn chunk(pushed: Result<Chunk, TextFailure>) -> Result<Result<Chunk, TextFailure>, Fault> {
    let chunk = match pushed {
        Ok(chunk) => chunk,
        Err(no) => return Ok(Err(rejected(no))),
    };
    // Only the host writes line ends: an event cannot smuggle another one in.
    for event in &chunk.send {
        let name = event.event.as_deref().unwrap_or_default();
        if name.contains(['\r', '\n', '\0']) || event.data.contains(['\r', '\0']) {
            return Err(Fault::bad(
                "event",
                "expected text without carriage returns, zero bytes and line feeds in its name",
            ));
        }
    }
    Ok(Ok(chunk))
}

fn rejected(mut no: TextFailure) -> TextFailure {
    check::trim(&mut no.message);
    no
}
