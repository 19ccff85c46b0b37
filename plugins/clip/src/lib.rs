//! The clip family: videos of `clip-2.0`, `clip-2.0-fast` and `clip-2.0-mini`, made by Seedance 2.0 on Volcengine Ark (or
//! BytePlus ModelArk), and the avatar assets that such videos may use.
//!
//! Owns the parameters, the translation, and the meaning of the provider's answers on both of its planes: the data plane
//! `ark` makes videos, the control plane `ark-assets` keeps assets. Never a socket, a clock, a key or money; the host owns
//! those.

mod avatar;
mod names;
mod upstream_error;
mod video;

use gatehouse_sdk::{
    About, Accepted, Context, Event, Family, HttpRoute, Jobs, Model, Refusal, Step, Submission, Surface,
    Verdict,
};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::avatar::PRICE_KEY as AVATAR_KEY;
use crate::avatar::params::Params as AvatarParams;
use crate::avatar::state::AvatarState;
use crate::video::params::Params as VideoParams;
use crate::video::state::VideoState;

/// The surface of videos.
pub const VIDEOS: &str = "videos.generate";

/// The surface of avatar assets.
pub const AVATARS: &str = "avatars.submit";

/// The family.
pub struct Clip;

/// The state of a task.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// A video.
    Video(VideoState),
    /// Avatar assets.
    Avatar(AvatarState),
}

impl Family for Clip {
    fn about() -> About {
        let text = json!({"model": "clip-2.0", "prompt": "a red kite", "duration": 4, "size": "adaptive"});
        let frames = json!({
            "model": "clip-2.0-fast",
            "image_with_roles": [
                {"url": "https://example.com/day.png", "role": "first_frame"},
                {"url": "https://example.com/night.png", "role": "last_frame"},
            ],
        });
        let quoted = json!({"model": "clip-2.0", "prompt": "a red kite", "duration": "5"});
        let foreign = json!({"model": "clip-2.0", "image_urls": ["asset://asset-of-another"]});
        let avatar = json!({"url": "https://example.com/face.png", "name": "face"});
        let both = json!({"group": {"name": "faces"}, "group_id": "group-1", "assets": [avatar]});
        let mut about = About::new("clip", env!("CARGO_PKG_VERSION"));
        for model in video::params::Model::ALL {
            about = about
                .model(Model::new(model.id()).makes("video").serves(VIDEOS).serves(AVATARS))
                .price_key(model.id());
        }
        about
            .surface(Surface::new::<VideoParams>(VIDEOS).names_with_scheme(names::SCHEME))
            .route(HttpRoute::submit("/v1/videos/generations", VIDEOS))
            .model(Model::new(AVATAR_KEY).makes("video").serves(AVATARS))
            .price_key(AVATAR_KEY)
            .surface(Surface::new::<AvatarParams>(AVATARS).names_in("group_id"))
            .route(HttpRoute::submit("/v1/clip2/private-avatar", AVATARS).model("clip-2.0").asset())
            .settings::<video::provider::Settings>()
            .provider(video::provider::NAME)
            .provider(avatar::provider::NAME)
            .self_test(VIDEOS, text, Verdict::Accepted)
            .self_test(VIDEOS, frames, Verdict::Accepted)
            .self_test(VIDEOS, quoted, Verdict::Refused)
            .self_test(VIDEOS, foreign, Verdict::Refused)
            .self_test(AVATARS, avatar, Verdict::Accepted)
            .self_test(AVATARS, both, Verdict::Refused)
    }
}

impl Jobs for Clip {
    type State = State;

    fn submit(_: &Context, request: Submission) -> Result<Accepted<State>, Refusal> {
        if request.surface == AVATARS {
            return avatar::submit(&request).map(|accepted| accepted.map(State::Avatar));
        }
        video::submit(&request).map(|accepted| accepted.map(State::Video))
    }

    fn advance(cx: &Context, state: State, event: Event) -> Step<State> {
        match state {
            State::Video(state) => video::advance::step(cx, state, event).map(State::Video),
            State::Avatar(state) => avatar::advance::step(cx, state, event).map(State::Avatar),
        }
    }
}

gatehouse_sdk::export_family!(Clip: jobs);
