//! A family that a running gateway has never heard of is installed with the prices, the provider and the settings it
//! brings: shown, confirmed, in effect with its plugin or not at all, and still there after a restart.

use std::path::PathBuf;

use gatehouse_harness::{Caller, Gateway, Provider, puppet_claiming, reply, run};
use serde_json::{Value, json};

use crate::deploy::{IMAGES, start};

/// The plugin of a new family, as another build for each mark.
pub(super) fn surf(self_test: &str, mark: u8) -> Vec<u8> {
    let body = json!({"script": {"submit": {"model": "surf-1", "keys": ["surf-1"]}}});
    let mut wasm = puppet_claiming(&json!({
        "family": "surf",
        "models": [{"id": "surf-1", "aliases": ["surf-latest"], "surfaces": ["images.generate"]}],
        "providers": ["kling"],
        "price_keys": ["surf-1"],
        "self_tests": [{"surface": "images.generate", "body": body, "expect": self_test}],
    }));
    wasm.extend([0, 3, 1, b'b', mark]);
    wasm
}

/// Files of the family's author.
pub(super) struct Author(pub(super) tempfile::TempDir);

impl Author {
    pub(super) fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        let path = self.0.path().join(name);
        std::fs::write(&path, bytes).expect("a file");
        path.display().to_string()
    }
}

/// A task of the new family that calls its provider once.
pub(super) async fn play(caller: &Caller) -> Value {
    let script = json!({"submit": {"model": "surf-1", "keys": ["surf-1"]},
        "steps": [{"call": {"provider": "kling", "path": "/v1/hello", "json": {}}}]});
    let body = json!({"model": "surf-latest", "prompt": "a wave", "script": script});
    let answer = caller.post(IMAGES, &body).await;
    let task = caller.end_of(&answer.task_id()).await;
    assert_eq!(task["status"], "completed", "{task}");
    task
}

pub(super) fn kept(gateway: &Gateway) -> PathBuf {
    gateway.folder().join("data/defaults/surf.toml")
}

/// Where they stand until the version is active.
fn staged(gateway: &Gateway, digest: &str) -> PathBuf {
    kept(gateway).with_file_name(format!("surf.{digest}.staged"))
}

#[test]
fn a_new_family_is_installed_with_what_it_needs() {
    run(async {
        let provider = Provider::start(|_| reply(200, &[], "{}")).await;
        let (mut gateway, _sandbox, caller) = start("").await;
        let author = Author(tempfile::tempdir().expect("a folder"));
        let defaults = format!(
            "[prices]\n\"surf-1\" = \"3\"\n\n[providers.kling]\nbase_url = \"{}\"\nauth = \"bearer\"\n\n\
             [plugins.settings.surf]\ngreeting = \"hello\"\n",
            provider.url()
        );
        let good = author.file("surf.wasm", surf("accepted", 1));
        let bad = author.file("bad.wasm", surf("refused", 2));
        let family = author.file("family.toml", &defaults);
        let refused = async |arguments: &[&str], code: i32| {
            let output = gateway.try_command(&[&["plugin", "install"], arguments].concat()).await;
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            let text = text(&output.stdout) + &text(&output.stderr);
            assert_eq!(output.status.code(), Some(code), "{arguments:?}: {text}");
            assert!(!kept(&gateway).exists(), "a refused plugin leaves nothing");
            text
        };
        // The operator's part is an account, which no default can bring.
        let text = refused(&[&good, "--defaults", &family, "--yes"], 1).await;
        assert!(
            text.contains("provider \"kling\" has no account") && text.contains("gatehouse reload"),
            "{text}"
        );
        let secret = gateway.folder().join("secret");
        let account =
            format!("\n[providers.kling.accounts.main]\nsecret = {{ file = \"{}\" }}\n", secret.display());
        gateway.set_config(&(gateway.config() + &account));

        let text = refused(&[&good, "--defaults", &family], 1).await;
        assert!(text.contains("  + prices.surf-1 = \"3\"") && text.contains("with --yes"), "{text}");
        let text = refused(&[&bad, "--defaults", &family, "--yes"], 1).await;
        assert!(text.contains("self-test"), "{text}");
        let leaky = author
            .file("leaky.toml", format!("{defaults}[providers.kling.accounts.main]\nsecret = \"hunter2\"\n"));
        let text = refused(&[&good, "--defaults", &leaky, "--yes"], 2).await;
        assert!(text.contains("leaky.toml:10:") && text.contains("remedy: remove them here"), "{text}");
        assert!(!text.contains("hunter2"), "{text}");
        // Nor another family's provider, whose accounts would send their secret there, nor its prices.
        for theirs in [
            "[providers.xai]\nbase_url = \"http://127.0.0.1:9\"\n",
            "[providers.surf]\nbase_url = \"http://127.0.0.1:9\"\naccounts_of = \"bfl\"\n",
        ] {
            let foreign = author.file("foreign.toml", format!("{defaults}{theirs}"));
            let text = refused(&[&good, "--defaults", &foreign, "--yes"], 2).await;
            assert!(text.contains("foreign.toml:1") && text.contains("in gatehouse.toml"), "{text}");
        }
        let foreign =
            author.file("foreign.toml", defaults.replace("[prices]", "[prices]\n\"ctx-pro@hd\" = \"0\""));
        let text = refused(&[&good, "--defaults", &foreign, "--yes"], 2).await;
        assert!(text.contains("foreign.toml:2:1: prices.ctx-pro@hd: it belongs to family"), "{text}");
        let unknown = caller.post(IMAGES, &json!({"model": "surf-1", "prompt": "x"})).await;
        assert!(unknown.status >= 400, "{}", unknown.json());

        let installed = gateway.json(&["plugin", "install", &good, "--defaults", &family, "--yes"]).await;
        let compile = &installed["stages"].as_array().expect("stages")[2];
        assert_eq!((&compile["stage"], &compile["note"]), (&json!("compile"), &json!("compiled before")));
        let effects: Vec<_> = installed["defaults"].as_array().expect("defaults").iter().collect();
        assert_eq!(effects.len(), 4, "{installed}");
        assert!(effects.iter().all(|one| one["effect"] == "added"), "{installed}");
        // The prices that came with it are a version of the price book, which names the plugin.
        let books = gateway.json(&["prices", "history", "--limit", "1"]).await;
        let newest = &books["data"][0];
        let cause = newest["cause"].as_str().expect("a cause");
        assert!(cause.starts_with("plugin install surf ") && cause.ends_with(" with defaults"), "{newest}");
        assert_eq!(newest["who"], "command line", "{newest}");
        assert_eq!(newest["changed"], 1, "{newest}");
        let first = play(&caller).await;
        assert_eq!(first["cost"], 3, "{first}");
        assert!(first.to_string().contains("hello"), "its settings: {first}");
        assert_eq!(provider.only().header("authorization"), Some("Bearer sandbox-key"));

        // A restart has them, also where the process ended before their file had its own name; those of another version,
        // whose installation did not come to its end, are gone.
        gateway.terminate().await;
        let active =
            std::fs::read_to_string(gateway.folder().join("data/plugins/active.json")).expect("a list");
        let active: Value = serde_json::from_str(&active).expect("a list as JSON");
        let digest = active["surf"]["digest"].as_str().expect("a digest");
        std::fs::rename(kept(&gateway), staged(&gateway, digest)).expect("a staged file");
        let other = staged(&gateway, &"0".repeat(64));
        std::fs::write(&other, defaults.replace("\"3\"", "\"9\"")).expect("a staged file");
        gateway.restart().await;
        assert!(kept(&gateway).exists() && !staged(&gateway, digest).exists() && !other.exists());
        let caller = caller.at(gateway.public);
        assert_eq!(play(&caller).await["cost"], 3);
        // The operator's own value wins.
        gateway.reload(&(gateway.config() + "\n[prices]\n\"surf-1\" = \"2\"\n")).await;
        assert_eq!(play(&caller).await["cost"], 2);

        // Without a running gateway, and in place of the earlier ones.
        gateway.terminate().await;
        let newer = author.file("newer.wasm", surf("accepted", 3));
        let family =
            author.file("family.toml", defaults.replace("hello", "bonjour").replace("\"3\"", "\"5\""));
        let text = gateway.command(&["plugin", "install", &newer, "--defaults", &family, "--yes"]).await;
        let (config, own) = (gateway.folder().join("gatehouse.toml"), gateway.config().lines().count());
        for line in [
            format!("  ! prices.surf-1 = \"5\" is not used: {}:{own} sets \"2\"", config.display()),
            "  ~ plugins.settings.surf = { greeting = \"bonjour\" } (was { greeting = \"hello\" })"
                .to_owned(),
            "  = providers.kling.auth = \"bearer\"".to_owned(),
        ] {
            assert!(text.contains(&line), "{line}: {text}");
        }
        gateway.restart().await;
        let last = play(&caller.at(gateway.public)).await;
        assert!(last["cost"] == 2 && last.to_string().contains("bonjour"), "{last}");

        // Taken away with what it brought; the operator's account stays, and is a warning.
        let text = gateway.command(&["plugin", "uninstall", "surf"]).await;
        assert!(text.contains("  - providers.kling.auth") && text.contains("uninstalled surf"), "{text}");
        assert!(!kept(&gateway).exists());
        let gone = caller.at(gateway.public).post(IMAGES, &json!({"model": "surf-1", "prompt": "x"})).await;
        assert!(gone.status >= 400, "{}", gone.json());
        gateway.terminate().await;
        gateway.restart().await;
        let warning = "providers.kling: it has accounts and no `base_url`, so it is not used";
        assert!(gateway.log_text().contains(warning), "{}", gateway.log_text());
        assert!(!gateway.command(&["plugin", "list"]).await.contains("surf"));
        gateway.expect_sound_ledger().await;
    });
}
