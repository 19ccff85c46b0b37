//! A version that serves less than the one before, and one whose semver another has.

use crate::tests::common::{self, TestService, claiming, open, ready, rebuilt, unruly};
use crate::{Removal, SignedComponent};
use gatehouse_model::Digest;
use serde_json::{Value, json};

/// The fixture with these models on these surfaces.
fn serving(models: &Value, surfaces: &[&str]) -> Vec<u8> {
    let surfaces: Vec<Value> = surfaces
        .iter()
        .map(|name| json!({"name": name, "default_model": null, "schema": {"type": "object"}}))
        .collect();
    let tests = json!([{"surface": "images.generate", "body": "ok", "expect": "accepted"}]);
    claiming(&json!({"models": models, "surfaces": surfaces, "self_tests": tests}))
}

fn model(id: &str, aliases: &[&str], surfaces: &[&str]) -> Value {
    json!({"id": id, "aliases": aliases, "surfaces": surfaces})
}

fn refusal(service: &TestService, wasm: &[u8]) -> String {
    service.install(wasm).expect_err("refused").to_string()
}

#[test]
fn what_the_version_before_serves_is_not_taken_away_by_accident() {
    let dir = tempfile::tempdir().unwrap();
    let service = open(dir.path());
    let both: &[&str] = &["images.generate", "videos.generate"];
    let one: &[&str] = &["images.generate"];
    let whole = serving(&json!([model("unruly-1", &["unruly"], both), model("unruly-2", &[], one)]), both);
    service.install(&whole).unwrap();
    let check = |models: &Value, surfaces: &[&str], removed: &str| {
        let why = refusal(&service, &serving(models, surfaces));
        let expected = format!(
            "fit: the version before (1.2.3) serves what this one does not: {removed}; \
             name it again in the manifest, or take it away with --allow-removal"
        );
        assert_eq!(why, expected);
    };
    check(&json!([model("unruly-1", &["unruly"], both)]), both, "model \"unruly-2\"");
    check(&json!([model("unruly-1", &[], both), model("unruly-2", &[], one)]), both, "alias \"unruly\"");
    check(
        &json!([model("unruly-1", &["unruly"], one), model("unruly-2", &[], one)]),
        one,
        "surface \"videos.generate\"",
    );
    check(
        &json!([model("unruly-1", &["unruly"], one), model("unruly-2", &[], both)]),
        both,
        "model \"unruly-1\" on surface \"videos.generate\", alias \"unruly\" on surface \"videos.generate\"",
    );
    assert_eq!(service.registry().family("unruly").unwrap().digest(), Digest::of(&whole));
    // What a name stands for may change, and there may be more of them.
    let moved = json!([model("unruly-1", &["unruly-2"], both), model("unruly-3", &["unruly"], both)]);
    service.install(&serving(&moved, both)).unwrap();
}

#[test]
fn a_default_model_is_not_taken_away_by_accident() {
    let (_dir, service, _) = ready();
    let wasm = serving(&json!([model("unruly-1", &["unruly"], &["images.generate"])]), &["images.generate"]);
    let why = refusal(&service, &wasm);
    assert!(why.contains("the default model of surface \"images.generate\""), "{why}");
}

#[test]
fn an_operator_may_take_names_away_and_may_always_go_back() {
    let (_dir, service, small) = ready();
    let models = json!([
        model("unruly-1", &["unruly"], &["images.generate"]),
        model("unruly-2", &[], &["images.generate"])
    ]);
    let large = claiming(&json!({"models": models}));
    service.install(&large).unwrap();
    let digest = small.digest();
    assert!(service.activate(&digest).unwrap_err().to_string().contains("model \"unruly-2\""));
    assert!(service.check(unruly()).unwrap_err().to_string().contains("model \"unruly-2\""));
    service.check_with(unruly(), Removal::Allowed, None).unwrap();

    service.roll_back("unruly").unwrap();
    assert_eq!(service.registry().family("unruly").unwrap().digest(), digest);
    service.activate(&Digest::of(&large)).unwrap();
    let report = service.activate_with(&digest, Removal::Allowed).unwrap();
    let fit = report.stages.iter().find(|stage| stage.name == "fit").unwrap();
    assert!(fit.note.contains("accepted, although the version before (1.2.3) serves"), "{}", fit.note);
    service.activate(&Digest::of(&large)).unwrap();
    let again = SignedComponent { wasm: unruly(), signature: None };
    assert!(service.install_with(again, Removal::Allowed, None).unwrap().active);
}

#[test]
fn a_built_in_version_may_serve_less() {
    let dir = tempfile::tempdir().unwrap();
    let mut config = common::without_canary(dir.path());
    config.built_in.insert(Digest::of(unruly()));
    let service = common::open_with(config);
    let models = json!([
        model("unruly-1", &["unruly"], &["images.generate"]),
        model("unruly-2", &[], &["images.generate"])
    ]);
    service.install(&claiming(&json!({"models": models}))).unwrap();
    service.install(unruly()).unwrap();
}

#[test]
fn other_bytes_under_the_same_semver_are_a_warning() {
    let (_dir, service, first) = ready();
    let report = service.install(&rebuilt(unruly(), 1)).unwrap();
    let fit = report.stages.iter().find(|stage| stage.name == "fit").unwrap();
    let expected = format!("warning: 1.2.3 is also the semver of {}", first.digest().short());
    assert!(fit.note.contains(&expected), "{}", fit.note);
    let next = service.install(&claiming(&json!({"version": "1.2.4"}))).unwrap();
    assert!(next.stages.iter().all(|stage| !stage.note.contains("warning")), "{:?}", next.stages);
}
