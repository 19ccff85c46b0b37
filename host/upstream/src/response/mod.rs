//! What comes back: whole replies, event streams, redaction of secrets, `Retry-After`.

pub(crate) mod decoded;
pub(crate) mod frames;
pub(crate) mod pass;
pub(crate) mod peeked;
pub(crate) mod redact;
pub(crate) mod reply;
pub(crate) mod retry_after;
pub(crate) mod sse;
pub(crate) mod stream;
