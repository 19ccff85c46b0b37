//! A clip of a film without coding it anew: new tables in front of the same samples. Pure.
//!
//! ```text
//! film:  ftyp  mdat[ v1* a1 v2 a2 v3* a3 v4 a4 v5* a5 ]  moov     (* sync sample)
//! clip:  ftyp  moov'  mdat[ v3* a3 v4 a4 ]                        from at v3 or v4, to before v5
//! ```
//!
//! - The clip begins at the last sync sample of the leading track (the first video, or the first audio where there
//!   is none) at or before `from`, compared in whole milliseconds. Every other track begins at its own last sync sample
//!   at or before that moment, and an edit list hides what lies before it, so that all tracks start together.
//! - It ends at `to` or with the film. Samples that the last frames need for decoding stay; the edit list ends before
//!   them. A track that has nothing in between is left out.
//! - Only video and audio tracks are kept. Sample descriptions, names and matrices are copied byte for byte; `stts`,
//!   `ctts`, `stss`, `stsz`, `stsc`, `stco`/`co64`, `sdtp` and `sbgp` are cut, durations and edit lists written anew;
//!   other tables that count samples are left out. Samples keep the order they have in the film.
//! - Refused with a reason: fragmented and encrypted films, edit lists of several parts or of another speed, compact
//!   sample sizes (`stz2`), tables that contradict each other or the length of the file.

pub(crate) mod plan;
mod presentation;
mod samples;
mod tables;
mod track;
mod write;
