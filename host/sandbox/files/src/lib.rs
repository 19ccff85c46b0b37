//! The files that simulated providers make: pictures, sheets of tiles, films and sounds. All real, none large.
//!
//! The coders are generic, so they are compiled with what calls them: a crate of its own, and the only one of the sandbox
//! that is optimized in a debug build. Knows no provider, reads no file.

mod film;
mod picture;
mod sheet;

pub use film::{Film, Sound, SoundFormat};
pub use picture::{Picture, format_name, format_named};
pub use sheet::Sheet;
