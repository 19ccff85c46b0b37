//! A fresh version under watch: its faults cost nobody a request, too many of them take it out, and nothing
//! but an operator's hand brings it back.

use std::path::Path;
use std::sync::Arc;

use crate::common::{self, context, flawed, rebuilt, request, step_context, unruly};
use gatehouse_model::{Accepted, Digest, Event, Refusal};
use gatehouse_runtime::{
    Config, Fault, PluginService, RemoveError, Resolved, ServedBy, StateBefore, Version, VersionState,
};

const SURFACE: &str = "images.generate";

fn open(dir: &Path) -> PluginService {
    common::open_with(Config::new(dir.to_owned()))
}

/// A house whose fixture has just been replaced by `fresh`.
fn replaced_by(fresh: &[u8]) -> (tempfile::TempDir, PluginService, Resolved) {
    let dir = tempfile::tempdir().unwrap();
    let families = open(dir.path());
    families.install(unruly()).unwrap();
    families.install(&fresh.to_vec()).unwrap();
    let found = families.registry().resolve(SURFACE, "unruly").unwrap();
    assert_eq!(found.version.digest(), Digest::of(fresh));
    (dir, families, found)
}

async fn judge(
    families: &PluginService,
    found: &Resolved,
    what: &str,
) -> Result<ServedBy<Result<Accepted, Refusal>>, Fault> {
    families.judge(found, SURFACE, context(&found.version), request(what)).await
}

fn state_of(families: &PluginService, digest: Digest) -> VersionState {
    families.list().into_iter().find(|row| row.digest == digest).expect("listed").state
}

/// The version that serves, once the withdrawal, which happens aside, is done.
async fn taken_over(families: &PluginService, from: Digest) -> Arc<Version> {
    loop {
        let active = families.registry().family("unruly").unwrap();
        let written = families.withdrawn(&from).is_some() && state_of(families, from) != VersionState::Pinned;
        if active.digest() != from && written {
            return active;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_version_that_crashes_on_real_requests_costs_none_and_is_withdrawn() {
    let crashing = flawed(b'c');
    let (dir, families, found) = replaced_by(&crashing);
    let (old, bad) = (Digest::of(unruly()), Digest::of(&crashing));
    assert!(matches!(state_of(&families, old), VersionState::Standby { .. }));
    assert!(matches!(families.remove(&old), Err(RemoveError::Standby { digest, .. }) if digest == old));
    assert_eq!(judge(&families, &found, "ok").await.unwrap().by.digest(), bad);
    for number in 0..20 {
        let answered = judge(&families, &found, "echo").await.expect("no request fails");
        assert_eq!(answered.by.digest(), old, "request {number}");
        assert_eq!(answered.answer.unwrap().state, b"echo");
    }
    assert_eq!(taken_over(&families, bad).await.digest(), old);
    let VersionState::Withdrawn { reason, .. } = state_of(&families, bad) else { panic!("withdrawn") };
    assert!(reason.contains("5 of its last 6 calls were faults; the last: the plugin trapped"), "{reason}");
    // Who still holds it is answered, too.
    assert_eq!(judge(&families, &found, "ok").await.unwrap().by.digest(), old);
    let nothing = families.roll_back("unruly").unwrap_err().to_string();
    assert!(nothing.contains("no earlier version"), "never back to what was withdrawn: {nothing}");
    drop((families, found));

    let families = open(dir.path());
    assert_eq!(families.registry().family("unruly").unwrap().digest(), old);
    assert!(families.withdrawn(&bad).is_some() && families.withdrawn(&old).is_none());
    families.activate(&bad).expect("by hand it may");
    assert!(families.withdrawn(&bad).is_none());
    assert!(matches!(state_of(&families, bad), VersionState::Active(_)));
}

#[tokio::test]
async fn steps_of_a_fresh_version_are_rescued_where_the_state_can_be_read() {
    let (_dir, families, found) = replaced_by(&flawed(b'c'));
    let (bad, old) = (&found.version, Digest::of(unruly()));
    let cx = step_context(bad);
    let step = families.step(bad, None, cx.clone(), b"wait".to_vec(), Event::Timer).await.unwrap();
    assert_eq!(step.by.digest(), old, "its states are of the same version");
    assert_eq!(step.answer.state, b"wait");
    let step = families.step(bad, None, cx, b"ok".to_vec(), Event::Timer).await.unwrap();
    assert_eq!(step.by.digest(), bad.digest());

    // After a migration the version that wrote the state takes over with the state as it wrote it.
    let (_dir, families, found) = replaced_by(&flawed(b'2'));
    let by = families.version(&old).unwrap();
    let newer = &found.version;
    let cx = step_context(newer);
    let stuck = families.step(newer, None, cx.clone(), b"migrated:panic".to_vec(), Event::Timer).await;
    assert_eq!(stuck.unwrap_err().word(), "trap", "states of another version are nobody else's");
    let written = StateBefore { by, state: b"wait".to_vec() };
    let step =
        families.step(newer, Some(written), cx, b"migrated:panic".to_vec(), Event::Timer).await.unwrap();
    assert_eq!((step.by.digest(), step.answer.state.as_slice()), (old, &b"wait"[..]));
}

#[tokio::test]
async fn what_no_version_can_answer_is_not_the_fresh_ones_fault() {
    let fresh = rebuilt(unruly(), 7);
    let (_dir, families, found) = replaced_by(&fresh);
    for _ in 0..30 {
        assert_eq!(judge(&families, &found, "panic").await.unwrap_err().word(), "trap");
    }
    assert!(families.withdrawn(&Digest::of(&fresh)).is_none());
    assert!(judge(&families, &found, "ok").await.is_ok());
    assert!(judge(&families, &found, "refuse").await.unwrap().answer.is_err(), "a refusal is an answer");
}

#[tokio::test]
async fn a_version_brought_back_by_hand_is_not_watched() {
    let (_dir, families, found) = replaced_by(&flawed(b'c'));
    families.roll_back("unruly").unwrap();
    families.roll_back("unruly").unwrap();
    let back = families.registry().resolve(SURFACE, "unruly").unwrap();
    assert_eq!(back.version.digest(), found.version.digest());
    for _ in 0..10 {
        assert_eq!(judge(&families, &back, "echo").await.unwrap_err().word(), "trap");
    }
    assert!(families.withdrawn(&back.version.digest()).is_none());
}

#[tokio::test]
async fn a_restart_does_not_end_the_watch() {
    let crashing = flawed(b'c');
    let (dir, families, found) = replaced_by(&crashing);
    drop((families, found));
    let families = open(dir.path());
    let found = families.registry().resolve(SURFACE, "unruly").unwrap();
    assert_eq!(judge(&families, &found, "echo").await.unwrap().by.digest(), Digest::of(unruly()));
}
