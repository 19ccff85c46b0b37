//! An author's first minutes: `gatehouse plugin new`, build, play, for every language, outside of this repository.
//!
//! Python and JavaScript need `python3` with `venv` and `node` with `npm`; their tools are installed once below the
//! target folder. Nothing is skipped: without them the tests fail and say what to install.
#![expect(clippy::unwrap_used, reason = "a failed step fails the test")]

mod languages;
mod mock;
mod package;
mod play;
mod running;
mod scene;
