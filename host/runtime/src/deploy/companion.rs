//! A configuration that comes with a version: both are in effect from the switch on, or neither is.

use std::io;

use gatehouse_model::Digest;

use crate::config::Config;

/// Configuration that a deployment brings besides its component. The version is checked under it.
pub trait Companion {
    /// The runtime's part of it.
    fn config(&self) -> &Config;

    /// Makes it durable for the version `digest` of `family`, before that version is listed as active. It counts from then
    /// on: where a crash comes between, the next start must do without it.
    ///
    /// # Errors
    /// The file system's; the version is refused.
    fn keep(&self, family: &str, digest: &Digest) -> io::Result<()>;

    /// Takes [`Companion::keep`] back: the switch could not be made durable.
    fn discard(&self, family: &str, digest: &Digest);

    /// Puts it into effect, right before the version serves.
    fn apply(&self);
}
