//! Addresses that clients and customers name: fetching media, and posting to webhooks, never to a private network that the
//! operator did not name. Owns the permits of such fetches. Calls `client`, and `providers` for the origins of results.

pub(crate) mod fetcher;
pub(crate) mod permits;
pub(crate) mod post;
mod stand_ins;
