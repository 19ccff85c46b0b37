//! One answer that passes: pieces go from the provider to the client as they come, and their end is billed.
//!
//! The channel makes the back-pressure: a client that reads slowly makes the provider wait. An answer that is kept for a
//! repetition is read to its end whatever its client does: the client has the rest of it as fast as it reads, if it reads at
//! all. What waits for it is counted in the budget of what is kept.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use gatehouse_model::{Clock, Outage, Pause};

use crate::direct::api::Client;
use crate::direct::attempt::PassingAnswer;
use crate::direct::hold::DirectHold;
use crate::direct::request::Answers;
use crate::errors::SubmitError;
use crate::kept_answers::{Backlog, Keeping, PIECE};
use crate::text::TextError;

/// Pieces that may wait for the client; each is at most one network read.
pub(super) const MAX_QUEUED: usize = 4;
/// How long the rest of an answer, whose provider is done, waits for a client that takes nothing of it.
const REST_PATIENCE: Duration = Duration::from_secs(60);

/// What has come and waits for the client.
#[derive(Default)]
struct Unsent {
    pieces: VecDeque<Bytes>,
    /// The memory that they take.
    bytes: usize,
    /// What is counted for them, where that is not counted for what is written down.
    backlog: Option<Backlog>,
}

impl Unsent {
    fn push(&mut self, piece: Bytes) {
        self.bytes += PIECE + piece.len();
        self.pieces.push_back(piece);
    }

    fn pop(&mut self) -> Option<Bytes> {
        let piece = self.pieces.pop_front()?;
        self.bytes -= PIECE + piece.len();
        if let Some(backlog) = &mut self.backlog {
            backlog.shrink_to(self.bytes);
        }
        Some(piece)
    }

    fn count_by(&mut self, mut backlog: Backlog) {
        backlog.shrink_to(self.bytes);
        self.backlog = Some(backlog);
    }
}

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

impl Answers {
    /// Passes an answer on to its end, and pays for it before the client gets that end. What is kept for a repetition is written
    /// down on the way.
    pub(super) async fn pass_on(
        self: Arc<Self>,
        answer: PassingAnswer,
        held: DirectHold,
        client: &Client,
        mut keeping: Option<Keeping>,
    ) {
        let mime = answer.pieces.mime.clone();
        let mut time_limit = self.shared.clock.pause(self.shared.config.text.stream());
        let mut unsent = Unsent::default();
        let end = pass_pieces(answer, client, &mut unsent, keeping.as_mut(), &mut time_limit).await;
        let amount = held.cost;
        let error = match end {
            End::Complete => match held.settle(amount) {
                Ok(()) => {
                    if let Some(backlog) = keeping.and_then(|kept| kept.keep(mime, None, unsent.bytes)) {
                        unsent.count_by(backlog);
                    }
                    send_rest(std::mem::take(&mut unsent), client, &*self.shared.clock, time_limit).await
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
        // The client may take its time for the error.
        drop(unsent);
        if let Some(error) = error {
            // The client may have disconnected.
            let _ = client.send(Err(error)).await;
        }
    }
}

/// Passes pieces on until the answer ends. What the client has not taken then is `unsent`.
async fn pass_pieces(
    answer: PassingAnswer,
    client: &Client,
    unsent: &mut Unsent,
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
                if let Some(backlog) = keeping.give_up() {
                    unsent.count_by(backlog);
                }
            }
            unsent.push(piece);
        }
        // The rest is worth having without its client.
        let is_kept = keeping.as_deref().is_some_and(Keeping::is_whole);
        tokio::select! {
            slot = client.reserve(), if !unsent.pieces.is_empty() => match slot {
                Ok(slot) => {
                    if let Some(piece) = unsent.pop() {
                        slot.send(Ok(piece));
                    }
                }
                Err(_) if is_kept => *unsent = Unsent::default(),
                Err(_) => return End::Left,
            },
            piece = pieces.next(), if unsent.pieces.is_empty() || is_kept => match piece {
                Ok(Some(piece)) => next = Some(piece),
                Ok(None) => return End::Complete,
                Err(outage) => return End::Cut(outage_error(outage)),
            },
            () = client.closed(), if !is_kept => return End::Left,
            () = &mut *time_limit => return End::Overtime,
        }
    }
}

/// The rest of an answer that is paid, as long as its time lasts and its client takes it; the error that ends it.
async fn send_rest(
    mut unsent: Unsent,
    client: &Client,
    clock: &dyn Clock,
    mut time_limit: Pause,
) -> Option<TextError> {
    while !unsent.pieces.is_empty() {
        tokio::select! {
            // The client may have disconnected.
            slot = client.reserve() => {
                let slot = slot.ok()?;
                if let Some(piece) = unsent.pop() {
                    slot.send(Ok(piece));
                }
            }
            () = clock.pause(REST_PATIENCE) => return Some(TextError::Timeout),
            () = &mut time_limit => return Some(TextError::Timeout),
        }
    }
    None
}

/// Pays for an answer of which no more is had.
fn paid_without(held: DirectHold, keeping: Option<Keeping>) -> Result<(), SubmitError> {
    let amount = held.cost;
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

#[cfg(test)]
mod tests {
    use std::future::pending;

    use gatehouse_harness::TestClock;
    use gatehouse_model::{CustomerId, Digest, KeyId, UnixMs};
    use tokio::sync::mpsc;

    use super::*;
    use crate::kept_answers::{KeptAnswers, Known, Repetition};

    const LENGTH: usize = 1000;

    /// An answer of three pieces that is kept, and of which its client has taken nothing.
    fn kept(answers: &KeptAnswers) -> Unsent {
        let of = Repetition {
            key: KeyId("key".to_owned()),
            customer: CustomerId::from("acme"),
            token: Digest::of(b"token"),
            fingerprint: Digest::of(b"body"),
            expires: UnixMs(u64::MAX),
        };
        let Ok(Known::New(mut keeping)) = answers.begin(of, UnixMs(0)) else { panic!("it is new") };
        let mut unsent = Unsent::default();
        for _ in 0..3 {
            let piece = Bytes::from(vec![0; LENGTH]);
            keeping.write(&piece);
            unsent.push(piece);
        }
        let backlog = keeping.keep("audio/mpeg".to_owned(), None, unsent.bytes).expect("it is kept");
        unsent.count_by(backlog);
        unsent
    }

    /// Without it the rest of an answer stays in memory for an hour, uncounted, for a client that does not read.
    #[tokio::test]
    async fn the_rest_waits_a_minute_for_a_client_that_takes_nothing() {
        let (answers, clock) = (KeptAnswers::default(), TestClock::at(0));
        let unsent = kept(&answers);
        let counted = answers.bytes();
        let (client, mut pieces) = mpsc::channel(1);
        let of_rest: Arc<dyn Clock> = clock.clone();
        let time_limit: Pause = Box::pin(pending());
        let rest = tokio::spawn(async move { send_rest(unsent, &client, &*of_rest, time_limit).await });
        clock.armed(REST_PATIENCE).await;
        assert_eq!(answers.bytes(), counted - LENGTH - PIECE, "one is with the client");
        // A piece that is taken begins the minute anew.
        clock.advance(REST_PATIENCE / 2);
        assert!(pieces.recv().await.is_some_and(|piece| piece.is_ok()));
        gatehouse_harness::until("the next is sent", async || {
            answers.bytes() == counted - 2 * (LENGTH + PIECE)
        })
        .await;
        clock.armed(REST_PATIENCE).await;
        clock.advance(REST_PATIENCE / 2);
        tokio::task::yield_now().await;
        assert!(!rest.is_finished());
        clock.advance(REST_PATIENCE / 2);
        assert!(matches!(rest.await, Ok(Some(TextError::Timeout))));
        assert_eq!(answers.bytes(), counted - 3 * (LENGTH + PIECE), "nothing of it is held");
    }
}
