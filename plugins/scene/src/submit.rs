//! Checks a request: invalid shapes, values and combinations are refused.

use std::time::Duration;

use gatehouse_sdk::{Accepted, Refusal, Submission};

use crate::request::VideoRequest;
use crate::state::State;

/// The provider says 11 seconds to 6 minutes.
pub(crate) const USUAL_DURATION: Duration = Duration::from_secs(90);

pub(crate) fn submit(request: &Submission) -> Result<Accepted<State>, Refusal> {
    let video = VideoRequest::read(request)?;
    let (model, charge) = (video.model.id(), video.charge());
    Ok(Accepted::new(model, charge, State::Accepted(video)).expected(USUAL_DURATION))
}
