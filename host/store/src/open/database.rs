//! redb's database, in a file or on any other backend.

use std::fs::OpenOptions;
use std::path::Path;
use std::sync::Arc;

use redb::backends::FileBackend;
use redb::{Builder, Database, DatabaseError, StorageBackend};

use super::creation;
use crate::config::Config;
use crate::disk_full::WaitingBackend;
use crate::error::OpenError;
use crate::wait::WriterWait;

/// Shown instead of a path for a store that is not a file.
pub(crate) const BACKEND: &str = "(backend)";

/// Opens the file, or makes it.
///
/// # Errors
/// [`OpenError::Locked`], [`OpenError::Storage`].
pub(crate) fn in_file(path: &Path, config: &Config, wait: &Arc<WriterWait>) -> Result<Database, OpenError> {
    let storage = |reason: String| OpenError::Storage { path: path.to_owned(), reason };
    let database = match open(path, config, wait) {
        Err(_) if creation::undo_unfinished(path).unwrap_or(false) => open(path, config, wait),
        outcome => outcome,
    };
    let database = database.map_err(|error| match error {
        DatabaseError::DatabaseAlreadyOpen => OpenError::Locked { path: path.to_owned() },
        other => storage(other.to_string()),
    })?;
    creation::keep_name(path).map_err(|error| storage(error.to_string()))?;
    Ok(database)
}

/// As [`Builder::create`], with a file that waits for room.
fn open(path: &Path, config: &Config, wait: &Arc<WriterWait>) -> Result<Database, DatabaseError> {
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
    let backend = WaitingBackend::new(FileBackend::new(file)?, Arc::clone(wait));
    builder(config).create_with_backend(backend)
}

/// The same on a backend.
///
/// # Errors
/// [`OpenError::Storage`].
pub(crate) fn on_backend(backend: impl StorageBackend, config: &Config) -> Result<Database, OpenError> {
    let broken =
        |error: DatabaseError| OpenError::Storage { path: BACKEND.into(), reason: error.to_string() };
    builder(config).create_with_backend(backend).map_err(broken)
}

fn builder(config: &Config) -> Builder {
    let mut builder = Database::builder();
    builder.set_cache_size(config.cache_mib.saturating_mul(1024 * 1024));
    builder
}
