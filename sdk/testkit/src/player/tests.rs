//! The kit itself: it runs a good script, and reports what is wrong with a bad one.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use gatehouse_sdk::{
    About, Accepted, Action, Blame, Call, Charge, Context, Event, Failure, Family, Jobs, Model, Outcome,
    Probe, Refusal, Stage, Step, Submission, UnixMs,
};
use serde_json::{Value, json};

use crate::{Script, picture};

/// Does what its request asks for.
struct Puppet;

impl Family for Puppet {
    fn about() -> About {
        About::new("puppet", "0.1.0")
            .model(Model::new("puppet-1").serves("images.generate"))
            .provider("strings")
            .price_key("puppet-1")
    }
}

static CALLS: AtomicU64 = AtomicU64::new(0);

impl Jobs for Puppet {
    type State = String;

    fn submit(_: &Context, request: Submission) -> Result<Accepted<String>, Refusal> {
        let charge = Charge::keys(["puppet-1"]);
        match request.body["act"].as_str() {
            None => Err(Refusal::invalid("act", "expected a string")),
            Some("doomed") => Ok(Accepted::doomed("puppet-1", charge, Failure::request("no"))),
            Some("stranger") => Ok(Accepted::new("puppet-2", charge, String::new())),
            Some("random") => {
                Ok(Accepted::new("puppet-1", charge, CALLS.fetch_add(1, Ordering::Relaxed).to_string()))
            }
            Some("huge") => Ok(Accepted::new("puppet-1", charge, "h".repeat(70_000))),
            Some(act) => Ok(Accepted::new("puppet-1", charge, act.to_owned())),
        }
    }

    fn advance(cx: &Context, act: String, event: Event) -> Step<String> {
        match (act.as_str(), event) {
            ("call", Event::Start(_)) => Step::call(act, Call::get("strings", "/pull")),
            ("call", Event::Reply(_)) => Step::wait(act, cx.now.plus(Duration::from_secs(5))).progress(10),
            ("call", Event::Timer) => {
                let outcome = Outcome::new(json!({"at": cx.now.0, "url": "media:0"}));
                Step::done(act, outcome.product("https://e.com/a", None))
            }
            ("call", Event::Lost(_)) => Step::fail(act, Failure::upstream("lost")),
            ("probe", Event::Start(_)) => Step::probe(act, vec![Probe::look("https://e.com/a")]),
            ("foreign", Event::Start(_)) => Step::call(act, Call::get("other", "/pull")),
            ("header", Event::Start(_)) => {
                Step::call(act, Call::get("strings", "/pull").header("X-Key", "k"))
            }
            ("slashless", Event::Start(_)) => Step::call(act, Call::get("strings", "pull")),
            ("past", Event::Start(_)) => Step::wait(act, UnixMs(0)),
            ("empty", Event::Start(_)) => Step::done(act, Outcome::new(json!(["media:0"]))),
            _ => Step::new(act, Action::Fail(Failure::request("the end").into())),
        }
    }
}

fn submitted(act: impl Into<Value>) -> Script {
    Script::new().submit("images.generate", json!({"act": act.into()}))
}

fn started(act: &str) -> Script {
    submitted(act).expect_accepted(|_| ()).start()
}

#[test]
fn runs_a_good_script() {
    let start = UnixMs(1_000_000);
    submitted("call")
        .at(start)
        .expect_accepted(|accepted| assert_eq!(accepted.stage, Stage::Submitted))
        .later(Duration::from_secs(1))
        .start()
        .expect_call(|call| assert_eq!(call.provider, "strings"))
        .reply(200, json!({}))
        .expect_wait(|wait| assert_eq!(*wait, Duration::from_secs(5)))
        .expect_progress(10)
        .timer()
        .expect_done(move |outcome| {
            assert_eq!(outcome.public["at"], start.plus(Duration::from_secs(6)).0);
        })
        .lost("gone")
        .expect_fail(Blame::Upstream, "lost")
        .run_native::<Puppet>();
    submitted("doomed").expect_doomed("no").run_native::<Puppet>();
    submitted(Value::Null).expect_refused("act", "`act`: expected a string").run_native::<Puppet>();
}

#[test]
fn reports_line_and_reason_of_a_bad_script() {
    let table: Vec<(Script, &str)> = vec![
        (submitted("call"), "no line expects it"),
        (submitted("call").expect_doomed("no"), "`expect_doomed`"),
        (submitted("doomed").expect_accepted(|_| ()), "came: accepted as \"puppet-1\", doomed: Some"),
        (submitted("doomed").expect_doomed("yes"), "expected message: \"yes\"\n  came: \"no\""),
        (
            submitted(Value::Null).expect_refused("b", ""),
            "expected field: Some(\"b\")\n  came: Some(\"act\")",
        ),
        (submitted("call").start(), "has not been expected by any line"),
        (submitted("call").expect_accepted(|_| ()).reply(200, json!({})), "`reply`"),
        (submitted("doomed").expect_doomed("no").start(), "unexpected here"),
        (started("call").expect_wait(|_| ()), "expected: expect_wait\n  came: Call("),
        (started("call").expect_call(|_| ()).timer(), "unexpected here"),
        (started("call").expect_call(|call| assert_eq!(call.method, "PUT")), "line 4 of the script"),
        (started("call").expect_call(|_| ()).expect_progress(5), "expected progress: 5\n  came: 0"),
        (started("call").expect_call(|_| ()).expect_stage(Stage::Pending), "expected stage: Stage::Pending"),
        (started("probe").expect_probe(|_| ()).probed([]), "unexpected here"),
        (started("end").expect_fail(Blame::Upstream, "the end"), "expected blame: Blame::Upstream"),
        (submitted("random"), "answered in two ways"),
        (submitted("stranger"), "\"puppet-2\" is not in the manifest"),
        (submitted("huge"), "a state of 70002 bytes"),
        (started("foreign"), "the provider \"other\" is not in the manifest"),
        (started("header"), "the header \"X-Key\" is the host's"),
        (started("slashless"), "the URL \"pull\" is not http or https"),
        (started("past"), "a wait ends before now"),
        (started("empty"), "\"media:0\" in the result, but there are 0 products"),
    ];
    for (number, (script, expected)) in table.into_iter().enumerate() {
        let panic = catch_unwind(AssertUnwindSafe(|| script.run_native::<Puppet>()))
            .expect_err(&format!("script {number} should fail with {expected:?}"));
        let message = panic.downcast_ref::<String>().cloned().unwrap_or_default();
        assert!(message.contains(expected), "script {number}: {message}");
    }
}

#[test]
fn matches_findings_to_probes() {
    started("probe")
        .expect_probe(|probes| assert_eq!(probes.len(), 1))
        .probed([Ok(picture(4, 3, "blob:1"))])
        .expect_fail(Blame::Request, "the end")
        .run_native::<Puppet>();
}
