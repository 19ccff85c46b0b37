//! A plugin as one file, from its author to an operator: packed, looked at, pushed into a real registry (Debian's
//! `docker-registry`), and installed from there by a reference that nobody can move.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Stdio;

use gatehouse_harness::{Gateway, Provider, puppet, reply, run, variable};
use gatehouse_model::Digest;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

use crate::deploy::defaults::{Author, kept, play, surf};
use crate::deploy::start;
use crate::packages::install_if_missing;

/// A registry on a free port, whose only user is `me` with the password `hunter2`; killed when dropped.
struct Registry {
    folder: tempfile::TempDir,
    port: u16,
    _process: Child,
}

impl Registry {
    async fn start() -> Self {
        install_if_missing(&["docker-registry"], &["docker-registry"]).await;
        let folder = tempfile::tempdir().expect("a folder");
        let (users, config) = (folder.path().join("users"), folder.path().join("config.yml"));
        fs::write(&users, "me:$2b$04$1wJpYZCaXFDFST5dsFaRl.LIhEU9ILNazKbeWgIR4A4./rMoGamDO\n")
            .expect("a file");
        let text = format!(
            "version: 0.1\nstorage:\n  filesystem:\n    rootdirectory: {}\nhttp:\n  addr: 127.0.0.1:0\n\
             auth:\n  htpasswd:\n    realm: tests\n    path: {}\n",
            folder.path().join("store").display(),
            users.display()
        );
        fs::write(&config, text).expect("a file");
        let mut process = Command::new("docker-registry")
            .arg("serve")
            .arg(&config)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("docker-registry starts");
        let mut lines = BufReader::new(process.stderr.take().expect("piped")).lines();
        while let Some(line) = lines.next_line().await.expect("readable output") {
            let Some((_, rest)) = line.split_once("listening on 127.0.0.1:") else { continue };
            let port = rest.split('"').next().and_then(|port| port.parse().ok()).expect("a port");
            // Without a reader it would block on a full pipe.
            tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
            return Self { folder, port, _process: process };
        }
        panic!("docker-registry never said its port");
    }

    fn reference(&self, rest: &str) -> String {
        format!("oci://127.0.0.1:{}/us/surf{rest}", self.port)
    }

    /// The file of a blob.
    fn blob(&self, digest: &Digest) -> std::path::PathBuf {
        let name = digest.to_string();
        let blobs = self.folder.path().join("store/docker/registry/v2/blobs/sha256");
        blobs.join(&name[..2]).join(&name).join("data")
    }
}

/// A command of somebody whose docker configuration is in this folder; what it says, which ends with this code.
async fn command(gateway: &Gateway, docker: &Path, words: &[&str], code: i32) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gatehouse"));
    command.arg("--config").arg(gateway.folder().join("gatehouse.toml"));
    command.arg("--data").arg(gateway.folder().join("data"));
    // A credential helper is found as docker finds one.
    let path = format!("{}:{}", docker.display(), variable("PATH").expect("a path"));
    command.env("PATH", path);
    let output = command.args(words).env("DOCKER_CONFIG", docker).output().await.expect("the command runs");
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert_eq!(output.status.code(), Some(code), "{words:?}: {text}");
    text
}

#[test]
fn a_plugin_is_packed_pushed_and_installed_by_its_reference() {
    run(async {
        let (provider, registry) =
            (Provider::start(|_| reply(200, &[], "{}")).await, Registry::start().await);
        let (gateway, _sandbox, caller) = start("").await;
        let secret = gateway.folder().join("secret");
        let account =
            format!("\n[providers.kling.accounts.main]\nsecret = {{ file = \"{}\" }}\n", secret.display());
        gateway.reload(&(gateway.config() + &account)).await;

        let author = Author(tempfile::tempdir().expect("a folder"));
        author.file("family.wasm", surf("accepted", 1));
        // A terminal obeys what it is sent, and a plugin's file is a stranger's.
        author.file("LICENSE", "Surf \u{1b}]0;owned\u{7}License 1.0\n");
        let defaults = |price: &str| {
            format!(
                "# \u{9b}2J\u{202e}\n[prices]\n\"surf-1\" = \"{price}\"\n\
                 [providers.kling]\nbase_url = \"{}\"\nauth = \"bearer\"\n",
                provider.url()
            )
        };
        author.file("family.toml", defaults("3"));
        fs::create_dir(author.0.path().join("play")).expect("a folder");
        author.file("play/waves.play", "\"start\"\n");
        let packed = author.0.path().join("surf.gatehouse.wasm").display().to_string();
        let folder = author.0.path().display().to_string();
        let docker = author.0.path().join("docker");
        fs::create_dir(&docker).expect("a folder");
        let run = async |words: &[&str], code: i32| command(&gateway, &docker, words, code).await;
        let told_of_packing = run(&["plugin", "pack", &folder, "-o", &packed], 0).await;
        let shown = run(&["plugin", "inspect", &packed, "--json"], 0).await;
        let shown: Value = serde_json::from_str(&shown).expect("JSON");
        assert_eq!(
            (&shown["licence"], &shown["play"]["waves.play"]),
            (&json!("Surf \u{1b}]0;owned\u{7}License 1.0\n"), &json!("\"start\"\n"))
        );
        assert_eq!(shown["defaults"], defaults("3").as_str(), "{shown}");
        assert_eq!(
            (&shown["manifest"]["family"], &shown["manifest"]["price_keys"]),
            (&json!("surf"), &json!(["surf-1"]))
        );

        let target = registry.reference(":1.0.0");
        let refused = run(&["plugin", "push", &packed, &target], 1).await;
        assert!(refused.contains("wants a login") && refused.contains("docker login"), "{refused}");
        let auth = json!({"auths": {format!("127.0.0.1:{}", registry.port): {"auth": "bWU6aHVudGVyMg=="}}});
        fs::write(docker.join("config.json"), auth.to_string()).expect("a file");
        let pinned = run(&["plugin", "push", &packed, &target], 0).await.trim().to_owned();
        assert!(pinned.starts_with(&format!("{target}@sha256:")), "{pinned}");
        assert_eq!(
            run(&["plugin", "push", &packed, &target], 0).await.trim(),
            pinned,
            "the same bytes, the same digest"
        );

        // A tag may move, so it is no name to install by; what the plugin brings is shown first.
        let refused = run(&["plugin", "install", &target, "--yes"], 2).await;
        assert!(refused.contains(&format!("it is {pinned} now")), "{refused}");
        let refused = run(&["plugin", "install", &pinned], 1).await;
        assert!(refused.contains("  + prices.surf-1 = \"3\"") && refused.contains("with --yes"), "{refused}");
        assert!(!kept(&gateway).exists());
        let checked = run(&["plugin", "check", &target], 0).await;
        assert!(checked.contains("prices.surf-1"), "{checked}");
        run(&["plugin", "install", &pinned, "--yes"], 0).await;
        assert_eq!(play(&caller).await["cost"], 3, "at the price that it brought");
        let versions = gateway.plugins().await;
        let digest = Digest::of(&fs::read(&packed).expect("the file"));
        let serves = versions.iter().find(|one| one["family"] == "surf");
        assert_eq!(serves.expect("installed")["digest"], digest.to_string().as_str(), "of the whole file");
        let inspected = run(&["plugin", "inspect", &pinned], 0).await;
        assert!(inspected.starts_with(&pinned) && inspected.contains(&digest.to_string()), "{inspected}");
        for told in [&inspected, &told_of_packing] {
            assert!(told.contains("licence: Surf \\u{1b}]0;owned\\u{7}License 1.0 ("), "{told:?}");
            assert!(told.contains("\n  # \\u{9b}2J\\u{202e}\n"), "{told:?}");
            assert!(!told.contains(|letter: char| letter.is_control() && letter != '\n'), "{told:?}");
        }

        // An explicit file wins.
        let other = author.file("other.toml", defaults("5"));
        run(&["plugin", "install", &packed, "--defaults", &other, "--yes"], 0).await;
        assert_eq!(play(&caller).await["cost"], 5);

        // A write access to the registry changes nothing that is pinned.
        let mut bytes = fs::read(registry.blob(&digest)).expect("the blob");
        *bytes.last_mut().expect("bytes") ^= 1;
        fs::write(registry.blob(&digest), bytes).expect("the blob");
        let refused = run(&["plugin", "install", &pinned, "--yes"], 2).await;
        assert!(refused.contains(&format!("expected sha256:{digest}")), "{refused}");
        let missing = run(&["plugin", "check", &registry.reference(":2.0.0")], 2).await;
        assert!(missing.contains("the registry answered 404"), "{missing}");
        gateway.expect_sound_ledger().await;
    });
}

/// Without it a plugin of a registry would need no signature where the operator wants one, or could not bring it; and a
/// login that is kept outside of a file could push nothing.
#[test]
fn a_signature_comes_with_its_plugin_and_a_helper_keeps_the_login() {
    run(async {
        let registry = Registry::start().await;
        let (gateway, _sandbox, _) = start("").await;
        let author = Author(tempfile::tempdir().expect("a folder"));
        let docker = author.0.path().join("docker");
        fs::create_dir(&docker).expect("a folder");
        let run = async |words: &[&str], code: i32| command(&gateway, &docker, words, code).await;
        let (signed, bare) = (author.file("signed.wasm", puppet()), author.file("bare.wasm", puppet()));
        let key = author.0.path().join("author.key").display().to_string();
        let public = run(&["plugin", "keygen", &key], 0).await;
        run(&["plugin", "sign", &signed, "--key", &key], 0).await;
        let public = public.split_whitespace().last().expect("a public key").trim_matches('"');
        let plugins = format!(
            "[plugins]\nrequire_signature = true\n\n[plugins.trusted_keys]\nauthor = \"{public}\"\n\n"
        );
        gateway.reload(&(plugins + &gateway.config())).await;

        let target = registry.reference(":1.0.0");
        let helper = |script: &str| {
            let file = docker.join("docker-credential-here");
            fs::write(&file, format!("#!/bin/sh\nread -r server\n{script}\n")).expect("a file");
            fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).expect("a program");
        };
        let store = json!({"credHelpers": {format!("127.0.0.1:{}", registry.port): "here"}}).to_string();
        fs::write(docker.join("config.json"), store).expect("a file");
        for (script, part) in [
            ("echo hunter2; exit 3", "docker-credential-here keeps the login"),
            ("echo hunter2", "expected JSON with Username and Secret"),
            ("echo '{\"Username\":\"<token>\",\"Secret\":\"hunter2\"}'", "a token and no password"),
            ("echo credentials not found in native keychain; exit 1", "wants a login"),
        ] {
            helper(script);
            let refused = run(&["plugin", "push", &signed, &target], 1).await;
            assert!(refused.contains(part) && !refused.contains("hunter2"), "{part}: {refused}");
        }
        let found = format!("test \"$server\" = 127.0.0.1:{} &&", registry.port);
        helper(&format!("{found} echo '{{\"Username\":\"me\",\"Secret\":\"hunter2\"}}'"));
        let pinned = run(&["plugin", "push", &signed, &target], 0).await.trim().to_owned();
        let unsigned =
            run(&["plugin", "push", &bare, &registry.reference(":2.0.0")], 0).await.trim().to_owned();

        let refused = run(&["plugin", "check", &unsigned], 1).await;
        assert!(refused.contains("signature"), "{refused}");
        // Its signature passed; this gateway has no accounts for it.
        let known = run(&["plugin", "check", &pinned], 1).await;
        assert!(known.contains("signed by author") && known.contains("has no account"), "{known}");
    });
}
