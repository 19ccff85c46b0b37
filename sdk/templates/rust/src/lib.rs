//! A family to copy: one model, `sketch-1`, that turns a prompt into a picture.
//!
//! Its provider takes `POST /v1/sketches` and answers `{"id": "..."}`; `GET /v1/sketches/<id>` answers
//! `{"state": "working" | "done" | "failed", "image": "https://..."}`. Change `Params` to your fields,
//! `submission` to your provider's request, `submitted` and `polled` to its answers. Retries, lost answers and polls are
//! the SDK's (`gatehouse_sdk::job`).

use std::time::Duration;

use garde::Validate;
use gatehouse_sdk::job::{Attempts, Next, Policy, Polled, Polls, Submitted};
use gatehouse_sdk::{
    About, Accepted, Action, Call, Charge, Context, Event, Failure, Family, Jobs, Model, Outcome, Refusal,
    Reply, Stage, Step, Submission, Surface, Verdict, params,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

const SURFACE: &str = "images.generate";
const MODEL: &str = "sketch-1";
const PROVIDER: &str = "sketcher";
/// How patient the family is, and what clients read when it gives up.
const POLICY: Policy = Policy {
    faults: 5,
    failed: "the upstream's answers cannot be read",
    lost: "the upstream did not finish the picture",
    ..Policy::DEFAULT
};

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
        /// How often it was sent.
        attempts: Attempts,
    },
    /// The provider works on it.
    Polling(Polls),
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
        let attempts = Attempts::default();
        let state = State::Submitting { prompt, detail: detail.unwrap_or(5), attempts };
        Ok(Accepted::new(MODEL, Charge::keys([MODEL]), state).expected(Duration::from_secs(20)))
    }

    fn advance(cx: &Context, state: State, event: Event) -> Step<State> {
        match state {
            State::Submitting { prompt, detail, mut attempts } => {
                let call = || submission(&prompt, detail);
                match attempts.step(cx, &POLICY, event, call, submitted) {
                    Next::Action(action) => {
                        let stage = attempts.stage();
                        Step::new(State::Submitting { prompt, detail, attempts }, action).stage(stage)
                    }
                    Next::Answer(id) => {
                        let polls = Polls::new(cx, id);
                        let wait = polls.rest(cx);
                        Step::new(State::Polling(polls), wait).stage(Stage::Pending)
                    }
                }
            }
            State::Polling(mut polls) => {
                let call = |id: &str| Call::get(PROVIDER, format!("/v1/sketches/{id}"));
                let action = match polls.step(cx, &POLICY, event, call, polled) {
                    Next::Action(action) => action,
                    Next::Answer(None) => polls.rest(cx),
                    Next::Answer(Some(image)) => Action::Done(outcome(image)),
                };
                Step::new(State::Polling(polls), action).stage(Stage::Processing)
            }
        }
    }
}

/// The call that makes a picture. It is sent once: a lost answer ends the task.
fn submission(prompt: &str, detail: i64) -> Call {
    Call::post(PROVIDER, "/v1/sketches").json(&json!({"text": prompt, "detail": detail})).once()
}

/// The answer to the submission: the provider's id of the job.
fn submitted(reply: &Reply) -> Submitted<String> {
    #[derive(Deserialize)]
    struct Job {
        id: String,
    }

    match reply.json::<Job>() {
        Ok(Job { id }) if reply.is_success() => Submitted::Accepted(id),
        _ if reply.status == 429 => Submitted::Busy,
        // The operator's account is refused: the host asks the next one.
        _ if matches!(reply.status, 401..=403) => {
            Submitted::Failed(Failure::account("the upstream did not take the picture"))
        }
        _ => Submitted::Failed(Failure::upstream("the upstream did not take the picture")),
    }
}

/// The answer to a poll: the picture, once there is one.
fn polled(reply: &Reply) -> Polled<Option<String>> {
    #[derive(Deserialize)]
    #[serde(tag = "state", rename_all = "lowercase")]
    enum Remote {
        Working,
        Done { image: String },
        Failed,
    }

    match reply.json::<Remote>() {
        _ if reply.status == 404 => Polled::Missing,
        _ if reply.status == 429 => Polled::Busy,
        Ok(Remote::Working) => Polled::Clear(None),
        Ok(Remote::Done { image }) => Polled::Clear(Some(image)),
        Ok(Remote::Failed) => Polled::Failed(Failure::upstream("the upstream failed to draw the picture")),
        Err(error) => Polled::Faulty(error.to_string()),
    }
}

/// What the client gets.
fn outcome(image: String) -> Outcome {
    let public = json!({"images": [{"url": ["media:0"], "expires_at": "expires:0"}]});
    Outcome::new(public).product(image, Some("image/png"))
}

gatehouse_sdk::export_family!(Sketch: jobs);
