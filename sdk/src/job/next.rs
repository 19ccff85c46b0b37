//! What a machine answers to an event.

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
    pub(super) fn fail(failure: Failure) -> Self {
        Self::Action(Action::Fail(failure.into()))
    }
}
