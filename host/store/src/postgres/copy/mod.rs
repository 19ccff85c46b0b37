//! Copies of a whole store, from a file into an empty database and back: one snapshot, kind by kind, and all of it or nothing.

mod from_file;
mod to_file;

pub(crate) use from_file::from_file;
pub(crate) use to_file::to_file;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use gatehouse_model::Boxed;
use gatehouse_tasks::{Row, RowChange, RowKey};
use tokio_postgres::Error;

use super::connect::Server;
use super::failure::describe;
use super::migrate::prepare;
use crate::copy::{CopyError, StoreCopy};
use crate::error::OpenError;
use crate::examine::{Progress, look_at};
use crate::open::creation::keep_name;

/// Rows that are here at once, at most, and their bytes, about: a task's row may have some MiB.
const PIECE: usize = 200;
const PIECE_BYTES: usize = 8 * 1024 * 1024;

/// Copies a store from a file that no process has open into an empty database: all of it or nothing.
///
/// # Errors
/// [`CopyError`], also where the database has rows or is in use.
pub fn copy_to_database<'a>(
    file: &'a Path,
    server: &'a Server,
    progress: &'a Progress,
) -> Boxed<'a, Result<StoreCopy, CopyError>> {
    Box::pin(async move {
        let snapshot = look_at(file)?;
        let mut client = server.connect().await.map_err(OpenError::from)?.client;
        server.lock_out_gateways(&client).await?;
        prepare(&mut client).await?;
        from_file(&mut client, &snapshot, progress).await
    })
}

/// Copies a store from a database that no gateway uses into a new file, which is there once all of it is.
///
/// # Errors
/// [`CopyError`], also where there is a file already.
pub fn copy_to_file<'a>(
    server: &'a Server,
    file: &'a Path,
    progress: &'a Progress,
) -> Boxed<'a, Result<StoreCopy, CopyError>> {
    Box::pin(async move {
        let unusable = |error: std::io::Error| CopyError::Copy(format!("{}: {error}", file.display()));
        if file.try_exists().map_err(unusable)? {
            return Err(CopyError::Copy(format!("{}: there is a store already", file.display())));
        }
        let mut client = server.connect().await.map_err(OpenError::from)?.client;
        // Before the snapshot: a gateway that ends now has then committed what it had.
        server.lock_out_gateways(&client).await?;
        prepare(&mut client).await?;
        let begun = file.with_extension("begun");
        // What an attempt before it left.
        fs::remove_file(&begun).or_else(absent).map_err(unusable)?;
        let copied = to_file(&mut client, &begun, progress).await;
        match copied {
            Ok(copied) => {
                fs::rename(&begun, file).and_then(|()| keep_name(file)).map_err(unusable)?;
                Ok(copied)
            }
            Err(error) => {
                let _ = fs::remove_file(&begun);
                Err(error)
            }
        }
    })
}

fn absent(error: std::io::Error) -> std::io::Result<()> {
    if error.kind() == std::io::ErrorKind::NotFound { Ok(()) } else { Err(error) }
}

/// Rows that were read and not written, and how many were.
struct Pieces<'a> {
    progress: &'a Progress,
    changes: Vec<RowChange>,
    bytes: usize,
    rows: BTreeMap<String, u64>,
}

impl<'a> Pieces<'a> {
    fn new(progress: &'a Progress) -> Self {
        Self { progress, changes: Vec::new(), bytes: 0, rows: BTreeMap::new() }
    }

    fn add(&mut self, table: &str, key: RowKey, row: impl Into<Row>, bytes: usize) {
        self.bytes += bytes;
        self.changes.push(RowChange { key, before: None, after: Some(row.into()) });
        self.count(table, 1);
    }

    fn count(&mut self, table: &str, rows: u64) {
        *self.rows.entry(table.to_owned()).or_default() += rows;
        self.progress.check_rows(rows);
    }

    /// A piece that is whole, or the last one of its table.
    fn piece(&mut self, is_last: bool) -> Vec<RowChange> {
        if !is_last && self.changes.len() < PIECE && self.bytes < PIECE_BYTES {
            return Vec::new();
        }
        self.bytes = 0;
        std::mem::take(&mut self.changes)
    }
}

fn refused(doing: &str, error: &Error) -> CopyError {
    CopyError::Copy(format!("{doing}: {}", describe(error)))
}
