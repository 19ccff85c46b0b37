//! Spans: what a part of the work was, when it began and ended, and in which trace. They are made where the work is done, and
//! only where their trace is sampled: without a tracer, and for every other request, no span is made and nothing is allocated.
//!
//! ```text
//! Tracer --root--> Span (of a request) --trace--> Trace --begin--> Span (of a part of it) ...
//!        --resume-> Trace (of a task, also after a restart) --begin--> ...
//! ```
//! A span that is dropped has ended and goes to the sink, which never blocks.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::{Clock, Seed, TraceParent, UnixMs};

/// Attributes of one span; more are left out.
const MAX_ATTRIBUTES: usize = 64;
/// Bytes of a text in an attribute or an error; the rest is cut.
const MAX_TEXT: usize = 1024;

/// Where spans go that have ended.
pub trait SpanSink: Send + Sync {
    /// Takes a span, or drops it where too many wait.
    fn take(&self, span: EndedSpan);
}

/// Whose part of an exchange a span is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpanKind {
    /// Work within the gateway.
    Internal,
    /// A request of a client.
    Server,
    /// A request to another server.
    Client,
}

/// A value of an attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SpanValue {
    /// A text.
    Text(String),
    /// A number.
    Number(i64),
}

impl From<&str> for SpanValue {
    fn from(text: &str) -> Self {
        Self::Text(cut(text))
    }
}

impl From<u64> for SpanValue {
    fn from(number: u64) -> Self {
        Self::Number(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl From<u32> for SpanValue {
    fn from(number: u32) -> Self {
        Self::Number(number.into())
    }
}

impl From<i64> for SpanValue {
    fn from(number: i64) -> Self {
        Self::Number(number)
    }
}

/// A span that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndedSpan {
    /// Its place.
    pub place: TraceParent,
    /// The span that it is a part of; none at the root.
    pub parent: Option<u64>,
    /// What was done.
    pub name: Cow<'static, str>,
    /// Whose part it is.
    pub kind: SpanKind,
    /// Nanoseconds since 1970.
    pub began: u64,
    /// Nanoseconds since 1970, not before it began.
    pub ended: u64,
    /// By name.
    pub attributes: Vec<(&'static str, SpanValue)>,
    /// Why it failed, if it did.
    pub error: Option<String>,
}

/// Makes the traces of a process.
pub struct Tracer {
    sink: Arc<dyn SpanSink>,
    /// A trace is sampled whose id, as far as it is random, is below it.
    below: u64,
    /// Whether the sampled flag of a client's parent decides.
    follows_parent: bool,
    clock: Arc<dyn Clock>,
    seed: Arc<dyn Seed>,
}

impl fmt::Debug for Tracer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tracer(below {:x}, follows parent: {})", self.below, self.follows_parent)
    }
}

/// A place in a sampled trace, under which spans are made.
#[derive(Clone, Debug)]
pub struct Trace {
    tracer: Arc<Tracer>,
    place: TraceParent,
    /// A moment, in nanoseconds since 1970 and by a clock that never stands still.
    anchor: (u64, Instant),
}

/// A span under way; it ends when it is dropped, if not before.
#[derive(Debug)]
pub struct Span(Box<OpenSpan>);

#[derive(Debug)]
struct OpenSpan {
    /// Under which the parts of it are made.
    trace: Trace,
    parent: Option<u64>,
    name: Cow<'static, str>,
    kind: SpanKind,
    began: u64,
    ended: Option<u64>,
    attributes: Vec<(&'static str, SpanValue)>,
    error: Option<String>,
}

impl Tracer {
    /// A tracer that samples a share of all traces, 0 to 1. With `follows_parent` a client's sampled flag decides for its own.
    #[must_use]
    pub fn new(
        sink: Arc<dyn SpanSink>,
        share: f64,
        follows_parent: bool,
        clock: Arc<dyn Clock>,
        seed: Arc<dyn Seed>,
    ) -> Self {
        // 2^63: as OpenTelemetry's samplers do, half of an id's last eight bytes decides.
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 2^63")]
        let below = (share.clamp(0.0, 1.0) * 9_223_372_036_854_775_808.0) as u64;
        Self { sink, below, follows_parent, clock, seed }
    }

    /// Begins the first span of a request, under the client's span if it has one. `None` where its trace is not sampled.
    #[must_use]
    pub fn root(self: &Arc<Self>, client: Option<TraceParent>, method: &str, route: &str) -> Option<Span> {
        let trace = match &client {
            Some(parent) => parent.trace,
            None => (u128::from(self.seed.next_u64()) << 64 | u128::from(self.seed.next_u64())).max(1),
        };
        #[expect(clippy::cast_possible_truncation, reason = "the last eight bytes")]
        let is_chosen = (trace as u64 >> 1) < self.below;
        let is_sampled = match &client {
            Some(parent) if self.follows_parent => parent.sampled,
            _ => is_chosen,
        };
        if !is_sampled {
            return None;
        }
        let (parent, state) = client.map_or((None, None), |client| (Some(client.span), client.state));
        let place = TraceParent { trace, span: self.span_id(), sampled: true, state };
        let trace = Trace { tracer: Arc::clone(self), place, anchor: self.anchor() };
        Some(trace.span(parent, format!("{method} {route}").into(), SpanKind::Server))
    }

    /// Goes on with a trace that was kept: that of a task.
    #[must_use]
    pub fn resume(self: &Arc<Self>, place: TraceParent) -> Trace {
        Trace { tracer: Arc::clone(self), place, anchor: self.anchor() }
    }

    fn anchor(&self) -> (u64, Instant) {
        (self.clock.now().nanoseconds(), Instant::now())
    }

    fn span_id(&self) -> u64 {
        self.seed.next_u64().max(1)
    }
}

impl Trace {
    /// The place, for what goes on elsewhere.
    #[must_use]
    pub fn place(&self) -> &TraceParent {
        &self.place
    }

    /// Begins a span under this place.
    #[must_use]
    pub fn begin(&self, name: impl Into<Cow<'static, str>>, kind: SpanKind) -> Span {
        let place = TraceParent { span: self.tracer.span_id(), ..self.place.clone() };
        let trace = Self { tracer: Arc::clone(&self.tracer), place, anchor: self.anchor };
        trace.span(Some(self.place.span), name.into(), kind)
    }

    fn span(self, parent: Option<u64>, name: Cow<'static, str>, kind: SpanKind) -> Span {
        let began = self.now();
        let (attributes, error) = (Vec::with_capacity(8), None);
        Span(Box::new(OpenSpan { trace: self, parent, name, kind, began, ended: None, attributes, error }))
    }

    fn now(&self) -> u64 {
        let (unix, instant) = self.anchor;
        unix.saturating_add(u64::try_from(instant.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }
}

impl Span {
    /// The place under which its parts are made.
    #[must_use]
    pub fn trace(&self) -> &Trace {
        &self.0.trace
    }

    /// Says something about it.
    pub fn set(&mut self, name: &'static str, value: impl Into<SpanValue>) {
        if self.0.attributes.len() < MAX_ATTRIBUTES {
            self.0.attributes.push((name, value.into()));
        }
    }

    /// Says that it failed.
    pub fn fail(&mut self, why: &str) {
        self.0.error = Some(cut(why));
    }

    /// It began so long before it was made.
    pub fn began_earlier(&mut self, by: Duration) {
        self.0.began = self.0.began.saturating_sub(u64::try_from(by.as_nanos()).unwrap_or(u64::MAX));
    }

    /// It is over; what is said about it may still come.
    pub fn end(&mut self) {
        let now = self.0.trace.now();
        self.0.ended.get_or_insert(now);
    }

    /// It began and ended at these moments.
    pub fn set_times(&mut self, began: UnixMs, ended: UnixMs) {
        (self.0.began, self.0.ended) = (began.nanoseconds(), Some(ended.nanoseconds()));
    }
}

impl Drop for OpenSpan {
    fn drop(&mut self) {
        let ended = self.ended.unwrap_or_else(|| self.trace.now()).max(self.began);
        let span = EndedSpan {
            place: self.trace.place.clone(),
            parent: self.parent,
            name: std::mem::take(&mut self.name),
            kind: self.kind,
            began: self.began,
            ended,
            attributes: std::mem::take(&mut self.attributes),
            error: self.error.take(),
        };
        self.trace.tracer.sink.take(span);
    }
}

fn cut(text: &str) -> String {
    let end = (0..=text.len().min(MAX_TEXT)).rev().find(|at| text.is_char_boundary(*at));
    text[..end.unwrap_or_default()].to_owned()
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::Pause;

    #[derive(Default)]
    struct Kept(Mutex<Vec<EndedSpan>>);

    impl SpanSink for Kept {
        fn take(&self, span: EndedSpan) {
            self.0.lock().unwrap().push(span);
        }
    }

    struct Fixed;

    impl Clock for Fixed {
        fn now(&self) -> UnixMs {
            UnixMs(1_000)
        }

        fn pause(&self, _: Duration) -> Pause {
            Box::pin(std::future::pending())
        }

        fn skipped(&self, _: UnixMs) -> Duration {
            Duration::ZERO
        }
    }

    /// Numbers that look random, the same in every run (SplitMix64).
    #[derive(Default)]
    struct Spread(AtomicU64);

    impl Seed for Spread {
        fn fill(&self, into: &mut [u8]) {
            for piece in into.chunks_mut(8) {
                let state = self.0.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
                let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
                let number = (mixed ^ (mixed >> 31)).to_le_bytes();
                piece.copy_from_slice(&number[..piece.len()]);
            }
        }
    }

    fn tracer(share: f64, follows_parent: bool) -> (Arc<Tracer>, Arc<Kept>) {
        let kept = Arc::<Kept>::default();
        let sink = Arc::clone(&kept) as Arc<dyn SpanSink>;
        let tracer = Tracer::new(sink, share, follows_parent, Arc::new(Fixed), Arc::<Spread>::default());
        (Arc::new(tracer), kept)
    }

    fn parent(sampled: bool) -> Option<TraceParent> {
        Some(TraceParent { trace: u128::MAX, span: 7, sampled, state: Some("a=1".into()) })
    }

    #[test]
    fn spans_make_a_tree_and_end_when_they_are_dropped() {
        let (tracer, kept) = tracer(1.0, true);
        let mut root = tracer.root(parent(true), "POST", "/v1/x").unwrap();
        root.set("a", "b");
        let mut part = root.trace().begin("part", SpanKind::Internal);
        part.fail("no");
        let inner = part.trace().begin("inner", SpanKind::Client);
        let trace = inner.trace().place().clone();
        drop(inner);
        drop(part);
        drop(root);
        let spans = kept.0.lock().unwrap();
        let [inner, part, root] = &spans[..] else { panic!("{spans:?}") };
        assert_eq!(
            (root.parent, part.parent, inner.parent),
            (Some(7), Some(root.place.span), Some(part.place.span))
        );
        assert!(spans.iter().all(|span| span.place.trace == u128::MAX && span.began <= span.ended));
        assert_eq!((trace.state.as_deref(), part.error.as_deref()), (Some("a=1"), Some("no")));
        assert_eq!(root.attributes, [("a", SpanValue::Text("b".to_owned()))]);
    }

    /// Without it a client decides what an operator pays to keep, or traces of other systems break off here.
    #[test]
    fn the_share_or_the_client_decides() {
        for (share, follows, client, expected) in [
            (0.0, true, parent(true), true),
            (1.0, true, parent(false), false),
            (0.0, false, parent(true), false),
            (1.0, false, parent(false), true),
            (0.0, true, None, false),
            (1.0, true, None, true),
        ] {
            let (tracer, _) = tracer(share, follows);
            let found = tracer.root(client.clone(), "GET", "/").is_some();
            assert_eq!(found, expected, "{share} {follows} {client:?}");
        }
        let (tracer, _) = tracer(0.25, true);
        let sampled = (0..1_000).filter(|_| tracer.root(None, "GET", "/").is_some()).count();
        assert!((200..300).contains(&sampled), "{sampled}");
    }

    #[test]
    fn a_kept_place_goes_on_and_texts_are_cut() {
        let (tracer, kept) = tracer(0.0, true);
        let place = TraceParent { trace: 5, span: 6, sampled: true, state: None };
        let mut span = tracer.resume(place).begin("step", SpanKind::Internal);
        span.set("long", "\u{e4}".repeat(2_000).as_str());
        span.set_times(UnixMs(3), UnixMs(4));
        drop(span);
        let spans = kept.0.lock().unwrap();
        assert_eq!((spans[0].place.trace, spans[0].parent), (5, Some(6)));
        assert_eq!((spans[0].began, spans[0].ended), (3_000_000, 4_000_000));
        assert!(matches!(&spans[0].attributes[0].1, SpanValue::Text(text) if text.len() == 1024));
    }
}
