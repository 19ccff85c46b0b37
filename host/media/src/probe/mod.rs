//! What media are, by their own bytes.

pub(crate) mod boxes;
pub(crate) mod facts;
mod fragments;
mod length;
pub(crate) mod look;
pub(crate) mod mp4;
pub(crate) mod orientation;
mod remote;
pub(crate) mod wav;
pub(crate) mod whole;
