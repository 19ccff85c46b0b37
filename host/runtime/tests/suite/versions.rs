//! Switching, pinning, migrating, restarting.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::common::{self, advance, flawed, open, ready, rebuilt, submit, unruly};
use gatehouse_model::{Digest, Event};
use gatehouse_runtime::{Missing, Route, VersionState};

fn files(dir: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = fs::read_dir(dir.join("plugins"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .collect();
    found.sort();
    found
}

#[test]
fn installing_reports_and_is_idempotent() {
    let dir = tempfile::tempdir().unwrap();
    let families = open(dir.path());
    let report = families.install(unruly()).unwrap();
    assert_eq!((report.about.family.as_str(), report.about.version.as_str()), ("unruly", "1.2.3"));
    assert_eq!((report.active, report.compiled, report.self_tests), (true, true, 3));
    assert_eq!((report.bytes, report.replaced), (unruly().len(), None));
    let before = families.registry();
    let again = families.install(unruly()).unwrap();
    assert_eq!((again.active, again.compiled, again.replaced), (true, false, None));
    assert!(Arc::ptr_eq(&before, &families.registry()), "nothing was switched");
}

#[test]
fn models_are_found_by_any_name_on_their_surfaces() {
    let (_dir, families, version) = ready();
    let registry = families.registry();
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
    let (_dir, families, old) = ready();
    let newer = rebuilt(unruly(), 2);
    let report = families.install(&newer).unwrap();
    assert_eq!(report.replaced, Some(old.digest()));
    let active = families.registry().family("unruly").unwrap();
    assert_eq!(active.digest(), Digest::of(&newer));

    let digest = old.digest();
    let Route::Run(pinned) = families.route("unruly", &digest, 1).unwrap() else { panic!("pinned") };
    assert!(Arc::ptr_eq(&pinned, &old), "a version somebody holds is not loaded twice");
    let states: Vec<_> = families.list().into_iter().map(|row| (row.digest, row.state)).collect();
    assert!(states.contains(&(digest, VersionState::Pinned)), "{states:?}");
    assert!(states.contains(&(active.digest(), VersionState::Active(common::NOW))), "{states:?}");
    advance(&families, &pinned, "ok", Event::Timer).await.unwrap();

    drop((old, pinned));
    let states: Vec<_> = families.list().into_iter().map(|row| (row.digest, row.state)).collect();
    assert!(states.contains(&(digest, VersionState::Kept)), "nobody holds it any more: {states:?}");
    let again = families.version(&digest).unwrap();
    advance(&families, &again, "ok", Event::Timer).await.unwrap();
    let Route::Run(same) = families.route("unruly", &active.digest(), 1).unwrap() else { panic!("active") };
    assert!(Arc::ptr_eq(&same, &active));
}

#[test]
fn an_operator_goes_back_and_clears_up() {
    let (_dir, families, old) = ready();
    let (first, newer) = (old.digest(), rebuilt(unruly(), 3));
    drop(old);
    let told = |error: &dyn std::fmt::Display| error.to_string();
    let nothing = families.roll_back("unruly").unwrap_err();
    assert!(told(&nothing).contains("no earlier version"), "{nothing}");
    families.install(&newer).unwrap();
    let back = families.roll_back("unruly").unwrap();
    assert_eq!((back.digest, back.replaced), (first, Some(Digest::of(&newer))));
    families.activate(&Digest::of(&newer)).unwrap();

    let serving = families.remove(&Digest::of(&newer)).unwrap_err();
    assert!(told(&serving).contains("serves"), "{serving}");
    let held = families.version(&first).unwrap();
    let pinned = families.remove(&first).unwrap_err();
    assert!(told(&pinned).contains("finishes tasks"), "{pinned}");
    drop(held);
    families.remove(&first).unwrap();
    assert!(matches!(families.version(&first), Err(Missing::Unknown(_))));
    assert!(told(&families.activate(&first).unwrap_err()).contains("no plugin version"));
    assert!(told(&families.remove(&first).unwrap_err()).contains("not in the data folder"));
}

#[tokio::test]
async fn a_build_that_reads_older_states_migrates_them() {
    let (_dir, families, old) = ready();
    families.install(&flawed(b'2')).unwrap();
    let Route::Migrate(newer) = families.route("unruly", &old.digest(), 1).unwrap() else {
        panic!("the active build reads state 1")
    };
    assert_eq!(newer.about().state_version, 2);
    let state = families.migrate(&newer, 1, b"ok".to_vec()).await.unwrap().unwrap();
    assert_eq!(state, b"migrated:ok");
    families.advance(&newer, common::step_context(&newer), state, Event::Timer).await.unwrap();
    let refused = families.migrate(&newer, 1, b"unreadable".to_vec()).await.unwrap().unwrap_err();
    assert_eq!(refused, "version 1 wrote nothing I can read");
    assert_eq!(families.migrate(&newer, 1, b"panic".to_vec()).await.unwrap_err().word(), "trap");
    assert!(families.migrate(&newer, 0, b"ok".to_vec()).await.is_err(), "0 is not listed");
    // A state it does not list stays with the build that wrote it.
    assert!(
        matches!(families.route("unruly", &old.digest(), 0).unwrap(), Route::Run(v) if v.digest() == old.digest())
    );
}

#[tokio::test]
async fn an_older_build_can_be_made_active_again() {
    let (_dir, families, old) = ready();
    families.install(&rebuilt(unruly(), 2)).unwrap();
    let back = families.install(unruly()).unwrap();
    assert_eq!((back.active, back.digest), (true, old.digest()));
    assert!(submit(&families, &old, "ok").await.unwrap().is_ok());
}

#[tokio::test]
async fn a_restart_finds_active_and_pinned_versions_compiled() {
    let (dir, families, old) = ready();
    let newer = rebuilt(unruly(), 2);
    families.install(&newer).unwrap();
    let (digest, code) = (old.digest(), files(dir.path(), "cwasm"));
    assert_eq!(code.len(), 2);
    let inodes = || code.iter().map(|path| fs::metadata(path).unwrap().ino()).collect::<Vec<_>>();
    let before = inodes();
    drop((families, old));

    let families = open(dir.path());
    let active = families.registry().family("unruly").unwrap();
    assert_eq!(active.digest(), Digest::of(&newer));
    assert_eq!(families.registry().models()[0].since, common::NOW);
    let Route::Run(pinned) = families.route("unruly", &digest, 1).unwrap() else { panic!("pinned") };
    assert_eq!(pinned.digest(), digest);
    assert!(submit(&families, &pinned, "ok").await.unwrap().is_ok());
    assert_eq!(inodes(), before, "the kept code was used as it was");
    assert!(!families.install(&newer).unwrap().compiled);
}

#[tokio::test]
async fn damaged_code_is_made_again_and_never_run() {
    let (dir, families, _) = ready();
    drop(families);
    let code = files(dir.path(), "cwasm").remove(0);
    let whole = fs::read(&code).unwrap();
    let mut damaged = whole.clone();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 0xff;
    fs::remove_file(&code).unwrap();
    fs::write(&code, &damaged).unwrap();

    let families = open(dir.path());
    let version = families.registry().family("unruly").unwrap();
    assert!(submit(&families, &version, "ok").await.unwrap().is_ok());
    assert_ne!(fs::read(&code).unwrap(), damaged);
}

#[test]
fn a_version_that_is_gone_is_told_from_one_that_is_damaged() {
    let (dir, families, version) = ready();
    let unheard = Digest::of(b"unheard of");
    assert!(matches!(families.version(&unheard), Err(Missing::Unknown(digest)) if digest == unheard));
    assert!(matches!(families.route("nobody", &unheard, 1), Err(Missing::Unknown(_))));
    let digest = version.digest();
    drop((families, version));

    let wasm = files(dir.path(), "wasm").remove(0);
    let code = files(dir.path(), "cwasm").remove(0);
    fs::write(&wasm, b"rubbish").unwrap();
    fs::remove_file(code).unwrap();
    let families = open(dir.path());
    assert!(families.registry().family("unruly").is_none());
    let broken = families.list().remove(0);
    assert_eq!((broken.family.as_str(), broken.digest), ("unruly", digest));
    assert!(matches!(broken.state, VersionState::Broken(why) if why.contains("is damaged")));
    // Installing it again repairs everything.
    families.install(unruly()).unwrap();
    assert_eq!(families.list().len(), 1);
    assert!(families.version(&digest).is_ok());
    drop(families);
    assert!(open(dir.path()).registry().family("unruly").is_some());
}
