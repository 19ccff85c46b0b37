//! The journey family as a black box: the real binary and its plugin, the real listener, a strict simulated proxy.
//!
//! One file a topic. Pictures are checked by pixel: the proxy draws each tile in a colour of its own and remembers it.

mod bulk;
mod creation;
mod failures;
mod fields;
mod follow_ups;
mod kill;
mod money;
mod painting;
mod pictures;
mod readme;
mod scene;
mod video;
mod views;
