//! What is done to a store as a whole: it is examined, copied, compared with a pepper.

use std::path::Path;

use gatehouse_model::metric;
use gatehouse_tasks::Report;

use crate::copy::{self, CopyError, StoreCopy};
use crate::error::StoreError;
use crate::examine::{self, Progress};
use crate::file::pepper::{self, PepperFit};
use crate::postgres;
use crate::store::{Source, Store};

impl Store {
    /// Re-sums the whole ledger, checks every hold against its task, the index against all tasks, and the owners of
    /// names against the names, in one snapshot.
    ///
    /// # Errors
    /// [`StoreError`]; what merely contradicts itself is in the report.
    pub fn examine(&self) -> Result<Report, StoreError> {
        self.examine_with(&Progress::default())
    }

    /// The same, telling how far it is.
    ///
    /// # Errors
    /// The same.
    pub fn examine_with(&self, progress: &Progress) -> Result<Report, StoreError> {
        let report = match self.source()? {
            Source::File(database) => self.read(&database, |txn| examine::examine(txn, progress))?,
            Source::Postgres(reading) => {
                let examined = async {
                    let mut reader = reading.reader().await?;
                    let examined = postgres::examine::examine(&mut reader, progress).await;
                    reader.keep();
                    examined
                };
                self.wake_for(reading.wait_for(examined))?
            }
        };
        #[expect(clippy::cast_precision_loss, reason = "an alert asks whether it is zero")]
        metrics::gauge!(metric::IMBALANCE).set(report.imbalance.0 as f64);
        Ok(report)
    }

    /// Compares the check value of a pepper with the one of this store; a store without one takes it. Before any command.
    pub fn fit_pepper(&self, check: u64) -> Result<PepperFit, StoreError> {
        match self.source()? {
            Source::File(database) => pepper::fit_pepper(&database, check),
            Source::Postgres(reading) => reading.wait_for(async {
                let reader = reading.reader().await?;
                let fits = postgres::reads::fit_pepper(&*reader, check).await;
                reader.keep();
                fits
            }),
        }
    }

    /// Copies everything that is committed into a new file at `path`, durably. Blocks for as long as that takes; what the
    /// store does meanwhile is not in the copy.
    ///
    /// # Errors
    /// [`CopyError`]. A file that was begun stays.
    pub fn copy_to(&self, path: &Path, progress: &Progress) -> Result<StoreCopy, CopyError> {
        let database = self.database()?;
        copy::copy(&database, path, progress)
    }
}
