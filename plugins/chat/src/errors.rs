//! A provider's errors, and answers that do not follow its protocol.

use gatehouse_sdk::{TextFailure, log};
use gatehouse_text_protocols::failures::{Failures, TooLong, head};

use crate::state::State;

const TOO_LONG: TooLong =
    TooLong { words: "maximum context length", sentence: "This model's maximum context length is exceeded" };

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

/// An answer that does not follow the protocol.
pub(crate) fn unreadable(what: &str, body: &str) -> TextFailure {
    log::error("the provider's answer makes no sense", &[("what", what), ("body", head(body))]);
    TextFailure::upstream(format!("the provider's answer makes no sense: {what}"))
}
