//! The context image family: `ctx-pro` and `ctx-max`, images from a text or from a text and up to four
//! references, made by the FLUX.1 Kontext API of the provider `bfl`.
//!
//! Owns the family's parameters, the translation, and the meaning of the provider's answers. Bad
//! parameters are accepted and fail the task; only a body without `model` or `prompt` is refused.
//! Never a socket, a clock or money; the host owns those.

mod advance;
mod params;
mod provider;
mod references;
mod request;
mod sizes;

use gatehouse_sdk::params::came;
use gatehouse_sdk::{
    About, Accepted, Charge, Context, Event, Family, HttpRoute, InvalidParam, Jobs, Model, NoSettings,
    Refusal, Step, Submission, Surface, Verdict,
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::advance::State;
use crate::params::Params;
use crate::request::{ImageRequest, USUAL_DURATION};

/// The surface both models serve.
pub const SURFACE: &str = "images.generate";

/// The family.
pub struct ContextImage;

impl Family for ContextImage {
    fn about() -> About {
        let good = json!({"model": "ctx-pro", "prompt": "a red kite", "size": "16:9"});
        let edit = json!({
            "model": "ctx-max",
            "prompt": "make it night",
            "size": "auto",
            "image_urls": ["https://example.com/day.png"],
        });
        let doomed = json!({"model": "ctx-pro", "prompt": "a red kite", "safety_tolerance": 7});
        let refused = json!({"model": "ctx-pro"});
        About::new("context-image", env!("CARGO_PKG_VERSION"))
            .model(Model::new("ctx-pro").makes("image").serves(SURFACE))
            .model(Model::new("ctx-max").makes("image").serves(SURFACE))
            .surface(Surface::new::<Params>(SURFACE))
            .route(HttpRoute::submit("/v1/images/generations", SURFACE))
            .settings::<NoSettings>()
            .provider(provider::NAME)
            .price_key("ctx-pro")
            .price_key("ctx-max")
            .self_test(SURFACE, good, Verdict::Accepted)
            .self_test(SURFACE, edit, Verdict::Accepted)
            .self_test(SURFACE, doomed, Verdict::Doomed)
            .self_test(SURFACE, refused, Verdict::Refused)
    }
}

impl Jobs for ContextImage {
    type State = State;

    fn submit(_: &Context, request: Submission) -> Result<Accepted<State>, Refusal> {
        let body = &request.body;
        if !body.is_object() {
            let problem = format!("expected a JSON object, got {}", came(Some(body)));
            return Err(InvalidParam::at(None, problem).into());
        }
        let Ok(model) = params::Model::deserialize(&body["model"]) else {
            let problem = format!("expected `ctx-pro` or `ctx-max`, got {}", came(body.get("model")));
            return Err(Refusal::invalid("model", problem));
        };
        if body.get("prompt").is_none_or(Value::is_null) {
            let problem = format!("expected a string, got {}", came(body.get("prompt")));
            return Err(Refusal::invalid("prompt", problem));
        }
        let charge = Charge::keys([model.id()]);
        Ok(match ImageRequest::read(&request) {
            Ok(image) => Accepted::new(model.id(), charge, State::Accepted(image)).expected(USUAL_DURATION),
            Err(invalid) => Accepted::doomed(model.id(), charge, invalid.into()),
        })
    }

    fn advance(cx: &Context, state: State, event: Event) -> Step<State> {
        advance::step(cx, state, event)
    }
}

gatehouse_sdk::export_family!(ContextImage: jobs);
