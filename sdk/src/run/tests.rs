//! State through its bytes, and from an older build.

use std::panic::catch_unwind;

use serde::{Deserialize, Serialize};

use super::*;
use crate::{About, Charge, Failure, Family, UnixMs};

struct Counter;

#[derive(Serialize, Deserialize)]
struct Count {
    steps: u32,
}

impl Family for Counter {
    const STATE_VERSION: u32 = 2;
    const READS_STATE: &'static [u32] = &[1];

    fn about() -> About {
        About::new("counter", "2.0.0")
    }
}

impl Jobs for Counter {
    type State = Count;

    fn submit(_: &Context, request: Submission) -> Result<Accepted<Count>, Refusal> {
        let charge = Charge::keys(["counter"]);
        Ok(match request.body["doomed"].as_bool() {
            Some(true) => Accepted::doomed("counter", charge, Failure::request("no")),
            _ => Accepted::new("counter", charge, Count { steps: 0 }),
        })
    }

    fn advance(cx: &Context, state: Count, _: Event) -> Step<Count> {
        Step::wait(Count { steps: state.steps + 1 }, cx.now)
    }

    /// Version 1 was a bare number.
    fn migrate(from_version: u32, state: &[u8]) -> Result<Count, String> {
        match (from_version, serde_json::from_slice(state)) {
            (1, Ok(steps)) => Ok(Count { steps }),
            (1, Err(error)) => Err(error.to_string()),
            _ => Err("only version 1".to_owned()),
        }
    }
}

fn cx() -> Context {
    Context::at(UnixMs(1_000))
}

#[test]
fn a_state_goes_through_its_bytes() {
    let accepted = submit::<Counter>(&cx(), Submission::new("s", serde_json::json!({}))).unwrap();
    let mut state = accepted.state.unwrap();
    for steps in 1..4 {
        state = advance::<Counter>(&cx(), &state, Event::Timer).state;
        assert_eq!(state, format!("{{\"steps\":{steps}}}").into_bytes());
    }
}

#[test]
fn a_doomed_task_has_no_state() {
    let request = Submission::new("s", serde_json::json!({"doomed": true}));
    assert_eq!(submit::<Counter>(&cx(), request).unwrap().state, None);
}

#[test]
fn an_older_state_is_rewritten() {
    assert_eq!(migrate::<Counter>(1, b"7"), Ok(b"{\"steps\":7}".to_vec()));
    assert_eq!(migrate::<Counter>(3, b"7"), Err("only version 1".to_owned()));
    assert!(migrate::<Counter>(1, b"seven").is_err());
}

#[test]
fn a_foreign_state_stops_the_step_without_repeating_it() {
    let panic = catch_unwind(|| advance::<Counter>(&cx(), b"{\"steps\":\"private\"}", Event::Timer));
    let message = panic.unwrap_err().downcast_ref::<String>().cloned().unwrap_or_default();
    assert_eq!(message, "the state does not read back in this build: expected u32 at line 1 column 18");
    let panic = catch_unwind(|| advance::<Counter>(&cx(), b"{\"turns\":1}", Event::Timer));
    let message = panic.unwrap_err().downcast_ref::<String>().cloned().unwrap_or_default();
    assert!(message.contains("missing field `steps`"), "{message}");
}
