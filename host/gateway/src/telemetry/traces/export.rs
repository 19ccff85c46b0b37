//! The queue of spans that have ended, and the loop that sends them: batches of up to 512, at least once a second. A batch that a
//! collector cannot take now is sent again, while the queue fills; what does not fit is dropped and counted, and a line a minute
//! says so.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use gatehouse_model::{Clock, EndedSpan, SpanSink, UnixMs, metric};
use gatehouse_upstream::Collector;
use tokio::sync::{mpsc, oneshot};

use super::encode;

/// Spans in one batch.
const BATCH: usize = 512;
/// How long a batch collects.
const GATHER: Duration = Duration::from_secs(1);
/// Between two tries of a batch, and how often it is tried.
const AGAIN: Duration = Duration::from_secs(5);
const TRIES: u32 = 12;
/// Between two lines of the log about the same trouble.
const QUIET: Duration = Duration::from_secs(60);

/// Puts spans into the queue.
pub(super) struct QueueSink {
    queue: mpsc::Sender<EndedSpan>,
    dropped: Arc<AtomicU64>,
}

/// Sends what is in the queue.
pub(crate) struct Exporter {
    collector: Collector,
    service: String,
    queue: mpsc::Receiver<EndedSpan>,
    dropped: Arc<AtomicU64>,
    clock: Arc<dyn Clock>,
    /// When the log was told last.
    told: Option<UnixMs>,
}

impl SpanSink for QueueSink {
    fn take(&self, span: EndedSpan) {
        if self.queue.try_send(span).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Exporter {
    pub(super) fn new(
        collector: Collector,
        service: &str,
        queue: usize,
        clock: Arc<dyn Clock>,
    ) -> (Self, QueueSink) {
        let (sender, receiver) = mpsc::channel(queue);
        let dropped = Arc::<AtomicU64>::default();
        let sink = QueueSink { queue: sender, dropped: Arc::clone(&dropped) };
        for outcome in ["sent", "dropped"] {
            metrics::counter!(metric::SPANS, "outcome" => outcome).increment(0);
        }
        let service = service.to_owned();
        (Self { collector, service, queue: receiver, dropped, clock, told: None }, sink)
    }

    /// Sends until the end, and then what still waits.
    pub(crate) async fn run(mut self, mut end: oneshot::Receiver<()>) {
        let mut spans = Vec::with_capacity(BATCH);
        loop {
            tokio::select! {
                biased;
                received = self.queue.recv_many(&mut spans, BATCH) => if received == 0 { return },
                _ = &mut end, if !self.queue.is_closed() => {
                    self.queue.close();
                    continue;
                }
            }
            self.gather(&mut spans, &mut end).await;
            self.send(std::mem::take(&mut spans)).await;
            self.tell_of_drops();
        }
    }

    /// Waits a moment for more, so that a trace's spans leave together.
    async fn gather(&mut self, spans: &mut Vec<EndedSpan>, end: &mut oneshot::Receiver<()>) {
        let mut moment = self.clock.pause(GATHER);
        while spans.len() < BATCH {
            let room = BATCH - spans.len();
            tokio::select! {
                received = self.queue.recv_many(spans, room) => if received == 0 { return },
                () = &mut moment => return,
                _ = &mut *end, if !self.queue.is_closed() => self.queue.close(),
            }
        }
    }

    async fn send(&mut self, spans: Vec<EndedSpan>) {
        let count = u64::try_from(spans.len()).unwrap_or_default();
        let batch = encode::batch(&self.service, spans);
        for _ in 0..TRIES {
            match self.collector.send(batch.clone()).await {
                Ok(()) => {
                    metrics::counter!(metric::SPANS, "outcome" => "sent").increment(count);
                    return;
                }
                Err(error) => {
                    if self.may_tell() {
                        tracing::warn!(%error, spans = count, "traces cannot be sent to their collector");
                    }
                    if !error.may_repeat || self.queue.is_closed() {
                        break;
                    }
                    self.clock.pause(AGAIN).await;
                }
            }
        }
        self.dropped.fetch_add(count, Ordering::Relaxed);
    }

    fn tell_of_drops(&mut self) {
        let dropped = self.dropped.swap(0, Ordering::Relaxed);
        if dropped > 0 {
            metrics::counter!(metric::SPANS, "outcome" => "dropped").increment(dropped);
            if self.may_tell() {
                tracing::warn!(
                    dropped,
                    "spans were dropped: their collector does not take them as fast as they come"
                );
            }
        }
    }

    /// Whether a minute is over since the last line.
    fn may_tell(&mut self) -> bool {
        let now = self.clock.now();
        let may = self.told.is_none_or(|told| now.since(told) >= QUIET);
        if may {
            self.told = Some(now);
        }
        may
    }
}
