//! A gateway that waits until it may write: it looks again and again who does.
//!
//! Where the session of the one at work ends, its process has ended or was cut off, and the place is free at once. Where all sessions
//! ended together, this one's as well, the server was away: the one at work comes back as soon as it can, so nobody takes its place
//! before its lease is over. One that neither renews nor ends is stopped or unreachable: after its lease its session is ended.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::connect::Server;
use super::fleet::{Held, Node};
use super::session::{self, Host};
use super::simulated::{SimulatedNode, SimulatedServer};
use crate::error::OpenError;

/// What an operator is told of two gateways with one name.
pub(super) const DOUBLED: &str = "another process that runs calls itself the same: give each gateway a fleet.name of its own, unless the \
                                  other one is this gateway before a restart and is about to stop";
/// For one look.
const TIMEOUT: Duration = Duration::from_secs(5);
/// So often the others are told of this one.
const TOLD: Duration = Duration::from_secs(3);

/// Whether a gateway may begin to write.
#[derive(Debug, PartialEq, Eq)]
pub enum Position {
    /// Nobody does. The epoch of the one whose end was seen, if so: its lease need not be waited for.
    Free(Option<i64>),
    /// This one does.
    Taken(Node),
}

/// A gateway that waits for its turn.
pub struct Standby {
    server: Host,
    node: Node,
    session: Option<Session>,
    /// By which the others know this process.
    process: Option<i64>,
    /// Whether another one calls itself the same.
    is_doubled: bool,
}

struct Session {
    client: session::Session,
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
        Self::at(Host::Postgres(server), node)
    }

    /// The same at the server of a simulation.
    #[must_use]
    pub fn simulated(server: &Arc<SimulatedServer>, node: Node) -> Self {
        Self::at(Host::Simulated(SimulatedNode::new(Arc::clone(server), node.name.clone(), None)), node)
    }

    fn at(server: Host, node: Node) -> Self {
        Self { server, node, session: None, process: None, is_doubled: false }
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
                client: self.server.session().await?.client,
                seen: None,
                told: None,
                left: Duration::ZERO,
            }),
        };
        let looked = match tokio::time::timeout(TIMEOUT, session.look(&self.node, self.is_doubled)).await {
            Ok(looked) => looked,
            Err(_) => Err(silent()),
        };
        let looked = match looked {
            Ok(Position::Taken(holder)) => self.tell().await.map(|()| Position::Taken(holder)),
            looked => looked,
        };
        if matches!(looked, Ok(Position::Free(_))) {
            // Whatever begins to write has an epoch for its number. If that fails, this one is a process that has not written before.
            self.process = None;
        }
        if looked.is_err() {
            self.session = None;
        }
        looked
    }

    /// Tells the others of this gateway, now and then.
    async fn tell(&mut self) -> Result<(), OpenError> {
        let Some(session) = &mut self.session else { return Ok(()) };
        if session.told.is_some_and(|told| told.elapsed() < TOLD) {
            return Ok(());
        }
        let told = tokio::time::timeout(TIMEOUT, session.client.wait(&self.node, self.process)).await;
        let told = told.map_err(|_| silent())??;
        session.told = Some(Instant::now());
        let Some((process, is_doubled)) = told else { return Ok(()) };
        self.process = Some(process);
        if is_doubled && !self.is_doubled {
            tracing::warn!(name = self.node.name, "{DOUBLED}");
        }
        self.is_doubled = is_doubled;
        Ok(())
    }

    /// Has the others know what this gateway would be configured to do, from the next look on.
    pub fn tell_configuration(&mut self, configuration: String) {
        if self.node.configuration == configuration {
            return;
        }
        self.node.configuration = configuration;
        if let Some(session) = &mut self.session {
            session.told = None;
        }
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
        let kept = session.client.pepper().await?;
        Ok(kept.is_none_or(|kept| check == Some(kept.cast_unsigned())))
    }
}

impl Session {
    /// `own` is the gateway that waits; `is_doubled`: whether another one calls itself the same.
    async fn look(&mut self, own: &Node, is_doubled: bool) -> Result<Position, OpenError> {
        // An empty database, or one of a release before: its opening makes the tables, or says what is to be done.
        let Some(held) = self.client.look().await? else { return Ok(Position::Free(None)) };
        match judge(&held, self.seen, (!is_doubled).then_some(&own.name)) {
            Verdict::Free => return Ok(Position::Free(self.seen)),
            Verdict::Over => self.client.end().await?,
            Verdict::Taken => {}
        }
        if held.by_holder {
            self.seen = held.lease.as_ref().map(|lease| lease.epoch);
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

/// `seen` is the epoch whose lock the same session of the standby has seen; `own` is its name, if no other one that runs has it.
fn judge(held: &Held, seen: Option<i64>, own: Option<&String>) -> Verdict {
    let Some(lease) = &held.lease else {
        return if held.locked { Verdict::Taken } else { Verdict::Free };
    };
    match (held.locked, lease.left >= 0) {
        (true, true) => Verdict::Taken,
        (true, false) => Verdict::Over,
        (false, false) => Verdict::Free,
        // This gateway was the one at work before it was started again.
        (false, true) if Some(&lease.node.name) == own || seen == Some(lease.epoch) => Verdict::Free,
        (false, true) => Verdict::Taken,
    }
}

fn silent() -> OpenError {
    OpenError::Database { reason: format!("it does not answer within {} s", TIMEOUT.as_secs()), passes: true }
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
            // Of two that have one name, the other one is about to come back.
            (lease(5_000), false, None, "", Taken),
            (lease(5_000), true, None, "a", Taken),
        ];
        for (lease, locked, seen, own, expected) in cases {
            let held = Held { lease, locked, by_holder: locked };
            let own = Some(own.to_owned()).filter(|own| !own.is_empty());
            assert_eq!(judge(&held, seen, own.as_ref()), expected, "{held:?} {seen:?} {own:?}");
        }
    }
}
