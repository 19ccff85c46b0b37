//! The machine of a job at a provider: submitted once, sent again only when the provider certainly did not take it,
//! then polled until it is ready.
//!
//! ```text
//! Attempts --taken--> Polls --clear answer--> the family: running, ready, ...
//!  |    ^              |  ^ |
//!  `rest'   unclear, no`--' `-- too often --> fail
//!  busy     answer, copy lost
//! ```
//! A family keeps [`Attempts`] and [`Polls`] in its state, as fields of its own structs (with `#[serde(flatten)]`, if
//! it likes), and says two things about its provider: the call, and what an answer means ([`Submitted`], [`Polled`]).
//! The functions here turn an event into what follows: an [`Action`] to be returned with the new state,
//! or an [`Answer`](Next::Answer) that only the family understands. Limits, and the sentences clients read, are its
//! [`Policy`].
//!
//! Pure as the families are, and nothing here is obligatory: a family with another way of working writes its own steps.

mod attempts;
mod policy;
mod polls;
mod size;
mod standing;

pub use attempts::{Attempts, Submitted};
pub use policy::Policy;
pub use polls::{Polled, Polls};
pub use size::{REQUEST_BYTES, check_request, check_size};
pub use standing::Standing;

use crate::contract::failure::Failure;
use crate::contract::step::Action;

/// What follows from an event.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "taken apart at once; a box would be an allocation a step")]
pub enum Next<T> {
    /// The next action; the family adds its state, stage and progress.
    Action(Action),
    /// A clear answer, for the family.
    Answer(T),
}

impl<T> Next<T> {
    fn fail(failure: Failure) -> Self {
        Self::Action(Action::Fail(failure.into()))
    }
}

#[cfg(test)]
mod tests;
