//! What traces cost a request that is not traced: nothing is allocated for it. Counted by the allocator of this test, so it has
//! a binary of its own.

use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::{Clock, EndedSpan, Pause, Seed, SpanKind, SpanSink, Tracer, UnixMs};

struct Nowhere;

impl SpanSink for Nowhere {
    fn take(&self, _: EndedSpan) {}
}

struct Still;

impl Clock for Still {
    fn now(&self) -> UnixMs {
        UnixMs(1)
    }

    fn pause(&self, _: Duration) -> Pause {
        Box::pin(std::future::pending())
    }

    fn skipped(&self, _: UnixMs) -> Duration {
        Duration::ZERO
    }
}

struct Sevens;

impl Seed for Sevens {
    fn fill(&self, into: &mut [u8]) {
        into.fill(7);
    }
}

fn tracer(share: f64) -> Arc<Tracer> {
    Arc::new(Tracer::new(Arc::new(Nowhere), share, true, Arc::new(Still), Arc::new(Sevens)))
}

/// Without it every request pays for the traces of a few.
#[test]
fn a_request_that_is_not_traced_allocates_nothing() {
    let tracer = tracer(0.0);
    let counted = allocation_counter::measure(|| assert!(tracer.root(None, "POST", "/v1/x").is_none()));
    assert_eq!((counted.count_total, counted.bytes_total), (0, 0));
}

/// A bound for what a traced one pays: its first span, and one part of it.
#[test]
fn a_span_is_a_few_allocations() {
    let tracer = tracer(1.0);
    let counted = allocation_counter::measure(|| {
        let mut root = tracer.root(None, "POST", "/v1/x").expect("it is sampled");
        root.set("http.response.status_code", 200_u32);
        let mut part = root.trace().begin("hold", SpanKind::Internal);
        part.set("gatehouse.account", "main");
    });
    assert!(counted.count_total <= 8, "{counted:?}");
}
