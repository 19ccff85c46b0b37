//! The part of a page that follows what happens: the same HTML as at the load, sent again when it has changed, at most
//! once a second. The listener ends it with its session, or with itself.

use std::convert::Infallible;
use std::future::Future;
use std::time::Duration;

use axum::response::IntoResponse as _;
use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use gatehouse_admin::ResponseBody;
use gatehouse_model::Digest;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderName, Response};
use maud::Markup;
use tokio::sync::mpsc;

use crate::request::PageRequest;

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

/// A stream of events: a fragment whenever what `look` gives for the request has another text.
pub(crate) fn stream<F>(
    request: PageRequest,
    look: impl Fn(PageRequest) -> F + Send + 'static,
) -> Response<ResponseBody>
where
    F: Future<Output = Option<Fragment>> + Send,
{
    let (sender, mut receiver) = mpsc::channel(1);
    tokio::spawn(async move {
        tokio::select! {
            () = sender.closed() => {}
            () = follow(&request, &sender, look) => {}
        }
    });
    let events = stream::poll_fn(move |context| receiver.poll_recv(context));
    let headers = [
        (CONTENT_TYPE, "text/event-stream"),
        (CACHE_CONTROL, "no-cache, no-transform"),
        (HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    (headers, ResponseBody::from_stream(events.map(Ok::<_, Infallible>))).into_response()
}

/// Looks until the client is gone; the listener drops the stream with its session.
async fn follow<F>(request: &PageRequest, sender: &mpsc::Sender<Bytes>, look: impl Fn(PageRequest) -> F)
where
    F: Future<Output = Option<Fragment>>,
{
    let (mut last, mut quiet) = (None, 0);
    loop {
        // What cannot be read now may be read at the next look.
        let found = look(request.clone()).await;
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
        request.pages.service.clock.pause(INTERVAL).await;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_data() {
        assert_eq!(event("<p>a</p>\n\nb"), "event: fragment\ndata: <p>a</p>\ndata: \ndata: b\n\n");
    }
}
