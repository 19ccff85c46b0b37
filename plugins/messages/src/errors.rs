//! A provider's errors, and answers that do not follow its protocol.

use gatehouse_sdk::TextFailure;
use gatehouse_text_protocols::failures::{Failures, TooLong};

use crate::state::State;

const TOO_LONG: TooLong = TooLong { words: "prompt is too long", sentence: "prompt is too long" };

/// The reader of errors in the answer to a request.
pub(crate) fn of(state: &State) -> Failures<'_> {
    Failures {
        model: &state.model,
        upstream: &state.upstream,
        fields: &state.fields,
        renamed: &state.names,
        too_long: TOO_LONG,
    }
}

/// The answer does not follow the protocol.
pub(crate) fn unreadable() -> TextFailure {
    TextFailure::upstream("the provider's answer does not read")
}
