//! What answers without a key hold until their clients take them: bounded for one connection and for all.
//!
//! HTTP/2 lets a client open a hundred streams and take nothing of their answers. What a key asks for counts among its
//! requests; what anybody may ask for counts here. Beyond a bound an answer leaves without its body: then it needs none
//! of the client's window, and is gone at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use http::{HeaderValue, Response, StatusCode, header};

use crate::response::ResponseBody;

/// What an answer takes beside its body: its stream, its head, its access record.
const OVERHEAD: usize = 2 * 1024;
/// Bytes of one connection.
const MAX_OF_CONNECTION: usize = 128 * 1024;
/// Bytes of all connections.
const MAX_OF_ALL: usize = 16 << 20;

/// A count of bytes that are held.
#[derive(Clone, Debug, Default)]
struct Held(Arc<AtomicUsize>);

/// The answers of all connections.
#[derive(Debug, Default)]
pub(crate) struct UnreadAnswers(Held);

/// Those of one connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct UnreadOnConnection(Held);

/// One answer that is not taken yet; counted until it is dropped, by its access record and by the last of its bytes.
#[derive(Debug)]
pub(crate) struct UnreadAnswer {
    held: [Held; 2],
    bytes: usize,
}

impl Held {
    fn take(&self, bytes: usize, most: usize) -> bool {
        let fits = |held: usize| held.checked_add(bytes).filter(|held| *held <= most);
        self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, fits).is_ok()
    }

    fn give_back(&self, bytes: usize) {
        self.0.fetch_sub(bytes, Ordering::AcqRel);
    }
}

impl UnreadAnswers {
    /// Counts the answer of a request without a key, or takes its body away. One that is all body becomes a 503 then; any
    /// other keeps its status.
    pub(crate) fn admit(
        &self,
        connection: &UnreadOnConnection,
        response: &mut Response<ResponseBody>,
    ) -> Option<UnreadAnswer> {
        if http_body::Body::is_end_stream(response.body()) {
            return None;
        }
        let bytes = OVERHEAD + response.body().own_bytes();
        if connection.0.take(bytes, MAX_OF_CONNECTION) {
            if self.0.take(bytes, MAX_OF_ALL) {
                return Some(UnreadAnswer { held: [connection.0.clone(), self.0.clone()], bytes });
            }
            connection.0.give_back(bytes);
        }
        take_body(response);
        None
    }
}

fn take_body(response: &mut Response<ResponseBody>) {
    let is_all_body = matches!(response.body(), ResponseBody::Shared(_));
    *response.body_mut() = ResponseBody::empty();
    let headers = response.headers_mut();
    for name in [header::CONTENT_LENGTH, header::CONTENT_TYPE, header::ETAG] {
        headers.remove(name);
    }
    if is_all_body {
        headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    }
}

impl Drop for UnreadAnswer {
    fn drop(&mut self) {
        self.held.iter().for_each(|held| held.give_back(self.bytes));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::response::SharedBody;

    fn refusal() -> Response<ResponseBody> {
        let mut response = Response::new(ResponseBody::Whole(vec![b'x'; 1024].into()));
        *response.status_mut() = StatusCode::UNAUTHORIZED;
        response
    }

    fn page() -> Response<ResponseBody> {
        Response::new(ResponseBody::Shared(SharedBody::of(vec![b'x'; 1 << 20].into())))
    }

    #[test]
    fn beyond_a_bound_an_answer_loses_its_body_and_a_page_its_status() {
        let (all, connection) = (UnreadAnswers::default(), UnreadOnConnection::default());
        let mut held = Vec::new();
        while let Some(answer) = all.admit(&connection, &mut refusal()) {
            held.push(answer);
        }
        assert_eq!(held.len(), MAX_OF_CONNECTION / (OVERHEAD + 1024));
        let mut response = refusal();
        assert!(all.admit(&connection, &mut response).is_none());
        let is_empty = |response: &Response<_>| http_body::Body::is_end_stream(response.body());
        assert_eq!((response.status(), is_empty(&response)), (StatusCode::UNAUTHORIZED, true));
        let mut response = page();
        held.extend(std::iter::from_fn(|| all.admit(&connection, &mut page())));
        assert!(all.admit(&connection, &mut response).is_none());
        assert_eq!((response.status(), is_empty(&response)), (StatusCode::SERVICE_UNAVAILABLE, true));
        let other = UnreadOnConnection::default();
        assert!(all.admit(&other, &mut page()).is_some(), "a shared page counts as no more than its stream");
        drop(held);
        assert!(all.admit(&connection, &mut refusal()).is_some());
        assert_eq!(all.0.0.load(Ordering::Acquire), 0, "all are gone");
    }

    #[test]
    fn all_connections_together_have_a_bound() {
        let all = UnreadAnswers::default();
        let connections: Vec<_> = (0..400).map(|_| UnreadOnConnection::default()).collect();
        let mut held = Vec::new();
        for connection in &connections {
            while let Some(answer) = all.admit(connection, &mut refusal()) {
                held.push(answer);
            }
        }
        let bytes: usize = held.iter().map(|answer| answer.bytes).sum();
        assert!(bytes <= MAX_OF_ALL && bytes > MAX_OF_ALL - 4 * OVERHEAD, "{bytes}");
    }
}
