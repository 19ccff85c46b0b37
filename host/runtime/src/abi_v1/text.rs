//! The calls of the interfaces `text` and `dialect`: the same five functions, of which only the request and what is counted
//! differ.

use gatehouse_model as own;
use wasmtime::component::ResourceAny;

use super::answers;
use super::exports::bindings::exports::gatehouse::family::{dialect, text};
use super::exports::bindings::gatehouse::family::{types, upstream};
use super::exports::{Callee, Half, Judged, Translated};
use super::lower;
use super::types::Convert as _;

type Frames = Result<Vec<upstream::Sse>, upstream::TextFailure>;
type Chunk = Result<text::Chunk, upstream::TextFailure>;

impl Callee<'_> {
    /// `text.prepare`.
    pub(crate) fn prepare(&mut self, cx: &own::Context, request: own::TextRequest) -> Judged<own::Prepared> {
        let cx = lower::context(cx);
        let request = lower::TextRequest {
            surface: &request.surface,
            body: &request.body,
            headers: request.headers.convert(),
            blobs: request.blobs.convert(),
            route: lower::route(request.route),
            extra: lower::EXTRA,
        };
        let prepare = self.half(Half::Text)?.prepare;
        self.ask::<_, Result<text::Prepared, types::Refusal>, _>(prepare, (&cx, &request))
    }

    /// `dialect.prepare`.
    pub(crate) fn translate(
        &mut self,
        cx: &own::Context,
        request: own::DialectRequest,
    ) -> Judged<answers::Translated> {
        let cx = lower::context(cx);
        let request = lower::DialectRequest {
            body: &request.body,
            streaming: request.streaming,
            blobs: request.blobs.convert(),
            route: lower::route(request.route),
            extra: lower::EXTRA,
        };
        let prepare = self.half(Half::Dialect)?.prepare;
        self.ask::<_, Result<dialect::DialectPrepared, types::Refusal>, _>(prepare, (&cx, &request))
    }

    /// `text.answer`.
    pub(crate) fn answer(
        &mut self,
        cx: &own::Context,
        state: &[u8],
        reply: own::Reply,
    ) -> Translated<own::Answered> {
        let (cx, reply): (_, upstream::Reply) = (lower::context(cx), reply.convert());
        let answer = self.half(Half::Text)?.answer;
        self.ask::<_, Result<text::Answered, upstream::TextFailure>, _>(answer, (&cx, state, &reply))
    }

    /// `dialect.answer`.
    pub(crate) fn read_answer(
        &mut self,
        cx: &own::Context,
        state: &[u8],
        reply: own::Reply,
    ) -> Translated<own::Json> {
        let (cx, reply): (_, upstream::Reply) = (lower::context(cx), reply.convert());
        let answer = self.half(Half::Dialect)?.answer;
        self.ask::<_, Result<String, upstream::TextFailure>, _>(answer, (&cx, state, &reply))
    }

    /// The constructor of `text.relay` or `dialect.frame-reader`.
    pub(crate) fn open(
        &mut self,
        half: Half,
        cx: &own::Context,
        state: &[u8],
    ) -> wasmtime::Result<ResourceAny> {
        self.call(self.half(half)?.open, (&lower::context(cx), state))
    }

    /// The provider's next events, or the end of its stream.
    pub(crate) fn push(
        &mut self,
        half: Half,
        stream: ResourceAny,
        events: Option<Vec<own::Sse>>,
    ) -> Translated<own::Chunk> {
        let functions = self.half(half)?;
        let Some(events) = events else {
            let (end, parameters) = (functions.end, (stream,));
            return match half {
                Half::Text => self.ask::<_, Chunk, _>(end, parameters),
                Half::Dialect => self.ask::<_, Frames, _>(end, parameters),
            };
        };
        let events: Vec<upstream::Sse> = events.convert();
        let (push, parameters) = (functions.push, (stream, events.as_slice()));
        match half {
            Half::Text => self.ask::<_, Chunk, _>(push, parameters),
            Half::Dialect => self.ask::<_, Frames, _>(push, parameters),
        }
    }
}
