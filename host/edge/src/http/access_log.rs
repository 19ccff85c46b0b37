//! The access record of one request: one log line, its line in memory and its metrics, written when the response has left or the
//! client has. The lines of a request that is still worked on when its client leaves wait for its bill: a second line would have
//! no status, route and key beside the charge, and no filter would find the two together. Never holds a query, a header value
//! or a body.

use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};
use std::{io, mem};

use bytes::Bytes;
use gatehouse_driver::RequestReport;
use gatehouse_model::{
    CustomerId, KeyId, Recent, RequestFacts, RequestId, RequestLine, Span, Tags, TraceParent, Tracer, Usage,
    metric,
};
use gatehouse_net::{Activity, RequestActivity};
use http::{HeaderMap, Method};
use http_body::{Body, Frame, SizeHint};
use metrics::SharedString;

use crate::http::body::{StreamedBody, holding};
use crate::limits::concurrency_limit::Permit;
use crate::limits::open_connections::InUse;
use crate::limits::unread::UnreadAnswer;
use crate::response::ResponseBody;

/// Logged as the status of a request whose client left before its response began.
const CLIENT_GONE: u16 = 499;

/// What a line in memory takes, about.
const LINE_BYTES: usize = 416;

/// Bytes of the longest piece that does not keep its request counted until it is written. A client that has just read a short answer
/// may ask again at once, and must not be one request over its limit.
const SHORT: usize = 16 * 1024;

/// What counts a request among those of its key and of its customer.
type Permits = (Permit<KeyId>, Permit<CustomerId>);

fn name(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::POST => "POST",
        Method::HEAD => "HEAD",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        _ => "OTHER",
    }
}

/// Written to the log when dropped.
pub(crate) struct AccessRecord {
    pub(crate) id: RequestId,
    method: Method,
    started: Instant,
    pub(crate) pattern: &'static str,
    pub(crate) surface: &'static str,
    pub(crate) status: u16,
    pub(crate) key: Option<KeyId>,
    pub(crate) customer: Option<CustomerId>,
    /// Its address, as far as proxies are trusted.
    pub(crate) client: Option<IpAddr>,
    pub(crate) received: u64,
    /// What counts it, together with the long pieces of its answer that are not written yet.
    pub(crate) permit: Option<Arc<Permits>>,
    /// Keeps its connection in use, together with the bytes of its answer that are not written yet.
    pub(crate) in_use: Option<Arc<InUse>>,
    /// What of its body is held until a streamed answer has left.
    pub(crate) body: Option<StreamedBody>,
    /// What it holds without a key, together with the same bytes.
    pub(crate) unread: Option<Arc<UnreadAnswer>>,
    /// Where the driver says what it took and paid.
    pub(crate) report: RequestReport,
    /// The request in its trace, if it is traced.
    span: Option<Span>,
    sent: u64,
    /// The whole response was taken.
    whole: bool,
    activity: RequestActivity,
    log: Arc<Recent<RequestLine>>,
}

impl AccessRecord {
    pub(crate) fn new(
        id: RequestId,
        method: Method,
        connection: &Activity,
        log: &Arc<Recent<RequestLine>>,
    ) -> Self {
        Self {
            id,
            method,
            started: Instant::now(),
            pattern: "-",
            surface: "none",
            status: CLIENT_GONE,
            key: None,
            customer: None,
            client: None,
            received: 0,
            permit: None,
            in_use: None,
            body: None,
            unread: None,
            report: RequestReport::default(),
            span: None,
            sent: 0,
            whole: false,
            activity: connection.begin_request(),
            log: Arc::clone(log),
        }
    }

    /// Traces the request, if it is to be traced: under its client's span, where it names one.
    pub(crate) fn trace(&mut self, tracer: &Arc<Tracer>, headers: &HeaderMap) {
        let Some(mut span) = tracer.root(client_span(headers), name(&self.method), self.pattern) else {
            return;
        };
        span.began_earlier(self.started.elapsed());
        self.report.trace_with(span.trace());
        self.span = Some(span);
    }

    /// Has the bytes of an answer hold what their request holds, until they are written. The end of an answer drops this record,
    /// and may come long before a slow client has taken all of them: over HTTP/2 hyper gives up a whole piece as soon as its
    /// client has room for one byte.
    fn hold_until_written(&self, frame: Frame<Bytes>) -> Frame<Bytes> {
        let is_long = frame.data_ref().is_some_and(|bytes| bytes.len() > SHORT);
        let permit = self.permit.clone().filter(|_| is_long);
        if permit.is_none() && self.in_use.is_none() && self.unread.is_none() {
            return frame;
        }
        let held = (permit, self.in_use.clone(), self.unread.clone());
        frame.map_data(|bytes| holding(bytes, held))
    }
}

/// The span of the client that sent a request. Of several none is the one.
fn client_span(headers: &HeaderMap) -> Option<TraceParent> {
    let mut parents = headers.get_all("traceparent").iter();
    let parent: TraceParent = parents.next()?.to_str().ok()?.parse().ok()?;
    if parents.next().is_some() {
        return None;
    }
    let states: Vec<&str> =
        headers.get_all("tracestate").iter().filter_map(|state| state.to_str().ok()).collect();
    Some(parent.with_state(&states.join(",")))
}

impl Drop for AccessRecord {
    fn drop(&mut self) {
        let took = self.started.elapsed();
        let status = self.status.to_string();
        metrics::counter!(metric::REQUESTS, "surface" => self.surface, "status" => status).increment(1);
        metrics::histogram!(metric::REQUEST_SECONDS, "surface" => self.surface).record(took.as_secs_f64());
        // The key goes along, so that nothing is copied.
        let line = RequestLine {
            id: self.id,
            method: name(&self.method),
            route: self.pattern,
            status: self.status,
            ms: u32::try_from(took.as_millis()).unwrap_or(u32::MAX),
            key: self.key.take(),
            customer: self.customer.take(),
            client: self.client,
            received: self.received,
            sent: self.sent,
            facts: RequestFacts::default(),
        };
        let (method, whole) = (mem::take(&mut self.method), self.whole);
        let (log, surface) = (Arc::clone(&self.log), self.surface);
        let mut span = self.span.take();
        if let Some(span) = &mut span {
            span.end();
        }
        self.report.when_known(move |facts| {
            if let Some(span) = span {
                describe(span, &line, &facts);
            }
            record(surface, line.status, took, &facts);
            write(RequestLine { facts, ..line }, &method, whole, &log);
        });
    }
}

fn write(line: RequestLine, method: &Method, whole: bool, log: &Recent<RequestLine>) {
    let facts = &line.facts;
    let tokens = facts.tokens.as_ref();
    let tags = facts.tags.as_deref();
    let bytes = LINE_BYTES + tags.map_or(0, Tags::bytes);
    tracing::info!(
        request = %line.id,
        %method,
        route = line.route,
        status = line.status,
        ms = line.ms,
        key = line.key.as_ref().map(|key| key.0.as_str()),
        customer = line.customer.as_ref().map(|customer| customer.0.as_str()),
        model = facts.model.as_deref(),
        plugin = facts.plugin.as_deref(),
        provider = facts.provider.as_deref(),
        account = facts.account.as_deref(),
        answered_by = facts.target.as_deref(),
        attempts = (facts.attempts > 0).then_some(facts.attempts),
        first_byte_ms = facts.first_byte_ms,
        first_token_ms = facts.first_token_ms,
        input_tokens = tokens.map(Usage::read),
        cached_tokens = tokens.map(|tokens| tokens.cached),
        output_tokens = tokens.map(|tokens| tokens.output),
        user = tags.and_then(|tags| tags.user.as_deref()),
        metadata = tags.filter(|tags| !tags.metadata.is_empty()).and_then(|tags| serde_json::to_string(&tags.metadata).ok()),
        client = line.client.map(tracing::field::display),
        received = line.received,
        sent = line.sent,
        whole,
        held_micro = facts.held.map(|amount| amount.0),
        charged_micro = facts.charged.map(|amount| amount.0),
        "request"
    );
    log.push(line, bytes);
}

/// A response body that completes the access record of its request.
pub(crate) struct LoggedBody {
    body: ResponseBody,
    record: AccessRecord,
}

impl LoggedBody {
    pub(crate) fn new(body: ResponseBody, mut record: AccessRecord) -> Self {
        record.whole = body.is_end_stream();
        record.activity.set_awaiting_client(true);
        Self { body, record }
    }
}

impl Body for LoggedBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        self.record.activity.record_progress();
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        // A response that is not ready is the gateway's delay, not the client's.
        self.record.activity.set_awaiting_client(polled.is_ready());
        let frame = ready!(polled);
        match &frame {
            Some(Ok(frame)) => self.record.sent += frame.data_ref().map_or(0, |data| data.len() as u64),
            Some(Err(error)) => tracing::warn!(request = %self.record.id, %error, "a response broke off"),
            None => {}
        }
        self.record.whole = !matches!(frame, Some(Err(_))) && self.body.is_end_stream();
        Poll::Ready(frame.map(|frame| Ok(self.record.hold_until_written(frame?))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The convention's word for what is asked on a surface; `None` where nothing is written or embedded.
fn operation(surface: &str) -> Option<&'static str> {
    Some(match surface {
        "chat.completions" | "messages.create" | "responses.create" => "chat",
        "completions.create" => "text_completion",
        "embeddings.create" => "embeddings",
        _ => return None,
    })
}

/// Says what became of a request that is traced.
pub(crate) fn describe(mut span: Span, line: &RequestLine, facts: &RequestFacts) {
    span.set("http.request.method", line.method);
    span.set("http.route", line.route);
    span.set("http.response.status_code", u32::from(line.status));
    span.set("gatehouse.request", line.id.to_string().as_str());
    let named = [
        ("gen_ai.request.model", &facts.model),
        ("gen_ai.provider.name", &facts.provider),
        ("gatehouse.account", &facts.account),
        ("gatehouse.target", &facts.target),
        ("gatehouse.plugin", &facts.plugin),
    ];
    for (name, value) in named {
        if let Some(value) = value {
            span.set(name, &**value);
        }
    }
    if let Some(tokens) = &facts.tokens {
        span.set("gen_ai.usage.input_tokens", tokens.read());
        span.set("gen_ai.usage.output_tokens", tokens.output);
    }
    for (name, amount) in [("gatehouse.held_micro", facts.held), ("gatehouse.charged_micro", facts.charged)] {
        if let Some(amount) = amount {
            span.set(name, amount.0);
        }
    }
    if let Some(first) = facts.first_token_ms {
        span.set("gatehouse.first_token_ms", first);
    }
    if line.status >= 500 {
        span.fail(&line.status.to_string());
    }
}

/// Measures a request that has ended. One whose model was never found is no request of a model.
pub(crate) fn record(surface: &str, status: u16, took: Duration, facts: &RequestFacts) {
    let (Some(operation), Some(model)) = (operation(surface), &facts.model) else { return };
    let provider = facts.provider.clone().map_or_else(SharedString::default, SharedString::from);
    let labels = [
        ("gen_ai_operation_name", operation.into()),
        ("gen_ai_provider_name", provider),
        ("gen_ai_request_model", SharedString::from(Arc::clone(model))),
    ];
    let and = |name, value: SharedString| {
        let [operation, provider, model] = labels.clone();
        [operation, provider, model, (name, value)]
    };
    let error = if status < 400 { SharedString::default() } else { status.to_string().into() };
    metrics::histogram!(metric::GEN_AI_DURATION, &and("error_type", error)).record(took.as_secs_f64());
    if let Some(first) = facts.first_token_ms {
        let first = Duration::from_millis(first.into());
        metrics::histogram!(metric::GEN_AI_FIRST_TOKEN, &labels).record(first.as_secs_f64());
        // Of the first token the time says nothing of the others.
        let others = facts.tokens.map_or(0, |tokens| tokens.output).saturating_sub(1);
        if let Ok(others @ 1..) = u32::try_from(others) {
            let each = took.saturating_sub(first) / others;
            metrics::histogram!(metric::GEN_AI_OUTPUT_TOKEN, &labels).record(each.as_secs_f64());
        }
    }
    let Some(tokens) = facts.tokens else { return };
    for (kind, count) in [("input", tokens.read()), ("output", tokens.output)] {
        #[expect(clippy::cast_precision_loss, reason = "a histogram takes no whole numbers")]
        metrics::histogram!(metric::GEN_AI_TOKENS, &and("gen_ai_token_type", kind.into()))
            .record(count as f64);
    }
}
