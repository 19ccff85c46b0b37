//! What is below the rows of a batch: the file, or the database.

use std::collections::BTreeSet;

use gatehouse_tasks::{Backend, List, Row, RowChange, RowKey};

use crate::engine::rows::FileEngine;
use crate::error::StoreError;
use crate::postgres::engine::Engine as PostgresEngine;

/// One of them.
#[expect(clippy::large_enum_variant, reason = "there is one a batch, and a box would cost each access")]
pub(crate) enum Engine {
    File(FileEngine),
    Postgres(PostgresEngine),
}

impl From<FileEngine> for Engine {
    fn from(engine: FileEngine) -> Self {
        Self::File(engine)
    }
}

impl From<PostgresEngine> for Engine {
    fn from(engine: PostgresEngine) -> Self {
        Self::Postgres(engine)
    }
}

impl Engine {
    /// Whether a command may stop at a row that cannot be fetched, and begins again later.
    pub(crate) fn may_be_away(&self) -> bool {
        match self {
            Self::File(file) => file.may_be_away(),
            Self::Postgres(_) => true,
        }
    }

    /// Has the commit drop the history of all days before `day`.
    pub(crate) fn drop_before(&mut self, day: u32) {
        match self {
            Self::File(file) => file.drop_before(day),
            Self::Postgres(postgres) => postgres.drop_before(day),
        }
    }

    /// Whether the commit drops history.
    pub(crate) fn drops(&self) -> bool {
        match self {
            Self::File(file) => file.drops(),
            Self::Postgres(postgres) => postgres.drops(),
        }
    }

    /// The days with history, as of the last commit.
    pub(crate) fn days(&self) -> Result<BTreeSet<u32>, StoreError> {
        match self {
            Self::File(file) => file.days(),
            Self::Postgres(postgres) => postgres.days(),
        }
    }
}

impl Backend for Engine {
    type Error = StoreError;

    fn fetch(&self, key: &RowKey) -> Result<Option<Row>, StoreError> {
        match self {
            Self::File(file) => file.fetch(key),
            Self::Postgres(postgres) => postgres.fetch(key),
        }
    }

    fn first(
        &self,
        list: &List,
        from: Option<&(u64, RowKey)>,
        is_changed: &dyn Fn(&RowKey) -> bool,
    ) -> Result<Option<(u64, RowKey)>, StoreError> {
        match self {
            Self::File(file) => file.first(list, from, is_changed),
            Self::Postgres(postgres) => postgres.first(list, from, is_changed),
        }
    }

    fn commit(&mut self, changes: &[RowChange]) -> Result<(), StoreError> {
        match self {
            Self::File(file) => file.commit(changes),
            Self::Postgres(postgres) => postgres.commit(changes),
        }
    }
}
