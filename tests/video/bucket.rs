//! Media in a bucket: a public S3 server that checks signatures, behind a relay that can be closed.

use base64::Engine as _;
use gatehouse_harness::{run, send_to, until};
use serde_json::{Value, json};

use crate::clients::bucket::{BucketServer, Relay};
use crate::video::TestGateway;

const IMAGES: &str = "/v1/images/generations";

async fn start(server: &BucketServer, relay: &Relay) -> TestGateway {
    let table = server.media(&format!("http://{}", relay.address));
    TestGateway::start_with(&table).await
}

/// A film of that many MiB.
fn film(mib: u32) -> Value {
    json!({"model": "scene-3.1-fast-official", "prompt": format!("[[mib:{mib}]] a red kite")})
}

/// A picture made of another one, which is embedded.
fn picture() -> Value {
    let mut png = Vec::new();
    let noise =
        image::RgbImage::from_fn(256, 256, |x, y| image::Rgb([(x * y) as u8, (x ^ y) as u8, y as u8]));
    noise.write_to(&mut std::io::Cursor::new(&mut png), image::ImageFormat::Png).expect("a picture");
    let data = base64::engine::general_purpose::STANDARD.encode(png);
    json!({"model": "ctx-pro", "prompt": "a red kite", "image_urls": [format!("data:image/png;base64,{data}")]})
}

fn link(task: &Value, kind: &str) -> String {
    let url = task["result"][kind][0]["url"][0].as_str();
    url.unwrap_or_else(|| panic!("a link in {task}")).to_owned()
}

/// Without it several gateways have no place for media that all of them reach.
#[test]
fn files_are_kept_in_a_bucket_and_served_whole_and_in_ranges() {
    run(async {
        let server = BucketServer::start();
        let relay = Relay::to(server.text("address")).await;
        let gateway = start(&server, &relay).await;
        // In parts of 5 MiB.
        let task = gateway.finish(&film(12)).await;
        let whole = send_to(&link(&task, "videos"), &[]).await;
        assert_eq!((whole.status, whole.body.len()), (200, 12 << 20), "{task}");
        let part = send_to(&link(&task, "videos"), &[("range", "bytes=5242870-5242890")]).await;
        assert_eq!((part.status, &part.body[..]), (206, &whole.body[5_242_870..5_242_891]));
        // The embedded picture goes through the bucket too, and leaves it with its task.
        let task = gateway.caller.finish(IMAGES, &picture()).await;
        assert_eq!(send_to(&link(&task, "images"), &[]).await.status, 200, "{task}");
        until("its own files are all that is left", async || {
            let keys = server.ask("keys");
            keys.len() == 2 && keys.iter().all(|key| key.starts_with("of/tests/media/"))
        })
        .await;
        assert_eq!(server.ask("uploads"), Vec::<String>::new());
        let log = gateway.process.log_text();
        assert!(!log.contains(server.text("secret")) && !log.contains("X-Amz"), "{log}");
    });
}

/// Without it an outage of the bucket loses results that are paid, or is told as the provider's fault.
#[test]
fn results_wait_for_a_bucket_that_is_away_and_are_charged_once() {
    run(async {
        let server = BucketServer::start();
        let relay = Relay::to(server.text("address")).await;
        let gateway = start(&server, &relay).await;
        let before = gateway.finish(&film(1)).await;
        relay.open.send_replace(false);
        // A film comes in its provider's reply, a picture by a link.
        let task = gateway.submit(&film(1)).await.task_id();
        let linked = json!({"model": "ctx-pro", "prompt": "a red kite"});
        let linked = gateway.caller.post(IMAGES, &linked).await.task_id();
        until("both wait", async || {
            let log = gateway.process.log_text();
            log.contains("the files of a reply wait for the media store")
                && log.contains("the copy of a result waits for the media store")
        })
        .await;
        // Its own files cannot be kept, so it is not begun; no money is held for it.
        let refused = gateway.caller.post(IMAGES, &picture()).await;
        assert_eq!((refused.status, refused.header("retry-after")), (503, "5"), "{}", refused.text());
        assert!(refused.message().contains("media store does not answer"), "{}", refused.text());
        // Nor is one that goes on from a film in the bucket.
        let remix = format!("/v1/videos/{}/remix", before["id"].as_str().expect("an id"));
        let refused = gateway
            .caller
            .post(&remix, &json!({"model": "scene-3.1-fast", "prompt": "it lands", "raw": true}))
            .await;
        assert_eq!((refused.status, refused.header("retry-after")), (503, "5"), "{}", refused.text());
        let file = send_to(&link(&before, "videos"), &[]).await;
        assert_eq!((file.status, file.header("retry-after")), (503, "5"), "{}", file.text());
        // What has no files is served.
        assert_eq!(gateway.caller.task(&task).await["status"], "processing");
        relay.open.send_replace(true);
        let ended = gateway.caller.end_of(&task).await;
        assert_eq!((&ended["status"], &ended["cost"]), (&json!("completed"), &before["cost"]), "{ended}");
        assert_eq!(send_to(&link(&ended, "videos"), &[]).await.status, 200);
        assert_eq!(gateway.caller.end_of(&linked).await["status"], "completed");
        assert_eq!(gateway.sandbox.veo_record().operations.len(), 2, "the provider was asked once each");
        gateway.process.account_without_holds("acme").await;
        gateway.process.expect_sound_ledger().await;
    });
}

/// Without it a long outage of the bucket holds up calls that need no files, or fills the memory.
#[test]
fn a_reply_that_waits_gives_its_permit_back_and_a_bound_holds() {
    run(async {
        let server = BucketServer::start();
        let relay = Relay::to(server.text("address")).await;
        // One permit at the provider, and one reply that may wait without it.
        let bounds = "[providers.veo]\nconcurrency = 1\n\n[tasks]\nwaiting_files = 1\n\n";
        let table = server.media(&format!("http://{}", relay.address)) + bounds;
        let gateway = TestGateway::start_with(&table).await;
        relay.open.send_replace(false);
        let waits = "the files of a reply wait for the media store";
        let first = gateway.submit(&film(1)).await.task_id();
        until("the first waits", async || gateway.process.log_text().contains(waits)).await;
        let second = gateway.submit(&film(1)).await.task_id();
        until("the second is begun all the same", async || {
            gateway.sandbox.veo_record().operations.len() == 2
        })
        .await;
        relay.open.send_replace(true);
        for task in [first, second] {
            let ended = gateway.caller.end_of(&task).await;
            assert_eq!(ended["status"], "completed", "{ended}");
        }
        let log = gateway.process.log_text();
        assert!(log.contains("as many files wait for the media store as may"), "{log}");
        // What the second's job had made stayed at its provider: there was no room for it here.
        assert_eq!(log.matches(waits).count(), 1, "{log}");
        assert_eq!(gateway.sandbox.veo_record().operations.len(), 2, "the provider was asked once each");
        gateway.process.account_without_holds("acme").await;
        gateway.process.expect_sound_ledger().await;
    });
}

/// Without it a reply that is itself a file is lost, although its provider was paid.
#[test]
fn a_reply_that_is_a_file_waits_too() {
    run(async {
        let server = BucketServer::start();
        let relay = Relay::to(server.text("address")).await;
        let table = server.media(&format!("http://{}", relay.address))
            + "[plugins.settings.scene]\nstorage_uri = \"gs://films/scene/\"\n\n";
        let gateway = TestGateway::start_with(&table).await;
        relay.open.send_replace(false);
        // One is written in one go, one in parts.
        let tasks = [gateway.submit(&film(1)).await.task_id(), gateway.submit(&film(8)).await.task_id()];
        let waits = "a file waits for the media store";
        until("both wait", async || gateway.process.log_text().matches(waits).count() >= 2).await;
        relay.open.send_replace(true);
        for (task, mib) in tasks.iter().zip([1, 8]) {
            let ended = gateway.caller.end_of(task).await;
            assert_eq!(ended["status"], "completed", "{ended}");
            assert_eq!(send_to(&link(&ended, "videos"), &[]).await.body.len(), mib << 20);
        }
        assert_eq!(gateway.sandbox.veo_record().operations.len(), 2);
        gateway.process.expect_sound_ledger().await;
    });
}

/// Without it a wrong key is noticed by the first result that cannot be kept.
#[test]
fn a_bucket_that_refuses_stops_the_start_and_one_that_is_away_does_not() {
    run(async {
        let mut server = BucketServer::start();
        let relay = Relay::to(server.text("address")).await;
        let mut gateway = start(&server, &relay).await;
        assert_eq!(gateway.process.terminate().await, Some(0));
        relay.open.send_replace(false);
        gateway.process.restart().await;
        let log = gateway.process.log_text();
        assert!(log.contains("requests with files are refused and results wait"), "{log}");
        assert_eq!(gateway.process.terminate().await, Some(0));
        relay.open.send_replace(true);
        let right = gateway.process.config();
        server.made["secret"] = json!("another");
        let wrong = server.media(&format!("http://{}", relay.address));
        let table = &right[right.find("[media]").expect("its table")..];
        let end = table.find("\n[providers").unwrap_or(table.len());
        gateway.process.set_config(&right.replace(&table[..end], &wrong));
        let (_, said) = gateway.process.refused(&["serve"]).await;
        assert!(said.contains("answered 403") && said.contains("let the access key"), "{said}");
        gateway.process.set_config(&right);
        server.ask("remove");
        let (_, said) = gateway.process.refused(&["serve"]).await;
        assert!(said.contains("NoSuchBucket") && said.contains("make the bucket"), "{said}");
    });
}
