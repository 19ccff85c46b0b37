//! Calls with a permit: whole, as a stream of frames, or passed on as they come. Each builds and sends its request, reads the
//! answer, and tells the account what came of it. Calls `request`, `response`, `client`, `auth` and the permit's `pool`.

pub(crate) mod call;
pub(crate) mod pass;
pub(crate) mod stream;
