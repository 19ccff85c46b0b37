//! Edits: a tile of a grid picture or a clip of a film as a result, a picture in other pixels as an input. All work on what
//! the store holds; what they read is hostile until proved otherwise.

pub(crate) mod apply;
pub(crate) mod clip;
pub(crate) mod locate;
pub(crate) mod scale;
pub(crate) mod tile;
