//! A gateway that waits until it may write: it looks again and again who does.
//!
//! Where the session of the one at work ends, its process has ended or was cut off, and the place is free at once. Where all sessions
//! ended together, this one's as well, the server was away: the one at work comes back as soon as it can, so nobody takes its place
//! before its lease is over. One that neither renews nor ends is stopped or unreachable: after its lease its session is ended.

use std::time::Duration;

use tokio::time::Instant;
use tokio_postgres::{Client, error::SqlState};

use super::connect::Server;
use super::failure::{describe, passes};
use super::fleet::{self, Held, Node};
use crate::error::OpenError;
use crate::lease::RENEWAL;

/// For one look.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Whether a gateway may begin to write.
#[derive(Debug, PartialEq, Eq)]
pub enum Position {
    /// Nobody does.
    Free,
    /// This one does.
    Taken(Node),
}

/// A gateway that waits for its turn.
pub struct Standby {
    server: Server,
    node: Node,
    session: Option<Session>,
}

struct Session {
    client: Client,
    /// The epoch whose lock this session has seen.
    seen: Option<i64>,
    /// When the others were told of this gateway.
    told: Option<Instant>,
    /// What is left of the lease of the one at work.
    left: Duration,
}

impl Standby {
    /// Without a connection yet.
    #[must_use]
    pub fn new(server: Server, node: Node) -> Self {
        Self { server, node, session: None }
    }

    /// The gateway that writes to the database now. One whose lease is over is made to end.
    ///
    /// # Errors
    /// The database's; [`OpenError::Database`] says whether it passes.
    pub async fn look(&mut self) -> Result<Position, OpenError> {
        let session = match &mut self.session {
            Some(session) => session,
            // Each host of the address has a time limit of its own.
            none => none.insert(Session {
                client: self.server.connect().await?.client,
                seen: None,
                told: None,
                left: Duration::ZERO,
            }),
        };
        let looked = match tokio::time::timeout(TIMEOUT, session.look(&self.node)).await {
            Ok(looked) => looked,
            Err(_) => Err(OpenError::Database {
                reason: format!("it does not answer within {} s", TIMEOUT.as_secs()),
                passes: true,
            }),
        };
        if looked.is_err() {
            self.session = None;
        }
        looked
    }

    /// What was left of the lease of the one at work at the last look.
    #[must_use]
    pub fn lease_left(&self) -> Duration {
        self.session.as_ref().map(|session| session.left).unwrap_or_default()
    }

    /// Whether the rows of the database were made with the pepper of this check value; `None`: this gateway has no pepper yet.
    ///
    /// # Errors
    /// As [`Standby::look`], which comes before.
    pub async fn fits(&self, check: Option<u64>) -> Result<bool, OpenError> {
        let Some(session) = &self.session else { return Ok(true) };
        let kept = fleet::pepper(&session.client).await.map_err(|error| broken(&error))?;
        Ok(kept.is_none_or(|kept| check == Some(kept.cast_unsigned())))
    }
}

impl Session {
    /// `own` is the gateway that waits.
    async fn look(&mut self, own: &Node) -> Result<Position, OpenError> {
        let held = match fleet::look(&self.client).await {
            Ok(held) => held,
            // An empty database, or one of a release before: its opening makes the tables, or says what is to be done.
            Err(error) if error.code() == Some(&SqlState::UNDEFINED_TABLE) => return Ok(Position::Free),
            Err(error) => return Err(broken(&error)),
        };
        match judge(&held, self.seen, &own.name) {
            Verdict::Free => return Ok(Position::Free),
            Verdict::Over => fleet::end(&self.client).await.map_err(|error| broken(&error))?,
            Verdict::Taken => {}
        }
        if held.locked {
            self.seen = held.lease.as_ref().map(|lease| lease.epoch);
        }
        if self.told.is_none_or(|told| told.elapsed() >= RENEWAL) {
            fleet::wait(&self.client, own).await.map_err(|error| broken(&error))?;
            self.told = Some(Instant::now());
        }
        let (node, left) = held.lease.map(|lease| (lease.node, lease.left)).unwrap_or_default();
        self.left = Duration::from_millis(u64::try_from(left).unwrap_or_default());
        Ok(Position::Taken(node))
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Free,
    Taken,
    /// It has to be made free.
    Over,
}

/// `seen` is the epoch whose lock the same session of the standby has seen.
fn judge(held: &Held, seen: Option<i64>, own: &str) -> Verdict {
    let Some(lease) = &held.lease else {
        return if held.locked { Verdict::Taken } else { Verdict::Free };
    };
    match (held.locked, lease.left >= 0) {
        (true, true) => Verdict::Taken,
        (true, false) => Verdict::Over,
        (false, false) => Verdict::Free,
        // This gateway was the one at work before it was started again.
        (false, true) if lease.node.name == own || seen == Some(lease.epoch) => Verdict::Free,
        (false, true) => Verdict::Taken,
    }
}

fn broken(error: &tokio_postgres::Error) -> OpenError {
    OpenError::Database { reason: describe(error), passes: passes(error) }
}

#[cfg(test)]
mod tests {
    use super::super::fleet::HeldLease;
    use super::*;

    /// Two would take one place in turn after each restart of the server, or nobody would take that of a process that is gone.
    #[test]
    fn a_place_is_free_when_its_holder_has_ended_and_not_when_the_server_has() {
        use Verdict::{Free, Over, Taken};
        let lease =
            |left| Some(HeldLease { epoch: 7, node: Node { name: "a".to_owned(), ..Node::default() }, left });
        let cases = [
            (None, false, None, "b", Free),
            // A migration, or a gateway that opens it.
            (None, true, None, "b", Taken),
            (lease(5_000), true, None, "b", Taken),
            (lease(0), true, Some(7), "b", Taken),
            (lease(-1), true, Some(7), "b", Over),
            (lease(-1), false, None, "b", Free),
            // Its session ended, and this one's did not.
            (lease(5_000), false, Some(7), "b", Free),
            // All sessions ended, or this gateway has just come.
            (lease(5_000), false, None, "b", Taken),
            // Another one had it when this session looked.
            (lease(5_000), false, Some(6), "b", Taken),
            (lease(5_000), false, None, "a", Free),
            (lease(5_000), true, None, "a", Taken),
        ];
        for (lease, locked, seen, own, expected) in cases {
            let held = Held { lease, locked };
            assert_eq!(judge(&held, seen, own), expected, "{held:?} {seen:?} {own}");
        }
    }
}
