//! The part of a page that follows what happens: the same HTML as at the load, sent again when it has changed, at most
//! once a second, until the session or the listener ends.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use gatehouse_admin::{ResponseBody, Sessions, StreamEnd};
use gatehouse_model::{Clock, Digest};
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, Response};
use http_body::{Body, Frame};
use maud::Markup;
use tokio::sync::mpsc;

/// Between two looks.
pub(crate) const INTERVAL: Duration = Duration::from_secs(1);
/// Looks without a change after which a comment shows that the stream is alive.
const QUIET: u32 = 15;

/// What a look gives.
pub(crate) struct Fragment {
    pub(crate) html: Markup,
    /// Nothing will change any more: the stream ends after it.
    pub(crate) is_last: bool,
}

impl From<Markup> for Fragment {
    fn from(html: Markup) -> Self {
        Self { html, is_last: false }
    }
}

/// A stream of events: a fragment whenever what `look` gives has another text.
pub(crate) fn stream<F>(
    clock: Arc<dyn Clock>,
    sessions: Arc<Sessions>,
    session: u64,
    mut end: StreamEnd,
    look: impl Fn() -> F + Send + 'static,
) -> Response<ResponseBody>
where
    F: Future<Output = Option<Fragment>> + Send,
{
    let (sender, receiver) = mpsc::channel(1);
    tokio::spawn(async move {
        let follow = follow(&*clock, &sessions, session, &sender, look);
        tokio::select! {
            () = end.reached() => {}
            () = sender.closed() => {}
            () = follow => {}
        }
    });
    let mut response = Response::new(ResponseBody::new(EventBody(receiver)));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    response.headers_mut().insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

/// Looks until the client is gone or its session is over.
async fn follow<F>(
    clock: &dyn Clock,
    sessions: &Sessions,
    session: u64,
    sender: &mpsc::Sender<Bytes>,
    look: impl Fn() -> F,
) where
    F: Future<Output = Option<Fragment>>,
{
    let (mut last, mut quiet) = (None, 0);
    while sessions.is_open(session) {
        // What cannot be read now may be read at the next look.
        let found = look().await;
        let is_last = found.as_ref().is_some_and(|found| found.is_last);
        let text = found.map(|found| found.html.into_string()).unwrap_or_default();
        let digest = Digest::of(text.as_bytes());
        let event = if text.is_empty() || last == Some(digest) {
            quiet += 1;
            (quiet % QUIET == 0).then(|| Bytes::from_static(b": alive\n\n"))
        } else {
            last = Some(digest);
            Some(event(&text))
        };
        if let Some(event) = event
            && sender.send(event).await.is_err()
        {
            return;
        }
        if is_last {
            // Without this word a browser would come back.
            let _gone = sender.send(Bytes::from_static(b"event: over\ndata:\n\n")).await;
            return;
        }
        clock.pause(INTERVAL).await;
    }
}

/// One event; every line of the text is a line of data.
fn event(text: &str) -> Bytes {
    let mut event = String::from("event: fragment\n");
    for line in text.lines() {
        event += "data: ";
        event += line;
        event.push('\n');
    }
    event.push('\n');
    event.into()
}

/// The body of the stream.
struct EventBody(mpsc::Receiver<Bytes>);

impl Body for EventBody {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, std::io::Error>>> {
        self.0.poll_recv(context).map(|event| event.map(|event| Ok(Frame::data(event))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_data() {
        assert_eq!(event("<p>a</p>\n\nb"), "event: fragment\ndata: <p>a</p>\ndata: \ndata: b\n\n");
    }
}
