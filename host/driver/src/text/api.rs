//! The types of text requests: what `edge` hands in, what it gets back, and why there is no answer.

use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use gatehouse_model::{Header, Key, Obstacle, Pause, RequestId, Sse};
use gatehouse_store::StoreError;
use tokio::sync::mpsc;

use crate::api::DryRun;
use crate::body::CheckedBody;
use crate::errors::SubmitError;
use crate::request_report::RequestReport;

/// A text request of an authenticated caller.
pub struct CompletionRequest {
    /// Its id, under which its money is held.
    pub id: RequestId,
    /// The caller's key.
    pub key: Arc<Key>,
    /// "messages.create", "chat.completions", "responses.create" or "embeddings.create".
    pub surface: &'static str,
    /// What the client sent.
    pub body: CheckedBody,
    /// Those of the client's headers that a family may see.
    pub headers: Vec<Header>,
    /// Filled with what is left of the key's rates, and with what it holds and pays.
    pub report: RequestReport,
}

/// What a text request is answered with.
#[derive(Debug)]
pub enum CompletionResponse {
    /// The client's body, JSON.
    Whole(Bytes),
    /// Its events.
    Stream(TextStream),
    /// What it would come to: the body asked for no more.
    DryRun(DryRun),
}

/// One batch of a stream, or the error that ends it.
type StreamItem = Result<Vec<Sse>, TextError>;

/// A stream's events in batches. Dropping it means that the client has disconnected.
pub struct TextStream {
    batches: mpsc::Receiver<StreamItem>,
    first: Option<Vec<Sse>>,
    /// Ends when the client is to get its head; `None` once it is.
    head: Option<Pause>,
}

impl fmt::Debug for TextStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TextStream")
    }
}

impl From<mpsc::Receiver<StreamItem>> for TextStream {
    /// Of a client that is to get its head at once.
    fn from(batches: mpsc::Receiver<StreamItem>) -> Self {
        Self::new(batches, None)
    }
}

impl TextStream {
    pub(super) fn new(batches: mpsc::Receiver<StreamItem>, head: Option<Pause>) -> Self {
        Self { batches, first: None, head }
    }

    /// Waits for the first events, at most until the client is to get its head.
    ///
    /// # Errors
    /// The stream ended before it had any events: the client can still be told so by a status.
    pub async fn begin(&mut self) -> Result<(), TextError> {
        let Some(mut head) = self.head.take() else { return Ok(()) };
        poll_fn(|cx| match self.batches.poll_recv(cx) {
            Poll::Ready(Some(Ok(events))) => {
                self.first = Some(events);
                Poll::Ready(Ok(()))
            }
            Poll::Ready(Some(Err(error))) => Poll::Ready(Err(error)),
            Poll::Ready(None) => Poll::Ready(Ok(())),
            Poll::Pending => head.as_mut().poll(cx).map(Ok),
        })
        .await
    }

    /// The next events; `None` after the terminal one. An error is the last item.
    pub fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<StreamItem>> {
        match self.first.take() {
            Some(events) => Poll::Ready(Some(Ok(events))),
            None => self.batches.poll_recv(cx),
        }
    }
}

/// Why a text request has no answer, or a stream no end. Nothing is charged except for what a cut stream had
/// delivered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TextError {
    /// Not accepted.
    #[error(transparent)]
    Refused(#[from] SubmitError),
    /// No provider account answered.
    #[error("{message}")]
    Rejected {
        /// What stood in the way.
        obstacle: Obstacle,
        /// For the client.
        message: String,
        /// The path of the field that is wrong, where it is known.
        field: Option<String>,
        /// When another try makes sense.
        retry_after: Option<Duration>,
    },
    /// The provider took too long.
    #[error("the provider did not answer in time")]
    Timeout,
    /// No account may be used at present.
    #[error("no account of the model's provider can take a request at present, retry in a moment")]
    Unavailable {
        /// When another try makes sense.
        retry_after: Option<Duration>,
    },
}

impl From<StoreError> for TextError {
    fn from(error: StoreError) -> Self {
        SubmitError::from(error).into()
    }
}

impl TextError {
    /// What it was, for a trace: no word of a provider, a plugin or a client.
    pub(crate) fn outline(&self) -> String {
        match self {
            Self::Refused(_) => "refused".to_owned(),
            Self::Rejected { obstacle, .. } => format!("{obstacle:?}"),
            Self::Timeout | Self::Unavailable { .. } => self.to_string(),
        }
    }

    /// A failure of the provider, in words for the client.
    pub(crate) fn upstream(message: impl Into<String>) -> Self {
        Self::Rejected {
            obstacle: Obstacle::Upstream,
            message: message.into(),
            field: None,
            retry_after: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use super::*;

    fn events(data: &str) -> Vec<Sse> {
        vec![Sse { event: None, data: data.to_owned() }]
    }

    async fn rest(stream: &mut TextStream) -> Vec<Vec<Sse>> {
        let mut batches = vec![];
        while let Some(batch) = poll_fn(|cx| stream.poll_next(cx)).await {
            batches.push(batch.expect("events"));
        }
        batches
    }

    #[tokio::test]
    async fn a_stream_begins_with_its_first_events() {
        let (sender, batches) = mpsc::channel(4);
        let mut stream = TextStream::new(batches, Some(Box::pin(pending())));
        for data in ["1", "2"] {
            sender.send(Ok(events(data))).await.expect("taken");
        }
        drop(sender);
        stream.begin().await.expect("begun");
        assert_eq!(rest(&mut stream).await, [events("1"), events("2")]);
    }

    #[tokio::test]
    async fn a_failure_before_the_first_events_is_no_stream() {
        let (sender, batches) = mpsc::channel(4);
        let mut stream = TextStream::new(batches, Some(Box::pin(pending())));
        sender.send(Err(TextError::Timeout)).await.expect("taken");
        assert!(matches!(stream.begin().await, Err(TextError::Timeout)));
    }

    #[tokio::test]
    async fn a_client_waits_for_its_head_no_longer_than_it_should() {
        for head in [None, Some(Box::pin(ready(())) as Pause)] {
            let (sender, batches) = mpsc::channel(4);
            let mut stream = TextStream::new(batches, head);
            stream.begin().await.expect("the head is due");
            sender.send(Ok(events("late"))).await.expect("taken");
            drop(sender);
            assert_eq!(rest(&mut stream).await, [events("late")]);
        }
    }
}
