//! Checks a submission of avatar assets: a bad shape, enum, limit or conflict is refused. Held is the price of each asset.

use std::time::Duration;

use gatehouse_sdk::{Accepted, Charge, Context, Refusal, Stage, Submission};

use crate::avatar::advance::BEGUN;
use crate::avatar::request::AvatarRequest;
use crate::avatar::state::AvatarState;

/// The model of the path, which is its price key too.
pub(crate) const MODEL: &str = "clip-avatar";
/// The usual time of a review.
const USUAL_DURATION: Duration = Duration::from_secs(60);

pub(crate) fn submit(cx: &Context, request: &Submission) -> Result<Accepted<AvatarState>, Refusal> {
    let avatar = AvatarRequest::read(cx, request)?;
    let count = u32::try_from(avatar.assets.len()).unwrap_or(u32::MAX);
    let charge = Charge::keys([MODEL]).times(count);
    let accepted = Accepted::new(MODEL, charge, AvatarState::new(avatar));
    Ok(accepted.starting(Stage::Processing, BEGUN).expected(USUAL_DURATION))
}
