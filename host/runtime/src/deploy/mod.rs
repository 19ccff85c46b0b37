//! Deployment as operators order it: the stages a version passes, in order, then the switch; families off and on; what of a start
//! takes long. One deployment at a time.
//!
//! ```text
//! admit .. rehearse (stages, by pipeline) -> switch -> canary -> alone, or rolled back (serving)
//! ```
//! The version before keeps serving meanwhile, and no request waits for a deployment. Knows `serving` and `stages`. Never calls a
//! plugin for a client; that is `calls`.

pub(crate) mod deployments;
pub(crate) mod pipeline;
