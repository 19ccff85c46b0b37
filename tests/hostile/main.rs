//! Hostile plugins in the whole house: installed through the operators' door, asked through the real listener,
//! beside honest requests that must all end well.
//!
//! The plugin is one fixture, a puppet (`tests/fixtures/puppet`): what it does is a script in the request, what it
//! says of itself is written into its component, so every misbehaviour is a row of data here. The provider it
//! talks to keeps every byte it is sent. Whatever a plugin tries harms its own request only, with a reason its
//! client can read, another one its operator can act upon, and no secret in either.

mod calls;
mod canary;
mod cancel;
mod crowd;
mod honest;
mod load;
mod migrate;
mod process;
mod puppet;
mod recorder;
mod scene;
mod secrets;
mod steps;

pub(crate) use honest::Honest;
pub(crate) use recorder::Recorder;
pub(crate) use scene::Scene;
