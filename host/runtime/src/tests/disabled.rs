//! Families that are switched off, on again, and taken away.

use std::collections::BTreeSet;

use gatehouse_harness::TestClock;
use gatehouse_model::{Digest, Event};

use crate::tests::common::{NOW, advance, claiming, config, open, open_with, ready, rebuilt, unruly};
use crate::{Config, Disabled, FamilyError, PluginService, StepRoute, VersionState};

/// What each version of the fixture does.
fn states(service: &PluginService) -> Vec<(Digest, VersionState)> {
    service.list().into_iter().map(|row| (row.digest, row.state)).collect()
}

fn off() -> VersionState {
    VersionState::Disabled(Disabled::ByOperator(NOW))
}

/// A family that is off admits nothing, also after a restart, and its tasks go on.
#[tokio::test]
async fn a_family_that_is_off_finishes_its_tasks_and_admits_none() {
    let (dir, service, version) = ready();
    let digest = version.digest();
    assert_eq!(service.disable("unruly").unwrap(), digest);
    assert_eq!(service.disable("unruly").unwrap(), digest, "a second time changes nothing");
    let check = |service: &PluginService| {
        let registry = service.registry();
        assert!(registry.resolve("images.generate", "unruly").is_none());
        assert!(registry.default_model("images.generate").is_none() && registry.models().is_empty());
        assert_eq!(registry.disabled_family("unruly"), Some("unruly"));
        assert_eq!(registry.disabled_family("unruly-1"), Some("unruly"), "by every name");
        assert_eq!(registry.disabled_family("other"), None);
        assert_eq!(states(service), [(digest, off())]);
    };
    check(&service);
    let StepRoute::Run(same) = service.route("unruly", &digest, 1).await.unwrap() else { panic!("migrates") };
    advance(&service, &same, "ok", Event::Timer).await.unwrap();
    drop((same, version, service));

    let service = open(dir.path());
    check(&service);
    let StepRoute::Run(again) = service.route("unruly", &digest, 1).await.unwrap() else {
        panic!("migrates")
    };
    advance(&service, &again, "ok", Event::Timer).await.unwrap();

    let report = service.enable("unruly").unwrap();
    assert_eq!((report.digest, report.active, report.replaced), (digest, true, None));
    assert!(service.registry().resolve("images.generate", "unruly").is_some());
    drop((again, service));
    assert_eq!(states(&open(dir.path())), [(digest, VersionState::Active(NOW))]);
}

/// The version before is still the one to go back to, and a deployment switches the family on.
#[test]
fn a_family_that_comes_back_is_rolled_back_as_before() {
    let (_dir, service, version) = ready();
    let (first, newer) = (version.digest(), rebuilt(unruly(), 7));
    drop(version);
    service.install(&newer).unwrap();
    service.disable("unruly").unwrap();
    service.enable("unruly").unwrap();
    assert_eq!(service.roll_back("unruly").unwrap().digest, first);
    service.disable("unruly").unwrap();
    service.install(&newer).unwrap();
    assert_eq!(service.registry().family("unruly").unwrap().digest(), Digest::of(&newer));
    assert!(!service.is_disabled("unruly"));
}

/// A canary that is off is under observation no more: it has no standby that would come back instead.
#[test]
fn a_canary_that_is_off_has_no_standby() {
    let dir = tempfile::tempdir().unwrap();
    let service = open_with(config(dir.path()));
    service.install(unruly()).unwrap();
    let newer = rebuilt(unruly(), 8);
    service.install(&newer).unwrap();
    let standby = |state: &VersionState| matches!(state, VersionState::Standby { .. });
    assert!(states(&service).iter().any(|(_, state)| standby(state)));
    service.disable("unruly").unwrap();
    assert!(!states(&service).iter().any(|(_, state)| standby(state)));
}

fn disabling(config: Config, family: &str) -> Config {
    Config { disabled: BTreeSet::from([family.to_owned()]), ..config }
}

#[test]
fn the_configuration_switches_off_and_on() {
    let (dir, service, version) = ready();
    let (digest, usual) = (version.digest(), service.config().as_ref().clone());
    drop(version);
    service.configure(disabling(usual.clone(), "unruly"));
    service.apply_switches();
    let by_configuration = [(digest, VersionState::Disabled(Disabled::ByConfiguration))];
    assert_eq!(states(&service), by_configuration);
    assert!(service.is_disabled("unruly"));
    let refused = service.enable("unruly").unwrap_err().to_string();
    assert!(refused.contains("[plugins.families.unruly]"), "{refused}");
    let refused = service.check(&rebuilt(unruly(), 9)).unwrap_err().to_string();
    assert!(refused.contains("[plugins.families.unruly]"), "check and install agree: {refused}");
    drop(service);

    let disabled = disabling(usual.clone(), "unruly");
    let service = PluginService::open(disabled, TestClock::at(NOW.0)).unwrap();
    assert_eq!(states(&service), by_configuration, "a start loads nothing of it");
    service.configure(usual.clone());
    service.apply_switches();
    assert_eq!(states(&service), [(digest, VersionState::Active(NOW))]);
    // What an operator disabled stays off when the configuration allows it again.
    service.disable("unruly").unwrap();
    service.configure(disabling(usual.clone(), "unruly"));
    service.apply_switches();
    service.configure(usual);
    service.apply_switches();
    assert_eq!(states(&service), [(digest, off())]);
    drop(dir);
}

#[tokio::test]
async fn a_family_is_uninstalled_when_nothing_needs_it() {
    let (dir, service, version) = ready();
    let (digest, newer) = (version.digest(), rebuilt(unruly(), 6));
    service.install(&newer).unwrap();
    let nothing = || panic!("nothing may be removed yet");
    let unknown = service.uninstall("motion", nothing).unwrap_err();
    assert!(unknown.to_string().contains("the families are unruly"), "{unknown}");
    // A task holds the first version.
    let busy = service.uninstall("unruly", nothing).unwrap_err();
    assert!(matches!(&busy, FamilyError::Busy { digest: held, .. } if *held == digest), "{busy}");
    assert!(service.registry().family("unruly").is_none(), "nothing new comes to it");
    drop(version);
    let refused = service.uninstall("unruly", || Err(std::io::Error::other("no"))).unwrap_err();
    assert!(matches!(refused, FamilyError::Folder(_)), "{refused}");
    assert_eq!(states(&service).len(), 2, "nothing is removed where what goes with it cannot be");

    let mut removed = service.uninstall("unruly", || Ok(())).unwrap();
    removed.sort_unstable();
    let mut expected = vec![digest, Digest::of(&newer)];
    expected.sort_unstable();
    assert_eq!(removed, expected);
    assert_eq!(states(&service), []);
    assert_eq!(service.registry().disabled_family("unruly"), None, "its name is free");
    drop(service);
    let service = open(dir.path());
    assert_eq!(states(&service), []);
    service.install(unruly()).unwrap();
}

#[test]
fn a_family_of_the_gateway_is_not_uninstalled() {
    let (_dir, service, version) = ready();
    let mut config = service.config().as_ref().clone();
    config.built_in.insert(version.digest());
    service.configure(config);
    drop(version);
    let refused = service.uninstall("unruly", || Ok(())).unwrap_err().to_string();
    assert!(refused.contains("gatehouse plugin disable unruly"), "{refused}");
    assert!(service.registry().family("unruly").is_some(), "it serves on");
}

/// Another family may take the names of one that is off; that one then does not come back.
#[test]
fn names_of_a_family_that_is_off_are_free() {
    let (_dir, service, version) = ready();
    drop(version);
    service.disable("unruly").unwrap();
    let other = claiming(&serde_json::json!({"family": "other"}));
    service.install(&other).unwrap();
    let clash = service.enable("unruly").unwrap_err().to_string();
    assert!(clash.contains("belongs to the active family \"other\""), "{clash}");
    assert_eq!(service.registry().disabled_family("unruly"), None, "it is served by the other");
}
