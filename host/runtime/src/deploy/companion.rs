//! A configuration that comes with a version: both are in effect from the switch on, or neither is.

use std::io;

use crate::config::Config;

/// Configuration that a deployment brings besides its component. The version is checked under it.
pub trait Companion {
    /// The runtime's part of it.
    fn config(&self) -> &Config;

    /// Makes it durable for `family`, before the switch is.
    ///
    /// # Errors
    /// The file system's; the version is refused.
    fn keep(&self, family: &str) -> io::Result<()>;

    /// Takes [`Companion::keep`] back: the switch could not be made durable.
    fn discard(&self, family: &str);

    /// Puts it into effect, right before the version serves.
    fn apply(&self);
}
