//! One stream under way: the provider's events through the plugin to the client, and its bill at the end.
//!
//! Back-pressure is the channel's: a client that reads slowly makes the provider wait. A client that has
//! left is no reason to lose the count: the provider is read on for a while, without anybody listening.

use std::sync::Arc;

use gatehouse_model::{Chunk, Outage, Sse, TextFailure, Usage};
use gatehouse_runtime::{Fault, Relay};
use gatehouse_upstream::Place;
use tokio::sync::mpsc;

use super::TextError;
use super::ask::{Held, UnderWay, plugin_fault};
use super::attempt::{Begun, Source};
use crate::SubmitError;
use crate::driver::Inner;

/// Batches that may wait for the client; each is at most a few network reads.
pub(super) const AHEAD: usize = 4;

/// Where the client's end of a stream is fed.
pub(super) type Client = mpsc::Sender<Result<Vec<Sse>, TextError>>;

pub(super) struct Pump {
    inner: Arc<Inner>,
    held: Held,
    source: Source,
    /// Ours until the provider is done with it.
    place: Option<Place>,
    relay: Box<Relay>,
    client: Client,
    counted: Option<Usage>,
    written: u64,
}

/// How a stream ended.
enum End {
    /// In order; the client's last events are still to be sent.
    Whole(Vec<Sse>),
    /// Before that, by the provider; what was delivered is paid for.
    Cut(TextError),
    /// By our own fault; nothing is paid for.
    Fault(TextError),
    /// The client left, and the provider was read on for as long as allowed.
    Abandoned,
}

impl Pump {
    pub(super) fn new(inner: Arc<Inner>, held: Held, begun: Begun, client: Client) -> Self {
        let Begun { source, place, relay } = begun;
        Self { inner, held, source, place: Some(place), relay, client, counted: None, written: 0 }
    }

    /// Runs the stream to its end and pays for it.
    pub(super) async fn run(mut self, under_way: UnderWay) {
        let end = self.pass().await;
        // The account is free as soon as the provider is done with it.
        self.place = None;
        self.finish(end).await;
        drop(under_way);
    }

    async fn pass(&mut self) -> End {
        let (client, inner) = (self.client.clone(), Arc::clone(&self.inner));
        let mut longest = inner.clock.pause(inner.config.text.stream());
        let drained = async move {
            client.closed().await;
            inner.clock.pause(inner.config.text.drain()).await;
        };
        tokio::pin!(drained);
        loop {
            let turn = tokio::select! {
                turn = self.turn() => turn,
                () = &mut drained => return End::Abandoned,
                () = &mut longest => return End::Cut(TextError::Timeout),
            };
            if let Some(end) = turn {
                return end;
            }
        }
    }

    /// The provider's next batch, passed on.
    async fn turn(&mut self) -> Option<End> {
        let (pushed, ended) = match self.source.next().await {
            Ok(Some(events)) => (self.relay.push(events).await, false),
            Ok(None) => (self.relay.end().await, true),
            Err(outage) => return Some(End::Cut(cut(outage))),
        };
        let chunk = match pushed {
            Ok(Ok(chunk)) => chunk,
            Ok(Err(TextFailure { obstacle, message })) => {
                return Some(End::Cut(TextError::Rejected { obstacle, message, retry_after: None }));
            }
            Err(Fault::Busy) => return Some(End::Fault(SubmitError::Busy.into())),
            Err(fault) => return Some(End::Fault(plugin_fault(self.relay.version(), &fault).into())),
        };
        let Chunk { send, usage, output_bytes: written, last } = chunk;
        self.counted = usage.or(self.counted);
        self.written += u64::from(written);
        if last {
            return Some(End::Whole(send));
        }
        if !send.is_empty() {
            // A client that is gone is noticed by `pass`, which reads on for the count.
            let _ = self.client.send(Ok(send)).await;
        }
        ended.then(|| End::Cut(TextError::upstream("the provider's answer broke off")))
    }

    /// Pays, and only then lets the client see the end.
    async fn finish(self, end: End) {
        let Self { inner, held, client, counted, written, .. } = self;
        let delivered = written > 0 || counted.is_some_and(|usage| usage.output > 1);
        let (paid, last) = match end {
            End::Whole(events) => {
                let usage = counted.unwrap_or_else(|| held.bill.guess(written));
                (inner.settle(&held, usage, counted.is_none()).await, Some(Ok(events)))
            }
            End::Cut(error) if delivered => {
                (inner.settle(&held, held.bill.complete(counted, written), true).await, Some(Err(error)))
            }
            End::Abandoned if delivered => {
                (inner.settle(&held, held.bill.complete(counted, written), true).await, None)
            }
            End::Cut(error) | End::Fault(error) => {
                inner.release(&held).await;
                (Ok(()), Some(Err(error)))
            }
            End::Abandoned => {
                inner.release(&held).await;
                (Ok(()), None)
            }
        };
        let last = match paid {
            Ok(()) => last,
            Err(error) => Some(Err(error)),
        };
        if let Some(last) = last {
            // The client may be gone; then there is nobody to tell.
            let _ = client.send(last).await;
        }
    }
}

fn cut(outage: Outage) -> TextError {
    match outage {
        Outage::Timeout => TextError::Timeout,
        Outage::TooLarge => TextError::upstream("the provider sent an event that is too large"),
        _ => TextError::upstream("the provider's answer broke off"),
    }
}
