//! A plugin that misbehaves harms its own call only, and the fault names the cause.

use bytes::Bytes;
use std::num::NonZeroU32;
use std::sync::Arc;

use crate::tests::common::{self, advance, context, ready, ready_under, step_context, submit};
use crate::{Fault, Limits, StartContext};
use gatehouse_model::{Action, Cause, Event, Facts, Finding, MediaKind, Outage, Parent, Refusal, Submission};

fn fault_text(fault: &Fault) -> String {
    format!("{}: {fault}", fault.label())
}

#[tokio::test]
async fn every_attack_ends_one_call_with_a_reason() {
    let (_dir, service, version) = ready();
    for (what, expected) in [
        ("loop", "deadline: the plugin used more than 100 ms of processor time"),
        ("grow", "memory: the plugin needs more than 32 MiB of memory"),
        ("recurse", "trap: the plugin trapped: wasm trap: call stack exhausted"),
        ("panic", "on purpose"),
        ("exit", "trap: the plugin trapped: it called exit(1)"),
        ("sleep", "it tried to wait or sleep; a plugin asks the host to wake it instead"),
        (
            "huge output",
            "too_large: the plugin's data crossing the border is larger than the limit of 8388608",
        ),
    ] {
        let fault = submit(&service, &version, what).await.expect_err(what);
        assert!(fault_text(&fault).contains(expected), "{what}: {}", fault_text(&fault));
        // The next call of the same version works.
        assert!(submit(&service, &version, "ok").await.unwrap().is_ok(), "after {what}");
    }
}

#[tokio::test]
async fn an_attack_in_a_step_is_a_fault() {
    let (_dir, service, version) = ready();
    for what in ["loop", "grow", "recurse", "panic", "sleep"] {
        let fault = advance(&service, &version, what, Event::Start(Bytes::new())).await.expect_err(what);
        assert!(matches!(fault.label(), "deadline" | "memory" | "trap"), "{what}: {fault}");
    }
}

#[tokio::test]
async fn good_calls_beside_bad_ones_are_unaffected() {
    let (_dir, service, version) = ready();
    let bad = ["loop", "grow", "recurse", "panic"].map(|what| {
        let (service, version) = (service.clone(), Arc::clone(&version));
        tokio::spawn(async move { submit(&service, &version, what).await })
    });
    let good: Vec<_> = (0..100)
        .map(|_| {
            let (service, version) = (service.clone(), Arc::clone(&version));
            tokio::spawn(async move { submit(&service, &version, "ok").await })
        })
        .collect();
    for call in good {
        assert_eq!(call.await.unwrap().unwrap().unwrap().state, b"ok");
    }
    for call in bad {
        assert!(call.await.unwrap().is_err());
    }
}

#[tokio::test]
async fn the_sandbox_is_closed_and_the_same_every_time() {
    let (_dir, service, version) = ready();
    let look = || async {
        let yes = submit(&service, &version, "look").await.unwrap().unwrap();
        String::from_utf8(yes.state).unwrap()
    };
    let seen = look().await;
    assert!(seen.starts_with("wall=0 passed=0 file=false made=false socket=false names=0 hash="), "{seen}");
    assert_eq!(look().await, seen);
}

#[tokio::test]
async fn a_flood_of_log_lines_is_no_fault() {
    // Printing costs host time too, and a debug build on a busy machine must not fail this test.
    let limit = NonZeroU32::new(10_000).unwrap();
    let (_dir, service, version) = ready_under(|config| config.limits.call_ms = limit);
    for what in ["log flood", "print"] {
        assert!(submit(&service, &version, what).await.unwrap().is_ok(), "{what}");
    }
}

#[tokio::test]
async fn a_refusal_and_a_doomed_acceptance_are_answers() {
    let (_dir, service, version) = ready();
    let no = submit(&service, &version, "refuse").await.unwrap().unwrap_err();
    let field = Some("prompt".to_owned());
    assert_eq!(no, Refusal::Invalid { field, message: "expected peace".to_owned() });
    let yes = submit(&service, &version, "doom").await.unwrap().unwrap();
    assert_eq!(yes.doomed.unwrap().message, "doomed");
}

#[tokio::test]
async fn a_plugin_sees_the_context_it_is_given() {
    let (_dir, service, version) = ready_under(|config| {
        config.settings.insert("unruly".to_owned(), serde_json::json!({"quality": "high"}));
    });
    assert_eq!(&*service.settings("unruly"), r#"{"quality":"high"}"#);
    assert_eq!(&*service.settings("unknown"), "{}");
    let yes = submit(&service, &version, "context").await.unwrap().unwrap();
    let now = common::NOW.0;
    let expected = format!("{now} 42 \"\" {now} {} \"c7\" {{\"quality\":\"high\"}}", now + 1_800_000);
    assert_eq!(String::from_utf8(yes.state).unwrap(), expected);
}

#[tokio::test]
async fn every_event_arrives() {
    let (_dir, service, version) = ready();
    let facts = Facts {
        kind: MediaKind::Video,
        mime: "video/mp4".to_owned(),
        bytes: 9,
        width: Some(1),
        height: None,
        milliseconds: Some(2),
        fps_milli: None,
        has_audio: Some(true),
        has_alpha: None,
        blob: None,
    };
    let finding = |found| Finding { source: "u".to_owned(), found };
    let lost = Event::Lost { source: "s".to_owned(), reason: "gone".to_owned() };
    for (event, parts) in [
        (Event::Start(Bytes::from_static(b"brief")), vec!["Start", "[98, 114, 105, 101, 102]"]),
        (Event::Joined(Bytes::from_static(b"b")), vec!["Joined", "[98]"]),
        (Event::Timer, vec!["Timer"]),
        (Event::Cancel(Cause::Client), vec!["Cancel", "Client"]),
        (Event::Cancel(Cause::Deadline), vec!["Cancel", "Deadline"]),
        (Event::Outage(Outage::Broken), vec!["Outage", "Broken"]),
        (lost, vec!["Lost", "\"s\"", "\"gone\""]),
        (Event::Probed(vec![finding(Ok(facts))]), vec!["Video", "video/mp4", "width: Some(1)"]),
        (Event::Probed(vec![finding(Err("404".to_owned()))]), vec!["Err(\"404\")"]),
    ] {
        let step = advance(&service, &version, "echo", event.clone()).await.unwrap();
        let seen = String::from_utf8(step.state).unwrap();
        assert!(parts.iter().all(|part| seen.contains(part)), "{event:?}: {seen}");
        assert!(matches!(step.next, Action::Call(_)));
    }
}

#[tokio::test]
async fn a_request_is_judged_together_with_the_first_step_of_its_task() {
    let (_dir, service, version) = ready();
    let found = service.registry().resolve("images.generate", "unruly").unwrap();
    let submit = async |request: Submission, starts: bool| {
        let step_context = step_context(&version);
        let start: StartContext = Arc::new(move |_| starts.then(|| step_context.clone()));
        let (surface, context) = ("images.generate", context(&version));
        let served = service.submit_with_fallback(&found, surface, context, request, start).await;
        served.unwrap().answer
    };
    for what in ["ok", "echo", "wait", "done", "view", "brief"] {
        let together = submit(common::request(what), true).await.unwrap();
        let brief = together.accepted.brief.clone();
        assert_eq!(brief.is_empty(), what != "brief");
        let apart = advance(&service, &version, what, Event::Start(brief)).await.unwrap();
        assert_eq!(together.first_step, Some(apart), "{what}");
        assert_eq!(submit(common::request(what), false).await.unwrap().first_step, None);
    }
    assert!(submit(common::request("refuse"), true).await.is_err());
    // A step that no plugin may take is none, and the request is judged all the same.
    for what in ["progress", "wait too long", "wait backwards", "view beside an end"] {
        let judged = submit(common::request(what), true).await.unwrap();
        assert_eq!((judged.accepted.state, judged.first_step), (what.as_bytes().to_vec(), None));
    }
    let body = format!("\"ok\"{}", " ".repeat(300 << 10)).into();
    let large = Submission { body, ..common::request("ok") };
    assert_eq!(submit(large, true).await.unwrap().first_step, None, "it has an instance for itself");
}

#[tokio::test]
async fn oversized_input_never_reaches_the_plugin() {
    let (_dir, service, version) = ready();
    let body = " ".repeat((1 << 20) + 1).into();
    let request = Submission { body, ..common::request("ok") };
    let fault = service.submit(&version, context(&version), request).await.unwrap_err();
    assert_eq!(
        fault.to_string(),
        "the request's JSON has 1048577 bytes, 1048576 is the most a plugin is given"
    );
    let parent = Parent { public: " ".repeat(1 << 20).into(), ..common::parent() };
    let request = Submission { parents: vec![parent], ..common::request("ok") };
    let fault = service.submit(&version, context(&version), request).await.unwrap_err();
    assert_eq!(fault.label(), "input_too_large");
}

#[tokio::test]
async fn a_long_request_whose_state_is_too_large_is_no_fault_of_the_plugin() {
    let (_dir, families, version) = ready();
    let body = format!("\"big state\"{}", " ".repeat(16 << 10)).into();
    let request = Submission { body, ..common::request("ok") };
    let fault = families.submit(&version, context(&version), request).await.unwrap_err();
    assert_eq!(
        fault.to_string(),
        "the request is too long: its task must keep 66560 bytes of it, at most 65536 are possible"
    );
    assert!(!fault.is_plugin_caused());
    // The same from a short request is the plugin's.
    let fault = submit(&families, &version, "big state").await.unwrap_err();
    assert!(fault.is_plugin_caused() && fault.label() == "too_large", "{fault}");
}

#[tokio::test]
async fn an_operator_may_raise_a_limit_for_one_family() {
    let roomy = Limits { state_kib: NonZeroU32::new(128).unwrap(), ..Limits::default() };
    let (_dir, service, version) = ready_under(|config| {
        config.limits_by_family.insert("unruly".to_owned(), roomy);
    });
    let yes = submit(&service, &version, "big state").await.unwrap().unwrap();
    assert_eq!(yes.state.len(), 65 * 1024);
}
