//! Each stage refuses its own kind of bad component with a readable reason, and the version before keeps serving.

use std::num::NonZeroU32;

use crate::common::{self, flawed, open, ready, unruly};
use gatehouse_runtime::{ComponentRunner, Config, Limits};

/// A component that imports one empty interface.
fn importing(name: &str) -> Vec<u8> {
    let mut wasm = b"\0asm\x0d\0\x01\0".to_vec();
    wasm.extend([7, 3, 1, 0x42, 0]);
    let length = u8::try_from(name.len()).unwrap();
    wasm.extend([10, length + 5, 1, 0, length]);
    wasm.extend(name.as_bytes());
    wasm.extend([5, 0]);
    wasm
}

#[test]
fn every_stage_refuses_with_its_own_reason() {
    let (dir, service, version) = ready();
    let check = |wasm: &[u8], expected: &str| {
        let error = service.install(wasm).expect_err(expected).to_string();
        assert!(error.contains(expected), "expected {expected:?}, got {error:?}");
    };
    check(b"\0asm\x01\0\0\0", "admit: this is a core module");
    check(b"\x7fELF", "admit: this is compiled code");
    check(&vec![0; (8 << 20) + 1], "admit: the component has 8388609 bytes, 8388608 are allowed");
    check(b"\0asm\x0d\0\x01\0\xff", "compile: ");
    check(
        &importing("wasi:http/outgoing-handler@0.2.0"),
        "inspect: it imports wasi:http/outgoing-handler@0.2.0: a plugin has no network",
    );
    check(
        &importing("acme:secrets/vault@1.0.0"),
        "inspect: it imports acme:secrets/vault@1.0.0: the host has nothing",
    );
    check(
        &importing("gatehouse:family/log@9.0.0"),
        "inspect: it is made for gatehouse:family 9.0.0, this gateway speaks 1.0.0",
    );
    check(b"\0asm\x0d\0\x01\0", "inspect: it does not export gatehouse:family/manifest");
    check(&flawed(b'p'), "describe: describe() failed: the plugin trapped");
    check(&flawed(b'f'), "describe: manifest.family: expected kebab-case, got \"Not Kebab\"");
    check(&flawed(b'v'), "describe: manifest.version: \"one\" is not semver");
    check(&flawed(b'a'), "describe: manifest.models: \"unruly-1\" is there twice");
    check(&flawed(b'u'), "\"images.unknown\" is not among the manifest's surfaces");
    check(&flawed(b's'), "describe: manifest.surfaces[\"images.generate\"].schema: expected JSON");
    check(&flawed(b'm'), "default-model: expected a model id that serves this surface, got \"unruly-1\"");
    check(&flawed(b'r'), "describe: manifest.reads-state: expected versions older than 1, got 1");
    check(&flawed(b'e'), "self-test: number 0 on images.generate: it promised Refused and answered Accepted");
    check(&flawed(b'l'), "submit failed: the plugin used more than 1000 ms of processor time");
    check(&flawed(b'w'), "advance with Start failed: the plugin's wait is not acceptable");

    let serving = service.registry().family("unruly").unwrap();
    assert_eq!(serving.digest(), version.digest());
    let kept = std::fs::read_dir(dir.path().join("plugins")).unwrap().count();
    assert_eq!(kept, 5, "component, manifest, code, its sum, the list: nothing of the refused ones");
}

#[test]
fn two_families_may_not_share_a_model() {
    let (_dir, service, _) = ready();
    let other = common::claiming(&serde_json::json!({"family": "tamely"}));
    let error = service.install(&other).unwrap_err().to_string();
    assert!(error.contains("belongs to the active family \"unruly\""), "{error}");
}

#[test]
fn checking_keeps_nothing_but_code() {
    let dir = tempfile::tempdir().unwrap();
    let service = open(dir.path());
    let report = service.check(unruly()).unwrap();
    assert_eq!((report.active, report.self_tests, report.compiled), (false, 3, true));
    assert!(service.registry().family("unruly").is_none());
    let kept = std::fs::read_dir(dir.path().join("plugins")).unwrap();
    let kept: Vec<_> = kept.map(|entry| entry.unwrap().file_name().display().to_string()).collect();
    assert!(kept.len() == 2 && kept.iter().all(|name| name.contains(".cwasm")), "code and its sum: {kept:?}");
}

#[test]
fn a_family_is_held_to_its_own_limit_of_size() {
    let dir = tempfile::tempdir().unwrap();
    let mut config = Config::new(dir.path().to_owned());
    let one = NonZeroU32::new(1).unwrap();
    config.limits = Limits { component_mib: one, ..config.limits };
    let large = [unruly(), &padding(2 << 20)].concat();
    let error = common::open_with(config.clone()).install(&large).unwrap_err().to_string();
    assert!(error.contains("1048576 are allowed"), "{error}");
    let roomy = Limits { component_mib: NonZeroU32::new(4).unwrap(), ..config.limits };
    config.limits_by_family.insert("someone-else".to_owned(), roomy);
    let error = common::open_with(config.clone()).install(&large).unwrap_err().to_string();
    assert!(error.contains("raise `component_mib` for this family"), "{error}");
    config.limits_by_family.insert("unruly".to_owned(), roomy);
    common::open_with(config).install(&large).unwrap();
}

/// A custom section of about `bytes`.
fn padding(bytes: u32) -> Vec<u8> {
    let content = bytes + 2;
    let mut section = vec![0];
    // LEB128 in five bytes.
    let low = [0, 7, 14, 21].map(|shift| u8::try_from((content >> shift) & 0x7f).unwrap() | 0x80);
    section.extend(low);
    section.push(u8::try_from(content >> 28).unwrap());
    section.extend([1, b'p']);
    section.resize(section.len() + bytes as usize, 0);
    section
}

#[tokio::test]
async fn the_component_runner_needs_no_service() {
    let runner = ComponentRunner::load(unruly(), Limits::default()).unwrap();
    assert_eq!(runner.about().family, "unruly");
    let (_dir, _families, version) = ready();
    let judge = || runner.submit(common::context(&version), common::request("ok")).unwrap().unwrap();
    assert_eq!(judge(), judge());
    let fault = runner.submit(common::context(&version), common::request("panic")).unwrap_err();
    assert!(fault.to_string().contains("on purpose"), "{fault}");
    let step = || {
        let cx = common::step_context(&version);
        runner.advance(cx, b"done".to_vec(), gatehouse_model::Event::Start).unwrap()
    };
    assert_eq!(step(), step());
    let refused = runner.migrate(1, vec![]).unwrap_err().to_string();
    assert!(refused.contains("state version 1 is not among those it reads"), "{refused}");
    assert!(ComponentRunner::load(&flawed(b'e'), Limits::default()).is_err());
}
