//! Sends a reply: head, content type and encoding as the markers demand, and the body whose steps `steps` made.

use std::io::{self, Write as _};

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::{HeaderName, HeaderValue, Response, header};

use super::body::stream_body;
use super::reply::ReplyPlan;
use super::steps::{self, Step};
use crate::common::connection::ResetSwitch;
use crate::common::server::{Body, HandlerResult, reply};
use crate::text::markers::Marker;
use crate::text::provider::RequestGuard;

/// Sends an answer.
pub(crate) async fn send_answer(
    guard: RequestGuard,
    reset_switch: ResetSwitch,
    plan: ReplyPlan,
) -> HandlerResult {
    let faults = &plan.faults;
    if faults.has(Marker::SlowStart) {
        guard.provider.hold().await;
    }
    guard.update(|request| (request.status, request.usage) = (Some(200), Some(plan.usage)));
    let streams = (plan.streams || faults.has(Marker::StreamForJson))
        && !faults.has(Marker::JsonForStream)
        && !faults.has(Marker::ErrorBody);
    let mime = match (streams, faults.has(Marker::WrongType)) {
        (false, false) | (true, true) => "application/json",
        (true, false) => "text/event-stream; charset=utf-8",
        (false, true) => "text/html; charset=utf-8",
    };
    let body = if faults.has(Marker::ErrorBody) { &plan.error_body } else { &plan.whole };
    let body_bytes = Bytes::from(body.to_string());
    let mut all = if streams { steps::stream(&plan) } else { steps::whole(&plan, body_bytes.clone()) };
    let mut response = Response::new(());
    if faults.has(Marker::Gzip) {
        all = vec![Step::Bytes(gzip(&all)?)];
        response.headers_mut().insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    } else if !streams && !faults.has(Marker::Cut) {
        response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(body_bytes.len()));
    }
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(mime));
    add(response.headers_mut(), &plan.headers);
    Ok(response.map(|()| stream_body(all, guard, reset_switch)))
}

/// Sends a reply in one piece, without faults: an error, or a count.
pub(crate) fn send_whole(
    mut guard: RequestGuard,
    status: u16,
    mime: &'static str,
    body: String,
    headers: &[(&'static str, String)],
) -> Response<Body> {
    guard.update(|request| request.status = Some(status));
    guard.sent(body.len());
    guard.finish();
    let mut response = reply(status, mime, body);
    add(response.headers_mut(), headers);
    response
}

fn add(to: &mut http::HeaderMap, headers: &[(&'static str, String)]) {
    for (name, value) in headers {
        let value = HeaderValue::from_str(value).expect("protocols write headers of visible ASCII");
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
