//! What the writer works above: the file, which answers at once, or the database, for which it waits.

use std::future::pending;
use std::sync::Arc;

use gatehouse_tasks::Command;
use redb::Database;

use crate::below::Engine;
use crate::engine::rows::FileEngine;
use crate::error::StoreError;
use crate::postgres;
use crate::transaction::open::{Committed, OpenTransaction};
use crate::wait::{Access, WriterWait};

/// Where the writer's rows come from and go to.
pub(crate) enum Home {
    File { database: Arc<Database>, wait: Arc<WriterWait> },
    Postgres(Box<postgres::home::Home>),
}

impl Home {
    /// What is below the rows of the next batch.
    pub(crate) fn engine(&self) -> Engine {
        match self {
            Self::File { database, wait } => FileEngine::new(Arc::clone(database), Arc::clone(wait)).into(),
            Self::Postgres(home) => home.engine().into(),
        }
    }

    /// Has what these commands are likely to read fetched in one trip.
    pub(crate) async fn prepare(
        &mut self,
        transaction: &mut OpenTransaction,
        commands: impl Iterator<Item = &Command>,
    ) -> Result<(), StoreError> {
        if matches!(self, Self::File { .. }) {
            return Ok(());
        }
        for key in commands.flat_map(Command::likely_rows) {
            want(transaction, key);
        }
        self.supply(transaction).await
    }

    /// Ends once what a command missed can be read, however long that takes.
    pub(crate) async fn supply(&mut self, transaction: &mut OpenTransaction) -> Result<(), StoreError> {
        let home = match self {
            Self::File { wait, .. } => return wait.until_reached(Access::Fetch).await,
            Self::Postgres(home) => home,
        };
        while let Engine::Postgres(engine) = transaction.engine()
            && engine.is_missing()
        {
            // The rows of the customer that a task or a hold belongs to are read next.
            for key in home.supply(engine).await? {
                want(transaction, key);
            }
        }
        Ok(())
    }

    /// Makes a batch durable, however long that takes.
    pub(crate) async fn commit(&mut self, mut transaction: OpenTransaction) -> Result<Committed, StoreError> {
        match self {
            Self::File { wait, .. } => {
                // Asked last: the engine may go while what was posted waits for a row.
                wait.until_reached(Access::Commit).await?;
                transaction.commit()
            }
            Self::Postgres(home) => {
                let changes = transaction.changes()?;
                let drop_before = match transaction.engine() {
                    Engine::Postgres(engine) => engine.close(),
                    Engine::File(_) => 0,
                };
                home.commit(&changes, drop_before).await?;
                Ok(transaction.committed(changes))
            }
        }
    }

    /// Ends when the session has that writes, if there is one.
    pub(crate) async fn session_ended(&mut self) {
        match self {
            Self::File { .. } => pending().await,
            Self::Postgres(home) => home.session_ended().await,
        }
    }

    /// Has another one begun, however long that takes.
    pub(crate) async fn renew_session(&mut self) -> Result<(), StoreError> {
        match self {
            Self::File { .. } => Ok(()),
            Self::Postgres(home) => home.renew().await,
        }
    }

    /// Nothing more is written.
    pub(crate) async fn leave(&self) {
        match self {
            Self::File { .. } => {}
            Self::Postgres(home) => home.leave().await,
        }
    }
}

fn want(transaction: &mut OpenTransaction, key: gatehouse_tasks::RowKey) {
    if !transaction.knows(&key)
        && let Engine::Postgres(engine) = transaction.engine()
    {
        engine.want(key);
    }
}
