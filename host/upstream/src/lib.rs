//! Everything that leaves the gateway: the only crate that opens outgoing sockets (besides the operator's own client).
//!
//! Owns provider accounts (secrets, signatures, tokens, concurrency, rates, breakers), the conversion of a plugin's call into an HTTP
//! request, and the SSRF-safe fetch of media. It resolves names itself, classifies every address and connects to
//! exactly the address it classified: no literal, redirect or rebinding name reaches a private network that the
//! operator did not name.
//!
//! Never retries what may have been executed (a 401 for an old token says that it was not), never follows a redirect of a
//! call, never shows a credential to a plugin or a log line, never reads the environment (secrets come in resolved), never
//! stores bytes itself (see [`Blobs`]).
//! Called by `driver` (calls, posts to webhooks), `media` (fetch) and the command line (plugins in a registry).
//!
//! ```text
//! Call --(CallPermit)--> credential --> target --> request (blobs, signature) --> Connector --> socket
//!                                         |refused: foreign origin, forbidden header, foreign blob
//! Reply <-- stripped headers, capped and redacted body <-- response --> health signal --> breaker, pause
//! ```

mod artifact;
mod auth;
mod breaker;
mod calls;
mod client;
mod collector;
mod config;
mod fetch;
mod pool;
mod provider;
mod providers;
mod request;
mod response;
mod service;
mod upstream;

#[cfg(test)]
mod tests;

pub use artifact::client::{ArtifactClient, ArtifactError, PulledArtifact};
pub use artifact::login::Login;
pub use artifact::reference::ArtifactReference;
pub use auth::scheme::{Auth, HmacAuth, HmacForm, JwtAuth, ServiceAccountAuth};
pub use breaker::{Admission, Breaker};
pub use calls::pass::{Passing, Pieces};
pub use calls::stream::{Events, Opening};
pub use client::address::reserved;
pub use client::dial::{Dial, Dialed, Resolve, Stream, SystemResolver};
pub use client::exchange::CallProgress;
pub use collector::{Collector, NotTaken, check_collector_url};
pub use config::check::affinity;
pub use config::settings::{
    AccountConfig, Config, ConfigError, ExtraValue, FairnessConfig, FetchConfig, OutgoingConfig,
    OutgoingRoute, ProviderConfig, WebhooksConfig,
};
pub use fetch::fetcher::{FetchError, Fetched, Fetcher, Origins, Policy};
pub use fetch::post::{Answer, Post, check_post_url};
pub use pool::account::NoPermit;
pub use pool::accounts::Wanted;
pub use pool::operator::{AccountError, AccountOverview, BreakerState, ProviderOverview};
pub use pool::permits::{AccountPermit, CallPermit};
pub use pool::waiting::{Claimant, Permits, QueueEstimate, Waiting};
pub use providers::{AccountChange, PreparedProviders};
pub use request::body::{Blobs, OpenBlob};
pub use response::retry_after::retry_after;
pub use service::{ServiceClient, ServiceError};
pub use upstream::Upstream;
