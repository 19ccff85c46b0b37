//! Avatar assets: files that the provider reviews once and keeps, in groups, on its control plane. A submission with a bad shape,
//! enum, limit or conflict is refused. Held is the price of each asset.

pub(crate) mod advance;
mod outcome;
pub(crate) mod params;
pub(crate) mod provider;
mod request;
pub(crate) mod state;

use std::time::Duration;

use gatehouse_sdk::{Accepted, Charge, Refusal, Stage, Submission};

use crate::video::params::Model;
use advance::BEGUN;
use request::AvatarRequest;
use state::AvatarState;

/// The price key of an asset; a model, too, for keys that may only submit assets.
pub(crate) const PRICE_KEY: &str = "clip-avatar";
/// The model of every submission: assets are made for its videos.
const MODEL: Model = Model::Standard;
/// The usual time of a review.
const USUAL_DURATION: Duration = Duration::from_secs(60);

/// Checks a submission.
pub(crate) fn submit(request: &Submission) -> Result<Accepted<AvatarState>, Refusal> {
    let avatar = AvatarRequest::read(request)?;
    let count = u32::try_from(avatar.assets.len()).unwrap_or(u32::MAX);
    let charge = Charge::keys([PRICE_KEY]).times(count.into());
    let accepted = Accepted::new(MODEL.id(), charge, AvatarState::new(avatar));
    Ok(accepted.starting(Stage::Processing, BEGUN).expected(USUAL_DURATION))
}
