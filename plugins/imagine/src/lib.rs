//! The Grok-style image family: `imagine-1.5-gw`, up to ten images from a text, or from a text and one reference,
//! made by the image API of the provider `xai`. `imagine-1.5-ext` is another name for it.
//!
//! Owns the family's parameters, the translation, and the meaning of the provider's answers. Bad parameters are
//! refused at once. Never a socket, a clock or money; the host owns those.

mod advance;
mod deliver;
mod params;
mod provider;
mod reference;
mod request;
mod state;

use gatehouse_sdk::{
    About, Accepted, Charge, Context, Event, Family, HttpRoute, Jobs, Model, Refusal, Step, Submission,
    Surface, Verdict,
};
use serde_json::json;

use crate::params::{ALIAS, MODEL, Params};
use crate::request::{ImageRequest, USUAL_DURATION};
use crate::state::State;

/// The surface of the model.
pub const SURFACE: &str = "images.generate";

/// The family.
pub struct Imagine;

impl Family for Imagine {
    fn about() -> About {
        let good = json!({"model": MODEL, "prompt": "a red kite", "size": "16:9", "n": 10});
        let plain = json!({"prompt": "a red kite"});
        let edit = json!({
            "model": ALIAS,
            "prompt": "make it night",
            "image_urls": ["https://example.com/day.png"],
        });
        let quoted = json!({"model": MODEL, "prompt": "a red kite", "n": "2"});
        About::new("imagine", env!("CARGO_PKG_VERSION"))
            .model(Model::new(MODEL).makes("image").alias(ALIAS).serves(SURFACE))
            .surface(Surface::new::<Params>(SURFACE).default_model(MODEL))
            .route(HttpRoute::submit("/v1/images/generations", SURFACE))
            .settings::<provider::Settings>()
            .provider(provider::NAME)
            .price_key(MODEL)
            .self_test(SURFACE, good, Verdict::Accepted)
            .self_test(SURFACE, plain, Verdict::Accepted)
            .self_test(SURFACE, edit, Verdict::Accepted)
            .self_test(SURFACE, quoted, Verdict::Refused)
    }
}

impl Jobs for Imagine {
    type State = State;

    fn submit(_: &Context, request: Submission) -> Result<Accepted<State>, Refusal> {
        let image = ImageRequest::read(&request)?;
        let charge = Charge::keys([MODEL]).times(image.n.into());
        Ok(Accepted::new(MODEL, charge, State::Accepted(image)).expected(USUAL_DURATION))
    }

    fn advance(cx: &Context, state: State, event: Event) -> Step<State> {
        advance::step(cx, state, event)
    }
}

gatehouse_sdk::export_family!(Imagine: jobs);
