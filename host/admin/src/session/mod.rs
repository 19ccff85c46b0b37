//! Logins and sessions of people who use the admin listener with a browser: one-time login links, session cookies,
//! and which requests with a cookie may change anything.
//!
//! Cookies are shared by all ports of a host, and a page on another port may send them, so a request that changes
//! something must come from a page of this very origin ([`cookie`]). Everything is kept in memory: a restart logs
//! everybody out. Never renders a page, never performs an operation.

pub(crate) mod cookie;
mod login_links;
mod sessions;

pub(crate) use login_links::LoginRefusal;
pub(crate) use sessions::{SessionEnd, accepts};
pub use sessions::{SessionView, Sessions};
