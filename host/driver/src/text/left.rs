//! Clients that leave before their answer has ended: who still waits for it, and what it costs.
//!
//! A stream is closed at the provider as soon as its client has left, and what the provider had written until then is
//! charged. A provider with `drain_cancelled` is read on for a while instead, for the sake of its own count. A whole answer
//! cannot be counted before it comes, so it is waited for all the same. A provider that was not asked yet is not asked any
//! more.

use gatehouse_model::Usage;
use gatehouse_upstream::AccountPermit;

use crate::models::bill::Count;
use crate::text::api::TextError;
use crate::text::hold::{Holds, TextHold};
use crate::text::pump::Client;

/// Why a request has no answer.
#[derive(Debug)]
pub(super) enum Unanswered {
    Failed(TextError),
    /// Its client has left; what its provider had produced until then, where one was asked.
    Left(Option<Produced>),
}

/// What a provider had produced of an answer.
#[derive(Clone, Debug, Default)]
pub(super) struct Produced {
    /// By its own count.
    pub(super) usage: Option<Usage>,
    /// And what else it had counted.
    pub(super) counters: Vec<(String, u64)>,
    /// By the length of its text.
    pub(super) output_bytes: u64,
}

impl From<TextError> for Unanswered {
    fn from(error: TextError) -> Self {
        Self::Failed(error)
    }
}

impl Holds {
    /// Waits until nobody has a use for a stream any more: its client has left, and where its provider is drained the time
    /// for that is over, or too many others wait for the account.
    pub(super) async fn is_given_up(&self, client: &Client, permit: &mut AccountPermit) {
        client.closed().await;
        if !permit.drains_cancelled() {
            return;
        }
        let has_to_end = permit.abandon();
        tokio::select! {
            () = self.shared.clock.pause(self.shared.config.text.drain()) => {}
            () = has_to_end.notified() => {}
        }
    }

    /// Ends the hold of a request without an answer; gives the error for its client.
    pub(super) async fn close(&self, held: &TextHold, unanswered: Unanswered) -> TextError {
        match unanswered {
            Unanswered::Failed(error) => {
                self.release(held);
                error
            }
            Unanswered::Left(None) => {
                self.release(held);
                nobody()
            }
            Unanswered::Left(Some(produced)) => {
                self.charge_left(held, produced).await.err().unwrap_or_else(nobody)
            }
        }
    }

    /// Charges what a provider had produced when the client left.
    pub(super) async fn charge_left(&self, held: &TextHold, produced: Produced) -> Result<(), TextError> {
        let counted = held.bill().complete(produced.usage, produced.output_bytes);
        self.settle(held, counted, &produced.counters, Count::UntilLeft).await
    }
}

/// For a client that is not there.
fn nobody() -> TextError {
    TextError::upstream("nobody reads the answer any more")
}
