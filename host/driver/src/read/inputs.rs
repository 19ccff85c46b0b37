//! Files that operators give as inputs of requests, and links of this gateway as they read them.

use bytes::Bytes;
use gatehouse_media::InputError;
use gatehouse_model::{Boxed, Media};

use crate::driver::Driver;
use crate::errors::SubmitError;

impl Driver {
    /// Keeps a file as a medium of this gateway, with a link that lives as long as a result's.
    ///
    /// # Errors
    /// [`SubmitError::Invalid`] for a file that is empty, too large or of no known kind; [`SubmitError::DiskFull`];
    /// [`SubmitError::MediaUnavailable`].
    pub fn keep_input<'a>(&'a self, bytes: &'a Bytes) -> Boxed<'a, Result<Media, SubmitError>> {
        Box::pin(async {
            self.state.check_disks()?;
            self.state.media.keep_input(bytes).await.map_err(|error| match error {
                InputError::Store(error) => error.into(),
                wrong => SubmitError::Invalid { field: None, message: wrong.to_string() },
            })
        })
    }

    /// The link to a medium; `base` is the public address without a slash at its end.
    #[must_use]
    pub fn media_link(&self, base: &str, media: &Media) -> String {
        self.state.media.link(base, media)
    }

    /// Type and bytes of the file behind a link of this gateway; `None` for another link, one that has ended, and a file that
    /// is too large to be embedded in a request.
    pub fn linked_file<'a>(&'a self, link: &'a str) -> Boxed<'a, Option<(&'static str, Bytes)>> {
        Box::pin(async {
            self.state.media.linked_file(link).await.unwrap_or_else(|error| {
                tracing::error!(%error, "a file behind a link of this gateway cannot be read");
                None
            })
        })
    }
}
