//! The motion family: `motion-2.6` and `motion-2.7`, videos from a text, from images or from a video to continue, made by
//! the Wan models of the provider `dashscope`.
//!
//! Owns the family's parameters, the translation, and the meaning of the provider's answers. Invalid shapes, values and
//! combinations are refused; what only the media can tell fails the task. Never a socket, a clock or money; the host owns
//! those.

mod advance;
mod media_rules;
mod params;
mod provider;
mod request;
mod sources;
mod state;

use gatehouse_sdk::{
    About, Accepted, Context, Event, Family, HttpRoute, Jobs, Model, Refusal, Step, Submission, Surface,
    Verdict,
};
use serde_json::json;

use crate::params::Params;
use crate::request::{USUAL_DURATION, VideoRequest};
use crate::state::State;

/// The surface both models serve.
pub const SURFACE: &str = "videos.generate";

/// The family.
pub struct Motion;

impl Family for Motion {
    fn about() -> About {
        let text =
            json!({"model": "motion-2.6", "prompt": "a red kite", "duration": 10, "resolution": "1080p"});
        let effects =
            json!({"model": "motion-2.6", "image_urls": ["https://example.com/a.png"], "template": "squish"});
        let roles = json!({
            "model": "motion-2.7",
            "video_urls": ["https://example.com/a.mp4"],
            "image_with_roles": [{"url": "https://example.com/b.png", "role": "last_frame"}],
        });
        let quoted = json!({"model": "motion-2.7", "prompt": "a red kite", "duration": "5"});
        let conflict = json!({
            "model": "motion-2.7",
            "image_urls": ["https://example.com/a.png"],
            "audio_url": "https://example.com/a.mp3",
        });
        About::new("motion", env!("CARGO_PKG_VERSION"))
            .model(Model::new("motion-2.6").makes("video").serves(SURFACE))
            .model(Model::new("motion-2.7").makes("video").serves(SURFACE))
            .surface(Surface::new::<Params>(SURFACE))
            .route(HttpRoute::submit("/v1/videos/generations", SURFACE))
            .settings::<provider::Settings>()
            .provider(provider::NAME)
            .price_key("motion-2.6")
            .price_key("motion-2.7")
            .self_test(SURFACE, text, Verdict::Accepted)
            .self_test(SURFACE, effects, Verdict::Accepted)
            .self_test(SURFACE, roles, Verdict::Accepted)
            .self_test(SURFACE, quoted, Verdict::Refused)
            .self_test(SURFACE, conflict, Verdict::Refused)
    }
}

impl Jobs for Motion {
    type State = State;

    fn submit(_: &Context, request: Submission) -> Result<Accepted<State>, Refusal> {
        let video = VideoRequest::read(&request)?;
        let (model, charge) = (video.model.id(), video.charge());
        Ok(Accepted::new(model, charge, State::Accepted(video)).expected(USUAL_DURATION))
    }

    fn advance(cx: &Context, state: State, event: Event) -> Step<State> {
        advance::step(cx, state, event)
    }
}

gatehouse_sdk::export_family!(Motion: jobs);
