//! Calls of providers: the phase that asks for a permit, the attempt itself, and attempts whose outcome nobody knows.

mod ambiguous;
pub(super) mod attempt;
pub(crate) mod phase;
