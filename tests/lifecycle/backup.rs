//! A backup of a gateway at work, and what is restored of it.

use std::fs;
use std::path::Path;
use std::time::Duration;

use gatehouse_harness::{Gateway, run};
use serde_json::Value;

use crate::lifecycle::{request, sandbox, setup};

const IMAGES: &str = "/v1/images/generations";

async fn told(gateway: &Gateway, arguments: &[&str]) -> Result<String, String> {
    let output = gateway.try_command(arguments).await;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// Without it a copy is made of a stopped gateway only, or misses what was accepted before it.
#[test]
fn a_gateway_at_work_is_backed_up_and_restored_with_every_receipt() {
    run(async {
        let sandbox = sandbox(Duration::from_millis(20)).await;
        let mut gateway = Gateway::start(setup(&sandbox)).await;
        let caller = gateway.open_account("acme", "1000").await;
        let before: Vec<String> =
            futures_util::future::join_all((0..20).map(async |number| {
                caller.post(IMAGES, &request(&format!("kite {number}"))).await.task_id()
            }))
            .await;
        let folder = gateway.folder().join("backups/one");
        // What is accepted meanwhile may or may not be in it.
        let during = futures_util::future::join_all(
            (0..20).map(async |number| caller.post(IMAGES, &request(&format!("bird {number}"))).await.status),
        );
        let name = shown(&folder);
        let words = ["backup", "--json", &name];
        let (made, during) = tokio::join!(told(&gateway, &words), during);
        let made: Value = serde_json::from_str(&made.expect("a backup")).expect("JSON");
        assert!(during.iter().all(|status| *status == 200), "{during:?}");
        let manifest: Value =
            serde_json::from_slice(&fs::read(folder.join("manifest.json")).expect("a manifest"))
                .expect("JSON");
        assert_eq!(made["ledger_entries"], manifest["ledger"]["entries"], "{made}");
        let files: Vec<&String> = manifest["files"].as_object().expect("files").keys().collect();
        assert!(files.iter().any(|name| *name == "pepper") && files.iter().any(|name| *name == "core.redb"));
        assert!(files.iter().any(|name| name.starts_with("plugins/")), "{files:?}");
        assert!(!files.iter().any(|name| name.contains(".cwasm") || name.starts_with("admin")), "{files:?}");
        let audit = gateway.audit(&["--requests", "--limit", "5"]).await;
        assert!(audit.iter().any(|line| line.to_string().contains("createBackup")), "{audit:?}");

        gateway.kill().await;
        let data = gateway.folder().join("data");
        let refused =
            told(&gateway, &["restore", &shown(&folder)]).await.expect_err("the data folder is full");
        assert!(refused.contains("expected a folder that is empty"), "{refused}");
        fs::rename(&data, gateway.folder().join("lost")).expect("moved away");
        // As an empty disk that is mounted there, with what a try that was cut short has left.
        fs::create_dir_all(data.join(".restoring/plugins")).expect("folders");
        let restored = told(&gateway, &["restore", &shown(&folder)]).await.expect("restored");
        assert!(restored.contains("what was accepted after that moment"), "{restored}");
        gateway.restart().await;
        let caller = caller.at(gateway.public);
        for id in &before {
            assert_eq!(caller.end_of(id).await["status"], "completed");
        }
        let more = caller.finish(IMAGES, &request("a kite of the restored")).await;
        assert_eq!(more["status"], "completed", "{more}");
        gateway.expect_sound_ledger().await;
    });
}

/// Without it a damaged backup becomes a data folder, or half of one.
#[test]
fn a_backup_that_was_changed_is_not_restored() {
    run(async {
        let sandbox = sandbox(Duration::ZERO).await;
        let mut gateway = Gateway::start(setup(&sandbox)).await;
        let caller = gateway.open_account("acme", "1000").await;
        caller.finish(IMAGES, &request("a kite")).await;
        let account = gateway.account_without_holds("acme").await;
        assert_eq!(gateway.terminate().await, Some(0));
        // Without a gateway the command makes it itself.
        let folder = gateway.folder().join("backup");
        let made = told(&gateway, &["backup", &shown(&folder)]).await.expect("a backup");
        assert!(made.contains("the ledger has") && made.contains("adds up"), "{made}");
        let again = told(&gateway, &["backup", &shown(&folder)]).await.expect_err("it is full");
        assert!(again.contains("folder: ") && again.contains("expected a folder that is empty"), "{again}");
        let inside = told(&gateway, &["backup", &shown(&gateway.folder().join("data/plugins/x"))]).await;
        assert!(inside.expect_err("inside").contains("expected a folder outside of"));
        fs::remove_dir_all(gateway.folder().join("data")).expect("removed");
        let whole = |name: &str| fs::read(folder.join(name)).expect("a file");
        let (pepper, store, manifest) = (whole("pepper"), whole("core.redb"), whole("manifest.json"));
        let put = |name: &str, bytes: &[u8]| fs::write(folder.join(name), bytes).expect("written");
        let mut flipped = store.clone();
        flipped[store.len() / 2] ^= 1;
        let climbing =
            String::from_utf8(manifest.clone()).expect("text").replace("\"pepper\"", "\"../pepper\"");
        for (name, wrong, right, expected) in [
            ("pepper", vec![7; 32], &pepper, "its bytes are not those that the manifest names"),
            ("core.redb", flipped, &store, "its bytes are not those that the manifest names"),
            ("manifest.json", climbing.into_bytes(), &manifest, "which is no file below it"),
            ("manifest.json", b"{}".to_vec(), &manifest, "no backup that this release can read"),
        ] {
            put(name, &wrong);
            let refused = told(&gateway, &["restore", &shown(&folder)]).await.expect_err(expected);
            assert!(refused.contains(expected), "{name}: {refused}");
            put(name, right);
            let left: Vec<_> = fs::read_dir(gateway.folder()).expect("a folder").flatten().collect();
            assert!(
                !left.iter().any(|entry| entry.file_name().to_string_lossy().starts_with("data")),
                "{left:?}"
            );
        }
        told(&gateway, &["restore", &shown(&folder)]).await.expect("restored");
        gateway.restart().await;
        assert_eq!(gateway.account("acme").await, account);
        gateway.expect_sound_ledger().await;
    });
}
