//! What media are, by their own bytes. Pure: knows no other part of this crate.

pub(crate) mod cut;
pub(crate) mod facts;
mod fragments;
mod length;
pub(crate) mod mp4;
pub(crate) mod orientation;
pub(crate) mod wav;
pub(crate) mod whole;
