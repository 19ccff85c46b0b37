//! The scene family: `scene-3.1-fast-official` and `scene-3.1-quality-official`, videos from a text or from images, and their
//! continuation ("remix"), made by the Veo models of the provider `veo`.
//!
//! Owns the family's parameters, the translation into the provider's protocol (Vertex AI), the meaning of its answers, and the
//! record that a continuation needs of its original. Invalid shapes, values and combinations are refused; what only the images can
//! tell fails the task. Never a socket, a clock, a key or money; the host owns those.

mod params;
mod provider;
mod request;
mod sources;
mod state;
mod steps;
mod words;

use gatehouse_sdk::{
    About, Accepted, Context, Event, Facts, Family, HttpRoute, Jobs, MediaKind, Model as ModelInfo, Parent,
    Refusal, Step, Submission, Surface, Verdict,
};
use serde_json::{Value, json};

use crate::params::{RemixParams, VideoParams};
use crate::request::{Record, USUAL_DURATION, VideoRequest};
use crate::state::State;
use crate::words::{FAMILY, Model};

/// The surface of new videos.
pub const VIDEOS: &str = "videos.generate";

/// The surface of continuations.
pub const REMIX: &str = words::REMIX;

/// The family.
pub struct Scene;

impl Family for Scene {
    fn about() -> About {
        let text = json!({"model": "scene-3.1-fast-official", "prompt": "a red kite", "duration": 8, "resolution": "4k"});
        let frames = json!({
            "model": "scene-3.1-quality-official",
            "prompt": "day becomes night",
            "first_frame_image": "https://example.com/day.png",
            "last_frame_image": "https://example.com/night.png",
        });
        let quoted = json!({"model": "scene-3.1-fast-official", "prompt": "a red kite", "duration": "8"});
        let last_only = json!({
            "model": "scene-3.1-fast-official",
            "prompt": "a red kite",
            "last_frame_image": "https://example.com/night.png",
        });
        let remix = |model: &str| json!({"model": model, "prompt": "it lands", "raw": true});
        let mut about = About::new(FAMILY, env!("CARGO_PKG_VERSION"));
        for model in Model::ALL {
            let [id, aliases @ ..] = model.names();
            let info = ModelInfo::new(id).makes("video").serves(VIDEOS).serves(REMIX);
            about = about.model(aliases.into_iter().fold(info, ModelInfo::alias)).price_key(id);
        }
        about
            .surface(Surface::new::<VideoParams>(VIDEOS))
            .surface(Surface::new::<RemixParams>(REMIX).parent_in_path())
            .route(HttpRoute::submit("/v1/videos/generations", VIDEOS))
            .route(HttpRoute::submit("/v1/videos/{task_id}/remix", REMIX))
            .settings::<provider::Settings>()
            .provider(provider::NAME)
            .self_test(VIDEOS, text, Verdict::Accepted)
            .self_test(VIDEOS, frames, Verdict::Accepted)
            .self_test(VIDEOS, quoted, Verdict::Refused)
            .self_test(VIDEOS, last_only, Verdict::Refused)
            .self_test_of(REMIX, remix("scene-3.1-fast"), vec![original(Model::Fast)], Verdict::Accepted)
            .self_test_of(REMIX, remix("scene-3.1-quality"), vec![original(Model::Fast)], Verdict::Refused)
    }
}

/// A finished video, for the self-tests.
fn original(model: Model) -> Parent {
    let record = Record { model, milliseconds: 8000, ..Record::default() };
    let film = Facts {
        milliseconds: Some(8000),
        blob: Some("blob:kite".to_owned()),
        ..Facts::new(MediaKind::Video, "video/mp4", 1_000_000)
    };
    let private = serde_json::to_value(record).unwrap_or(Value::Null);
    Parent { media: vec![film], ..Parent::new(FAMILY, model.id(), private) }
}

impl Jobs for Scene {
    type State = State;

    fn submit(_cx: &Context, request: Submission) -> Result<Accepted<State>, Refusal> {
        let video = VideoRequest::read(&request)?;
        let (model, charge) = (video.model.id(), video.charge());
        Ok(Accepted::new(model, charge, State::Accepted(video)).expected(USUAL_DURATION))
    }

    fn advance(cx: &Context, state: State, event: Event) -> Step<State> {
        steps::advance::step(cx, state, event)
    }
}

gatehouse_sdk::export_family!(Scene: jobs);
