//! The canary period: faults of a fresh version fail no request, too many of them roll it back, and only an operator
//! activates it again.

use std::path::Path;
use std::sync::Arc;

use crate::tests::common::{self, TestService, context, flawed, rebuilt, request, step_context, unruly};
use crate::{
    Fault, Half, PluginService, PreparedRequest, RemoveError, Resolved, ServedBy, StateBefore, Version,
    VersionState,
};
use gatehouse_harness::component;
use gatehouse_model::{Accepted, DialectRequest, Digest, Event, Protocol, Refusal, Sse, TextRoute};
use serde_json::json;

const SURFACE: &str = "images.generate";

fn open(dir: &Path) -> TestService {
    common::open_with(common::config(dir))
}

/// A service whose fixture has just been replaced by `fresh`.
fn replaced_by(fresh: &[u8]) -> (tempfile::TempDir, TestService, Resolved) {
    let dir = tempfile::tempdir().unwrap();
    let service = open(dir.path());
    service.install(unruly()).unwrap();
    service.install(&fresh.to_vec()).unwrap();
    let found = service.registry().resolve(SURFACE, "unruly").unwrap();
    assert_eq!(found.version.digest(), Digest::of(fresh));
    (dir, service, found)
}

async fn submit(
    service: &PluginService,
    found: &Resolved,
    what: &str,
) -> Result<ServedBy<Result<Accepted, Refusal>>, Fault> {
    let (context, start) = (context(&found.version), Arc::new(|_: &Accepted| None));
    let ServedBy { by, answer } =
        service.submit_with_fallback(found, SURFACE, context, request(what), start).await?;
    Ok(ServedBy { by, answer: answer.map(|submitted| submitted.accepted) })
}

fn state_of(service: &PluginService, digest: Digest) -> VersionState {
    service.list().into_iter().find(|row| row.digest == digest).expect("listed").state
}

/// The serving version, once the rollback is done.
async fn taken_over(service: &PluginService, from: Digest) -> Arc<Version> {
    gatehouse_harness::until_some("another version has taken over", async || {
        let active = service.registry().family("unruly").unwrap();
        let written =
            service.rollback_reason(&from).is_some() && state_of(service, from) != VersionState::Pinned;
        (active.digest() != from && written).then_some(active)
    })
    .await
}

#[tokio::test]
async fn a_version_that_traps_fails_no_request_and_is_rolled_back() {
    let crashing = flawed(b'c');
    let (dir, service, found) = replaced_by(&crashing);
    let (old, bad) = (Digest::of(unruly()), Digest::of(&crashing));
    assert!(matches!(state_of(&service, old), VersionState::Standby { .. }));
    assert!(matches!(service.remove(&old), Err(RemoveError::Standby { digest, .. }) if digest == old));
    assert_eq!(submit(&service, &found, "ok").await.unwrap().by.digest(), bad);
    for number in 0..20 {
        let answered = submit(&service, &found, "echo").await.expect("no request fails");
        assert_eq!(answered.by.digest(), old, "request {number}");
        assert_eq!(answered.answer.unwrap().state, b"echo");
    }
    assert_eq!(taken_over(&service, bad).await.digest(), old);
    let VersionState::RolledBack { reason, .. } = state_of(&service, bad) else { panic!("rolled back") };
    assert!(reason.contains("5 of its last 6 calls were faults; the last: the plugin trapped"), "{reason}");
    // A caller that still holds it gets an answer, too.
    assert_eq!(submit(&service, &found, "ok").await.unwrap().by.digest(), old);
    let nothing = service.roll_back("unruly").unwrap_err().to_string();
    assert!(nothing.contains("no earlier version"), "never back to a rolled back version: {nothing}");
    drop((service, found));

    let service = open(dir.path());
    assert_eq!(service.registry().family("unruly").unwrap().digest(), old);
    assert!(service.rollback_reason(&bad).is_some() && service.rollback_reason(&old).is_none());
    service.activate(&bad).expect("an operator may");
    assert!(service.rollback_reason(&bad).is_none());
    assert!(matches!(state_of(&service, bad), VersionState::Active(_)));
}

#[tokio::test]
async fn a_step_falls_back_to_a_version_that_reads_the_state() {
    let (_dir, service, found) = replaced_by(&flawed(b'c'));
    let (bad, old) = (&found.version, Digest::of(unruly()));
    let cx = step_context(bad);
    let step =
        service.advance_with_fallback(bad, None, cx.clone(), b"wait".to_vec(), Event::Timer).await.unwrap();
    assert_eq!(step.by.digest(), old, "its states are of the same version");
    assert_eq!(step.answer.state, b"wait");
    let step = service.advance_with_fallback(bad, None, cx, b"ok".to_vec(), Event::Timer).await.unwrap();
    assert_eq!(step.by.digest(), bad.digest());

    // After a migration the version that wrote the state takes over with the state as it wrote it.
    let (_dir, service, found) = replaced_by(&flawed(b'2'));
    let by = service.version(&old).await.unwrap();
    let newer = &found.version;
    let cx = step_context(newer);
    let stuck = service
        .advance_with_fallback(newer, None, cx.clone(), b"migrated:panic".to_vec(), Event::Timer)
        .await;
    assert_eq!(stuck.unwrap_err().label(), "trap", "no other version reads that state");
    let written = StateBefore { by, state: b"wait".to_vec() };
    let step = service
        .advance_with_fallback(newer, Some(written), cx, b"migrated:panic".to_vec(), Event::Timer)
        .await
        .unwrap();
    assert_eq!((step.by.digest(), step.answer.state.as_slice()), (old, &b"wait"[..]));
}

#[tokio::test]
async fn a_fault_of_both_versions_does_not_count() {
    let fresh = rebuilt(unruly(), 7);
    let (_dir, service, found) = replaced_by(&fresh);
    for _ in 0..30 {
        assert_eq!(submit(&service, &found, "panic").await.unwrap_err().label(), "trap");
    }
    assert!(service.rollback_reason(&Digest::of(&fresh)).is_none());
    assert!(submit(&service, &found, "ok").await.is_ok());
    assert!(submit(&service, &found, "refuse").await.unwrap().answer.is_err(), "a refusal is an answer");
}

#[tokio::test]
async fn a_version_brought_back_by_hand_has_no_canary_period() {
    let (_dir, service, found) = replaced_by(&flawed(b'c'));
    service.roll_back("unruly").unwrap();
    service.roll_back("unruly").unwrap();
    let back = service.registry().resolve(SURFACE, "unruly").unwrap();
    assert_eq!(back.version.digest(), found.version.digest());
    for _ in 0..10 {
        assert_eq!(submit(&service, &back, "echo").await.unwrap_err().label(), "trap");
    }
    assert!(service.rollback_reason(&back.version.digest()).is_none());
}

/// An operator whose standby is no good either goes back further.
#[tokio::test]
async fn after_an_automatic_rollback_an_operator_goes_back_further() {
    let standby = rebuilt(unruly(), 9);
    let (_dir, service, _) = replaced_by(&standby);
    let crashing = flawed(b'c');
    service.install(&crashing).unwrap();
    let found = service.registry().resolve(SURFACE, "unruly").unwrap();
    for _ in 0..20 {
        submit(&service, &found, "echo").await.expect("no request fails");
    }
    assert_eq!(taken_over(&service, Digest::of(&crashing)).await.digest(), Digest::of(&standby));
    let report = service.roll_back("unruly").unwrap();
    assert_eq!((report.digest, report.replaced), (Digest::of(unruly()), Some(Digest::of(&standby))));
    let back = service.roll_back("unruly").unwrap();
    assert_eq!(back.digest, Digest::of(&standby), "to where it came from, never to the version that failed");
}

#[tokio::test]
async fn a_restart_does_not_end_the_canary_period() {
    let crashing = flawed(b'c');
    let (dir, service, found) = replaced_by(&crashing);
    drop((service, found));
    let service = open(dir.path());
    let found = service.registry().resolve(SURFACE, "unruly").unwrap();
    assert_eq!(submit(&service, &found, "echo").await.unwrap().by.digest(), Digest::of(unruly()));
}

/// The fixture of a dialect, as a build that breaks where its provider's answer says "flaw".
fn breaking(dialect: &[u8]) -> Vec<u8> {
    const MARK: &[u8] = b"n-brook-flaw-goes-here-";
    let mut wasm = dialect.to_vec();
    let found = wasm.windows(MARK.len()).position(|bytes| bytes == MARK).expect("the mark");
    wasm[found] = b'y';
    wasm
}

/// Without it the standby runs on in the instance of the version that was rolled back, which breaks, and the client gets a 5xx.
#[tokio::test]
async fn a_standby_answers_in_an_instance_of_its_own() {
    const PIECE: &str = "{\"piece\":\"served\",\"flaw\":true}";
    let old = component("tests/fixtures/brook");
    let dir = tempfile::tempdir().unwrap();
    let service = open(dir.path());
    service.install(&old).unwrap();
    service.install(&breaking(&old)).unwrap();
    let fresh = service.registry().family("streamlet").unwrap();
    for streaming in [false, true] {
        let route = TextRoute {
            model: "over-brook".to_owned(),
            upstream: "brook-1".to_owned(),
            provider: "p".to_owned(),
            protocol: Protocol::Dialect("brook".into()),
            rules: "{}".into(),
        };
        let message = json!({"role": "user", "content": "hi"});
        let body = json!({"model": "over-brook", "max_tokens": 9, "messages": [message]});
        let request = DialectRequest { body: body.to_string().into(), streaming, blobs: vec![], route };
        let prepared = service.prepare_dialect(&fresh, context(&fresh), request, false).await.unwrap();
        assert!(Arc::ptr_eq(&prepared.by, &fresh));
        let PreparedRequest { prepared, instance } = prepared.answer.unwrap();
        let mut instance = instance.expect("it is kept for the answer");
        // As when other requests had it rolled back while the provider was asked.
        fresh.set_rolled_back(true);
        let text = if streaming {
            let (cx, instance) = (context(&fresh), Some(instance));
            let mut relay = service.relay(Half::Dialect, &fresh, cx, prepared.state, instance).unwrap();
            let chunk = relay.push(vec![Sse { event: None, data: PIECE.to_owned() }]).await.unwrap().unwrap();
            assert_eq!(relay.version().digest(), Digest::of(&old));
            chunk.send.into_iter().map(|event| event.data).collect::<String>()
        } else {
            let reply = common::reply(format!("{PIECE}\n{{\"done\":true,\"read\":7,\"wrote\":2}}\n"));
            let instance = Some(instance.as_mut());
            let read = service.read_dialect(&fresh, context(&fresh), prepared.state, reply, instance);
            read.await.unwrap().unwrap().to_string()
        };
        assert!(text.contains("served"), "{text}");
        fresh.set_rolled_back(false);
    }
}
