//! Edits of results: a tile of a grid picture, a clip of a film. Both work on what the store holds; what they read is
//! hostile until proved otherwise.

pub(crate) mod apply;
pub(crate) mod clip;
pub(crate) mod locate;
pub(crate) mod tile;
