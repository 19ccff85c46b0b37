//! The one session that writes: it fetches what commands miss, sends their changes, and knows after a lost connection whether a batch
//! was committed.
//!
//! The session that has the advisory lock of the database is its only writer. Opening counts `epoch` of the
//! table `home` up, each commit counts `batch` up and fails where either is not what this process left: a
//! writer that was replaced meanwhile writes nothing. Where the answer of a commit was lost, the row says
//! what became of it, since the lock is not had before the session that sent it has ended:
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

use gatehouse_tasks::{HoldId, RowChange, RowKey};
use tokio::sync::watch;
use tokio::time as clock;

use super::engine::{Engine, Found, Wanted};
use super::failure::SessionError;
use super::fleet::{Begun, Node};
use super::keeper::Keeper;
use super::session::{Connection, Host, Sent, Session};
use super::write::Flush;
use crate::error::{OpenError, StoreError};
use crate::wait::{Pause, WriterWait};

/// How long others wait for a trip of this session before they are told that the store cannot be reached.
const PATIENCE: Duration = Duration::from_millis(800);
/// How long a store that is being closed waits for a trip that takes long.
const CLOSING: Duration = Duration::from_secs(5);
/// Between two looks at a session whose answer does not come, and for each of them; and for the first words of another session.
const LOOK: Duration = Duration::from_secs(3);

/// The database, as its only writer has it.
pub(crate) struct Home {
    server: Host,
    node: Node,
    /// `None` once it is lost.
    connection: Option<Connection>,
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
        server: Host,
        node: Node,
        ended: Option<i64>,
        wait: Arc<WriterWait>,
    ) -> Result<Self, OpenError> {
        let mut connection = server.session().await?;
        let client = &mut connection.client;
        if !client.take_lock().await? {
            return Err(OpenError::Taken { database: server.to_string() });
        }
        client.prepare().await?;
        let sent = wait.now();
        let Some(begun) = client.take(&node, ended).await? else {
            client.expect_no_lease(&server).await?;
            // It was over a moment later.
            return Err(OpenError::Taken { database: server.to_string() });
        };
        let Begun { epoch, batch, session } = begun;
        wait.begin_lease(sent);
        wait.follow_session(connection.ended.clone());
        let holds = client.open_holds().await.map_err(|error| OpenError::Database {
            passes: error.passes(),
            reason: format!("its open holds: {error}"),
        })?;
        client.guard().await?;
        let (connection, holds) = (Some(connection), Arc::new(holds));
        let (in_doubt, away) = (false, None);
        Ok(Self { server, node, connection, session, epoch, batch, in_doubt, away, holds, wait })
    }

    /// What keeps the lease of this writer, and tells the others what it is configured to do.
    pub(crate) fn keeper(&self, configuration: watch::Receiver<Option<String>>) -> Keeper {
        Keeper {
            server: self.server.clone(),
            node: self.node.clone(),
            configuration,
            epoch: self.epoch,
            wait: Arc::clone(&self.wait),
        }
    }

    /// Ends the lease, so that another gateway need not wait for its end.
    pub(crate) async fn leave(&self) {
        let Some(Connection { client, .. }) = &self.connection else { return };
        match clock::timeout(PATIENCE, client.leave(self.epoch)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::debug!(error = error.reason, "the lease was not given back"),
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
        if let Some(Connection { ended, .. }) = &mut self.connection {
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
                Ok(()) => self.send(&flush, changes, drop_before).await,
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

    async fn send(
        &mut self,
        flush: &Flush<'_>,
        changes: &[RowChange],
        drop_before: u32,
    ) -> Result<(), StoreError> {
        let Some(Connection { client, .. }) = &self.connection else { return Err(StoreError::Unavailable) };
        self.in_doubt = true;
        let sent = client.send(flush, changes, drop_before, self.epoch, self.batch);
        match self.told(sent).await?? {
            Sent::Committed => {
                (self.batch, self.in_doubt) = (self.batch + 1, false);
                Ok(())
            }
            Sent::Replaced => Err(replaced()),
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
        let Some(Connection { client, .. }) = &self.connection else { return Err(StoreError::Unavailable) };
        client.fetch(wanted).await
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

    async fn connect_again(&self) -> Result<(Connection, Begun), StoreError> {
        let connection = self.server.session().await?;
        let begun = clock::timeout(LOOK, self.begin_again(&connection.client)).await;
        Ok((connection, begun.unwrap_or(Err(StoreError::Unavailable))?))
    }

    /// Has a session have the lock and the lease of this process.
    async fn begin_again(&self, client: &Session) -> Result<Begun, StoreError> {
        let failed = |error: SessionError| error.of_store("another session of the writer");
        if !client.lock().await.map_err(failed)? {
            // Before anything is ended: since a restart of the server, another gateway's session may have the number.
            if client.position().await.map_err(failed)?.epoch != self.epoch {
                return Err(replaced());
            }
            client.end_session(self.session).await.map_err(failed)?;
            // It ends in a moment, or another process that has the lock is about to count the epoch.
            tracing::debug!("another session has the lock of the database");
            return Err(StoreError::Unavailable);
        }
        let found = client.position().await.map_err(failed)?;
        // A standby has ended the lease and is about to take over: what has the lock for a moment more must not keep it.
        if found.epoch == self.epoch && !client.move_session(&self.node, self.epoch).await.map_err(failed)? {
            return Err(replaced());
        }
        client.guard().await.map_err(failed)?;
        Ok(found)
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
            let asked = self.server.is_busy(self.session);
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
