//! Login of operators at their own identity provider (OpenID Connect, authorization code with PKCE), beside the one-time links.
//!
//! Owns the `[admin.oidc]` table, what a browser keeps while its person is away, the provider's document and keys, and what an
//! ID token says of a person. Never opens a session and never renders a page. Requests leave through `gatehouse-upstream`;
//! the provider's host may be private, other hosts that its document names may not.

mod attempts;
mod config;
mod person;
mod provider;

pub(crate) use attempts::LIFE;
pub(crate) use config::CALLBACK;
pub use config::OidcConfig;
pub use provider::IdentityProvider;
pub(crate) use provider::OidcRefusal;
