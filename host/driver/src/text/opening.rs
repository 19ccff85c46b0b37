//! A stream that an account has opened: its events go through the plugin, batch by batch. Until something of it is the
//! client's another account may still answer, so the first batches are read before the stream is anybody's: the head of an
//! answer is held back until there is content.

use std::collections::VecDeque;
use std::pin::pin;
use std::sync::Arc;

use gatehouse_model::{Chunk, Obstacle, Outage, Pause, Span, Sse, TextFailure, UnixMs, Usage};
use gatehouse_runtime::{Fault, Relay, Version};
use gatehouse_upstream::{AccountPermit, Events};

use crate::text::attempt::TextCalls;
use crate::text::left::Produced;
use crate::text::pump::Client;
use crate::text::tried_targets::is_over;

/// Batches of an answer's head that are held back for its content.
const MAX_HELD_BACK: usize = 64;

/// A stream whose account has answered.
pub(super) struct OpenStream {
    pub(super) batches: Batches,
    pub(super) account_permit: AccountPermit,
    /// Of the call, if it is traced.
    pub(super) span: Option<Span>,
}

/// What the client is to read of a provider's stream.
pub(super) struct Batches {
    source: EventSource,
    /// Makes the source's frames the events of a Messages provider.
    reader: Option<Box<Relay>>,
    relay: Box<Relay>,
    /// Whether the last call was the reader's, which is a dialect's.
    pub(super) by_reader: bool,
    /// Read before the stream was the client's.
    head: VecDeque<Batch>,
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
    /// Of that version.
    Fault(Arc<Version>, Fault),
    Outage(Outage),
    /// It takes too long, and another target may answer.
    Silence,
    /// Nobody waits for it any more.
    Left(Produced),
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
    /// Whether there is no content in it, and more to come.
    fn is_head(&self) -> bool {
        !self.is_closed && matches!(&self.pushed, Ok(Ok(chunk)) if !chunk.last && chunk.output_bytes == 0)
    }

    /// Whether it has events for the client.
    fn has_events(&self) -> bool {
        matches!(&self.pushed, Ok(Ok(chunk)) if !chunk.send.is_empty())
    }

    /// Whether it has a count at most.
    fn is_for_nobody(&self) -> bool {
        self.is_head() && !self.has_events()
    }

    fn counted(&self) -> Option<(Usage, &[(String, u64)])> {
        let chunk = self.pushed.as_ref().ok()?.as_ref().ok()?;
        chunk.usage.map(|usage| (usage, chunk.counters.as_slice()))
    }
}

impl Batches {
    pub(super) fn new(source: EventSource, reader: Option<Box<Relay>>, relay: Box<Relay>) -> Self {
        Self { source, reader, relay, by_reader: false, head: VecDeque::new() }
    }

    /// The version that made the last call: a fault is its own.
    pub(super) fn version(&self) -> &Arc<Version> {
        let reader = self.reader.as_ref().filter(|_| self.by_reader);
        reader.unwrap_or(&self.relay).version()
    }

    /// The next batch.
    pub(super) async fn next(&mut self) -> Result<Batch, Outage> {
        match self.head.pop_front() {
            Some(batch) => Ok(batch),
            None => self.read().await,
        }
    }

    async fn read(&mut self) -> Result<Batch, Outage> {
        let events = loop {
            let frames = self.source.next().await?;
            let Some(reader) = &mut self.reader else { break frames };
            self.by_reader = true;
            let is_closed = frames.is_none();
            let read = match frames {
                Some(frames) => reader.push(frames).await,
                None => reader.end().await,
            };
            match read {
                Ok(Ok(Chunk { send, .. })) => {
                    if is_closed {
                        (self.reader, self.source) = (None, EventSource::Body(None));
                    }
                    if is_closed || !send.is_empty() {
                        break Some(send).filter(|events| !events.is_empty());
                    }
                }
                stopped => return Ok(Batch { pushed: stopped, is_closed }),
            }
        };
        self.by_reader = false;
        Ok(match events {
            Some(events) => Batch { pushed: self.relay.push(events).await, is_closed: false },
            None => Batch { pushed: self.relay.end().await, is_closed: true },
        })
    }

    /// Reads up to the first batch with content. What comes before is held back, for no longer than `is_due` says: a provider
    /// that says no more than that it is there has not begun.
    async fn begin(&mut self, is_due: impl Fn() -> bool) -> Result<(), NoStream> {
        loop {
            let batch = self.read().await.map_err(NoStream::Outage)?;
            let is_head = batch.is_head();
            match batch.pushed {
                Ok(Err(failure)) => return Err(NoStream::Failure(failure)),
                Err(fault) => return Err(NoStream::Fault(Arc::clone(self.version()), fault)),
                Ok(Ok(chunk)) if batch.is_closed && !chunk.last && chunk.output_bytes == 0 => {
                    return Err(NoStream::Failure(broke_off()));
                }
                pushed @ Ok(Ok(_)) => self.hold_back(Batch { pushed, is_closed: batch.is_closed }),
            }
            let is_enough = self.head.len() >= MAX_HELD_BACK || is_due();
            if !is_head || (is_enough && self.head.iter().any(Batch::has_events)) {
                return Ok(());
            }
        }
    }

    /// Counts are cumulative: of batches that are nothing for the client the last one says it all.
    fn hold_back(&mut self, batch: Batch) {
        if batch.is_for_nobody() {
            if batch.counted().is_none() {
                return;
            }
            self.head.pop_back_if(|last| last.is_for_nobody());
        }
        self.head.push_back(batch);
    }

    /// What a provider had counted of an answer that did not begin.
    fn produced(&self) -> Produced {
        let counted = self.head.iter().rev().find_map(Batch::counted);
        let (usage, counters) = counted.unzip();
        Produced { usage, counters: counters.unwrap_or_default().to_vec(), output_bytes: 0 }
    }
}

impl TextCalls {
    /// Waits for content as long as the client does, and until the request's `deadline`, which holds for the answers of all
    /// accounts: the hold is made for no more. A client that is `due` its head gets what there is, unless another target could
    /// answer: then that one is asked when `patience` is over.
    pub(super) async fn begin_stream(
        &self,
        stream: &mut OpenStream,
        client: &Client,
        due: UnixMs,
        deadline: UnixMs,
        mut patience: Option<Pause>,
    ) -> Result<(), NoStream> {
        let OpenStream { batches, account_permit, .. } = stream;
        let given_up = pin!(self.holds.is_given_up(client, account_permit));
        let time_limit = self.shared.clock.pause_until(deadline);
        let is_last = patience.is_none();
        let began = tokio::select! {
            began = batches.begin(|| is_last && self.shared.now() >= due) => Some(began),
            () = given_up => None,
            () = time_limit => Some(Err(NoStream::Outage(Outage::Timeout))),
            () = is_over(&mut patience) => Some(Err(NoStream::Silence)),
        };
        began.unwrap_or_else(|| Err(NoStream::Left(batches.produced())))
    }
}

fn broke_off() -> TextFailure {
    TextFailure {
        obstacle: Obstacle::Upstream,
        message: "the provider's answer broke off".to_owned(),
        field: None,
        retry_after_ms: None,
    }
}
