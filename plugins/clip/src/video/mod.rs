//! Videos: `clip-2.0`, `clip-2.0-fast` and `clip-2.0-mini` on the provider's data plane. A request with a bad shape, enum, range
//! or conflict is refused. Held is the price of all seconds.

pub(crate) mod advance;
mod media;
pub(crate) mod params;
mod poll;
pub(crate) mod provider;
mod request;
mod source;
pub(crate) mod state;

use gatehouse_sdk::{Accepted, Charge, Refusal, Submission};

use poll::USUAL_DURATION;
use request::VideoRequest;
use state::VideoState;

/// Checks a request for a video.
pub(crate) fn submit(request: &Submission) -> Result<Accepted<VideoState>, Refusal> {
    let (video, brief) = VideoRequest::read(request)?;
    let id = video.model.id();
    let keys = [format!("{id}@{}", video.resolution), id.to_owned()];
    let charge = Charge::keys(keys).times(video.duration.into());
    Ok(Accepted::new(id, charge, VideoState::Accepted(video)).brief(brief).expected(USUAL_DURATION))
}
