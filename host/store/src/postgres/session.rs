//! A session as the writer, the keeper of its lease and a standby have it: what they ask of a server, and nothing else. They are the same
//! over PostgreSQL and over the server of a simulation, which loses what it is told to.

use std::collections::HashSet;
use std::fmt;

use futures_util::future::try_join_all;
use gatehouse_tasks::{HoldId, RowChange, RowKey};
use tokio::sync::watch;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Error};

use super::connect::{Connected, Server};
use super::engine::{Found, LISTED, Wanted};
use super::failure::{ConnectError, SessionError, store_error};
use super::fleet::{self, Begun, Held, Node, Renewal};
use super::simulated::{SimulatedNode, SimulatedSession};
use super::write::Flush;
use super::{fetch, migrate};
use crate::error::{OpenError, StoreError};

/// What the server says where `home` is not as this process left it.
const REPLACED: &str = "GH001";

/// A batch is sent at once, from its begin to its commit. If the server refused the begin, each statement behind it would be a
/// transaction of its own; with this it is refused like the begin.
const GUARDED: &str = "set default_transaction_read_only = on";
const UNGUARDED: &str = "set default_transaction_read_only = off";
const LOCK: &str = "select pg_try_advisory_lock(7166120832)";
/// A server notices the end of a process a moment later: a command right behind another one would else be told of a gateway at work.
const WAIT_FOR_LOCK: &str =
    "set lock_timeout = '2s'; select pg_advisory_lock(7166120832); set lock_timeout = 0";
const SESSION: &str = "select pg_backend_pid()";
const FIND_HOME: &str = "select epoch, batch from home where home = 0";

/// Where sessions begin.
#[derive(Clone)]
pub(crate) enum Host {
    Postgres(Server),
    Simulated(SimulatedNode),
}

/// One that has begun, and whether it has ended.
pub(crate) struct Connection {
    pub(super) client: Session,
    pub(super) ended: watch::Receiver<bool>,
}

/// What it is asked by.
pub(crate) enum Session {
    Postgres(Client),
    Simulated(SimulatedSession),
}

/// What became of a batch that was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sent {
    Committed,
    /// `home` is not as this process left it: nothing was written.
    Replaced,
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Postgres(server) => server.fmt(f),
            Self::Simulated(_) => f.write_str("(simulated)"),
        }
    }
}

impl Host {
    /// Another session.
    pub(super) async fn session(&self) -> Result<Connection, ConnectError> {
        match self {
            Self::Postgres(server) => {
                let Connected { client, ended } = server.connect().await?;
                Ok(Connection { client: Session::Postgres(client), ended })
            }
            Self::Simulated(node) => {
                let (session, ended) = node.connect().await?;
                Ok(Connection { client: Session::Simulated(session), ended })
            }
        }
    }

    /// Whether the server does something for a session, as far as it tells.
    pub(super) async fn is_busy(&self, session: i32) -> Result<bool, StoreError> {
        match self {
            Self::Postgres(server) => {
                let other = server.connect_reader().await?;
                let busy = fleet::is_busy(&other.client, session).await;
                busy.map_err(|error| store_error("a look at the writer's session", &error))
            }
            Self::Simulated(_) => Ok(true),
        }
    }
}

impl Session {
    pub(super) fn is_closed(&self) -> bool {
        match self {
            Self::Postgres(client) => client.is_closed(),
            Self::Simulated(session) => session.is_closed(),
        }
    }

    /// Has the lock of the one writer, unless another session has it for longer than it takes to end.
    pub(super) async fn take_lock(&self) -> Result<bool, SessionError> {
        match self {
            Self::Postgres(client) => Ok(take_lock(client).await?),
            Self::Simulated(session) => session.lock().await,
        }
    }

    /// The same without waiting.
    pub(super) async fn lock(&self) -> Result<bool, SessionError> {
        match self {
            Self::Postgres(client) => Ok(client.query_typed_one(LOCK, &[]).await?.try_get(0)?),
            Self::Simulated(session) => session.lock().await,
        }
    }

    /// Makes the tables of an empty database.
    pub(super) async fn prepare(&mut self) -> Result<(), OpenError> {
        match self {
            Self::Postgres(client) => migrate::prepare(client).await,
            Self::Simulated(_) => Ok(()),
        }
    }

    /// Begins to write, with the lock; `None` while the lease of another gateway lasts, unless its epoch has ended.
    pub(super) async fn take(&self, node: &Node, ended: Option<i64>) -> Result<Option<Begun>, SessionError> {
        match self {
            Self::Postgres(client) => Ok(fleet::take(client, node, ended).await?),
            Self::Simulated(session) => session.take(node, ended).await,
        }
    }

    /// Refuses where the lease of a gateway lasts.
    pub(super) async fn expect_no_lease(&self, host: &Host) -> Result<(), OpenError> {
        match (self, host) {
            (Self::Postgres(client), Host::Postgres(server)) => fleet::expect_no_lease(client, server).await,
            _ => Ok(()),
        }
    }

    pub(super) async fn open_holds(&self) -> Result<HashSet<HoldId>, StoreError> {
        match self {
            Self::Postgres(client) => fetch::open_holds(client).await,
            Self::Simulated(session) => session.open_holds().await,
        }
    }

    /// Nothing is written any more but what says that it writes.
    pub(super) async fn guard(&self) -> Result<(), SessionError> {
        match self {
            Self::Postgres(client) => Ok(client.batch_execute(GUARDED).await?),
            Self::Simulated(_) => Ok(()),
        }
    }

    /// Ends the lease of an epoch.
    pub(super) async fn leave(&self, epoch: i64) -> Result<(), SessionError> {
        match self {
            Self::Postgres(client) => {
                client.batch_execute(UNGUARDED).await?;
                Ok(fleet::leave(client, epoch).await?)
            }
            Self::Simulated(session) => session.leave(epoch).await,
        }
    }

    /// Fetches what an engine misses; where it misses nothing, makes sure that the server is there.
    pub(super) async fn fetch(&self, wanted: &Wanted) -> Result<Found, StoreError> {
        match self {
            Self::Postgres(client) => fetch_all(client, wanted).await,
            Self::Simulated(session) => session.fetch(wanted).await,
        }
    }

    /// Commits a batch as the next one of its epoch.
    pub(super) async fn send(
        &self,
        flush: &Flush<'_>,
        changes: &[RowChange],
        drop_before: u32,
        epoch: i64,
        batch: i64,
    ) -> Result<Sent, StoreError> {
        match self {
            Self::Postgres(client) => match flush.send(client, epoch, batch).await {
                Ok(()) => Ok(Sent::Committed),
                Err(error) if error.code().is_some_and(|state| state.code() == REPLACED) => {
                    Ok(Sent::Replaced)
                }
                Err(error) => Err(store_error("a commit", &error)),
            },
            Self::Simulated(session) => session.commit(changes, drop_before, epoch, batch).await,
        }
    }

    /// Ends a session that has the lock.
    pub(super) async fn end_session(&self, number: i32) -> Result<(), SessionError> {
        match self {
            Self::Postgres(client) => {
                fleet::end_session(client, number).await?;
                Ok(())
            }
            Self::Simulated(session) => session.end_session(number).await,
        }
    }

    pub(super) async fn position(&self) -> Result<Begun, SessionError> {
        match self {
            Self::Postgres(client) => {
                let home = client.query_typed_one(FIND_HOME, &[]).await?;
                let (epoch, batch) = (home.try_get(0)?, home.try_get(1)?);
                let session = client.query_typed_one(SESSION, &[]).await?.try_get(0)?;
                Ok(Begun { epoch, batch, session })
            }
            Self::Simulated(session) => session.position().await,
        }
    }

    /// This session writes for the epoch from now on; whether the lease was still its.
    pub(super) async fn move_session(&self, node: &Node, epoch: i64) -> Result<bool, SessionError> {
        match self {
            Self::Postgres(client) => Ok(fleet::move_session(client, node, epoch).await?),
            Self::Simulated(session) => session.move_session(epoch).await,
        }
    }

    /// Renews the lease of an epoch.
    pub(super) async fn renew(&self, node: &Node, epoch: i64) -> Result<Renewal, SessionError> {
        match self {
            Self::Postgres(client) => Ok(fleet::renew(client, node, epoch).await?),
            Self::Simulated(session) => session.renew(epoch).await,
        }
    }

    /// The gateway that writes now; `None` where the database has no such table.
    pub(super) async fn look(&self) -> Result<Option<Held>, SessionError> {
        match self {
            Self::Postgres(client) => match fleet::look(client).await {
                Err(error) if error.code() == Some(&SqlState::UNDEFINED_TABLE) => Ok(None),
                held => Ok(Some(held?)),
            },
            Self::Simulated(session) => session.look().await.map(Some),
        }
    }

    /// Takes a lease that is over from its holder, and ends the session that writes for it.
    pub(super) async fn end(&self) -> Result<(), SessionError> {
        match self {
            Self::Postgres(client) => Ok(fleet::end(client).await?),
            Self::Simulated(session) => session.end().await,
        }
    }

    /// Tells the others of a gateway that waits: by which they know its process, and whether another one calls itself the same. `None`
    /// where the database is of a release before: its opening says what is to be done.
    pub(super) async fn wait(
        &self,
        node: &Node,
        process: Option<i64>,
    ) -> Result<Option<(i64, bool)>, SessionError> {
        match self {
            Self::Postgres(client) => match fleet::wait(client, node, process).await {
                Err(error) if error.code() == Some(&SqlState::UNDEFINED_COLUMN) => Ok(None),
                told => Ok(Some(told?)),
            },
            Self::Simulated(_) => Ok(Some((-1, false))),
        }
    }

    /// The check value of the pepper that the rows were made with, if one is kept.
    pub(super) async fn pepper(&self) -> Result<Option<i64>, SessionError> {
        match self {
            Self::Postgres(client) => Ok(fleet::pepper(client).await?),
            Self::Simulated(_) => Ok(None),
        }
    }
}

async fn fetch_all(client: &Client, wanted: &Wanted) -> Result<Found, StoreError> {
    if wanted.is_empty() {
        client.batch_execute("").await.map_err(|error| store_error("a look at the server", &error))?;
        return Ok(Found::default());
    }
    let keys: Vec<RowKey> = wanted.keys.iter().cloned().collect();
    let lists = wanted.lists.iter().map(async |(list, from)| {
        let entries = fetch::first(client, list, from.as_ref(), LISTED).await?;
        Ok((list.clone(), entries))
    });
    let days = async { Ok(if wanted.days { Some(fetch::days(client).await?) } else { None }) };
    // All are sent before the first is answered.
    let (rows, lists, days) = tokio::try_join!(fetch::fetch(client, &keys), try_join_all(lists), days)?;
    Ok(Found { rows, lists, days })
}

/// Has the lock; a session that is about to end is waited for.
async fn take_lock(client: &Client) -> Result<bool, Error> {
    match client.batch_execute(WAIT_FOR_LOCK).await {
        Err(error) if error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE) => Ok(false),
        outcome => outcome.map(|()| true),
    }
}

/// Keeps all others from writing to the database, as long as the session lasts.
///
/// # Errors
/// [`OpenError::Taken`]; the database's.
pub(super) async fn lock_out(client: &Client, server: &Server) -> Result<(), OpenError> {
    match take_lock(client).await.map_err(SessionError::from)? {
        true => Ok(()),
        false => Err(OpenError::Taken { database: server.to_string() }),
    }
}
