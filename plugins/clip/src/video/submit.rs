//! Checks a request for a video: a bad shape, enum, range or conflict is refused. Held is the price of all seconds.

use gatehouse_sdk::{Accepted, Charge, Refusal, Submission};

use crate::video::poll::USUAL_DURATION;
use crate::video::request::VideoRequest;
use crate::video::state::VideoState;

pub(crate) fn submit(request: &Submission) -> Result<Accepted<VideoState>, Refusal> {
    let (video, brief) = VideoRequest::read(request)?;
    let id = video.model.id();
    let keys = [format!("{id}@{}", video.resolution.name()), id.to_owned()];
    let charge = Charge::keys(keys).times(video.duration.into());
    Ok(Accepted::new(id, charge, VideoState::Accepted(video)).brief(brief).expected(USUAL_DURATION))
}
