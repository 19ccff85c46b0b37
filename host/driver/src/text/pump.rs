//! One open stream: the provider's events go through the plugin to the client, and its end is billed.
//!
//! The channel makes the back-pressure: a client that reads slowly makes the provider wait. When it has left, the stream is
//! closed (`left`).

use std::pin::pin;
use std::sync::Arc;

use gatehouse_model::{Chunk, Outage, Span, Sse, TextFailure, Usage};
use gatehouse_runtime::Fault;
use gatehouse_upstream::AccountPermit;
use tokio::sync::mpsc;

use crate::errors::SubmitError;
use crate::memory::RequestMemory;
use crate::models::bill::Count;
use crate::request_report::RequestReport;
use crate::text::api::TextError;
use crate::text::attempt::fault_of_answer;
use crate::text::history::{Conversations, Kept, stamp_last};
use crate::text::hold::{Holds, TextHold};
use crate::text::left::Produced;
use crate::text::opening::{Batch, Batches, OpenStream};

/// Batches that may wait for the client; each is at most a few network reads.
pub(super) const MAX_QUEUED_BATCHES: usize = 4;

/// The sender of a stream's batches.
pub(super) type Client = mpsc::Sender<Result<Vec<Sse>, TextError>>;

pub(super) struct Pump {
    pub(super) holds: Arc<Holds>,
    pub(super) conversations: Arc<Conversations>,
    pub(super) held: Arc<TextHold>,
    pub(super) client: Client,
    pub(super) report: RequestReport,
    /// What is to be kept of the request, with its response.
    pub(super) kept: Option<Kept>,
    pub(super) produced: Produced,
    /// What the stream takes counts until its end, also where its client has left.
    pub(super) _memory: Option<Arc<dyn RequestMemory>>,
}

/// How a stream ended.
enum StreamEnd {
    /// In order; the client's last events are still to be sent.
    Complete(Vec<Sse>),
    /// By the provider, before its last event; what was delivered is paid for.
    Cut(TextError),
    /// By a fault of the gateway; nothing is paid for.
    Fault(TextError),
    /// The client has left, and the provider is not read any further.
    Left,
}

impl Pump {
    /// Runs the stream to its end and pays for it.
    pub(super) async fn run(mut self, stream: OpenStream) {
        let OpenStream { mut batches, account_permit, span } = stream;
        // The account is free as soon as the provider is done with it, or nobody reads on and another waits for it.
        let end = self.pass_on(&mut batches, account_permit).await;
        // The provider learns at once that nothing more of it is read.
        drop(batches);
        self.finish(end, span).await;
    }

    async fn pass_on(&mut self, batches: &mut Batches, mut account_permit: AccountPermit) -> StreamEnd {
        let (client, holds) = (self.client.clone(), Arc::clone(&self.holds));
        let mut time_limit = holds.shared.clock.pause(holds.shared.config.text.stream());
        let mut given_up = pin!(holds.is_given_up(&client, &mut account_permit));
        loop {
            let end = tokio::select! {
                end = self.pass_on_batch(batches) => end,
                () = &mut given_up => return StreamEnd::Left,
                () = &mut time_limit => return StreamEnd::Cut(TextError::Timeout),
            };
            if let Some(end) = end {
                return end;
            }
        }
    }

    async fn pass_on_batch(&mut self, batches: &mut Batches) -> Option<StreamEnd> {
        let Batch { pushed, is_closed } = match batches.next().await {
            Ok(batch) => batch,
            Err(outage) => return Some(StreamEnd::Cut(outage_error(outage))),
        };
        let chunk = match pushed {
            Ok(Ok(chunk)) => chunk,
            Ok(Err(TextFailure { obstacle, message, field, .. })) => {
                return Some(StreamEnd::Cut(TextError::Rejected {
                    obstacle,
                    message,
                    field,
                    retry_after: None,
                }));
            }
            Err(Fault::Busy) => return Some(StreamEnd::Fault(SubmitError::Busy.into())),
            Err(fault) => {
                let error = fault_of_answer(batches.version(), &fault);
                let is_cut = fault.is_of_input();
                return Some(if is_cut { StreamEnd::Cut(error) } else { StreamEnd::Fault(error) });
            }
        };
        let Chunk { send, usage, counters, output_bytes, last } = chunk;
        if usage.is_some() {
            (self.produced.usage, self.produced.counters) = (usage, counters);
        }
        if output_bytes > 0 && self.produced.output_bytes == 0 {
            self.report.first_token();
        }
        self.produced.output_bytes += u64::from(output_bytes);
        if let Some(kept) = self.kept.as_mut().filter(|_| !last) {
            kept.outline.add(&send);
        }
        if last {
            return Some(StreamEnd::Complete(send));
        }
        if !send.is_empty() {
            // `pass_on` notices a client that has left, and closes the stream (`left`).
            let _ = self.client.send(Ok(send)).await;
        }
        is_closed.then(|| StreamEnd::Cut(TextError::upstream("the provider's answer broke off")))
    }

    /// Pays first; only then the client gets the end.
    async fn finish(self, end: StreamEnd, mut span: Option<Span>) {
        let Self { holds, conversations, held, client, kept, produced, .. } = self;
        let Produced { usage, output_bytes, .. } = produced;
        match (&end, &mut span) {
            (StreamEnd::Cut(error) | StreamEnd::Fault(error), Some(span)) => span.fail(&error.outline()),
            (StreamEnd::Left, Some(span)) => span.fail("its client left"),
            _ => {}
        }
        note_usage(span, &usage.unwrap_or_default());
        let has_delivered = output_bytes > 0 || usage.is_some_and(|usage| usage.output > 1);
        let (paid, last) = match end {
            StreamEnd::Complete(mut events) => {
                stamp_last(&mut events, holds.shared.now());
                let (counted, count) = held.bill().counted(usage, output_bytes);
                let paid = holds.settle(&held, counted, &produced.counters, count).await;
                let done = match (paid, kept) {
                    (Ok(()), Some(kept)) => conversations.keep_last(kept, &events).await,
                    (paid, _) => paid,
                };
                (done, Some(Ok(events)))
            }
            StreamEnd::Cut(error) if has_delivered => {
                let delivered = held.bill().complete(usage, output_bytes);
                (holds.settle(&held, delivered, &produced.counters, Count::Estimated).await, Some(Err(error)))
            }
            StreamEnd::Left => (holds.charge_left(&held, produced).await, None),
            StreamEnd::Cut(error) | StreamEnd::Fault(error) => {
                holds.release(&held);
                (Ok(()), Some(Err(error)))
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

/// Ends a call with what its provider counted.
pub(super) fn note_usage(span: Option<Span>, usage: &Usage) {
    if let Some(mut span) = span {
        span.set("gen_ai.usage.input_tokens", usage.read());
        span.set("gen_ai.usage.output_tokens", usage.output);
    }
}

fn outage_error(outage: Outage) -> TextError {
    match outage {
        Outage::Timeout => TextError::Timeout,
        Outage::TooLarge => TextError::upstream("the provider sent an event that is too large"),
        _ => TextError::upstream("the provider's answer broke off"),
    }
}
