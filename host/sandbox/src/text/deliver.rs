//! Sends an answer the way its markers want it: whole or streamed, on time or not, unbroken or not.

use std::io::{self, Write as _};

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::{HeaderName, HeaderValue, Response, StatusCode, header};
use serde_json::Value;

use super::body::body;
use super::desk::Visit;
use super::faults::{Faults, Mark};
use super::seed::Seed;
use super::trouble::{self, Step};
use super::truth::Usage;
use crate::line::Trip;
use crate::server::{Answer, Body, Cut, whole};

/// What an event is to the stream's trouble.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// A piece of the answer: these are counted.
    Delta,
    /// The one after which nothing comes.
    End,
    /// All others.
    Frame,
}

/// One server-sent event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) name: Option<&'static str>,
    /// One line.
    pub(crate) data: String,
    pub(crate) part: Part,
}

impl Event {
    /// The same event with spaces before its last brace.
    pub(crate) fn padded(&self, spaces: usize) -> Self {
        let mut padded = self.clone();
        if let Some(end) = padded.data.rfind('}') {
            padded.data.insert_str(end, &" ".repeat(spaces));
        }
        padded
    }
}

/// Everything a wire has to say to one request.
pub(crate) struct Draft {
    /// The answer in one piece.
    pub(crate) whole: Value,
    /// The same answer as events.
    pub(crate) events: Vec<Event>,
    /// What an error looks like inside a stream, and as a body.
    pub(crate) error: Event,
    pub(crate) error_body: Value,
    /// An event no client can know.
    pub(crate) odd: Event,
    /// A stream was asked for.
    pub(crate) streams: bool,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) usage: Usage,
    pub(crate) faults: Faults,
    pub(crate) seed: Seed,
}

/// A reply that is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) status: StatusCode,
    pub(crate) mime: &'static str,
    pub(crate) body: String,
    pub(crate) headers: Vec<(&'static str, String)>,
}

/// Sends an answer.
pub(crate) async fn deliver(visit: Visit, trip: Trip, draft: Draft) -> Answer {
    let faults = &draft.faults;
    if faults.has(Mark::SlowStart) {
        visit.desk.hold().await;
    }
    visit.answered(200);
    visit.billed(draft.usage);
    let streams = (draft.streams || faults.has(Mark::StreamForJson))
        && !faults.has(Mark::JsonForStream)
        && !faults.has(Mark::ErrorBody);
    let mime = match (streams, faults.has(Mark::WrongType)) {
        (false, false) | (true, true) => "application/json",
        (true, false) => "text/event-stream; charset=utf-8",
        (false, true) => "text/html; charset=utf-8",
    };
    let said = if faults.has(Mark::ErrorBody) { &draft.error_body } else { &draft.whole };
    let said = Bytes::from(said.to_string());
    let mut steps = if streams { trouble::stream(&draft) } else { trouble::whole(&draft, said.clone()) };
    let mut response = Response::new(());
    if faults.has(Mark::Gzip) {
        steps = vec![Step::Bytes(gzip(&steps).map_err(|_| Cut)?)];
        response.headers_mut().insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    } else if !streams && !faults.has(Mark::Cut) {
        response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(said.len()));
    }
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(mime));
    add(response.headers_mut(), &draft.headers);
    Ok(response.map(|()| body(steps, visit, trip)))
}

/// Sends a refusal.
pub(crate) fn refuse(mut visit: Visit, refused: Refused) -> Response<Body> {
    visit.answered(refused.status.as_u16());
    visit.sent(refused.body.len());
    visit.over();
    let mut response = Response::new(whole(refused.body));
    *response.status_mut() = refused.status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(refused.mime));
    add(response.headers_mut(), &refused.headers);
    response
}

fn add(to: &mut http::HeaderMap, headers: &[(&'static str, String)]) {
    for (name, value) in headers {
        let value = HeaderValue::from_str(value).expect("wires write headers of letters and digits");
        to.append(HeaderName::from_static(name), value);
    }
}

/// All the bytes, compressed; pauses and breaks are left out.
fn gzip(steps: &[Step]) -> io::Result<Bytes> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    for step in steps {
        if let Step::Bytes(bytes) = step {
            encoder.write_all(bytes)?;
        }
    }
    encoder.finish().map(Bytes::from)
}
