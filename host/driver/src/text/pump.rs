//! One open stream: the provider's events go through the plugin to the client, and its end is billed.
//!
//! The channel makes the back-pressure: a client that reads slowly makes the provider wait. After a client has
//! disconnected, the provider is still read for a while, because its count is needed for the bill.

use std::sync::Arc;

use gatehouse_model::{Chunk, Outage, Sse, TextFailure, Usage};
use gatehouse_runtime::Fault;
use gatehouse_upstream::AccountPermit;
use tokio::sync::mpsc;

use crate::errors::SubmitError;
use crate::state::DriverState;
use crate::text::api::TextError;
use crate::text::attempt::fault_of_answer;
use crate::text::history::{Kept, stamp_last};
use crate::text::hold::TextHold;
use crate::text::opening::{Batch, Batches, OpenStream};

/// Batches that may wait for the client; each is at most a few network reads.
pub(super) const MAX_QUEUED_BATCHES: usize = 4;

/// The sender of a stream's batches.
pub(super) type Client = mpsc::Sender<Result<Vec<Sse>, TextError>>;

pub(super) struct Pump {
    state: Arc<DriverState>,
    held: Arc<TextHold>,
    batches: Batches,
    /// Held until the provider is done with the stream, or another waits for it and nobody reads the stream.
    account_permit: Option<AccountPermit>,
    client: Client,
    /// What is to be kept of the request, with its response.
    kept: Option<Kept>,
    usage: Option<Usage>,
    output_bytes: u64,
}

/// How a stream ended.
enum StreamEnd {
    /// In order; the client's last events are still to be sent.
    Complete(Vec<Sse>),
    /// By the provider, before its last event; what was delivered is paid for.
    Cut(TextError),
    /// By a fault of the gateway; nothing is paid for.
    Fault(TextError),
    /// The client disconnected, and the time to drain the provider is over, or too many others wait for its account.
    Abandoned,
}

impl Pump {
    pub(super) fn new(
        state: Arc<DriverState>,
        held: Arc<TextHold>,
        stream: OpenStream,
        client: Client,
        kept: Option<Kept>,
    ) -> Self {
        let OpenStream { batches, account_permit } = stream;
        let account_permit = Some(account_permit);
        Self { state, held, batches, account_permit, client, kept, usage: None, output_bytes: 0 }
    }

    /// Runs the stream to its end and pays for it.
    pub(super) async fn run(mut self) {
        // The account is free as soon as the provider is done with it.
        let account_permit = self.account_permit.take();
        let end = self.pass_on(account_permit).await;
        self.finish(end).await;
    }

    async fn pass_on(&mut self, account_permit: Option<AccountPermit>) -> StreamEnd {
        let (client, state) = (self.client.clone(), Arc::clone(&self.state));
        let mut time_limit = state.clock.pause(state.config.text.stream());
        let drained = async move {
            let mut account_permit = account_permit;
            client.closed().await;
            let has_to_end = account_permit.as_mut().map(AccountPermit::abandon).unwrap_or_default();
            tokio::select! {
                () = state.clock.pause(state.config.text.drain()) => {}
                () = has_to_end.notified() => {}
            }
        };
        tokio::pin!(drained);
        loop {
            let end = tokio::select! {
                end = self.pass_on_batch() => end,
                () = &mut drained => return StreamEnd::Abandoned,
                () = &mut time_limit => return StreamEnd::Cut(TextError::Timeout),
            };
            if let Some(end) = end {
                return end;
            }
        }
    }

    async fn pass_on_batch(&mut self) -> Option<StreamEnd> {
        let Batch { pushed, is_closed } = match self.batches.next().await {
            Ok(batch) => batch,
            Err(outage) => return Some(StreamEnd::Cut(outage_error(outage))),
        };
        let chunk = match pushed {
            Ok(Ok(chunk)) => chunk,
            Ok(Err(TextFailure { obstacle, message })) => {
                return Some(StreamEnd::Cut(TextError::Rejected { obstacle, message, retry_after: None }));
            }
            Err(Fault::Busy) => return Some(StreamEnd::Fault(SubmitError::Busy.into())),
            Err(fault) => {
                let error = fault_of_answer(self.batches.relay.version(), &fault);
                let is_cut = fault.is_of_input();
                return Some(if is_cut { StreamEnd::Cut(error) } else { StreamEnd::Fault(error) });
            }
        };
        let Chunk { send, usage, output_bytes, last } = chunk;
        self.usage = usage.or(self.usage);
        self.output_bytes += u64::from(output_bytes);
        if let Some(kept) = self.kept.as_mut().filter(|_| !last) {
            kept.outline.add(&send);
        }
        if last {
            return Some(StreamEnd::Complete(send));
        }
        if !send.is_empty() {
            // `pass_on` notices a client that has disconnected, and reads on for the count.
            let _ = self.client.send(Ok(send)).await;
        }
        is_closed.then(|| StreamEnd::Cut(TextError::upstream("the provider's answer broke off")))
    }

    /// Pays first; only then the client gets the end.
    async fn finish(self, end: StreamEnd) {
        let Self { state, held, client, kept, usage, output_bytes, .. } = self;
        let has_delivered = output_bytes > 0 || usage.is_some_and(|usage| usage.output > 1);
        let (paid, last) = match end {
            StreamEnd::Complete(mut events) => {
                stamp_last(&mut events, state.now());
                let (counted, estimated) = held.bill.counted(usage, output_bytes);
                let paid = state.settle(&held, counted, estimated).await;
                let done = match (paid, kept) {
                    (Ok(()), Some(kept)) => state.keep_last(kept, &events).await,
                    (paid, _) => paid,
                };
                (done, Some(Ok(events)))
            }
            StreamEnd::Cut(error) if has_delivered => {
                let delivered = held.bill.complete(usage, output_bytes);
                (state.settle(&held, delivered, true).await, Some(Err(error)))
            }
            StreamEnd::Abandoned if has_delivered => {
                (state.settle(&held, held.bill.complete(usage, output_bytes), true).await, None)
            }
            StreamEnd::Cut(error) | StreamEnd::Fault(error) => {
                state.release(&held);
                (Ok(()), Some(Err(error)))
            }
            StreamEnd::Abandoned => {
                state.release(&held);
                (Ok(()), None)
            }
        };
        let last = match paid {
            Ok(()) => last,
            Err(error) => Some(Err(error)),
        };
        if let Some(last) = last {
            // The client may have disconnected.
            let _ = client.send(last).await;
        }
    }
}

fn outage_error(outage: Outage) -> TextError {
    match outage {
        Outage::Timeout => TextError::Timeout,
        Outage::TooLarge => TextError::upstream("the provider sent an event that is too large"),
        _ => TextError::upstream("the provider's answer broke off"),
    }
}
