//! A backup of a gateway at work, and what is restored of it.

use std::fs;
use std::path::Path;
use std::time::Duration;

use gatehouse_harness::{Gateway, message_of, run};
use serde_json::Value;

use crate::clients::bucket::{BUCKET, BucketServer};
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
            let end = caller.end_of(id).await;
            // A copy taken while the provider was asked does not know its answer: it is not asked twice.
            let lost = end["status"] == "failed" && message_of(&end).contains("nothing was charged");
            assert!(end["status"] == "completed" || lost, "{end}");
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
        assert!(again.contains("to: ") && again.contains("expected a folder that is empty"), "{again}");
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
        let vast = String::from_utf8(manifest.clone())
            .expect("text")
            .replace("\"bytes\": 32,", "\"bytes\": 9000000000000000000,");
        for (name, wrong, right, expected) in [
            ("manifest.json", vast.into_bytes(), &manifest, "expected 9000000000"),
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

/// Without it a gateway's backups need a disk that outlives its machine.
#[test]
fn a_backup_goes_to_a_bucket_and_comes_back() {
    run(async {
        let (sandbox, bucket) = (sandbox(Duration::ZERO).await, BucketServer::start());
        let service = bucket.service("backup.s3", bucket.text("address"));
        let mut gateway = Gateway::start(setup(&sandbox).with(&service)).await;
        let caller = gateway.open_account("acme", "1000").await;
        let before = caller.finish(IMAGES, &request("a kite")).await;
        let data = gateway.folder().join("data");
        // Longer than one part of an upload.
        let large: Vec<u8> =
            (0..20_u32 << 18).flat_map(|number| (number ^ 0x5bd1_e995).to_le_bytes()).collect();
        fs::write(data.join("plugins/large.bin"), &large).expect("written");
        let address = format!("s3://{BUCKET}/nightly/1");
        let made = told(&gateway, &["backup", "--to", &address]).await.expect("a backup");
        assert!(made.starts_with(&address) && made.contains("adds up"), "{made}");
        let keys = bucket.ask("keys");
        for name in ["manifest.json", "core.redb", "pepper", "plugins/large.bin"] {
            assert!(keys.contains(&format!("nightly/1/{name}")), "{name}: {keys:?}");
        }
        assert_eq!(bucket.ask("uploads"), Vec::<String>::new());
        assert!(!data.join(".sending").exists());
        let again = told(&gateway, &["backup", "--to", &address]).await.expect_err("it is taken");
        assert!(again.contains(&address) && again.contains("expected no object below it"), "{again}");
        assert_eq!(bucket.ask("keys"), keys);
        let log = gateway.log_text();
        assert!(!log.contains(bucket.text("secret")) && !made.contains(bucket.text("secret")), "{log}");

        gateway.kill().await;
        fs::rename(&data, gateway.folder().join("lost")).expect("moved away");
        let restored = told(&gateway, &["restore", "--from", &address]).await.expect("restored");
        assert!(restored.contains("everything as of"), "{restored}");
        assert_eq!(fs::read(data.join("plugins/large.bin")).expect("a file"), large);
        // As a copy of which a process was killed that sent it: it would take the store's room for ever.
        fs::create_dir_all(data.join(".sending/plugins")).expect("folders");
        gateway.restart().await;
        assert!(!data.join(".sending").exists());
        let caller = caller.at(gateway.public);
        assert_eq!(caller.task(before["id"].as_str().expect("an id")).await["status"], "completed");
        gateway.expect_sound_ledger().await;
    });
}

/// Without it what an upload has left that was cut short becomes a data folder, or a wrong key is told as a gateway's fault.
#[test]
fn a_backup_in_a_bucket_is_whole_or_none() {
    run(async {
        let (sandbox, bucket) = (sandbox(Duration::ZERO).await, BucketServer::start());
        let service = bucket.service("backup.s3", bucket.text("address"));
        let mut gateway = Gateway::start(setup(&sandbox).with(&service)).await;
        gateway.open_account("acme", "1000").await;
        assert_eq!(gateway.terminate().await, Some(0));
        let data = gateway.folder().join("data");
        let address = format!("s3://{BUCKET}/nightly");
        // Without a gateway the command makes it itself.
        told(&gateway, &["backup", "--to", &address]).await.expect("a backup");
        fs::rename(&data, gateway.folder().join("lost")).expect("moved away");
        for (word, name, expected) in [
            ("damage", "pepper", "its bytes are not those that the manifest names"),
            ("lose", "core.redb", "(NoSuchKey)"),
            ("lose", "manifest.json", "(NoSuchKey)"),
        ] {
            bucket.ask(&format!("{word} nightly/{name}"));
            let refused = told(&gateway, &["restore", "--from", &address]).await.expect_err(expected);
            assert!(
                refused.contains(&format!("{address}/{name}")) && refused.contains(expected),
                "{refused}"
            );
            assert!(!data.exists(), "{name}");
        }
        fs::rename(gateway.folder().join("lost"), &data).expect("moved back");
        let right = gateway.config();
        for (wrong, expected) in [
            ("[backup.s3]\n", "backup.s3.access_key_id: an s3:// address needs it"),
            ("[backup.s3]\nendpoint = \"ftp://b\"\n", "backup.s3.endpoint: expected http or https"),
        ] {
            gateway.set_config(&right.replace(service.trim_end(), wrong));
            let refused = told(&gateway, &["backup", "--to", &address]).await.expect_err(expected);
            assert!(refused.contains(expected), "{refused}");
        }
        let secret = bucket.text("secret");
        let other = tempfile::NamedTempFile::new().expect("a file");
        fs::write(other.path(), "another secret").expect("written");
        let line = service.lines().find(|line| line.starts_with("secret_access_key")).expect("a line");
        let wrong = format!("secret_access_key = {{ file = \"{}\" }}", other.path().display());
        gateway.set_config(&right.replace(line, &wrong));
        let refused = told(&gateway, &["backup", "--to", &address]).await.expect_err("another secret");
        assert!(refused.contains(&address) && refused.contains("answered 403"), "{refused}");
        assert!(!refused.contains("another secret") && !refused.contains(secret), "{refused}");
        assert!(!data.join(".sending").exists());
    });
}
