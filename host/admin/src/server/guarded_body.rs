//! A body that keeps what its answer needs until its last byte has left: the connection counts as in use, and a stream
//! of events counts as one.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use gatehouse_net::RequestActivity;
use http_body::{Body, Frame, SizeHint};

use super::connections::StreamOn;

/// The body of an answer on a connection.
pub(super) struct GuardedBody {
    body: axum::body::Body,
    activity: RequestActivity,
    stream: Option<Stream>,
}

/// A stream of events: it counts as one, and ends with the listener.
pub(super) struct Stream {
    pub(super) _counted: StreamOn,
    pub(super) end: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl GuardedBody {
    pub(super) fn new(body: axum::body::Body, activity: RequestActivity, stream: Option<Stream>) -> Self {
        Self { body, activity, stream }
    }
}

impl Body for GuardedBody {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, std::io::Error>>> {
        if let Some(stream) = &mut self.stream
            && stream.end.as_mut().poll(context).is_ready()
        {
            return Poll::Ready(None);
        }
        let polled = Pin::new(&mut self.body).poll_frame(context);
        if polled.is_ready() {
            self.activity.record_progress();
        }
        polled.map(|frame| frame.map(|frame| frame.map_err(std::io::Error::other)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
