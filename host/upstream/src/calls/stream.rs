//! A call answered by a stream of frames, most often server-sent events: the head, then batches of them as they arrive.
//!
//! Time counts between events, not over the whole: a model may write for an hour, and an hour of silence
//! is an outage. Everything else is as for any call.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt as _;
use gatehouse_model::{Call, Framing, Header, Outage, Reply, Sse, UnixMs};
use http::Response;
use http::header::CONTENT_TYPE;
use http_body_util::BodyExt as _;
use hyper::body::{Body, Frame};
use serde::de::IgnoredAny;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until, timeout_at};

use crate::auth::redact::Redactor;
use crate::client::exchange::chain;
use crate::pool::account::HealthSignal;
use crate::pool::permits::CallPermit;
use crate::request::body::Blobs;
use crate::response::decoded::{Beginning, Peeked};
use crate::response::frames::Frames;
use crate::response::reply::headers_for_plugin;
use crate::response::retry_after;

/// Bytes looked at before a batch is handed on; more wait for the next one.
const BATCH: u64 = 64 << 10;
/// What comes sooner after a batch is gathered until then: a provider that writes faster than anybody reads would
/// otherwise make each of its events cost as much as a batch.
const GATHER: Duration = Duration::from_millis(5);

/// How long a stream may go on after its provider has said that all is done: some count their tokens behind it, and some leave
/// the connection open.
const AFTER_END: Duration = Duration::from_secs(1);

/// Media types of JSON by lines.
const LINES: [&str; 5] = [
    "application/x-ndjson",
    "application/ndjson",
    "application/jsonl",
    "application/x-jsonlines",
    "application/stream+json",
];

/// What a call that asks for a stream is answered with.
pub enum Opening {
    /// No stream: an error, or a provider that answers whole.
    Reply(Reply),
    /// A stream.
    Events(Box<Events>),
}

/// A provider's events, as they come.
pub struct Events<B = Peeked> {
    body: B,
    frames: Frames,
    permit: CallPermit,
    idle: Duration,
    /// The answer's, stripped as those of a reply.
    headers: Vec<Header>,
    /// Bytes so far.
    received: u64,
    /// When the last batch was handed on.
    handed: Option<Instant>,
    /// What ended it, when events that came before are to be handed on first.
    cut: Option<Outage>,
    /// When it ends, once the provider has said that all is done.
    ends: Option<Instant>,
    over: bool,
}

impl CallPermit {
    /// Makes a call whose answer may be a stream in that framing; `idle` is the longest silence within it.
    ///
    /// Until the head of the answer has come, all is as with [`CallPermit::call`].
    ///
    /// # Errors
    /// As [`CallPermit::call`].
    pub async fn open(
        self,
        call: &Call,
        blobs: &dyn Blobs,
        deadline: UnixMs,
        framing: Framing,
        idle: Duration,
    ) -> Result<Opening, Outage> {
        let (response, end) = self.respond(call, blobs, deadline).await?;
        let mut response = response.map(Peeked::new);
        let is_stream = match kind(&response, framing) {
            Kind::Stream => Ok(true),
            Kind::Reply => Ok(false),
            Kind::Open(of) => response.body_mut().is_stream(of, end).await,
        };
        if !is_stream.map_err(|cut| self.lost(cut.into()))? {
            return self.read(response, end).await.map(Opening::Reply);
        }
        let limit = usize::try_from(self.origin().checked.max_reply).unwrap_or(usize::MAX);
        let (head, body) = response.into_parts();
        let headers = headers_for_plugin(&head.headers, &self.redactor());
        Ok(Opening::Events(Box::new(Events::new(body, headers, self, idle, Frames::new(framing, limit)))))
    }
}

/// What the head of an answer says of its body.
enum Kind {
    Stream,
    Reply,
    /// Nothing: its first bytes do.
    Open(Beginning),
}

/// Other frames than events have types of any name, and often that of one body. Events should have one of their own, which
/// servers and what stands before them replace.
fn kind<B>(response: &Response<B>, framing: Framing) -> Kind {
    let named =
        response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let named = named.split(';').next().unwrap_or_default().trim();
    let is_one_of = |kinds: &[&str]| kinds.iter().any(|kind| kind.eq_ignore_ascii_case(named));
    match framing {
        _ if !response.status().is_success() => Kind::Reply,
        Framing::Lines | Framing::JsonArray => Kind::Stream,
        _ if is_one_of(&["text/event-stream"]) => Kind::Stream,
        Framing::Sse if is_one_of(&LINES) => Kind::Open(Beginning::Lines),
        Framing::Sse => Kind::Open(Beginning::Events),
        // Of a body, or of a list of frames, its reader knows what it is.
        Framing::Whole => Kind::Open(Beginning::Body),
    }
}

/// Lets the connection's task hand over its next frame: it hands them over one by one, each after the one before was
/// taken. Tokio's own yield would ask the system for news every time.
async fn let_connection_run() {
    let mut has_run = false;
    poll_fn(|cx| {
        if std::mem::replace(&mut has_run, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// A batch is searched as one text: to search each of its small events by itself costs several times as much.
pub(crate) fn redact(redactor: &Redactor, events: &mut [Sse]) {
    let is_in = match &*events {
        [event] => redactor.is_in(event.data.as_bytes()),
        events => {
            let texts: Vec<&str> = events.iter().map(|event| event.data.as_str()).collect();
            redactor.is_in(texts.join("\n").as_bytes())
        }
    };
    if !is_in {
        return;
    }
    for event in events {
        let redacted = redactor.clean(std::mem::take(&mut event.data).into_bytes());
        event.data = String::from_utf8_lossy(&redacted).into_owned();
    }
}

impl<B: Body<Data = Bytes, Error: std::error::Error + 'static> + Unpin> Events<B> {
    pub(crate) fn new(
        body: B,
        headers: Vec<Header>,
        permit: CallPermit,
        idle: Duration,
        frames: Frames,
    ) -> Self {
        let (received, handed, cut, ends, over) = (0, None, None, None, false);
        Self { body, frames, permit, idle, headers, received, handed, cut, ends, over }
    }

    /// The pause that the head of the answer asks for.
    #[must_use]
    pub fn retry_after(&self, now: UnixMs) -> Option<Duration> {
        let asked = self.headers.iter().find(|header| header.name.eq_ignore_ascii_case("retry-after"))?;
        retry_after::parse(&asked.value, now)
    }

    /// The next events, all that are here already; `None` when the provider has closed the stream in order.
    ///
    /// The first batch is never delayed, and neither is one that comes after a pause.
    ///
    /// # Errors
    /// The stream broke, fell silent or grew an event beyond the limit; it is over then. Every event from
    /// before that has been handed on.
    pub async fn next(&mut self) -> Result<Option<Vec<Sse>>, Outage> {
        let mut events = vec![];
        let gathered = self.gather(&mut events).await;
        self.handed = Some(Instant::now());
        if events.is_empty() {
            return gathered.and_then(|()| self.cut.take().map_or(Ok(None), Err));
        }
        self.cut = gathered.err();
        redact(&self.permit.redactor(), &mut events);
        Ok(Some(events))
    }

    /// The stream in place of one body, as a reply: a list of the objects in it, and of its words, such as `"[DONE]"`, as texts. What
    /// the name of an event says more than its object does is written into the object.
    ///
    /// # Errors
    /// As [`Events::next`]; the whole of it is larger than one body may be.
    pub async fn listed(mut self) -> Result<Reply, Outage> {
        let max = self.permit.origin().checked.max_reply;
        let mut list = String::from("[");
        while let Some(events) = self.next().await? {
            if self.received > max {
                return Err(self.broken(Outage::TooLarge, "a stream in place of one body"));
            }
            for event in &events {
                let Some(item) = item(event) else { continue };
                if list.len() > 1 {
                    list.push(',');
                }
                list.push_str(&item);
            }
        }
        list.push(']');
        let affinity = self.permit.affinity();
        Ok(Reply {
            status: 200,
            headers: self.headers,
            body: gatehouse_model::Body::Inline(list.into()),
            affinity,
        })
    }

    async fn gather(&mut self, events: &mut Vec<Sse>) -> Result<(), Outage> {
        if let Some(handed) = self.handed.filter(|handed| handed.elapsed() < GATHER) {
            // While the connection is not read, the socket gathers bytes: a pause of the network's, which no task waits for.
            sleep_until(handed + GATHER).await;
        }
        while events.is_empty() && !self.over {
            let due = self.ends.unwrap_or_else(|| Instant::now() + self.idle);
            match timeout_at(due, self.body.frame()).await {
                Ok(frame) => self.take(frame, events)?,
                // Nothing is missing: it ends as if the connection were closed.
                Err(_) if self.ends.is_some() => self.take(None, events)?,
                Err(_) => return Err(self.broken(Outage::Timeout, "silence")),
            }
        }
        let before = self.received;
        while !self.over && self.received - before < BATCH {
            let mut frame = self.body.frame().now_or_never();
            if frame.is_none() {
                let_connection_run().await;
                frame = self.body.frame().now_or_never();
            }
            let Some(frame) = frame else { break };
            self.take(frame, events)?;
        }
        Ok(())
    }

    fn take(
        &mut self,
        frame: Option<Result<Frame<Bytes>, B::Error>>,
        events: &mut Vec<Sse>,
    ) -> Result<(), Outage> {
        match frame {
            None => {
                self.over = true;
                self.frames.end(events);
            }
            Some(Err(_)) if self.ends.is_some() => self.over = true,
            Some(Err(error)) => return Err(self.broken(Outage::Broken, &chain(&error))),
            Some(Ok(frame)) => {
                let Ok(data) = frame.into_data() else { return Ok(()) };
                if self.received == 0 && !data.is_empty() {
                    // Not with its head, which would forgive every stream before it that ended there.
                    self.permit.report(HealthSignal::Healthy);
                }
                self.received += data.len() as u64;
                let known = events.len();
                if let Err(large) = self.frames.feed(&data, events) {
                    return Err(self.broken(Outage::TooLarge, &large.to_string()));
                }
                if self.ends.is_none() && events[known..].iter().any(is_end) {
                    self.ends = Some(Instant::now() + AFTER_END);
                }
            }
        }
        Ok(())
    }

    fn broken(&mut self, outage: Outage, detail: &str) -> Outage {
        self.over = true;
        // A provider that has begun to answer works; a breaker opened by answers cut later would fail all the others too.
        if outage != Outage::TooLarge && self.received == 0 {
            let error = format!("a stream ended before it began: {detail}");
            self.permit.report_error(error, HealthSignal::Failing);
        }
        let (provider, account) = (self.permit.provider(), self.permit.account());
        tracing::warn!(provider, account, ?outage, detail, received = self.received, "a stream was cut");
        outage
    }
}

/// Whether an event says that all is done.
fn is_end(event: &Sse) -> bool {
    event.data.trim() == "[DONE]" || event.event.as_deref() == Some("message_stop")
}

/// An event in a list of events; `None` where it says nothing.
fn item(event: &Sse) -> Option<String> {
    let data = event.data.trim();
    if data.is_empty() {
        return None;
    }
    let name = event.event.as_deref().unwrap_or_default();
    if !data.starts_with('{') {
        let word = Value::from(data);
        return Some(if name == "error" { json!({"error": {"message": word}}) } else { word }.to_string());
    }
    let has = |member: &str| {
        serde_json::from_str::<BTreeMap<String, IgnoredAny>>(data)
            .is_ok_and(|object| object.contains_key(member))
    };
    Some(match name {
        "error" if !has("error") => format!("{{\"error\":{data}}}"),
        kind if (kind.starts_with("message_") || kind.starts_with("content_block_")) && !has("type") => {
            let rest = data[1..].trim_start();
            let comma = if rest.starts_with('}') { "" } else { "," };
            format!("{{\"type\":{}{comma}{rest}", Value::from(kind))
        }
        _ => data.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without it a failure is left out of the list, and half an answer is told as a whole one.
    #[test]
    fn an_event_in_a_list_says_what_it_said() {
        for (name, data, expected) in [
            (None, " ", None),
            (None, "[DONE]", Some("\"[DONE]\"")),
            (None, "upstream \"a\" failed", Some("\"upstream \\\"a\\\" failed\"")),
            (None, "{\"a\": 1}", Some("{\"a\": 1}")),
            (Some("chunk"), "{\"a\": 1}", Some("{\"a\": 1}")),
            (Some("error"), "{\"message\":\"m\"}", Some("{\"error\":{\"message\":\"m\"}}")),
            (Some("error"), "{\"error\":{}}", Some("{\"error\":{}}")),
            (Some("error"), "no", Some("{\"error\":{\"message\":\"no\"}}")),
            (Some("message_stop"), "{}", Some("{\"type\":\"message_stop\"}")),
            (
                Some("content_block_stop"),
                "{\"index\":0}",
                Some("{\"type\":\"content_block_stop\",\"index\":0}"),
            ),
            (Some("message_stop"), "{\"type\":\"x\"}", Some("{\"type\":\"x\"}")),
        ] {
            let event = Sse { event: name.map(str::to_owned), data: data.to_owned() };
            assert_eq!(item(&event).as_deref(), expected, "{name:?} {data}");
        }
    }
}
