//! Where a task's brief is: in its record, never in its phase.

use bytes::Bytes;
use gatehouse_model::{Event, Phase};

/// Whether the phase hands the brief over.
pub(crate) fn hands_over_brief(phase: &Phase) -> bool {
    matches!(phase, Phase::Run(Event::Start(_) | Event::Joined(_)))
}

/// The phase as it is stored: the brief is in the task's record, once.
pub(crate) fn without_brief(phase: Phase) -> Phase {
    match phase {
        Phase::Run(Event::Start(_)) => Phase::Run(Event::Start(Bytes::new())),
        Phase::Run(Event::Joined(_)) => Phase::Run(Event::Joined(Bytes::new())),
        other => other,
    }
}
