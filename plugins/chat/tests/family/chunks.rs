//! chunks
