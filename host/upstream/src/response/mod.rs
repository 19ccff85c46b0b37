//! What comes back, piece by piece: decoded, looked at, cut into frames, read into a reply, `Retry-After`. Calls `auth`, to take
//! secrets out, `client`, and the blobs of `request`. Knows no account: what an answer says of one is told in `calls`.

pub(crate) mod decoded;
pub(crate) mod frames;
pub(crate) mod peeked;
pub(crate) mod reply;
pub(crate) mod retry_after;
pub(crate) mod sse;
