//! What an author reads after a typical mistake: every message beside its mistake, in one file.
//!
//! Each message names the field, what was expected and what came, and what to do. Two mistakes cannot be made here: a
//! plugin whose `describe` or `submit` answers differently twice has no source of difference in the sandbox.

use std::sync::Arc;

use crate::tests::common::{TestService, claiming, flawed, ready_under};
use crate::tests::deployment::{Tasks, inventory, task};
use crate::tests::stages::{importing, importing_stream};
use crate::{Inventory, Limits, OwnPath};
use serde_json::{Value, json};

const GOLDEN: &str = include_str!("author_mistakes.txt");

/// A self-test that is promised to pass, with this behaviour; see the fixture's `named.rs`.
fn tested(behaviour: &str) -> Vec<u8> {
    let test = json!({"surface": "images.generate", "body": behaviour, "expect": "accepted"});
    claiming(&json!({"self_tests": [test]}))
}

fn surface(more: &Value) -> Value {
    let mut surface =
        json!({"name": "images.generate", "default_model": "unruly-1", "schema": {"type": "object"}});
    for (key, value) in more.as_object().unwrap() {
        surface[key] = value.clone();
    }
    json!([surface])
}

fn model(id: &str, aliases: &[&str], surface: &str) -> Value {
    json!({"id": id, "aliases": aliases, "surfaces": [surface]})
}

fn mistakes() -> Vec<(&'static str, Vec<u8>)> {
    let typo = json!({
        "models": [model("unruly-1", &["unruly"], "images.generat")],
        "surfaces": surface(&json!({"name": "images.generat"})),
        "self_tests": [],
    });
    let other_family = json!({
        "family": "tamely",
        "models": [model("tame-1", &[], "images.generate")],
        "surfaces": surface(&json!({"default_model": "tame-1"})),
        "self_tests": [],
    });
    let no_body = json!([{"surface": "images.generate", "expect": "refused"}]);
    let largest = Limits::default().component_mib.get() as usize * (1 << 20);
    vec![
        ("no WebAssembly at all", b"fn main() {}".to_vec()),
        ("no bytes at all", vec![]),
        ("a core module", b"\0asm\x01\0\0\0".to_vec()),
        ("compiled code", b"\x7fELF\x02\x01\x01".to_vec()),
        ("a component above the limit", vec![0; largest + 1]),
        ("another version of the contract", importing("gatehouse:family/log@9.0.0")),
        ("wasi:http", importing("wasi:http/outgoing-handler@0.2.0")),
        ("a later WASI", importing("wasi:clocks/monotonic-clock@0.3.0")),
        ("a stream of a later WASI", importing_stream("wasi:cli/stdout@0.3.0")),
        ("an interface of its own", importing("acme:secrets/vault@1.0.0")),
        ("no manifest", b"\0asm\x0d\0\x01\0".to_vec()),
        ("a panic in describe", flawed(b'p')),
        ("a manifest that is no JSON", claiming(&json!({"document": {"$raw": "7b"}}))),
        ("a family that is no name", flawed(b'f')),
        ("a version that is no semver", flawed(b'v')),
        ("no models", claiming(&json!({"models": []}))),
        ("an alias twice", flawed(b'a')),
        ("a model on a surface it does not declare", flawed(b'u')),
        ("a default model that it does not have", flawed(b'm')),
        ("a schema that is no schema", flawed(b's')),
        ("a surface that joins nothing", claiming(&json!({"surfaces": surface(&json!({"joins": true}))}))),
        ("a dialect without its interface", claiming(&json!({"dialects": ["brook"]}))),
        ("a state version read that is not older", flawed(b'r')),
        ("a self-test without a body", claiming(&json!({"self_tests": no_body}))),
        ("a unit of a price that it does not have", claiming(&json!({"units": {"unruly.video": "second"}}))),
        ("a feature that this host does not have", claiming(&json!({"requires": ["choirs"]}))),
        ("a key that must be known", claiming(&json!({"sealed!": true}))),
        ("a surface with a typing error", claiming(&typo)),
        ("a price key without a price", claiming(&json!({"price_keys": ["unruly.image", "unruly.video"]}))),
        ("a provider without an account", claiming(&json!({"providers": ["mock", "second"]}))),
        ("a model of another family", claiming(&json!({"family": "tamely"}))),
        ("the default model of another family", claiming(&other_family)),
        ("an alias left out", claiming(&json!({"models": [model("unruly-1", &[], "images.generate")]}))),
        ("a self-test with a wrong expectation", flawed(b'e')),
        ("an endless loop", flawed(b'l')),
        ("more memory than there is", tested("grow")),
        ("a charge key that is not in the manifest", tested("unknown price")),
        ("a charge key that does not extend the least specific one", tested("glued price")),
        ("a brief above the limit", tested("big brief")),
        ("a call to a provider it does not declare", tested("unknown provider")),
        ("a shared call that may not be repeated", tested("shared once")),
        ("a wait that is over", flawed(b'w')),
        ("a view beside an end", tested("view beside an end")),
        ("a tile outside the grid", tested("tile outside")),
        ("a public record that is no JSON", tested("done with broken json")),
        ("a changed state under the same state version", flawed(b'i')),
        ("an older state that it reads and cannot", flawed(b'2')),
    ]
}

/// A gateway in which the fixture serves, with two live tasks.
fn gateway() -> (tempfile::TempDir, TestService) {
    let inventory = Inventory {
        own_paths: [("/v1/chat/completions", "chat.completions"), ("/v1/messages", "messages.create")]
            .map(|(path, text)| OwnPath { path: path.to_owned(), text: Some(text.to_owned()) })
            .into(),
        ..inventory()
    };
    let (dir, service, _) = ready_under(|config| config.inventory = Some(inventory));
    service.rehearse_on(Arc::new(Tasks(vec![task(1, 1, "ok"), task(2, 1, "unreadable")])));
    (dir, service)
}

/// The hint that Rust prints after every panic.
const HINT: &str = "; note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace";

/// Without the hint, and without where in the fixture a panic was.
fn shown(message: &str) -> String {
    let message = message.replace(HINT, "");
    let Some((before, errors)) = message.split_once("; its last error lines: ") else { return message };
    let place = errors.split_once(".rs:").and_then(|(_, rest)| rest.split_once(' '));
    format!("{before}; its last error lines: ... {}", place.map_or(errors, |(_, said)| said))
}

#[test]
fn every_mistake_has_its_message() {
    let (dir, service) = gateway();
    let components = || {
        let files = std::fs::read_dir(dir.path().join("plugins")).unwrap();
        files
            .filter(|file| file.as_ref().unwrap().path().extension().is_some_and(|kind| kind == "wasm"))
            .count()
    };
    let kept = components();
    let serving = service.registry().family("unruly").unwrap().digest();
    let mut table = String::new();
    for (mistake, wasm) in mistakes() {
        let message = match service.install(&wasm) {
            Ok(report) => panic!("{mistake} was accepted: {:?}", report.stages),
            Err(refused) => shown(&refused.to_string()),
        };
        table += &format!("## {mistake}\n{message}\n\n");
        let active = service.registry().family("unruly").map(|version| version.digest());
        assert_eq!(active, Some(serving), "{mistake}: the version before serves on");
    }
    // Compiled code of the latest ones stays for a while, for the installation that follows.
    assert_eq!(components(), kept, "no component of the refused ones is kept");
    assert!(table == GOLDEN, "the messages are not those of author_mistakes.txt:\n{table}");
}
