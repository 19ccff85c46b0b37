//! Scripts that authors of any language write as text: how they read, how an answer is shown beside them, and how a
//! part of it is compared. Never plays anything; `player` does.

mod partial;
mod read;
pub(crate) mod shown;
pub(crate) mod shown_direct;
pub(crate) mod shown_text;
mod text;
mod values;

pub use partial::difference;
