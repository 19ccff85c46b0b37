//! Traces: the `[traces]` table, and how spans leave the process. Spans wait in a bounded queue; where the collector does not
//! take them in time, the newest are dropped and counted, and no request waits.
//!
//! The messages are those of the `opentelemetry-proto` crate; the connection is that of `host/upstream`. The exporters of
//! OpenTelemetry's own crates would read the environment, the clock and random numbers by themselves, which have one owner here.
//!
//! The queue of spans that have ended, and the loop that sends them: batches of up to 512, at least once a second. A batch that a
//! collector cannot take now is sent again, while the queue fills; what does not fit is dropped and counted, and a line a minute
//! says so.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use gatehouse_model::{
    Boxed, Clock, EndedSpan, Secret, SecretRef, Seed, SpanKind, SpanSink, SpanValue, Tracer, UnixMs, metric,
    settings,
};
use gatehouse_upstream::{Collector, OutgoingRoute, check_collector_url};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span, Status, span};
use prost::Message as _;
use serde::Deserialize;
use tokio::sync::{mpsc, oneshot};

/// Spans that may wait, at most.
const MAX_QUEUE: usize = 1 << 20;

settings! {
    /// The `[traces]` table.
    #[derive(Clone, Debug, Deserialize)]
    #[serde(deny_unknown_fields, default)]
    pub struct TracesConfig {
        /// Where a collector takes traces, OTLP over HTTP with protobuf; absent: no traces are made.
        pub endpoint: Option<String> = None,
        /// Headers that are sent along.
        pub headers: BTreeMap<String, SecretRef> = BTreeMap::new(),
        /// The share of requests that are traced, 0 to 1.
        pub sample: f64 = 1.0,
        /// Whether the sampled flag of a client's `traceparent` decides for its request.
        pub follow_parent: bool = true,
        /// Spans that may wait for the collector.
        pub queue: usize = 4096,
        /// What the collector calls this gateway.
        pub service_name: String = "gatehouse".to_owned(),
    }
}

impl TracesConfig {
    /// Checks what the types cannot.
    ///
    /// # Errors
    /// The key, and what was expected.
    pub fn check(&self) -> Result<(), (&'static str, String)> {
        if let Some(endpoint) = &self.endpoint {
            check_collector_url(endpoint).map_err(|why| ("endpoint", why))?;
        }
        if !(0.0..=1.0).contains(&self.sample) {
            return Err(("sample", format!("expected 0 to 1, got {}", self.sample)));
        }
        if !(1..=MAX_QUEUE).contains(&self.queue) {
            return Err(("queue", format!("expected 1 to {MAX_QUEUE} spans, got {}", self.queue)));
        }
        if self.service_name.is_empty() || self.service_name.len() > 255 {
            return Err(("service_name", "expected a name of 1 to 255 bytes".to_owned()));
        }
        Ok(())
    }

    /// Where spans go; `None` where no traces are made.
    ///
    /// # Errors
    /// A header, the roots or the proxy cannot be used; the key and why.
    pub fn collector(&self, route: &OutgoingRoute<'_>) -> Result<Option<Collector>, String> {
        let Some(endpoint) = &self.endpoint else { return Ok(None) };
        let mut headers: Vec<(String, Secret<String>)> = Vec::new();
        for (name, secret) in &self.headers {
            let value = (route.secrets)(secret).map_err(|why| format!("traces.headers.{name}: {why}"))?;
            headers.push((name.clone(), value));
        }
        Collector::new(endpoint, &headers, route).map(Some).map_err(|why| format!("traces: {why}"))
    }

    /// The tracer, and what sends its spans; `None` where no traces are made.
    ///
    /// # Errors
    /// As of [`Self::collector`].
    pub fn start(
        &self,
        route: &OutgoingRoute<'_>,
        clock: &Arc<dyn Clock>,
        seed: &Arc<dyn Seed>,
    ) -> Result<Option<(Arc<Tracer>, Exporter)>, String> {
        let Some(collector) = self.collector(route)? else { return Ok(None) };
        let (exporter, sink) = Exporter::new(collector, &self.service_name, self.queue, Arc::clone(clock));
        let (clock, seed) = (Arc::clone(clock), Arc::clone(seed));
        let tracer = Tracer::new(Arc::new(sink), self.sample, self.follow_parent, clock, seed);
        Ok(Some((Arc::new(tracer), exporter)))
    }
}

/// Of the flags of a span: its trace is sampled.
const SAMPLED: u32 = 1;

/// The body of one export.
fn batch(service: &str, spans: Vec<EndedSpan>) -> Bytes {
    let version = env!("CARGO_PKG_VERSION");
    let attributes = vec![text("service.name", service), text("service.version", version)];
    let scope = InstrumentationScope {
        name: "gatehouse".to_owned(),
        version: version.to_owned(),
        ..Default::default()
    };
    let spans = spans.into_iter().map(encoded).collect();
    let of_scope = ScopeSpans { scope: Some(scope), spans, schema_url: String::new() };
    let resource = Resource { attributes, ..Default::default() };
    let of_resource =
        ResourceSpans { resource: Some(resource), scope_spans: vec![of_scope], schema_url: String::new() };
    ExportTraceServiceRequest { resource_spans: vec![of_resource] }.encode_to_vec().into()
}

fn encoded(span: EndedSpan) -> Span {
    let EndedSpan { place, parent, name, kind, began, ended, attributes, error } = span;
    let kind = match kind {
        SpanKind::Internal => span::SpanKind::Internal,
        SpanKind::Server => span::SpanKind::Server,
        SpanKind::Client => span::SpanKind::Client,
    };
    let status = error.map(|message| Status { message, code: StatusCode::Error.into() });
    Span {
        trace_id: place.trace.to_be_bytes().to_vec(),
        span_id: place.span.to_be_bytes().to_vec(),
        trace_state: place.state.map(|state| state.as_ref().to_owned()).unwrap_or_default(),
        parent_span_id: parent.map(|parent| parent.to_be_bytes().to_vec()).unwrap_or_default(),
        flags: SAMPLED,
        name: name.into_owned(),
        kind: kind.into(),
        start_time_unix_nano: began,
        end_time_unix_nano: ended,
        attributes: attributes.into_iter().map(|(name, value)| attribute(name, value)).collect(),
        status,
        ..Default::default()
    }
}

fn attribute(name: &str, value: SpanValue) -> KeyValue {
    let value = match value {
        SpanValue::Text(text) => Value::StringValue(text),
        SpanValue::Number(number) => Value::IntValue(number),
    };
    KeyValue { key: name.to_owned(), value: Some(AnyValue { value: Some(value) }), ..Default::default() }
}

fn text(name: &str, value: &str) -> KeyValue {
    attribute(name, SpanValue::Text(value.to_owned()))
}

/// Spans in one batch.
const BATCH: usize = 512;
/// How long a batch collects.
const GATHER: Duration = Duration::from_secs(1);
/// Between two tries of a batch, and how often it is tried.
const AGAIN: Duration = Duration::from_secs(5);
const TRIES: u32 = 12;
/// Between two lines of the log about the same trouble.
const QUIET: Duration = Duration::from_secs(60);

/// Puts spans into the queue.
struct QueueSink {
    queue: mpsc::Sender<EndedSpan>,
    dropped: Arc<AtomicU64>,
}

/// Sends what is in the queue.
pub struct Exporter {
    collector: Collector,
    service: String,
    queue: mpsc::Receiver<EndedSpan>,
    dropped: Arc<AtomicU64>,
    clock: Arc<dyn Clock>,
    /// When the log was told last.
    told: Option<UnixMs>,
}

impl SpanSink for QueueSink {
    fn take(&self, span: EndedSpan) {
        if self.queue.try_send(span).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Exporter {
    fn new(collector: Collector, service: &str, queue: usize, clock: Arc<dyn Clock>) -> (Self, QueueSink) {
        let (sender, receiver) = mpsc::channel(queue);
        let dropped = Arc::<AtomicU64>::default();
        let sink = QueueSink { queue: sender, dropped: Arc::clone(&dropped) };
        for outcome in ["sent", "dropped"] {
            metrics::counter!(metric::SPANS, "outcome" => outcome).increment(0);
        }
        let service = service.to_owned();
        (Self { collector, service, queue: receiver, dropped, clock, told: None }, sink)
    }

    /// Sends until the end, and then what still waits. Boxed, so that it is compiled here.
    #[must_use]
    pub fn run(mut self, mut end: oneshot::Receiver<()>) -> Boxed<'static, ()> {
        Box::pin(async move {
            let mut spans = Vec::with_capacity(BATCH);
            loop {
                tokio::select! {
                    biased;
                    received = self.queue.recv_many(&mut spans, BATCH) => if received == 0 { return },
                    _ = &mut end, if !self.queue.is_closed() => {
                        self.queue.close();
                        continue;
                    }
                }
                self.gather(&mut spans, &mut end).await;
                self.send(std::mem::take(&mut spans)).await;
                self.tell_of_drops();
            }
        })
    }

    /// Waits a moment for more, so that a trace's spans leave together.
    async fn gather(&mut self, spans: &mut Vec<EndedSpan>, end: &mut oneshot::Receiver<()>) {
        let mut moment = self.clock.pause(GATHER);
        while spans.len() < BATCH {
            let room = BATCH - spans.len();
            tokio::select! {
                received = self.queue.recv_many(spans, room) => if received == 0 { return },
                () = &mut moment => return,
                _ = &mut *end, if !self.queue.is_closed() => self.queue.close(),
            }
        }
    }

    async fn send(&mut self, spans: Vec<EndedSpan>) {
        let count = u64::try_from(spans.len()).unwrap_or_default();
        let batch = batch(&self.service, spans);
        for _ in 0..TRIES {
            match self.collector.send(batch.clone()).await {
                Ok(()) => {
                    metrics::counter!(metric::SPANS, "outcome" => "sent").increment(count);
                    return;
                }
                Err(error) => {
                    if self.may_tell() {
                        tracing::warn!(%error, spans = count, "traces cannot be sent to their collector");
                    }
                    if !error.may_repeat || self.queue.is_closed() {
                        break;
                    }
                    self.clock.pause(AGAIN).await;
                }
            }
        }
        self.dropped.fetch_add(count, Ordering::Relaxed);
    }

    fn tell_of_drops(&mut self) {
        let dropped = self.dropped.swap(0, Ordering::Relaxed);
        if dropped > 0 {
            metrics::counter!(metric::SPANS, "outcome" => "dropped").increment(dropped);
            if self.may_tell() {
                tracing::warn!(
                    dropped,
                    "spans were dropped: their collector does not take them as fast as they come"
                );
            }
        }
    }

    /// Whether a minute is over since the last line.
    fn may_tell(&mut self) -> bool {
        let now = self.clock.now();
        let may = self.told.is_none_or(|told| now.since(told) >= QUIET);
        if may {
            self.told = Some(now);
        }
        may
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_used_is_named() {
        let check = |change: fn(&mut TracesConfig)| {
            let mut config = TracesConfig::default();
            change(&mut config);
            config.check().map_err(|(key, _)| key)
        };
        assert_eq!(check(|_| {}), Ok(()));
        assert_eq!(check(|config| config.endpoint = Some("collector".to_owned())), Err("endpoint"));
        assert_eq!(check(|config| config.sample = 1.5), Err("sample"));
        assert_eq!(check(|config| config.sample = f64::NAN), Err("sample"));
        assert_eq!(check(|config| config.queue = 0), Err("queue"));
        assert_eq!(check(|config| config.service_name.clear()), Err("service_name"));
    }
}
