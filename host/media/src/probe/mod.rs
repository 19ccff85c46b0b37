//! What media are, by their own bytes.

pub(crate) mod boxes;
pub(crate) mod facts;
pub(crate) mod look;
pub(crate) mod mp4;
pub(crate) mod wav;
