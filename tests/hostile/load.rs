//! Components that must never serve: the right stage of the deployment refuses each of them with a reason an operator
//! can act upon, while the active version and every other family keep serving.

use gatehouse_harness::{puppet, puppet_claiming, run};
use serde_json::{Value, json};

use crate::hostile::scene::gateway::Scene;
use crate::hostile::scene::honest::Honest;

/// Claims in a manifest, and the reason of the refusal.
fn false_claims() -> Vec<(Value, &'static str)> {
    let test = |body: Value, expect: &str| json!({"self_tests": [{"surface": "images.generate", "body": body, "expect": expect}]});
    let models = |models: Value| json!({"models": models});
    let model =
        |id: &str, alias: &str| json!({"id": id, "aliases": [alias], "surfaces": ["images.generate"]});
    vec![
        (json!({"attack": "loop"}), "describe: describe() failed: the plugin used more than 1000 ms"),
        (json!({"attack": "grow"}), "describe: describe() failed: the plugin needs more than 32 MiB"),
        (json!({"attack": "panic"}), "describe: describe() failed: the plugin trapped"),
        (json!({"attack": "forge the log"}), "calm\\r\\n2026-01-01T00:00:00Z ERROR"),
        (json!({"family": "../../etc"}), "manifest.family: expected kebab-case"),
        (json!({"family": {"$repeat": ["a", 10_000]}}), "manifest.family: expected kebab-case"),
        (json!({"version": {"$repeat": ["1", 1_000_000]}}), "manifest.version: \"1111"),
        (models(json!([model("ctx-pro", "mine")])), "belongs to the active family \"context-image\""),
        (models(json!([model("puppet-1", "ctx-pro")])), "belongs to the active family \"context-image\""),
        (models(json!([model("a\u{1b}[2Jb", "x")])), "visible ASCII"),
        (json!({"models": {"$many": [model("m", "n"), 300]}}), "manifest.models"),
        (
            json!({"surfaces": [{"name": "images.generate", "schema": "a"}]}),
            "schema: expected a JSON Schema: an object or a boolean, got \"a\"",
        ),
        (
            json!({"surfaces": [{"name": "images.generate", "default_model": "ctx-pro", "schema": {}}]}),
            "default_model: expected a model id that serves this surface, got \"ctx-pro\"",
        ),
        (
            json!({"surfaces": [{"name": "images.generate", "default_model": "puppet-1", "schema": {}}]}),
            "the default model of surface \"images.generate\" belongs to the active family \"imagine\"",
        ),
        (json!({"providers": ["evil.example/../x"]}), "manifest.providers: expected kebab-case"),
        (json!({"price_keys": ["puppet", "puppet.unpriced"]}), "price key \"puppet.unpriced\" has no price"),
        (json!({"reads_state": [1]}), "manifest.reads_state: expected versions older than 1, got 1"),
        (json!({"price_keys": {"$many": [{"$repeat": ["k", 1000]}, 20_000]}}), "describe() failed"),
        (json!({"version": {"$repeat": ["1", 1_000_000_000]}}), "describe() failed"),
        (
            json!({"version": {"$repeat": ["1", 2_000_000]}}),
            "the manifest cannot be read: expected at most 1048576 bytes",
        ),
        (test(json!({"script": {}}), "refused"), "it promised Refused and answered Accepted"),
        (test(json!({"script": {"submit": {"refuse": "no\u{1b}[2J"}}}), "accepted"), "Refused: no\\u{1b}[2J"),
        (
            test(json!({"script": {"submit": {"attack": "loop"}}}), "accepted"),
            "more than 1000 ms of processor time",
        ),
        (test(json!({"script": {"steps": [{"attack": "panic"}]}}), "accepted"), "advance with Start failed"),
        (
            test(json!({"script": {"submit": {"keys": ["free"]}}}), "accepted"),
            "price key \"free\" is not in the manifest",
        ),
    ]
}

/// Imports and exports under another name, and the reason of the refusal.
const FOREIGN_INTERFACES: &[(&str, &str, &str)] = &[
    ("wasi:cli/environment@", "wasi:http/environmen@", "a plugin has no network"),
    ("wasi:cli/environment@", "acme:cli/environment@", "the host has nothing of that name"),
    ("wasi:cli/environment@0.2", "wasi:cli/environment@0.9", "only WASI 0.2 is linked"),
    ("gatehouse:family/log@1.0.0", "gatehouse:family/log@2.7.0", "made for gatehouse:family 2.7.0"),
    (
        "gatehouse:family/jobs@1.0.0",
        "gatehouse:family/jots@1.0.0",
        "it does not export gatehouse:family/jobs",
    ),
    ("gatehouse:family/jobs@1.0.0", "gatehouse:family/jobs@2.0.0", "made for gatehouse:family 2.0.0"),
];

/// The fixture with an import or export of another name, as long as the old one, wherever it is.
fn renamed(old: &str, new: &str) -> Vec<u8> {
    assert_eq!(old.len(), new.len());
    let mut wasm = puppet().to_vec();
    let found: Vec<usize> =
        (0..wasm.len() - old.len()).filter(|at| wasm[*at..].starts_with(old.as_bytes())).collect();
    assert!(!found.is_empty(), "no {old} in the component");
    for at in found {
        wasm[at..at + new.len()].copy_from_slice(new.as_bytes());
    }
    wasm
}

#[test]
fn false_claims_and_foreign_interfaces_are_refused() {
    run(async {
        let scene = Scene::start("").await;
        let serving = scene.gateway.command(&["plugin", "list", "--json"]).await;
        let honest = Honest::start(&scene.caller);
        let mut broken = Vec::new();
        let mut expect = async |what: String, wasm: &[u8], words: &str| {
            let refused = scene.gateway.try_command(&["plugin", "install", &scene.component(wasm)]).await;
            let text = String::from_utf8_lossy(&[refused.stdout, refused.stderr].concat()).into_owned();
            if refused.status.code() != Some(1)
                || !text.contains(words)
                || text.contains('\u{1b}')
                || text.len() > 2000
            {
                broken.push(format!("  {what}: expected {words:?}, got {text:?}"));
            }
        };
        for (claims, words) in false_claims() {
            expect(claims.to_string(), &puppet_claiming(&claims), words).await;
        }
        for (old, new, words) in FOREIGN_INTERFACES {
            expect((*new).to_owned(), &renamed(old, new), words).await;
        }
        let whole = puppet();
        expect("half of it".to_owned(), &whole[..whole.len() / 2], "compile").await;
        expect("a module".to_owned(), b"\0asm\x01\0\0\0", "this is a core module").await;
        expect("machine code".to_owned(), b"\x7fELF\x02\x01\x01", "this is compiled code").await;
        expect("nothing".to_owned(), b"", "not a WebAssembly component").await;
        let large = [whole, &[0; 25 << 20]].concat();
        expect("25 MiB more".to_owned(), &large, "25165824 are allowed").await;
        assert!(broken.is_empty(), "{} wrong:\n{}", broken.len(), broken.join("\n"));

        assert!(honest.stop().await > 0);
        assert_eq!(
            scene.gateway.command(&["plugin", "list", "--json"]).await,
            serving,
            "nothing has changed"
        );
        assert_eq!(scene.finish(&json!({})).await["status"], "completed");
        scene.gateway.expect_sound_ledger().await;
    });
}
