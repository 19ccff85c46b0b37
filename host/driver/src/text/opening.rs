//! A stream that an account has opened: its events go through the plugin, batch by batch. Until the first of them is for the
//! client another account may still answer, so the first batches are read before the stream is anybody's.

use std::pin::pin;

use gatehouse_model::{Chunk, Obstacle, Outage, Sse, TextFailure};
use gatehouse_runtime::{Fault, Relay};
use gatehouse_upstream::{AccountPermit, Events};

use crate::state::DriverState;
use crate::text::pump::Client;

/// A stream whose account has answered.
pub(super) struct OpenStream {
    pub(super) batches: Batches,
    pub(super) account_permit: AccountPermit,
}

/// What the client is to read of a provider's stream.
pub(super) struct Batches {
    source: EventSource,
    pub(super) relay: Box<Relay>,
    /// Read before the stream was the client's.
    first: Option<Batch>,
}

/// What became of some of the provider's events.
pub(super) struct Batch {
    pub(super) pushed: Result<Result<Chunk, TextFailure>, Fault>,
    /// They were the last.
    pub(super) is_closed: bool,
}

/// Where a stream's events come from.
pub(super) enum EventSource {
    Events(Box<Events>),
    /// A provider that was asked for a stream and answered whole: all of it is one event.
    Body(Option<Sse>),
}

/// Why a stream has nothing for the client.
pub(super) enum NoStream {
    Failure(TextFailure),
    Fault(Fault),
    Outage(Outage),
    /// Nobody waits for it any more.
    Abandoned,
}

impl EventSource {
    /// The next events; `None` at the end.
    async fn next(&mut self) -> Result<Option<Vec<Sse>>, Outage> {
        match self {
            Self::Events(events) => events.next().await,
            Self::Body(body) => Ok(body.take().map(|body| vec![body])),
        }
    }
}

impl Batch {
    /// Whether there is nothing in it, and more to come.
    fn is_silent(&self) -> bool {
        let says = |chunk: &Chunk| !chunk.send.is_empty() || chunk.last || chunk.usage.is_some();
        !self.is_closed && matches!(&self.pushed, Ok(Ok(chunk)) if !says(chunk) && chunk.output_bytes == 0)
    }
}

impl Batches {
    pub(super) fn new(source: EventSource, relay: Box<Relay>) -> Self {
        Self { source, relay, first: None }
    }

    /// The next batch.
    pub(super) async fn next(&mut self) -> Result<Batch, Outage> {
        if let Some(first) = self.first.take() {
            return Ok(first);
        }
        Ok(match self.source.next().await? {
            Some(events) => Batch { pushed: self.relay.push(events).await, is_closed: false },
            None => Batch { pushed: self.relay.end().await, is_closed: true },
        })
    }

    /// Reads up to the first batch that is for the client.
    async fn begin(&mut self) -> Result<(), NoStream> {
        loop {
            let batch = self.next().await.map_err(NoStream::Outage)?;
            if batch.is_silent() {
                continue;
            }
            match batch.pushed {
                Ok(Err(failure)) => return Err(NoStream::Failure(failure)),
                Err(fault) => return Err(NoStream::Fault(fault)),
                Ok(Ok(chunk)) if batch.is_closed && !chunk.last && chunk.send.is_empty() => {
                    return Err(NoStream::Failure(broke_off()));
                }
                pushed @ Ok(Ok(_)) => {
                    self.first = Some(Batch { pushed, is_closed: batch.is_closed });
                    return Ok(());
                }
            }
        }
    }
}

impl DriverState {
    /// Waits for the first batch as long as the client does, and no longer than for a whole answer.
    pub(super) async fn begin_stream(
        &self,
        stream: &mut OpenStream,
        client: &Client,
    ) -> Result<(), NoStream> {
        let OpenStream { batches, account_permit } = stream;
        let gone = async {
            client.closed().await;
            let has_to_end = account_permit.abandon();
            tokio::select! {
                () = self.clock.pause(self.config.text.drain()) => {}
                () = has_to_end.notified() => {}
            }
        };
        let (gone, time_limit) = (pin!(gone), self.clock.pause(self.config.text.time_limit()));
        tokio::select! {
            began = batches.begin() => began,
            () = gone => Err(NoStream::Abandoned),
            () = time_limit => Err(NoStream::Outage(Outage::Timeout)),
        }
    }
}

fn broke_off() -> TextFailure {
    TextFailure { obstacle: Obstacle::Upstream, message: "the provider's answer broke off".to_owned() }
}
