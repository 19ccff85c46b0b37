//! What tests of all crates share: one clock, one seed, one HTTP/1 client, one scripted provider, plugin
//! components, and a gateway process. A crate uses it as a dev-dependency.
//!
//! Of the host it depends on `gatehouse-model` only, so that low crates can use it too. It knows nothing of the gateway's
//! insides: a [`Gateway`] is a process like an operator's, started with a configuration file, called over its real
//! listener, killed with a signal.

mod clock;
mod environment;
mod fixture;
mod gateway;
mod http;
mod provider;
mod seed;
mod together;
mod wait;

pub use clock::TestClock;
pub use environment::{binary, variable};
pub use fixture::{component, component_file, puppet, puppet_claiming};
pub use gateway::{
    Caller, CompiledCode, Gateway, Setup, SharedCode, code_cache, message_of, user_cache, with,
};
pub use http::{Connection, End, Error, PersistentClient, Response, send, send_to, try_send};
pub use provider::{Provider, Received, Reply, reply, serve_connections, serve_http};
pub use seed::TestSeed;
pub use together::{Check, CheckBody, run_together};
pub use wait::{pause, run, run_load, until, until_some};
