//! One answer that passes: pieces go from the provider to the client as they come, and their end is billed.
//!
//! The channel makes the back-pressure: a client that reads slowly makes the provider wait.

use std::sync::Arc;

use gatehouse_model::Outage;

use crate::direct::api::Client;
use crate::direct::attempt::PassingAnswer;
use crate::direct::hold::DirectHold;
use crate::errors::SubmitError;
use crate::state::DriverState;
use crate::text::TextError;

/// Pieces that may wait for the client; each is at most one network read.
pub(super) const MAX_QUEUED: usize = 4;

/// How an answer ended.
enum End {
    Complete,
    /// The client has left: it pays for what it asked for.
    Left,
    /// By the time limit: it is paid for, or a client that reads slowly would get its answer free.
    Overtime,
    /// By the provider; nobody pays.
    Cut(TextError),
}

impl DriverState {
    /// Passes an answer on to its end, and pays for it before the client gets that end.
    pub(super) async fn pass_on(self: Arc<Self>, answer: PassingAnswer, held: DirectHold, client: &Client) {
        let PassingAnswer { mut pieces, first, permit } = answer;
        let mut time_limit = self.clock.pause(self.config.text.stream());
        let mut next = first;
        let end = loop {
            if let Some(piece) = next.take() {
                tokio::select! {
                    taken = client.send(Ok(piece)) => if taken.is_err() {
                        break End::Left;
                    },
                    () = &mut time_limit => break End::Overtime,
                }
            }
            tokio::select! {
                piece = pieces.next() => match piece {
                    Ok(Some(piece)) => next = Some(piece),
                    Ok(None) => break End::Complete,
                    Err(outage) => break End::Cut(outage_error(outage)),
                },
                () = client.closed() => break End::Left,
                () = &mut time_limit => break End::Overtime,
            }
        };
        // The provider learns at once that nothing more of it is read.
        drop((pieces, permit));
        let error = match end {
            End::Complete | End::Left => {
                let amount = held.cost();
                held.settle(amount).err().map(TextError::from)
            }
            End::Overtime => {
                let amount = held.cost();
                let paid = held.settle(amount);
                Some(paid.err().map_or(TextError::Timeout, TextError::from))
            }
            End::Cut(error) => {
                drop(held);
                Some(error)
            }
        };
        if let Some(error) = error {
            // The client may have disconnected.
            let _ = client.send(Err(error)).await;
        }
    }
}

fn outage_error(outage: Outage) -> TextError {
    match outage {
        Outage::Timeout => TextError::Timeout,
        Outage::TooLarge => TextError::upstream("the provider's answer is too large"),
        Outage::Refused => SubmitError::Internal("a plugin's call was refused".to_owned()).into(),
        Outage::Broken | Outage::Unreachable => TextError::upstream("the provider's answer broke off"),
    }
}
