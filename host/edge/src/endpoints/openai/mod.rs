//! Pictures, videos and completions in the shape of OpenAI's API: other views of the same tasks and of the same text models.
//! What is asked for becomes a submission or a text request like any other; nothing here knows a provider, a price or a file's
//! name.

pub(super) mod completions;
mod fields;
mod images;
mod made;
pub(super) mod videos;

pub(super) use images::{generate, is_wanted};
