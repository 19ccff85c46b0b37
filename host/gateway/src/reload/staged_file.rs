//! The defaults that come with a version, as its deployment keeps them: staged before the switch, settled after it.

use std::io;
use std::path::{Path, PathBuf};

use gatehouse_model::Digest;

use crate::config::{settle_defaults, stage_defaults, unstage_defaults};

/// The text to keep in a data folder.
pub(super) struct StagedFile {
    data: PathBuf,
    text: String,
}

impl StagedFile {
    pub(super) fn new(data: &Path, text: &str) -> Self {
        Self { data: data.to_owned(), text: text.to_owned() }
    }

    /// Durable when it returns.
    pub(super) fn write(&self, family: &str, digest: &Digest) -> io::Result<()> {
        stage_defaults(&self.data, family, digest, &self.text)
    }

    /// The version was not listed.
    pub(super) fn remove(&self, family: &str, digest: &Digest) {
        if let Err(error) = unstage_defaults(&self.data, family, digest) {
            tracing::error!(family, %error, "the defaults of a refused plugin could not be removed");
        }
    }

    /// The version is listed: they are in effect, whether or not their file has its own name yet.
    pub(super) fn settle(&self) {
        if let Err(error) = settle_defaults(&self.data) {
            tracing::error!(%error, "the defaults of a plugin keep their staged name until the next start");
        }
    }
}
