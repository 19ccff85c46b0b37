//! A start that cannot have everything: whatever is wrong with one family is a warning with a remedy, that family is off, and
//! the others serve. Where an operator asks, the same is an error.

use gatehouse_harness::{puppet_claiming, run};
use serde_json::{Value, json};

use crate::deploy::defaults::{Author, kept, surf};
use crate::deploy::{IMAGES, start};

/// What no installed family has.
const NOBODYS: &str = r#"
[prices]
"nobody-1" = "1"
[plugins.settings.nobody]
size = 1
[plugins.families.nobody]
enabled = false
[plugins.limits_by_family.nobody]
call_ms = 50
"#;

#[test]
fn configuration_never_stops_a_start_because_of_a_family() {
    run(async {
        let (mut gateway, _sandbox, caller) = start("").await;
        let author = Author(tempfile::tempdir().expect("a folder"));
        let secret = gateway.folder().join("secret");
        let account = |provider: &str| {
            format!(
                "\n[providers.{provider}.accounts.main]\nsecret = {{ file = \"{}\" }}\n",
                secret.display()
            )
        };
        let sound = gateway.config() + &account("kling");
        gateway.set_config(&sound);
        let defaults = "[prices]\n\"surf-1\" = \"3\"\n[providers.kling]\nbase_url = \"http://127.0.0.1:9\"\n";
        let (plugin, family) =
            (author.file("surf.wasm", surf("accepted", 1)), author.file("f.toml", defaults));
        let install = ["plugin", "install", plugin.as_str(), "--defaults", family.as_str(), "--yes"];
        gateway.command(&install).await;
        let guest = puppet_claiming(&json!({
            "family": "guest",
            "models": [{"id": "guest-1", "surfaces": ["images.generate"]}],
            "providers": ["bfl"], "price_keys": ["ctx-pro"], "self_tests": [],
        }));
        let guest_file = author.file("guest.wasm", &guest);
        gateway.command(&["plugin", "install", &guest_file]).await;
        let script =
            json!({"submit": {"model": "guest-1", "keys": ["ctx-pro"]}, "steps": [{"wait": 600_000}]});
        let waiting =
            caller.post(IMAGES, &json!({"model": "guest-1", "prompt": "x", "script": script})).await;
        let waiting = waiting.task_id();
        gateway.terminate().await;

        // A broken file, a component that is gone with a task that needs it, and names of families that are not there.
        std::fs::write(kept(&gateway), "[prices\n").expect("a file");
        let digest = gatehouse_model::Digest::of(&guest);
        let component = gateway.folder().join(format!("data/plugins/{digest}.wasm"));
        std::fs::remove_file(&component).expect("the component");
        let model = "[models.m]\nprovider = \"nobody\"\nprotocol = \"chat\"\nprices = { input = \"1\", output = \"1\" }\n";
        gateway.set_config(&format!("{sound}{NOBODYS}{}{model}", account("nobody")));
        let (code, said) = gateway.refused(&["check-config"]).await;
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains("surf.toml:1:") && said.contains("models.m.provider"), "{said}");

        gateway.restart().await;
        let caller = caller.at(gateway.public);
        let served = caller.post(IMAGES, &json!({"model": "ctx-pro", "prompt": "kite"})).await.task_id();
        assert_eq!(caller.end_of(&served).await["status"], "completed");
        for model in ["surf-1", "guest-1"] {
            let refused = caller.post(IMAGES, &json!({"model": model, "prompt": "x"})).await;
            assert!(refused.status >= 400, "{model}: {}", refused.text());
        }
        let log = gateway.log_text();
        for part in [
            "family \"surf\" is off: ",
            "a text model is not served: ",
            "providers.nobody: it has accounts and no `base_url`, so it is not used",
            "an active plugin version does not load",
        ] {
            assert!(log.contains(part), "{part}: {log}");
        }
        let status = caller.task(&waiting).await["status"].clone();
        assert!(status != "failed", "a task waits for its version: {status}");
        let (code, said) = gateway.refused(&["reload"]).await;
        assert_eq!(code, Some(2), "{said}");

        // What was wrong is put right while the gateway runs.
        gateway.set_config(&sound);
        gateway.command(&install).await;
        gateway.command(&["plugin", "install", &guest_file]).await;
        let versions = gateway.plugins().await;
        let states: Vec<&Value> =
            versions.iter().filter(|one| one["family"] == "surf" || one["family"] == "guest").collect();
        assert!(states.iter().all(|one| one["state"] == "active"), "{states:?}");
        gateway.expect_sound_ledger().await;
    });
}
