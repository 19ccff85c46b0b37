//! The simulated provider as a plan and the oracle know it: where it is, how it answers (outcomes), and what it remembers. The
//! system under test never sees it. Imports nothing of this crate but itself and its randomness.

pub(crate) mod endpoints;
pub(crate) mod hook_record;
pub(crate) mod outcomes;
pub(crate) mod provider_record;
pub(crate) mod text_outcomes;
