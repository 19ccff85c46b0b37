//! Deployment: the stages a version passes before it serves, the switch, and the canary period after it.
//!
//! ```text
//! admit -> compile -> inspect -> link -> describe -> fit -> self-test -> rehearse   (stages/, verifier, pipeline)
//! switch -> canary -> alone, or rolled back                     (switch, canary, fallback, roll_back)
//! ```
//! Each stage refuses with its own reason. The version before keeps serving meanwhile, and no request waits for a
//! deployment. Never calls a plugin for a client; that is `service`.

pub(crate) mod canary;
pub(crate) mod companion;
pub(crate) mod disabled;
pub(crate) mod error;
pub(crate) mod fallback;
pub(crate) mod manifest_index;
pub(crate) mod pipeline;
pub(crate) mod plugin_store;
pub(crate) mod report;
mod roll_back;
pub(crate) mod signatures;
pub(crate) mod stages;
mod switch;
pub(crate) mod verifier;
