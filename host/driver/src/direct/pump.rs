//! One answer that passes: pieces go from the provider to the client as they come, and their end is billed.
//!
//! The channel makes the back-pressure: a client that reads slowly makes the provider wait. An answer that is kept for a
//! repetition is read to its end whatever its client does: the client has the rest of it as fast as it reads.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use gatehouse_model::{Outage, Pause};

use crate::direct::api::Client;
use crate::direct::attempt::PassingAnswer;
use crate::direct::hold::DirectHold;
use crate::errors::SubmitError;
use crate::kept_answers::Keeping;
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
    /// Passes an answer on to its end, and pays for it before the client gets that end. What is kept for a repetition is written
    /// down on the way.
    pub(super) async fn pass_on(
        self: Arc<Self>,
        answer: PassingAnswer,
        held: DirectHold,
        client: &Client,
        mut keeping: Option<Keeping>,
    ) {
        let mime = answer.pieces.mime().to_owned();
        let mut time_limit = self.clock.pause(self.config.text.stream());
        let mut unsent = VecDeque::new();
        let end = pass_pieces(answer, (client, &mut unsent), keeping.as_mut(), &mut time_limit).await;
        let amount = held.cost();
        let error = match end {
            End::Complete => match held.settle(amount) {
                Ok(()) => {
                    if let Some(body) = keeping.and_then(|keeping| keeping.keep(mime, None)) {
                        let rest = unsent.iter().map(Bytes::len).sum();
                        unsent = VecDeque::from([body.slice(body.len().saturating_sub(rest)..)]);
                    }
                    send_rest(unsent, client, time_limit).await
                }
                Err(unpaid) => Some(unpaid.into()),
            },
            End::Left => paid_without(held, keeping).err().map(TextError::from),
            End::Overtime => {
                Some(paid_without(held, keeping).err().map_or(TextError::Timeout, TextError::from))
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

/// Passes pieces on until the answer ends. What the client has not taken then is `unsent`.
async fn pass_pieces(
    answer: PassingAnswer,
    (client, unsent): (&Client, &mut VecDeque<Bytes>),
    mut keeping: Option<&mut Keeping>,
    time_limit: &mut Pause,
) -> End {
    // Dropped at the end: the provider learns at once that nothing more of it is read.
    let PassingAnswer { mut pieces, first, permit: _permit, _span } = answer;
    let mut next = first;
    loop {
        if let Some(piece) = next.take() {
            if let Some(keeping) = &mut keeping {
                keeping.write(&piece);
            }
            unsent.push_back(piece);
        }
        let is_kept = is_worth_ending(keeping.as_deref());
        tokio::select! {
            slot = client.reserve(), if !unsent.is_empty() => match slot {
                Ok(slot) => {
                    if let Some(piece) = unsent.pop_front() {
                        slot.send(Ok(piece));
                    }
                }
                Err(_) if is_kept => unsent.clear(),
                Err(_) => return End::Left,
            },
            piece = pieces.next(), if unsent.is_empty() || is_kept => match piece {
                Ok(Some(piece)) => next = Some(piece),
                Ok(None) => return End::Complete,
                Err(outage) => return End::Cut(outage_error(outage)),
            },
            () = client.closed(), if !is_kept => return End::Left,
            () = &mut *time_limit => return End::Overtime,
        }
    }
}

/// The rest of an answer that is paid, as long as its time lasts; the error that ends it.
async fn send_rest(unsent: VecDeque<Bytes>, client: &Client, mut time_limit: Pause) -> Option<TextError> {
    for piece in unsent.into_iter().filter(|piece| !piece.is_empty()) {
        tokio::select! {
            // The client may have disconnected.
            sent = client.send(Ok(piece)) => sent.ok()?,
            () = &mut time_limit => return Some(TextError::Timeout),
        }
    }
    None
}

/// Whether the rest is worth having without its client.
fn is_worth_ending(keeping: Option<&Keeping>) -> bool {
    keeping.is_some_and(Keeping::is_whole)
}

/// Pays for an answer of which no more is had.
fn paid_without(held: DirectHold, keeping: Option<Keeping>) -> Result<(), SubmitError> {
    let amount = held.cost();
    held.settle(amount)?;
    if let Some(keeping) = keeping {
        keeping.keep_nothing();
    }
    Ok(())
}

fn outage_error(outage: Outage) -> TextError {
    match outage {
        Outage::Timeout => TextError::Timeout,
        Outage::TooLarge => TextError::upstream("the provider's answer is too large"),
        Outage::Refused => SubmitError::Internal("a plugin's call was refused".to_owned()).into(),
        Outage::Broken | Outage::Unreachable => TextError::upstream("the provider's answer broke off"),
    }
}
