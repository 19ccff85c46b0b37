//! The one session that writes: it fetches what commands miss, sends their changes, and knows after a lost connection whether a batch
//! was committed.
//!
//! The session that has the advisory lock of the database is its only writer. Opening counts `epoch` of the table `home` up, each commit counts
//! `batch` up and fails where either is not what this process left: a writer that was replaced meanwhile writes nothing. Where the
//! answer of a commit was lost, the row says what became of it, since the lock is not had before the session that sent it has ended:
//!
//! | `home` says | The batch |
//! |---|---|
//! | `batch` as before | was not committed, and is sent again |
//! | `batch` one higher | was committed |
//! | another `epoch` | is not this process's to write any more |
//! | anything else | the server has lost what it had answered: this process knows rows that are not there |
//!
//! While the server cannot be reached, the changes wait here. A trip that takes long is told to everyone else, who need not wait for it. A
//! session that ends while nothing is written is replaced at once.

use std::collections::HashSet;
use std::future::pending;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::try_join_all;
use gatehouse_tasks::{HoldId, RowChange, RowKey};
use tokio::time as clock;
use tokio_postgres::Client;

use super::connect::{Connected, Server};
use super::engine::{Engine, Found, LISTED, Wanted};
use super::failure::{describe, store_error};
use super::fetch;
use super::fleet::{self, Begun, Node, broken};
use super::keeper::Keeper;
use super::migrate;
use super::write::Flush;
use crate::error::{OpenError, StoreError};
use crate::lease::Moment;
use crate::wait::{Pause, WriterWait};

/// How long others wait for a trip of this session before they are told that the store cannot be reached.
const PATIENCE: Duration = Duration::from_millis(800);
/// How long a store that is being closed waits for a trip that takes long.
const CLOSING: Duration = Duration::from_secs(5);
/// Between two looks at a session whose answer does not come, and for each of them; and for the first words of another session.
const LOOK: Duration = Duration::from_secs(3);
/// What the server says where `home` is not as this process left it.
const REPLACED: &str = "GH001";

/// A batch is sent at once, from its begin to its commit. If the server refused the begin, each statement behind it would be a
/// transaction of its own; with this it is refused like the begin.
const GUARDED: &str = "set default_transaction_read_only = on";
const UNGUARDED: &str = "set default_transaction_read_only = off";
const LOCK: &str = "select pg_try_advisory_lock(7166120832)";
const SESSION: &str = "select pg_backend_pid()";
const FIND_HOME: &str = "select epoch, batch from home where home = 0";

/// The database, as its only writer has it.
pub(crate) struct Home {
    server: Server,
    node: Node,
    /// `None` once it is lost.
    connection: Option<Connected>,
    /// The number of its session at the server.
    session: i32,
    epoch: i64,
    /// The last one that was committed.
    batch: i64,
    /// Whether the next batch was sent and not answered.
    in_doubt: bool,
    /// Since when the server cannot be reached.
    away: Option<Instant>,
    /// Ids of all open holds.
    holds: Arc<HashSet<HoldId>>,
    wait: Arc<WriterWait>,
}

impl Home {
    /// Becomes the writer of a database, whose tables are made where it is empty. `ended` is the epoch of a gateway whose end was seen.
    ///
    /// # Errors
    /// [`OpenError::Taken`] while another process is, [`OpenError::Leased`] while another gateway is about to come back; the database's.
    pub(crate) async fn open(
        server: Server,
        node: Node,
        ended: Option<i64>,
        wait: Arc<WriterWait>,
    ) -> Result<Self, OpenError> {
        let mut connected = server.connect().await?;
        take_lock(&connected.client, &server).await?;
        migrate::prepare(&mut connected.client).await?;
        let client = &connected.client;
        let sent = Moment::now();
        let Some(begun) = fleet::take(client, &node, ended).await.map_err(|error| broken(&error))? else {
            fleet::expect_no_lease(client, &server).await?;
            // It was over a moment later.
            return Err(OpenError::Taken { database: server.to_string() });
        };
        let Begun { epoch, batch, session } = begun;
        wait.begin_lease(sent);
        wait.follow_session(connected.ended.clone());
        let holds = fetch::open_holds(client).await;
        let holds = holds.map_err(|error| OpenError::Database {
            passes: error.passes(),
            reason: format!("its open holds: {error}"),
        })?;
        client.batch_execute(GUARDED).await.map_err(|error| broken(&error))?;
        let (connection, holds) = (Some(connected), Arc::new(holds));
        let (in_doubt, away) = (false, None);
        Ok(Self { server, node, connection, session, epoch, batch, in_doubt, away, holds, wait })
    }

    /// What keeps the lease of this writer.
    pub(crate) fn keeper(&self) -> Keeper {
        Keeper {
            server: self.server.clone(),
            node: self.node.clone(),
            epoch: self.epoch,
            wait: Arc::clone(&self.wait),
        }
    }

    /// Ends the lease, so that another gateway need not wait for its end.
    pub(crate) async fn leave(&self) {
        let Some(Connected { client, .. }) = &self.connection else { return };
        let left = async {
            client.batch_execute(UNGUARDED).await?;
            fleet::leave(client, self.epoch).await
        };
        match clock::timeout(PATIENCE, left).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::debug!(error = describe(&error), "the lease was not given back"),
            Err(_) => tracing::debug!("the lease was not given back in time"),
        }
    }

    /// What is below the rows of the next batch.
    pub(crate) fn engine(&self) -> Engine {
        Engine::new(Arc::clone(&self.holds))
    }

    /// Fetches what an engine misses, however long it takes; the keys of what is likely to be read next.
    ///
    /// # Errors
    /// The database's that do not pass; [`StoreError::Unavailable`] once the store closes.
    pub(crate) async fn supply(&mut self, engine: &mut Engine) -> Result<Vec<RowKey>, StoreError> {
        let wanted = engine.wanted();
        let mut pause = Pause::default();
        loop {
            let fetched = match self.connected().await {
                Ok(()) => self.told(self.fetch(&wanted)).await.flatten(),
                Err(error) => Err(error),
            };
            match fetched {
                Ok(found) => {
                    self.go_on();
                    return Ok(engine.add(found));
                }
                Err(error) => self.after(error, &mut pause).await?,
            }
        }
    }

    /// Ends when the session has.
    pub(crate) async fn session_ended(&mut self) {
        if let Some(Connected { ended, .. }) = &mut self.connection {
            // Its task sends that, or is gone itself.
            drop(ended.wait_for(|ended| *ended).await);
        }
    }

    /// Has another session begun in place of one that ended, however long it takes: neither the next command nor a call that waits until
    /// it may leave should be the first to notice.
    ///
    /// # Errors
    /// As [`Home::supply`].
    pub(crate) async fn renew(&mut self) -> Result<(), StoreError> {
        let mut pause = Pause::default();
        while let Err(error) = self.connected().await {
            self.after(error, &mut pause).await?;
        }
        self.go_on();
        Ok(())
    }

    /// Commits these changes, once, however long it takes; without any, makes sure that the server is there.
    ///
    /// # Errors
    /// As [`Home::supply`].
    pub(crate) async fn commit(&mut self, changes: &[RowChange], drop_before: u32) -> Result<(), StoreError> {
        let flush = Flush::of(changes, drop_before)?;
        let is_empty = changes.is_empty() && drop_before == 0;
        let next = self.batch + 1;
        let mut pause = Pause::default();
        loop {
            let sent = match self.connected().await {
                // The answer that was lost was a yes.
                Ok(()) if self.batch == next => Ok(()),
                Ok(()) if is_empty => self.told(self.fetch(&Wanted::default())).await.flatten().map(drop),
                Ok(()) => self.send(&flush).await,
                Err(error) => Err(error),
            };
            match sent {
                Ok(()) => break,
                Err(error) => self.after(error, &mut pause).await?,
            }
        }
        self.go_on();
        self.follow(changes);
        Ok(())
    }

    async fn send(&mut self, flush: &Flush<'_>) -> Result<(), StoreError> {
        let Some(Connected { client, .. }) = &self.connection else { return Err(StoreError::Unavailable) };
        self.in_doubt = true;
        match self.told(flush.send(client, self.epoch, self.batch)).await? {
            Ok(()) => {
                (self.batch, self.in_doubt) = (self.batch + 1, false);
                Ok(())
            }
            Err(error) if error.code().is_some_and(|state| state.code() == REPLACED) => Err(replaced()),
            Err(error) => Err(store_error("a commit", &error)),
        }
    }

    /// Open holds as of the commit.
    fn follow(&mut self, changes: &[RowChange]) {
        for change in changes {
            let RowKey::Hold(id) = &change.key else { continue };
            // Nobody else has it between two batches, so nothing is copied.
            let holds = Arc::make_mut(&mut self.holds);
            if change.after.is_some() {
                holds.insert(*id);
            } else {
                holds.remove(id);
            }
        }
    }

    async fn fetch(&self, wanted: &Wanted) -> Result<Found, StoreError> {
        let Some(Connected { client, .. }) = &self.connection else { return Err(StoreError::Unavailable) };
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

    /// Has a session that writes: the one there is, or another one, after which it is known what became of a batch in doubt.
    async fn connected(&mut self) -> Result<(), StoreError> {
        if self.connection.as_ref().is_some_and(|connection| !connection.client.is_closed()) {
            return Ok(());
        }
        self.connection = None;
        let (connected, Begun { epoch, batch, session }) = self.told(self.connect_again()).await??;
        if epoch != self.epoch {
            return Err(replaced());
        }
        match batch - self.batch {
            0 => {}
            1 if self.in_doubt => self.batch = batch,
            found => {
                return Err(StoreError::failed(format_args!(
                    "the database is at another batch than this gateway left it at, by {found}: it was restored, or a standby that was \
                     behind has taken over; a restart goes on with what is there"
                )));
            }
        }
        self.wait.follow_session(connected.ended.clone());
        (self.connection, self.session, self.in_doubt) = (Some(connected), session, false);
        Ok(())
    }

    async fn connect_again(&self) -> Result<(Connected, Begun), StoreError> {
        let connected = self.server.connect().await?;
        let begun = clock::timeout(LOOK, self.begin_again(&connected.client)).await;
        Ok((connected, begun.unwrap_or(Err(StoreError::Unavailable))?))
    }

    /// Has a session have the lock and the lease of this process.
    async fn begin_again(&self, client: &Client) -> Result<Begun, StoreError> {
        let failed = |error: tokio_postgres::Error| store_error("another session of the writer", &error);
        if !value::<bool>(client, LOCK).await.map_err(failed)? {
            fleet::end_session(client, self.session).await.map_err(failed)?;
            let row = client.query_typed_one(FIND_HOME, &[]).await.map_err(failed)?;
            if row.try_get::<_, i64>(0).map_err(failed)? != self.epoch {
                return Err(replaced());
            }
            // It ends in a moment, or another process that has the lock is about to count the epoch.
            tracing::debug!("another session has the lock of the database");
            return Err(StoreError::Unavailable);
        }
        let row = client.query_typed_one(FIND_HOME, &[]).await.map_err(failed)?;
        let (epoch, batch) = (row.try_get(0).map_err(failed)?, row.try_get(1).map_err(failed)?);
        let session = value(client, SESSION).await.map_err(failed)?;
        // A standby has ended the lease and is about to take over: what has the lock for a moment more must not keep it.
        if epoch == self.epoch
            && !fleet::move_session(client, &self.node, self.epoch).await.map_err(failed)?
        {
            return Err(replaced());
        }
        client.batch_execute(GUARDED).await.map_err(failed)?;
        Ok(Begun { epoch, batch, session })
    }

    /// A trip that takes long is told to everyone else, and so is an outage: one that is over in a moment refuses nobody. A store that is
    /// being closed does not wait for it without an end.
    async fn told<T>(&self, trip: impl Future<Output = T>) -> Result<T, StoreError> {
        let mut trip = pin!(trip);
        let waited = self.away.map(|since| since.elapsed()).unwrap_or_default();
        if let Ok(done) = clock::timeout(PATIENCE.saturating_sub(waited), &mut trip).await {
            return Ok(done);
        }
        let cause = if self.away.is_some() { "there is no connection" } else { "it does not answer" };
        self.wait.lose(&format_args!("database {}: {cause}", self.server));
        let given_up = async {
            self.wait.closed().await;
            drop(clock::timeout(CLOSING, pending::<()>()).await);
        };
        tokio::select! {
            done = &mut trip => Ok(done),
            () = given_up => Err(StoreError::Unavailable),
            () = Box::pin(self.is_forgotten()), if self.connection.is_some() => Err(StoreError::Unavailable),
        }
    }

    /// Ends when the server has nothing to do for the session, at two looks: what it was sent, or what it answered, is lost on the way, by
    /// something that does not end the connection.
    async fn is_forgotten(&self) {
        let mut idle = 0;
        while idle < 2 {
            drop(clock::timeout(LOOK, pending::<()>()).await);
            let asked = async {
                let other = self.server.connect_reader().await?;
                let busy = fleet::is_busy(&other.client, self.session).await;
                busy.map_err(|error| store_error("a look at the writer's session", &error))
            };
            idle = if clock::timeout(LOOK, asked).await == Ok(Ok(false)) { idle + 1 } else { 0 };
        }
    }

    /// The server answers.
    fn go_on(&mut self) {
        self.away = None;
        self.wait.go_on();
    }

    /// Waits after an error that passes: the session is given up, so that its end settles what became of its batch.
    async fn after(&mut self, error: StoreError, pause: &mut Pause) -> Result<(), StoreError> {
        if error != StoreError::Unavailable {
            return Err(error);
        }
        self.connection = None;
        self.away.get_or_insert_with(Instant::now);
        self.told(self.wait.pause(pause)).await.flatten()
    }
}

pub(super) fn replaced() -> StoreError {
    StoreError::failed(
        "another gateway has taken over the database; this one has to stop, and what it had not committed is lost, as in a crash",
    )
}

/// Keeps all others from writing to the database, as long as the session lasts.
///
/// # Errors
/// [`OpenError::Taken`]; the database's.
pub(super) async fn take_lock(client: &Client, server: &Server) -> Result<(), OpenError> {
    match value(client, LOCK).await.map_err(|error| broken(&error))? {
        true => Ok(()),
        false => Err(OpenError::Taken { database: server.to_string() }),
    }
}

/// The one value of an answer.
async fn value<T: for<'a> tokio_postgres::types::FromSql<'a>>(
    client: &Client,
    sql: &str,
) -> Result<T, tokio_postgres::Error> {
    client.query_typed_one(sql, &[]).await?.try_get(0)
}
