//! Stages that depend on the gateway: the signature, the configured providers and prices, and the live tasks.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::tests::common::{self, NOW, TestService, flawed, rebuilt, unruly};
use crate::{
    Inventory, LiveSample, LiveState, LiveStates, SignedComponent, SigningKey, StageVerdict, VersionState,
};
use gatehouse_model::{Digest, Event, TaskId};

/// All that the fixture needs.
pub fn inventory() -> Inventory {
    let one = |name: &str| [name.to_owned()].into();
    Inventory { providers: one("mock"), prices: one("unruly.image"), ..Inventory::default() }
}

fn refusal(service: &TestService, wasm: &[u8], signature: Option<&str>) -> String {
    service.install(SignedComponent { wasm, signature }).expect_err("refused").to_string()
}

#[test]
fn a_required_signature_is_checked_at_install_and_at_start() {
    let dir = tempfile::tempdir().unwrap();
    let (acme, other) = (
        SigningKey::mint(&gatehouse_harness::TestSeed::constant(3)),
        SigningKey::parse(&Digest::of(b"o").to_string()).unwrap(),
    );
    let mut config = common::without_canary(dir.path());
    config.trust.required = true;
    config.trust.keys.insert("acme".to_owned(), acme.public());
    let newer = rebuilt(unruly(), 1);
    let (good, wrong) = (acme.sign(unruly()).to_string(), acme.sign(&newer).to_string());

    let service = common::open_with(config.clone());
    assert!(refusal(&service, unruly(), None).starts_with("admit: it is not signed"));
    assert!(refusal(&service, unruly(), Some(&wrong)).contains("does not fit these bytes"));
    let foreign = other.sign(unruly()).to_string();
    assert!(refusal(&service, unruly(), Some(&foreign)).contains("not among plugins.trusted_keys (acme)"));
    let report = service.install(SignedComponent { wasm: unruly(), signature: Some(&good) }).unwrap();
    assert!(report.stages[0].note.ends_with("signed by acme"), "{:?}", report.stages[0]);
    service.install(SignedComponent { wasm: &newer, signature: Some(&wrong) }).unwrap();
    // The signature is kept, and checked again when the version is activated again.
    service.roll_back("unruly").unwrap();
    drop(service);

    assert!(common::open_with(config.clone()).registry().family("unruly").is_some());
    config.trust.keys = BTreeMap::from([("other".to_owned(), other.public())]);
    let service = common::open_with(config.clone());
    let broken = service.list().into_iter().find(|row| row.digest == Digest::of(unruly())).unwrap();
    assert!(matches!(broken.state, VersionState::Broken(why) if why.contains("trusted_keys (other)")));
    let again = service.activate(&Digest::of(&newer)).unwrap_err().to_string();
    assert!(again.contains("trusted_keys (other)"), "{again}");
    drop(service);
    config.built_in.insert(Digest::of(unruly()));
    assert!(
        common::open_with(config).registry().family("unruly").is_some(),
        "built-in versions need no signature"
    );
}

#[test]
fn a_missing_account_or_price_is_reported_with_the_lines_to_add() {
    let dir = tempfile::tempdir().unwrap();
    let mut config = common::without_canary(dir.path());
    config.inventory = Some(Inventory::default());
    let service = common::open_with(config.clone());
    let refused = service.check(unruly()).unwrap_err();
    let why = refused.to_string();
    for part in [
        "fit: this gateway cannot serve it yet: provider \"mock\" has no account; price key \"unruly.image\"",
        "[providers.mock.accounts.main]\nsecret = { env = \"MOCK_API_KEY\" }\n",
        "[prices]\n\"unruly.image\" = \"1\"",
    ] {
        assert!(why.contains(part), "{why}");
    }
    let names: Vec<&str> = refused.stages.iter().map(|stage| stage.name).collect();
    assert_eq!(names, ["admit", "inspect", "compile", "link", "describe", "fit"]);
    let verdicts: Vec<StageVerdict> = refused.stages.iter().map(|stage| stage.verdict).collect();
    assert!(verdicts[..5].iter().all(|verdict| *verdict == StageVerdict::Passed), "{verdicts:?}");
    assert_eq!(verdicts[5], StageVerdict::Refused);
    let note = &refused.stages[5].note;
    assert!(note.starts_with("this gateway cannot serve it yet"), "the stage is named once: {note}");
    drop(service);

    config.inventory = Some(inventory());
    let report = common::open_with(config).install(unruly()).unwrap();
    let names: Vec<&str> = report.stages.iter().map(|stage| stage.name).collect();
    let whole = ["admit", "inspect", "compile", "link", "describe", "fit", "self-test", "rehearse", "switch"];
    assert_eq!(names, whole);
}

#[test]
fn an_optional_provider_may_lack_its_account() {
    let dir = tempfile::tempdir().unwrap();
    let mut config = common::without_canary(dir.path());
    config.inventory =
        Some(Inventory { providers: [].into(), optional: ["mock".to_owned()].into(), ..inventory() });
    let report = common::open_with(config).install(unruly()).unwrap();
    let fit = report.stages.iter().find(|stage| stage.name == "fit").unwrap();
    assert_eq!(fit.verdict, StageVerdict::Passed);
    assert!(fit.note.contains("provider \"mock\" has no account, what needs it fails"), "{}", fit.note);
}

/// Live tasks as a list.
pub struct Tasks(pub Vec<LiveState>);

impl LiveStates for Tasks {
    fn sample(&self, family: &str, _: usize) -> Result<LiveSample, String> {
        assert_eq!(family, "unruly");
        let mut sample = LiveSample { states: self.0.clone(), ..LiveSample::default() };
        for live in &self.0 {
            *sample.counts.entry(live.state_version).or_default() += 1;
        }
        Ok(sample)
    }
}

pub fn task(number: u64, state_version: u32, state: &str) -> LiveState {
    LiveState {
        task: TaskId::new(gatehouse_model::UnixMs(NOW.0 + number), &gatehouse_harness::TestSeed::constant(3)),
        digest: Digest::of(unruly()),
        state_version,
        state: state.as_bytes().to_vec(),
        event: Event::Timer,
        seed: 1,
        accepted_at: NOW,
        deadline: NOW,
    }
}

/// A service with the fixture active and those live tasks.
fn service_with(tasks: Vec<LiveState>) -> (tempfile::TempDir, TestService) {
    let (dir, service, _) = common::ready();
    service.rehearse_on(Arc::new(Tasks(tasks)));
    (dir, service)
}

fn rehearsed(tasks: Vec<LiveState>, wasm: &[u8]) -> Result<String, String> {
    let (_dir, service) = service_with(tasks);
    let report =
        service.check(SignedComponent { wasm, signature: None }).map_err(|refused| refused.to_string())?;
    let stage = report.stages.into_iter().find(|stage| stage.name == "rehearse").unwrap();
    Ok(stage.note)
}

#[test]
fn live_tasks_are_rehearsed_before_a_switch() {
    let check = |tasks: Vec<LiveState>, wasm: &[u8], expected: Result<&str, &[&str]>| match (
        rehearsed(tasks, wasm),
        expected,
    ) {
        (Ok(note), Ok(whole)) => assert_eq!(note, whole),
        (Err(why), Err(parts)) => parts.iter().for_each(|part| assert!(why.contains(part), "{why}")),
        (other, expected) => panic!("{other:?}, not {expected:?}"),
    };
    let (same, second) = (rebuilt(unruly(), 1), flawed(b'2'));
    let first = task(1, 1, "ok").task.to_string();
    check(vec![], &same, Ok("no live tasks"));
    check(vec![task(1, 1, "ok"), task(2, 1, "wait")], &same, Ok("2 of 2 live states read"));
    check(vec![task(1, 1, "ok"), task(2, 1, "done")], &second, Ok("2 of 2 live states read"));
    // It claims to read version 1 and cannot read this state.
    let unread: &[&str] =
        &["rehearse: 1 of 2 live states", &first, "migrate from state version 1", "nothing I can"];
    check(vec![task(1, 1, "unreadable"), task(2, 1, "ok")], &second, Err(unread));
    check(vec![task(1, 1, "panic")], &second, Err(&["migrate from state version 1: the plugin trapped"]));
    // It has the same state version and cannot read the state.
    let forgot: &[&str] = &[
        "advance: the plugin trapped",
        "a state of this build",
        "goes on; if the form of the state has changed, count STATE_VERSION up (now 1) or read the old form",
    ];
    check(vec![task(1, 1, "ok")], &flawed(b'i'), Err(forgot));
    // A state that it does not claim to read stays with the version that wrote it.
    check(
        vec![task(1, 7, "panic"), task(2, 1, "ok")],
        &same,
        Ok("1 of 1 live states read; 1 live tasks stay with their version"),
    );
    // A state with which its own version fails too does not count.
    check(vec![task(1, 1, "panic"), task(2, 1, "fail")], &same, Ok("2 of 2 live states read"));
}

#[test]
fn a_refused_rehearsal_leaves_everything_as_it_was() {
    let (dir, service) = service_with((0..20).map(|number| task(number, 1, "unreadable")).collect());
    let files = || std::fs::read_dir(dir.path().join("plugins")).unwrap().count();
    let before = files();
    let why = refusal(&service, &flawed(b'2'), None);
    assert!(why.contains("5 of 5 live states"), "five are enough: {why}");
    for once in ["nothing I can read", "take them out of READS_STATE"] {
        assert_eq!(why.matches(once).count(), 1, "{why}");
    }
    assert_eq!(files(), before);
    assert_eq!(service.registry().family("unruly").unwrap().digest(), Digest::of(unruly()));
}
