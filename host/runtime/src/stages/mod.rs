//! The stages that a version passes before it serves, one file each: what it checks, and why it refuses. `verifier` runs those that
//! need the component's code, `report` keeps what each found and names the one that refused.
//!
//! ```text
//! admit -> inspect -> compile -> link -> describe (document) -> fit (routes) -> self-test -> rehearse
//! ```
//! Each judges one version by itself and by what it is handed. Knows versions, the plugin store and the configuration; never what
//! serves, and switches nothing.

pub(crate) mod admit;
pub(crate) mod compile;
pub(crate) mod compile_process;
pub(crate) mod describe;
pub(crate) mod document;
pub(crate) mod fit;
pub(crate) mod inspect;
pub(crate) mod rehearse;
pub(crate) mod report;
pub(crate) mod routes;
pub(crate) mod self_test;
pub(crate) mod verifier;
