//! A provider's errors, and answers that do not follow its protocol.

use gatehouse_sdk::TextFailure;
use gatehouse_text_protocols::failures::Failures;

use crate::state::State;

/// The reader of errors in the answer to a request.
pub(crate) fn of(state: &State) -> Failures<'_> {
    Failures { model: &state.model, upstream: &state.upstream, too_long: "prompt is too long: " }
}

/// The answer does not follow the protocol.
pub(crate) fn unreadable() -> TextFailure {
    TextFailure::upstream("the provider's answer does not read")
}
