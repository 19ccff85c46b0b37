//! A family as the built component that scripts of the test kit are played against, under the host's engine, limits and
//! checks. `gatehouse plugin play` and the tests of the built-in families use it.
//!
//! Between the kit's types, which are the SDK's, and the host's. Never opens a socket, and has no data folder.

mod component;
mod convert;
mod text;

pub use component::{CODE, Component};
pub use text::Both;
