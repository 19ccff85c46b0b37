//! What is big: blobs, probing, copies of results, signed links, image cutting.
//!
//! Owns every byte that is too large for a task's record: what clients embed in requests (blobs, kept for a
//! day), what providers made (results, kept for as long as their links live), what is known of both (facts by
//! their own bytes), and the links clients read results through.
//!
//! Never opens a socket (fetching is `upstream`'s), never knows which task owns which blob (callers bring the
//! list), never trusts a declared type, and keeps no index: names and times stand in the object keys. Called
//! by `driver`.
//!
//! ```text
//! blobs/<day of birth>/<blob id>                 what requests embed, and replies kept as blobs
//! media/<day of expiry>/<expiry s>-<name.ext>    results; the expiry is signed into the link
//! ```

mod config;
mod cut;
mod data;
mod facts;
mod link;
mod mp4;
mod objects;
mod probe;
mod range;
mod save;
mod scan;
mod store;
mod sweep;
mod taskblobs;
mod wav;
mod writer;

#[cfg(test)]
mod tests;

pub use config::Config;
pub use cut::{Cut, CutError, NewBlob};
pub use facts::facts;
pub use link::{MediaFile, MediaRefusal};
pub use objects::Error;
pub use probe::Probed;
pub use save::SaveError;
pub use store::MediaStore;
pub use sweep::Swept;
pub use taskblobs::TaskBlobs;
