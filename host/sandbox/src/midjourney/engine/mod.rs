//! The image engine: what prompts mean, which versions there are, what buttons a result has, its colours and texts.
//!
//! Pure; knows no HTTP and no tasks.

pub(crate) mod buttons;
pub(crate) mod colour;
pub(crate) mod prompt;
pub(crate) mod version;
