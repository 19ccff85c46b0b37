//! Holds no code: the manifest says why the crate exists.
