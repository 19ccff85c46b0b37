//! A family to copy: one model, `sketch-1`, that turns a prompt into a picture.
//!
//! Its provider takes `POST /v1/sketches` and answers `{"id": "..."}`; `GET /v1/sketches/<id>` answers
//! `{"state": "working" | "done" | "failed", "image": "https://..."}`. Change `Params` to your fields,
//! `submission` to your provider's request, `Remote` to its answers.

use std::time::Duration;

use garde::Validate;
use gatehouse_sdk::{
    About, Accepted, Call, Charge, Context, Event, Failure, Family, Jobs, Model, Outage, Outcome, Refusal,
    Reply, Stage, Step, Submission, Surface, UnixMs, Verdict, pace, params,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

const SURFACE: &str = "images.generate";
const MODEL: &str = "sketch-1";
const PROVIDER: &str = "sketcher";
/// Unreadable answers in a row before the task fails.
const MAX_FAULTS: u32 = 5;

/// The family.
pub struct Sketch;

/// What a client may send. The same struct gives the shape, the rules and the published schema.
#[derive(Deserialize, JsonSchema, Validate)]
struct Params {
    /// What to draw.
    #[garde(length(chars, min = 1, max = 2000))]
    prompt: String,
    /// 1 (a few lines) to 10 (a drawing), 5 by default.
    #[garde(range(min = 1, max = 10))]
    detail: Option<i64>,
}

/// The state of a task.
#[derive(Serialize, Deserialize)]
pub enum State {
    /// Accepted, or sent without an answer yet.
    Submitting {
        /// What to draw.
        prompt: String,
        /// The level of detail.
        detail: i64,
    },
    /// The provider works on it.
    Polling {
        /// The provider's id of the job.
        id: String,
        /// When the provider accepted it.
        since: UnixMs,
        /// Unreadable answers in a row.
        faults: u32,
    },
}

impl Family for Sketch {
    fn about() -> About {
        About::new("sketch", env!("CARGO_PKG_VERSION"))
            .model(Model::new(MODEL).serves(SURFACE))
            .surface(Surface::new::<Params>(SURFACE))
            .provider(PROVIDER)
            .price_key(MODEL)
            .self_test(SURFACE, json!({"model": MODEL, "prompt": "a kite"}), Verdict::Accepted)
            .self_test(SURFACE, json!({"model": MODEL, "detail": 11}), Verdict::Refused)
    }
}

impl Jobs for Sketch {
    type State = State;

    fn submit(_: &Context, request: Submission) -> Result<Accepted<State>, Refusal> {
        let Params { prompt, detail } = params::read(&request.body)?;
        let state = State::Submitting { prompt, detail: detail.unwrap_or(5) };
        Ok(Accepted::new(MODEL, Charge::keys([MODEL]), state).expected(Duration::from_secs(20)))
    }

    fn advance(cx: &Context, state: State, event: Event) -> Step<State> {
        match (state, event) {
            (State::Submitting { prompt, detail }, Event::Start(_)) => {
                let body = json!({"text": prompt, "detail": detail});
                let call = Call::post(PROVIDER, "/v1/sketches").json(&body).once();
                Step::call(State::Submitting { prompt, detail }, call)
            }
            (state @ State::Submitting { .. }, Event::Reply(reply)) => submitted(cx, state, &reply),
            (State::Polling { id, since, faults }, Event::Timer) => {
                let call = Call::get(PROVIDER, format!("/v1/sketches/{id}"));
                Step::call(State::Polling { id, since, faults }, call).stage(Stage::Processing)
            }
            (State::Polling { id, since, faults }, Event::Reply(reply)) => {
                polled(cx, id, since, faults, &reply)
            }
            // A lost poll is repeated. A lost submission ends the task.
            (state @ State::Polling { since, .. }, Event::Outage(Outage::Timeout | Outage::Broken)) => {
                Step::wait(state, pace::poll(cx, since)).stage(Stage::Processing)
            }
            (state @ State::Polling { since, .. }, Event::Cancel(_)) => {
                Step::wait(state, pace::poll(cx, since)).stage(Stage::Processing)
            }
            (state, _) => Step::fail(state, Failure::upstream("the upstream did not finish the picture")),
        }
    }
}

/// The answer to the submission.
fn submitted(cx: &Context, state: State, reply: &Reply) -> Step<State> {
    #[derive(Deserialize)]
    struct Job {
        id: String,
    }

    match reply.json::<Job>() {
        Ok(Job { id }) if reply.is_success() => {
            let state = State::Polling { id, since: cx.now, faults: 0 };
            Step::wait(state, pace::poll(cx, cx.now)).stage(Stage::Pending)
        }
        _ => Step::fail(state, Failure::upstream("the upstream did not take the picture")),
    }
}

/// The answer to a poll.
fn polled(cx: &Context, id: String, since: UnixMs, faults: u32, reply: &Reply) -> Step<State> {
    #[derive(Deserialize)]
    #[serde(tag = "state", rename_all = "lowercase")]
    enum Remote {
        Working,
        Done { image: String },
        Failed,
    }

    match reply.json::<Remote>() {
        Ok(Remote::Working) => Step::wait(State::Polling { id, since, faults: 0 }, pace::poll(cx, since))
            .stage(Stage::Processing),
        Ok(Remote::Done { image }) => {
            let public = json!({"images": [{"url": ["media:0"], "expires_at": "expires:0"}]});
            let outcome = Outcome::new(public).product(image, Some("image/png"));
            Step::done(State::Polling { id, since, faults }, outcome)
        }
        Ok(Remote::Failed) => {
            let failure = Failure::upstream("the upstream failed to draw the picture");
            Step::fail(State::Polling { id, since, faults }, failure)
        }
        Err(_) if faults < MAX_FAULTS => {
            let wake = pace::backoff(cx, faults + 1);
            Step::wait(State::Polling { id, since, faults: faults + 1 }, wake).stage(Stage::Processing)
        }
        Err(_) => {
            let failure = Failure::upstream("the upstream's answers cannot be read");
            Step::fail(State::Polling { id, since, faults }, failure)
        }
    }
}

gatehouse_sdk::export_family!(Sketch: jobs);
