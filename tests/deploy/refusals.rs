//! What a running gateway refuses from the command line, with the remedy, while the version before serves on.

use gatehouse_harness::{puppet_claiming, run, with};
use serde_json::{Value, json};

use crate::deploy::{Builds, NO_CANARY, start};

/// A family with these aliases, on this surface, at this price; the rest is configured.
fn guest(version: &str, aliases: &[&str], surface: &str, price: &str) -> Vec<u8> {
    puppet_claiming(&json!({
        "family": "guest",
        "version": version,
        "models": [{"id": "guest-1", "aliases": aliases, "surfaces": [surface]}],
        "surfaces": [{"name": surface, "schema": {"type": "object"}}],
        "providers": ["bfl"],
        "price_keys": [price],
        "self_tests": [],
    }))
}

#[test]
fn a_mistake_is_named_with_its_remedy_and_changes_nothing() {
    run(async {
        let (gateway, _sandbox, caller) = start(NO_CANARY).await;
        let builds = Builds::new();
        let write = |name: &str, bytes: &[u8]| builds.write(name, bytes).display().to_string();
        let refused = async |words: &[&str], parts: &[&str]| {
            let (code, text) = gateway.refused(words).await;
            assert_eq!(code, Some(1), "{words:?}: {text}");
            parts.iter().for_each(|part| assert!(text.contains(part), "{words:?}: {text}"));
        };
        let models = async || {
            let answer = caller.get("/v1/models").await.json();
            let rows = answer["data"].as_array().expect("models").clone();
            rows.iter().filter_map(|row| row["id"].as_str().map(str::to_owned)).collect::<Vec<_>>()
        };

        let first = write("first.wasm", &guest("1.0.0", &["guest"], "images.generate", "ctx-pro"));
        gateway.command(&["plugin", "install", &first]).await;
        assert!(models().await.contains(&"guest".to_owned()));

        let typo = write("typo.wasm", &guest("1.0.1", &["guest"], "images.generat", "ctx-pro"));
        let unserved = "no route leads to surface \"images.generat\"; declare one in the manifest, such as POST /v1/guest/generations, or name a surface that has one: ";
        refused(&["plugin", "check", &typo], &[unserved, "images.generate", "videos.remix"]).await;
        refused(&["plugin", "install", &typo, "--allow-removal"], &[unserved]).await;
        let price = write("price.wasm", &guest("1.0.1", &["guest"], "images.generate", "guest"));
        refused(
            &["plugin", "install", &price],
            &["price key \"guest\" has no price", "[prices]\n\"guest\" ="],
        )
        .await;
        let second = write("second.wasm", &guest("1.0.1", &[], "images.generate", "ctx-pro"));
        let removal = "serves what this one does not: alias \"guest\"; name it again in the manifest";
        refused(&["plugin", "check", &second], &[removal, "--allow-removal"]).await;
        refused(&["plugin", "install", &second], &[removal, "--allow-removal"]).await;
        assert!(models().await.contains(&"guest".to_owned()), "the version before serves on");

        gateway.command(&["plugin", "install", &second, "--allow-removal"]).await;
        assert!(!models().await.contains(&"guest".to_owned()));
        gateway.command(&["plugin", "rollback", "guest"]).await;
        assert!(models().await.contains(&"guest".to_owned()));
        let versions = gateway.plugins().await;
        let kept = versions.iter().find(|one| one["version"] == "1.0.1");
        let digest = kept.expect("kept")["digest"].as_str().expect("a digest").to_owned();
        refused(&["plugin", "activate", &digest], &[removal]).await;
        gateway.command(&["plugin", "activate", &digest, "--allow-removal"]).await;
        assert!(!models().await.contains(&"guest".to_owned()));
    });
}

/// Without a process and limits of its own the compiler would take the gateway's memory for any component.
#[test]
fn a_component_that_is_too_much_for_the_compiler_is_refused_and_the_gateway_serves() {
    run(async {
        let (gateway, _sandbox, caller) = start(NO_CANARY).await;
        gateway.set_config(&(gateway.config() + "\n[plugins.compiler]\nmemory_mib = 48\n"));
        let reloaded = gateway.command(&["reload"]).await;
        assert!(reloaded.contains("plugins.compiler.memory_mib"), "{reloaded}");
        let builds = Builds::new();
        let component = builds.build(77);
        let (code, error) = gateway.refused(&["plugin", "check", &component.display().to_string()]).await;
        assert_eq!(code, Some(1), "{error}");
        assert!(error.contains("compile: ") && error.contains("`plugins.compiler.memory_mib`"), "{error}");
        assert!(caller.get("/v1/models").await.status == 200);
        // A component that imports what no plugin may is refused before anything is compiled.
        let wrong = {
            let name = b"acme:secrets/vault@1.0.0";
            let length = u8::try_from(name.len()).expect("a short name");
            let head = [b"\0asm\x0d\0\x01\0\x07\x03\x01\x42\0\x0a".as_slice(), &[length + 5, 1, 0, length]];
            [head.concat().as_slice(), name, &[5, 0]].concat()
        };
        let file = builds.write("wrong.wasm", &wrong).display().to_string();
        let (_, error) = gateway.refused(&["plugin", "check", &file]).await;
        assert!(error.contains("inspect: it imports acme:secrets/vault@1.0.0"), "{error}");
    });
}

/// What an author may get wrong: `check` and `install` say the same, with and without a gateway, and neither the tasks nor the
/// version that serves see anything of it. (What fails only on real requests is in `hostile::canaries` and `bad_versions`.)
#[test]
fn a_bad_version_is_refused_alike_by_check_and_install() {
    run(async {
        let (mut gateway, _sandbox, caller) =
            start(&format!("{NO_CANARY}[plugins.settings.guest]\nsise = 1\n\n")).await;
        let builds = Builds::new();
        let version = |version: &str, claims: Value| {
            let all = json!({
                "family": "guest", "version": version,
                "models": [{"id": "guest-1", "surfaces": ["images.generate"]}],
                "providers": ["bfl"], "price_keys": ["ctx-pro"], "self_tests": [],
            });
            puppet_claiming(&with(all, claims))
        };
        let write = |name: &str, bytes: &[u8]| builds.write(name, bytes).display().to_string();
        gateway.command(&["plugin", "install", &write("good.wasm", &version("1.0.0", json!({})))]).await;
        let script = json!({"submit": {"model": "guest-1", "keys": ["ctx-pro"]}, "steps": [{"wait": 3000}]});
        let body = json!({"model": "guest-1", "prompt": "x", "script": script});
        let task = caller.post("/v1/images/generations", &body).await.task_id();

        let test = |expect: &str| json!([{"surface": "images.generate", "body": {"script": {"submit": {"model": "guest-1", "keys": ["ctx-pro"]}}}, "expect": expect}]);
        let schema = json!({"type": "object", "additionalProperties": false, "properties": {"size": {"type": "integer"}}});
        let lying = carrying(&version("1.0.5", json!({})), "{\"family\": \"guest\"}");
        let bad = [
            (
                version("1.0.1", json!({"price_keys": ["guest-one"]})),
                "fit: ",
                "price key \"guest-one\" has no price",
            ),
            (version("1.0.2", json!({"self_tests": test("refused")})), "self-test: ", "it promised Refused"),
            (
                version("1.0.3", json!({"settings_schema": schema})),
                "fit: ",
                "`sise`: no setting of the name `sise` is known; did you mean `size`?",
            ),
            (
                version("1.0.4", json!({"providers": ["nobody"]})),
                "fit: ",
                "provider \"nobody\" has no account",
            ),
            (lying, "describe: ", "section gatehouse:manifest: the component says something else at "),
            (version("one", json!({})), "describe: ", "\"one\" is not semver"),
        ];
        let files: Vec<String> =
            bad.iter().enumerate().map(|(at, (wasm, ..))| write(&format!("bad-{at}.wasm"), wasm)).collect();
        for runs in [true, false] {
            if !runs {
                gateway.terminate().await;
            }
            for (file, (_, stage, reason)) in files.iter().zip(&bad) {
                let mut told = Vec::new();
                for command in ["check", "install"] {
                    let (code, text) = gateway.refused(&["plugin", command, file]).await;
                    assert_eq!(code, Some(1), "{command} {reason}: {text}");
                    assert!(text.contains(stage) && text.contains(reason), "{command}: {text}");
                    told.push(text);
                }
                assert_eq!(told[0], told[1], "a gateway runs: {runs}");
            }
        }
        gateway.restart().await;
        let caller = caller.at(gateway.public);
        assert_eq!(caller.end_of(&task).await["status"], "completed", "the task saw nothing of them");
        let versions = gateway.plugins().await;
        let guests = versions.iter().filter(|one| one["family"] == "guest");
        let guests: Vec<_> = guests.map(|one| (&one["version"], &one["state"])).collect();
        assert_eq!(guests, [(&json!("1.0.0"), &json!("active"))], "nothing of them is kept");
        // The operator reads afterwards what was tried: each installation by the running gateway has its report.
        let history = gateway.command(&["plugin", "history", "guest", "--json"]).await;
        let refused = history.matches("\"refused\"").count();
        assert!(refused >= 4, "{history}");
        gateway.expect_sound_ledger().await;
    });
}

/// A component that carries this manifest for readers, whatever it says of itself.
fn carrying(wasm: &[u8], manifest: &str) -> Vec<u8> {
    let name = b"gatehouse:manifest";
    let (name_bytes, bytes) = (u8::try_from(name.len()), u8::try_from(1 + name.len() + manifest.len()));
    let head = [0, bytes.expect("a short one"), name_bytes.expect("a short name")];
    [wasm, &head, name, manifest.as_bytes()].concat()
}
