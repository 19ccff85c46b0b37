//! Files of this gateway: results behind their links, files that operators give as inputs of requests.

use std::sync::Arc;

use bytes::Bytes;
use gatehouse_media::{InputError, MediaFile, MediaRefusal};
use gatehouse_model::{Boxed, Media, Task};

use crate::disks::Disks;
use crate::errors::SubmitError;
use crate::shared::Shared;

/// Reads and keeps files.
pub struct Files {
    pub(crate) shared: Arc<Shared>,
    pub(crate) disks: Arc<Disks>,
}

impl Files {
    /// Opens a signed link: `/v1/media/<name>?expires=<unix s>&signature=<hex>`.
    pub fn media<'a>(
        &'a self,
        name: &'a str,
        expires: &'a str,
        signature: &'a str,
        range: Option<&'a str>,
    ) -> Boxed<'a, Result<MediaFile, MediaRefusal>> {
        Box::pin(self.shared.media.open_link(name, expires, signature, range))
    }

    /// A copied result, for an operator; `range` is a `Range` header.
    ///
    /// # Errors
    /// As for a link, which ends when the result does.
    pub fn result_file<'a>(
        &'a self,
        media: &'a Media,
        range: Option<&'a str>,
    ) -> Boxed<'a, Result<MediaFile, MediaRefusal>> {
        Box::pin(self.shared.media.open_result(media, range))
    }

    /// Whether a customer has deleted the result of that task; it ends by itself otherwise.
    pub async fn is_result_deleted(&self, task: &Task) -> Result<bool, MediaRefusal> {
        match task.media.first() {
            Some(first) => {
                self.shared.media.is_deleted(first).await.map_err(|error| MediaRefusal::of(&error))
            }
            None => Ok(false),
        }
    }

    /// Deletes the files of a task that has ended, for good. The task stays, as what was paid for.
    pub async fn delete_result(&self, task: &Task) -> Result<(), MediaRefusal> {
        // The first one says whether they are deleted: it is the last to go.
        for media in task.media.iter().rev() {
            self.shared.media.delete_result(media).await.map_err(|error| MediaRefusal::of(&error))?;
        }
        tracing::info!(task = %task.id, files = task.media.len(), "a customer has deleted a result");
        Ok(())
    }

    /// Keeps a file as a medium of this gateway, with a link that lives as long as a result's.
    ///
    /// # Errors
    /// [`SubmitError::Invalid`] for a file that is empty, too large or of no known kind; [`SubmitError::DiskFull`];
    /// [`SubmitError::MediaUnavailable`].
    pub fn keep_input<'a>(&'a self, bytes: &'a Bytes) -> Boxed<'a, Result<Media, SubmitError>> {
        Box::pin(async {
            self.disks.check()?;
            self.shared.media.keep_input(bytes).await.map_err(|error| match error {
                InputError::Store(error) => error.into(),
                wrong => SubmitError::invalid(wrong.to_string()),
            })
        })
    }

    /// The link to a medium; `base` is the public address without a slash at its end.
    #[must_use]
    pub fn media_link(&self, base: &str, media: &Media) -> String {
        self.shared.media.link(base, media)
    }

    /// Type and bytes of the file behind a link of this gateway; `None` for another link, one that has ended, and a file that
    /// is too large to be embedded in a request.
    pub fn linked_file<'a>(&'a self, link: &'a str) -> Boxed<'a, Option<(&'static str, Bytes)>> {
        Box::pin(async {
            self.shared.media.linked_file(link).await.unwrap_or_else(|error| {
                tracing::error!(%error, "a file behind a link of this gateway cannot be read");
                None
            })
        })
    }
}
