//! Switching, pinning, migrating, restarting.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::tests::common::{
    self, advance, claiming, flawed, open, open_compiled, ready, rebuilt, submit, unruly,
};
use crate::{RemoveError, StepRoute, VersionState, VersionUnavailable, compile_before_start};
use gatehouse_harness::until;
use gatehouse_model::{Digest, Event};
use serde_json::json;

fn files(dir: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = fs::read_dir(dir.join("plugins"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .collect();
    found.sort();
    found
}

fn code_of(dir: &Path, digest: Digest) -> Vec<PathBuf> {
    let mut code = files(dir, "cwasm");
    code.retain(|path| path.to_string_lossy().contains(&digest.to_string()));
    code
}

#[test]
fn an_install_reports_and_is_idempotent() {
    let dir = tempfile::tempdir().unwrap();
    let service = open(dir.path());
    // Nothing that another test has compiled.
    let report = (*service).install(unruly()).unwrap();
    assert_eq!((report.about.family.as_str(), report.about.version.as_str()), ("unruly", "1.2.3"));
    assert_eq!((report.active, report.compiled, report.self_tests), (true, true, 3));
    assert_eq!((report.bytes, report.replaced), (unruly().len(), None));
    let before = service.registry();
    let again = service.install(unruly()).unwrap();
    assert_eq!((again.active, again.compiled, again.replaced), (true, false, None));
    assert!(Arc::ptr_eq(&before, &service.registry()), "nothing was switched");
}

#[test]
fn models_are_found_by_any_name_on_their_surfaces() {
    let (_dir, service, version) = ready();
    let registry = service.registry();
    for name in ["unruly-1", "unruly"] {
        let found = registry.resolve("images.generate", name).unwrap();
        assert_eq!((found.model.as_str(), found.version.digest()), ("unruly-1", version.digest()));
    }
    assert!(registry.resolve("videos.generate", "unruly-1").is_none());
    assert!(registry.resolve("images.generate", "Unruly").is_none());
    assert_eq!(registry.default_model("images.generate").unwrap().model, "unruly-1");
    assert!(registry.default_model("videos.generate").is_none());
    let rows: Vec<_> = registry.models().into_iter().map(|row| (row.id, row.family, row.since)).collect();
    let row = |id: &str| (id.to_owned(), "unruly".to_owned(), common::NOW);
    assert_eq!(rows, [row("unruly"), row("unruly-1")]);
}

#[tokio::test]
async fn a_task_stays_on_the_version_that_admitted_it() {
    let (_dir, service, old) = ready();
    let newer = rebuilt(unruly(), 2);
    let report = service.install(&newer).unwrap();
    assert_eq!(report.replaced, Some(old.digest()));
    let active = service.registry().family("unruly").unwrap();
    assert_eq!(active.digest(), Digest::of(&newer));

    let digest = old.digest();
    let StepRoute::Run(pinned) = service.route("unruly", &digest, 1).await.unwrap() else { panic!("pinned") };
    assert!(Arc::ptr_eq(&pinned, &old), "a loaded version is not loaded twice");
    let states: Vec<_> = service.list().into_iter().map(|row| (row.digest, row.state)).collect();
    assert!(states.contains(&(digest, VersionState::Pinned)), "{states:?}");
    assert!(states.contains(&(active.digest(), VersionState::Active(common::NOW))), "{states:?}");
    advance(&service, &pinned, "ok", Event::Timer).await.unwrap();

    drop((old, pinned));
    let states: Vec<_> = service.list().into_iter().map(|row| (row.digest, row.state)).collect();
    assert!(states.contains(&(digest, VersionState::Kept)), "no task holds it any more: {states:?}");
    let again = service.version(&digest).await.unwrap();
    advance(&service, &again, "ok", Event::Timer).await.unwrap();
    let StepRoute::Run(same) = service.route("unruly", &active.digest(), 1).await.unwrap() else {
        panic!("active")
    };
    assert!(Arc::ptr_eq(&same, &active));
}

#[tokio::test]
async fn an_operator_rolls_back_and_removes() {
    let (_dir, service, old) = ready();
    let (first, newer) = (old.digest(), rebuilt(unruly(), 3));
    drop(old);
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let nothing = service.roll_back("unruly").unwrap_err();
    assert!(text(&nothing).contains("no earlier version"), "{nothing}");
    service.install(&newer).unwrap();
    let back = service.roll_back("unruly").unwrap();
    assert_eq!((back.digest, back.replaced), (first, Some(Digest::of(&newer))));
    service.activate(&Digest::of(&newer)).unwrap();

    let serving = service.remove(&Digest::of(&newer)).unwrap_err();
    assert!(text(&serving).contains("serves"), "{serving}");
    let held = service.version(&first).await.unwrap();
    let pinned = service.remove(&first).unwrap_err();
    assert!(text(&pinned).contains("finishes tasks"), "{pinned}");
    drop(held);
    // The thread that has looked it up drops its own copy a moment after its answer.
    until("nobody holds it", async || match service.remove(&first) {
        Ok(()) => true,
        Err(RemoveError::Pinned(_)) => false,
        Err(other) => panic!("{other}"),
    })
    .await;
    assert!(matches!(service.version(&first).await, Err(VersionUnavailable::Unknown(_))));
    assert!(text(&service.activate(&first).unwrap_err()).contains("no plugin version"));
    assert!(text(&service.remove(&first).unwrap_err()).contains("not in the data folder"));
}

#[tokio::test]
async fn a_build_that_reads_older_states_migrates_them() {
    let (_dir, service, old) = ready();
    service.install(&flawed(b'2')).unwrap();
    let StepRoute::Migrate(newer) = service.route("unruly", &old.digest(), 1).await.unwrap() else {
        panic!("the active build reads state 1")
    };
    assert_eq!(newer.about().state_version, 2);
    let state = service.migrate(&newer, 1, b"ok".to_vec()).await.unwrap().unwrap();
    assert_eq!(state, b"migrated:ok");
    service.advance(&newer, common::step_context(&newer), state, Event::Timer).await.unwrap();
    let refused = service.migrate(&newer, 1, b"unreadable".to_vec()).await.unwrap().unwrap_err();
    assert_eq!(refused, "version 1 wrote nothing I can read");
    assert_eq!(service.migrate(&newer, 1, b"panic".to_vec()).await.unwrap_err().label(), "trap");
    assert!(service.migrate(&newer, 0, b"ok".to_vec()).await.is_err(), "0 is not listed");
    // A state it does not list stays with the build that wrote it.
    assert!(
        matches!(service.route("unruly", &old.digest(), 0).await.unwrap(), StepRoute::Run(v) if v.digest() == old.digest())
    );
}

#[tokio::test]
async fn an_older_build_can_be_made_active_again() {
    let (_dir, service, old) = ready();
    service.install(&rebuilt(unruly(), 2)).unwrap();
    let back = service.install(unruly()).unwrap();
    assert_eq!((back.active, back.digest), (true, old.digest()));
    assert!(submit(&service, &old, "ok").await.unwrap().is_ok());
}

#[tokio::test]
async fn a_restart_finds_active_and_pinned_versions_compiled() {
    let (dir, service, old) = ready();
    let newer = rebuilt(unruly(), 2);
    service.install(&newer).unwrap();
    let (digest, code) = (old.digest(), files(dir.path(), "cwasm"));
    assert_eq!(code.len(), 2);
    let inodes = || code.iter().map(|path| fs::metadata(path).unwrap().ino()).collect::<Vec<_>>();
    let before = inodes();
    drop((service, old));

    let service = open(dir.path());
    let active = service.registry().family("unruly").unwrap();
    assert_eq!(active.digest(), Digest::of(&newer));
    assert_eq!(service.registry().models()[0].since, common::NOW);
    let StepRoute::Run(pinned) = service.route("unruly", &digest, 1).await.unwrap() else { panic!("pinned") };
    assert_eq!(pinned.digest(), digest);
    assert!(submit(&service, &pinned, "ok").await.unwrap().is_ok());
    assert_eq!(inodes(), before, "the kept code was used as it was");
    assert!(!service.install(&newer).unwrap().compiled);
}

/// After an update of the gateway a family has to be compiled again; the others, and the start, do not wait for it.
#[test]
fn a_family_without_code_is_left_for_later_and_serves_then() {
    let (dir, service, version) = ready();
    let other = claiming(&json!({
        "family": "other",
        "models": [{"id": "other-1", "aliases": [], "surfaces": ["images.generate"]}],
        "surfaces": [{"name": "images.generate", "schema": {"type": "object"}}],
        "self_tests": [],
    }));
    service.install(&other).unwrap();
    let digest = version.digest();
    let code = |digest: Digest| code_of(dir.path(), digest).into_iter();
    drop((service, version));
    code(digest).for_each(|path| fs::remove_file(path).unwrap());

    // A gateway that waits for its turn compiles it before; nothing else changes.
    let config = common::config(dir.path());
    let fresh = flawed(b'2');
    let ahead = |goes_on: bool| {
        compile_before_start(config.clone(), &[(Digest::of(&fresh), &fresh)], &|| goes_on).unwrap()
    };
    assert_eq!((ahead(false), ahead(true), ahead(true)), (0, 2, 0));
    assert_eq!((code(digest).count(), code(Digest::of(&fresh)).count()), (1, 1));
    assert!(open_compiled(dir.path()).families_without_code().is_empty());
    code(digest).for_each(|path| fs::remove_file(path).unwrap());

    let service = open_compiled(dir.path());
    assert_eq!(
        (service.families_without_code(), service.families_not_ready()),
        (vec!["unruly".to_owned()], vec!["unruly".to_owned()])
    );
    let serves = |family: &str| service.registry().family(family).map(|version| version.digest());
    assert_eq!((serves("other"), serves("unruly")), (Some(Digest::of(&other)), None));
    service.reactivate("unruly");
    assert_eq!(serves("unruly"), Some(digest));
    assert_eq!(code(digest).count(), 1);
    service.is_ready_now("unruly");
    assert!(service.families_not_ready().is_empty());

    // A version that an operator installs meanwhile is not replaced by the one before.
    drop(service);
    code(digest).for_each(|path| fs::remove_file(path).unwrap());
    let service = open_compiled(dir.path());
    let newer = rebuilt(unruly(), 2);
    service.install(&newer).unwrap();
    service.reactivate("unruly");
    assert_eq!(service.registry().family("unruly").unwrap().digest(), Digest::of(&newer));
}

#[tokio::test]
async fn damaged_code_is_compiled_again_and_never_run() {
    let (dir, service, _) = ready();
    drop(service);
    let code = files(dir.path(), "cwasm").remove(0);
    let whole = fs::read(&code).unwrap();
    let mut damaged = whole.clone();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 0xff;
    fs::remove_file(&code).unwrap();
    fs::write(&code, &damaged).unwrap();

    let service = open(dir.path());
    let version = service.registry().family("unruly").unwrap();
    assert!(submit(&service, &version, "ok").await.unwrap().is_ok());
    assert_ne!(fs::read(&code).unwrap(), damaged);
}

#[tokio::test]
async fn a_missing_version_and_a_damaged_one_are_different_errors() {
    let (dir, service, version) = ready();
    let unknown = Digest::of(b"unknown");
    assert!(
        matches!(service.version(&unknown).await, Err(VersionUnavailable::Unknown(digest)) if digest == unknown)
    );
    assert!(matches!(service.route("other", &unknown, 1).await, Err(VersionUnavailable::Unknown(_))));
    let digest = version.digest();
    drop((service, version));

    let wasm = files(dir.path(), "wasm").remove(0);
    let code = files(dir.path(), "cwasm").remove(0);
    fs::write(&wasm, b"rubbish").unwrap();
    fs::remove_file(code).unwrap();
    let service = open(dir.path());
    assert!(service.registry().family("unruly").is_none());
    let broken = service.list().remove(0);
    assert_eq!((broken.family.as_str(), broken.digest), ("unruly", digest));
    assert!(matches!(broken.state, VersionState::Broken(why) if why.contains("is damaged")));
    // Installing it again repairs everything.
    service.install(unruly()).unwrap();
    assert_eq!(service.list().len(), 1);
    assert!(service.version(&digest).await.is_ok());
    drop(service);
    assert!(open(dir.path()).registry().family("unruly").is_some());
}

/// Two kept builds beside the active one, in a closed service; their digests.
fn with_kept_versions() -> (tempfile::TempDir, [Digest; 2]) {
    let (dir, service, first) = ready();
    let [second, third] = [rebuilt(unruly(), 2), rebuilt(unruly(), 3)];
    service.install(&second).unwrap();
    service.install(&third).unwrap();
    (dir, [first.digest(), Digest::of(&second)])
}

fn manifest_of(dir: &Path, digest: Digest) -> PathBuf {
    dir.join(format!("plugins/{digest}.manifest.json"))
}

#[test]
fn a_list_loads_no_kept_version() {
    let (dir, kept) = with_kept_versions();
    // Neither of them can be loaded or compiled any more.
    for digest in kept {
        fs::write(dir.path().join(format!("plugins/{digest}.wasm")), b"no component").unwrap();
        code_of(dir.path(), digest).iter().for_each(|path| fs::remove_file(path).unwrap());
    }
    let service = open(dir.path());
    let listed = service.list();
    assert_eq!(listed.len(), 3);
    for digest in kept {
        let row = listed.iter().find(|row| row.digest == digest).expect("listed");
        assert_eq!((row.family.as_str(), row.version.as_str()), ("unruly", "1.2.3"));
        assert_eq!(row.state, VersionState::Kept);
    }
}

#[tokio::test]
async fn a_version_of_an_older_data_folder_is_indexed_once() {
    let (dir, kept) = with_kept_versions();
    kept.iter().for_each(|digest| fs::remove_file(manifest_of(dir.path(), *digest)).unwrap());
    fs::write(dir.path().join(format!("plugins/{}.wasm", kept[1])), b"no component").unwrap();
    files(dir.path(), "cwasm").into_iter().for_each(|path| fs::remove_file(path).unwrap());
    let service = open(dir.path());
    assert!(!manifest_of(dir.path(), kept[0]).exists(), "a start waits for no kept version");
    service.complete_start();
    assert!(manifest_of(dir.path(), kept[0]).exists(), "read from the component and written");
    assert!(!manifest_of(dir.path(), kept[1]).exists());
    let listed: Vec<Digest> = service.list().into_iter().map(|row| row.digest).collect();
    assert!(listed.contains(&kept[0]) && !listed.contains(&kept[1]), "a damaged one is left out");
    service.remove(&kept[0]).unwrap();
    assert!(!manifest_of(dir.path(), kept[0]).exists());
    assert!(!service.list().iter().any(|row| row.digest == kept[0]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_look_ups_share_one_version() {
    let (dir, [digest, _]) = with_kept_versions();
    code_of(dir.path(), digest).iter().for_each(|path| fs::remove_file(path).unwrap());
    let service = open(dir.path());
    let look_up = || {
        let service = service.clone();
        tokio::spawn(async move { service.version(&digest).await.unwrap() })
    };
    let callers: Vec<_> = (0..20).map(|_| look_up()).collect();
    let mut versions = Vec::new();
    for caller in callers {
        versions.push(caller.await.unwrap());
    }
    assert!(versions.iter().all(|version| Arc::ptr_eq(version, &versions[0])));
    assert!(submit(&service, &versions[0], "ok").await.unwrap().is_ok());
}

#[tokio::test]
async fn a_look_up_that_must_compile_holds_up_no_async_worker() {
    let (dir, [digest, _]) = with_kept_versions();
    files(dir.path(), "cwasm").into_iter().for_each(|path| fs::remove_file(path).unwrap());
    let service = open(dir.path());
    // On a runtime with one thread the look-up waits, and the rest of the runtime goes on.
    let mut look_up = Box::pin(service.version(&digest));
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(look_up.as_mut().poll(&mut context).is_pending());
    assert!(service.registry().family("unruly").is_some());
    assert_eq!(service.list().len(), 3);
    assert_eq!(look_up.await.unwrap().digest(), digest);
}
