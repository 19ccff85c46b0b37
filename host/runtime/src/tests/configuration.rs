//! The configuration replaced while the service runs, a configuration that comes with a version, and the code that a
//! check keeps.

use std::cell::RefCell;
use std::io;
use std::num::NonZeroU32;

use crate::tests::common::{self, claiming, open_with, ready, rebuilt, submit, unruly, without_canary};
use crate::tests::deployment::inventory;
use crate::{Companion, Config, Inventory, PluginService, Removal, VersionState};
use gatehouse_model::Digest;
use serde_json::json;

#[tokio::test]
async fn settings_and_limits_change_for_the_next_call_of_every_version() {
    let (dir, service, pinned) = ready();
    service.install(&rebuilt(unruly(), 2)).unwrap();
    let active = service.registry().family("unruly").unwrap();
    let mut next = without_canary(dir.path());
    next.settings.insert("unruly".to_owned(), json!({"quality": "low"}));
    next.limits.input_kib = NonZeroU32::new(1).unwrap();
    let large = "x".repeat(2048);
    for version in [&pinned, &active] {
        assert!(submit(&service, version, &large).await.is_ok());
    }
    service.configure(next);
    assert_eq!(&*service.settings("unruly"), r#"{"quality":"low"}"#);
    for version in [&pinned, &active] {
        let yes = submit(&service, version, "context").await.unwrap().unwrap();
        assert!(String::from_utf8(yes.state).unwrap().ends_with("{\"quality\":\"low\"}"));
        assert_eq!(submit(&service, version, &large).await.unwrap_err().label(), "input_too_large");
    }
    // A version that is loaded later has them, too.
    service.install(&rebuilt(unruly(), 3)).unwrap();
    let third = service.registry().family("unruly").unwrap();
    assert_eq!((&*third.settings(), third.limits().input_kib.get()), (r#"{"quality":"low"}"#, 1));
}

#[test]
fn what_the_active_versions_would_lack_is_listed() {
    let (dir, service, _) = ready();
    let mut next = without_canary(dir.path());
    next.inventory = Some(inventory());
    assert!(service.lacks_under(&next).is_empty());
    next.inventory = Some(Inventory { prices: [].into(), ..inventory() });
    next.trust.required = true;
    let lacks = service.lacks_under(&next).join("\n");
    assert!(lacks.contains("family unruly: price key \"unruly.image\" has no price"), "{lacks}");
    assert!(lacks.contains("the next start would not load its version"), "{lacks}");
    assert!(service.fits_pool(&next));
    next.limits.memory_mib = NonZeroU32::new(4000).unwrap();
    assert!(!service.fits_pool(&next));
}

#[test]
fn a_check_compiles_for_the_installation_that_follows() {
    let dir = tempfile::tempdir().unwrap();
    let mut poor = without_canary(dir.path());
    poor.inventory = Some(Inventory::default());
    let service = open_with(poor);
    // Also where only the gateway's configuration is not ready for it.
    assert!(service.check(unruly()).unwrap_err().to_string().starts_with("fit: "));
    service.configure(without_canary(dir.path()));
    assert!(!service.check(unruly()).unwrap().compiled);
    assert!(service.list().is_empty(), "a checked version is not kept");
    let installed = service.install(unruly()).unwrap();
    assert!(!installed.compiled && installed.active);
    // What is refused for its own sake leaves nothing.
    let bad = common::flawed(b'p');
    service.check(&bad).unwrap_err();
    let left = std::fs::read_dir(dir.path().join("plugins")).unwrap();
    let digest = Digest::of(&bad).to_string();
    assert!(
        left.map(|entry| entry.unwrap().file_name()).all(|name| !name.to_string_lossy().contains(&digest))
    );
}

/// A configuration that records what happens to it.
struct Recorder<'a> {
    config: Config,
    service: &'a PluginService,
    keeps: Box<dyn Fn() -> io::Result<()> + 'a>,
    seen: RefCell<Vec<String>>,
}

impl Recorder<'_> {
    fn note(&self, what: &str) {
        let serves = self.service.registry().family("unruly").is_some();
        self.seen.borrow_mut().push(format!("{what}{}", if serves { ", serves" } else { "" }));
    }
}

impl Companion for Recorder<'_> {
    fn config(&self) -> &Config {
        &self.config
    }

    fn keep(&self, family: &str, digest: &Digest) -> io::Result<()> {
        self.note(&format!("keep {family} {}", digest.short()));
        (self.keeps)()
    }

    fn discard(&self, family: &str, digest: &Digest) {
        self.note(&format!("discard {family} {}", digest.short()));
    }

    fn apply(&self) {
        self.note("apply");
        self.service.configure(self.config.clone());
    }
}

#[test]
fn a_version_and_its_configuration_come_together_or_not_at_all() {
    let dir = tempfile::tempdir().unwrap();
    let mut poor = without_canary(dir.path());
    poor.inventory = Some(Inventory::default());
    let service = open_with(poor.clone());
    let mut rich = without_canary(dir.path());
    rich.settings.insert("unruly".to_owned(), json!({"comes": "along"}));
    let bring = |config: &Config, wasm: &[u8], keeps: Box<dyn Fn() -> io::Result<()>>| {
        let along = Recorder { config: config.clone(), service: &service, keeps, seen: RefCell::default() };
        let outcome = service
            .install_with(&wasm.to_vec(), Removal::Refused, Some(&along))
            .map_err(|error| error.to_string());
        (outcome, along.seen.into_inner())
    };
    let fine = || Box::new(|| Ok(()));
    let (refused, seen) = bring(&poor, unruly(), fine());
    assert!(refused.unwrap_err().starts_with("fit: ") && seen.is_empty(), "{seen:?}");
    let kept = format!("keep unruly {}", Digest::of(unruly()).short());
    let (refused, seen) = bring(&rich, unruly(), Box::new(|| Err(io::Error::other("full disk"))));
    assert!(refused.unwrap_err().contains("full disk"));
    assert_eq!(seen, [kept.as_str()]);
    // The list of active versions cannot be written.
    let (list, aside) = (dir.path().join("plugins/active.json"), dir.path().join("aside"));
    let spoil = list.clone();
    let (refused, seen) = bring(&rich, unruly(), Box::new(move || std::fs::create_dir_all(spoil.join("x"))));
    assert!(refused.unwrap_err().contains("the list of active versions"));
    assert_eq!(seen, [kept.clone(), kept.replace("keep", "discard")]);
    assert_eq!(&*service.settings("unruly"), "{}", "nothing was applied");
    std::fs::rename(list, aside).unwrap();

    let (installed, seen) = bring(&rich, unruly(), fine());
    assert!(installed.unwrap().active);
    assert_eq!(seen, [kept.as_str(), "apply"], "in effect before the version serves");
    assert_eq!(&*service.settings("unruly"), r#"{"comes":"along"}"#);
    let (again, seen) = bring(&rich, unruly(), fine());
    assert!(again.unwrap().replaced.is_none());
    assert_eq!(
        seen,
        [&*format!("{kept}, serves"), "apply, serves"],
        "the same version with other configuration"
    );
}

#[test]
fn versions_are_listed_by_semver_with_all_their_names() {
    let (_dir, service, old) = ready();
    for version in ["1.10.0", "1.9.0"] {
        service.install(&claiming(&json!({"version": version}))).unwrap();
    }
    let rows: Vec<_> = service.list().into_iter().map(|row| (row.version, row.models)).collect();
    let versions: Vec<&str> = rows.iter().map(|(version, _)| version.as_str()).collect();
    assert_eq!(versions, ["1.2.3", "1.9.0", "1.10.0"]);
    for (_, models) in &rows {
        assert_eq!((models[0].id.as_str(), &models[0].aliases[..]), ("unruly-1", &["unruly".to_owned()][..]));
    }
    drop(old);
}

#[test]
fn a_rollback_with_nothing_before_names_what_can_be_activated() {
    let (dir, service, old) = ready();
    let first = old.digest();
    service.install(&rebuilt(unruly(), 2)).unwrap();
    drop((service, old));
    // As in a data folder whose list of active versions knows none before.
    let list = dir.path().join("plugins/active.json");
    let mut active: serde_json::Value = serde_json::from_slice(&std::fs::read(&list).unwrap()).unwrap();
    active["unruly"]["before"] = json!(null);
    std::fs::write(&list, active.to_string()).unwrap();
    let service = open_with(without_canary(dir.path()));
    let kept = service.list().into_iter().find(|row| row.state == VersionState::Kept).unwrap();
    assert_eq!(kept.digest, first);
    let nothing = service.roll_back("unruly").unwrap_err().to_string();
    let expected =
        format!("activate DIGEST` switches to any version in the plugin store: {} (1.2.3)", first.short());
    assert!(nothing.contains("no earlier version") && nothing.contains(&expected), "{nothing}");
}
