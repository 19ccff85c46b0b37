//! The Grok-style image family, row by row of the specification's table: valid and invalid values, both sides of
//! each limit, both names of the model and none.

use std::collections::HashSet;

use base64::Engine as _;
use bytes::Bytes;
use gatehouse_harness::{reply, run, send_to};
use gatehouse_sandbox::imagine::ImageCall;
use serde_json::{Value, json};

use crate::api::{TestGateway, as_expected, fails_with, imagine_request, refused_with};
use crate::faults::expect_all;
use crate::gateways::{tls_provider, usual_sandbox};

/// The specification's outcome for a request.
enum Outcome {
    /// So many pictures of this size, all in one element.
    Pictures(usize, (u32, u32)),
    /// A 400 at once, with these words.
    Refused(&'static [&'static str]),
    /// A receipt, then a failed task; its reason contains all these words.
    Fails(&'static [&'static str]),
}

use Outcome::{Fails, Pictures, Refused};

const SQUARE: (u32, u32) = (1024, 1024);

async fn check(gateway: &TestGateway, rows: Vec<(Value, Outcome)>) {
    expect_all(rows.iter().map(|(body, outcome)| check_row(gateway, body, outcome))).await;
}

async fn check_row(gateway: &TestGateway, body: &Value, outcome: &Outcome) -> Result<(), String> {
    match outcome {
        Refused(words) => refused_with(gateway, body, words).await,
        Fails(words) => fails_with(gateway, body, words).await,
        Pictures(n, size) => {
            let task = gateway.finish(body).await;
            let files = files(&task).await;
            let sizes: Vec<_> = files.iter().map(|file| size_of(file)).collect();
            let different: HashSet<_> = files.iter().collect();
            let life = task["result"]["images"][0]["expires_at"].as_u64().unwrap_or_default()
                - task["created"].as_u64().unwrap_or_default();
            let ok = task["status"] == "completed"
                && task["model"] == "imagine-1.5-gw"
                && task["cost"] == 2.0 * *n as f64
                && sizes == vec![*size; *n]
                && different.len() == *n
                // 24 hours since the copy, which was made within the half hour of a task.
                && (86_400..86_400 + 1_800).contains(&life);
            as_expected(ok, body, &json!([sizes, life, task]).to_string())
        }
    }
}

fn size_of(file: &[u8]) -> (u32, u32) {
    let size = imagesize::blob_size(file).expect("a picture");
    (u32::try_from(size.width).expect("small"), u32::try_from(size.height).expect("small"))
}

/// The files of a completed task, which stand in one element.
async fn files(task: &Value) -> Vec<Bytes> {
    let images = task["result"]["images"].as_array().unwrap_or_else(|| panic!("no images: {task}"));
    assert_eq!(images.len(), 1, "{task}");
    let links = images[0]["url"].as_array().expect("a list");
    let fetches = links.iter().map(async |link| {
        let file = send_to(link.as_str().expect("a link"), &[]).await;
        assert_eq!((file.status, file.header("content-type")), (200, "image/jpeg"));
        file.body
    });
    futures_util::future::join_all(fetches).await
}

/// The call of that prompt at the provider.
fn call_of(gateway: &TestGateway, prompt: &str) -> ImageCall {
    let calls = gateway.sandbox.imagine_record().calls;
    calls.into_iter().find(|call| call.body["prompt"] == prompt).expect("the call arrived")
}

#[test]
fn fields() {
    run(async {
        let gateway = TestGateway::start().await;
        let one = || Pictures(1, SQUARE);
        let row = |more: Value, outcome: Outcome| (imagine_request(more), outcome);
        let rows = vec![
            row(json!({}), one()),
            row(json!({"model": "imagine-1.5-ext"}), one()),
            (json!({"prompt": "a red kite"}), one()),
            (json!({"model": null, "prompt": "a red kite", "n": 2}), Pictures(2, SQUARE)),
            row(json!({"model": "imagine-1.5"}), Refused(&["model", "imagine-1.5"])),
            row(json!({"model": 5}), Refused(&["model", "string", "5"])),
            row(json!({"model": ""}), Refused(&["model"])),
            row(json!({"prompt": "\u{51e7} \u{0432} \u{1f3a8}"}), one()),
            row(json!({"prompt": "long ".repeat(4000)}), one()),
            (json!({"model": "imagine-1.5-gw"}), Refused(&["prompt", "nothing"])),
            (json!({"n": 2}), Refused(&["prompt", "nothing"])),
            row(json!({"prompt": null}), Refused(&["prompt", "string", "null"])),
            row(json!({"prompt": 7}), Refused(&["prompt", "string", "7"])),
            row(json!({"prompt": ""}), Refused(&["prompt", "blank"])),
            row(json!({"prompt": "  "}), Refused(&["prompt", "blank"])),
            row(json!({"prompt": "x".repeat(70_000)}), Refused(&["prompt", "61440 bytes"])),
            row(json!({"size": null}), one()),
            row(json!({"size": "1:1"}), one()),
            row(json!({"size": "16:9"}), Pictures(1, (1360, 768))),
            row(json!({"size": "9:16"}), Pictures(1, (768, 1360))),
            row(json!({"size": "3:2"}), Pictures(1, (1248, 832))),
            row(json!({"size": "2:3"}), Pictures(1, (832, 1248))),
            row(json!({"size": "4:3"}), Refused(&["size", "4:3", "16:9"])),
            row(json!({"size": "auto"}), Refused(&["size", "auto"])),
            row(json!({"size": "1024x1024"}), Refused(&["size", "1024x1024"])),
            row(json!({"size": ""}), Refused(&["size"])),
            row(json!({"size": 1}), Refused(&["size", "string", "1"])),
            row(json!({"n": null}), one()),
            row(json!({"n": 1}), one()),
            row(json!({"n": 2, "size": "3:2"}), Pictures(2, (1248, 832))),
            row(json!({"n": 10}), Pictures(10, SQUARE)),
            row(json!({"n": 0}), Refused(&["n", "at least 1", "0"])),
            row(json!({"n": 11}), Refused(&["n", "at most 10", "11"])),
            row(json!({"n": -1}), Refused(&["n", "at least 1"])),
            row(json!({"n": "2"}), Refused(&["n", "integer", "the string \"2\""])),
            row(json!({"n": 2.5}), Refused(&["n", "integer", "2.5"])),
            row(json!({"n": true}), Refused(&["n", "integer", "true"])),
            row(json!({"n": [1]}), Refused(&["n", "integer", "array"])),
            row(json!({"resolution": "2k", "style": 7, "seed": "x", "width": 5}), one()),
            (json!(["imagine-1.5-gw"]), Refused(&["object"])),
        ];
        check(&gateway, rows).await;
        gateway.process.expect_sound_ledger().await;
    });
}

#[test]
fn references() {
    run(async {
        let wide = Bytes::from(sample("640x360.png").await);
        let files = [
            ("/wide.png", wide.clone()),
            ("/text", Bytes::from_static(b"This is a line of text, not a picture.\n")),
        ];
        let (server, folder) = tls_provider("127.0.0.1", &[], move |received| {
            let found = files.iter().find(|(path, _)| *path == received.path());
            found.map_or_else(|| reply(404, &[], ""), |(_, file)| reply(200, &[], file.clone()))
        })
        .await;
        let url = |path: &str| format!("https://{}{path}", server.address);
        let fetch = format!(
            "[fetch]\nallow_private = [\"{}\"]\nextra_roots_file = \"{}\"\n",
            server.address,
            folder.path().join("roots.pem").display()
        );
        let gateway = TestGateway::start_with(&fetch).await;
        let small = send_to(&gateway.sample("64x48.webp"), &[]).await.body;
        assert!(wide.len() > 8 * 1024, "the sample must be long enough to be cut out of the request");
        let encode = |bytes: &[u8]| base64::engine::general_purpose::STANDARD.encode(bytes);
        let uri = |mime: &str, bytes: &[u8]| format!("data:{mime};base64,{}", encode(bytes));
        let with = |urls: Value| imagine_request(json!({"image_urls": urls}));
        let edit = || Pictures(1, (1360, 768));
        let form: &[&str] = &["image_urls[0]", "https URL", "data:image/"];
        let kind: &[&str] = &["image_urls[0]", "PNG, JPEG or WebP", "application/octet-stream"];
        let rows = vec![
            (with(json!(null)), Pictures(1, SQUARE)),
            (with(json!([])), Pictures(1, SQUARE)),
            // The images keep the ratio of the reference, whatever `size` says.
            (with(json!([url("/wide.png")])), edit()),
            (with(json!([uri("image/png", &wide)])), edit()),
            (with(json!([uri("image/webp", &small)])), Pictures(1, (1184, 880))),
            (
                imagine_request(json!({"image_urls": [url("/wide.png")], "size": "1:1", "n": 3})),
                Pictures(3, (1360, 768)),
            ),
            (with(json!([url("/wide.png"), url("/wide.png")])), Refused(&["image_urls", "at most 1", "2"])),
            (with(json!(url("/wide.png"))), Refused(&["image_urls", "array"])),
            (with(json!({"url": "https://example.com/a.png"})), Refused(&["image_urls", "array"])),
            (with(json!([7])), Refused(&["image_urls[0]", "string", "7"])),
            (with(json!([null])), Refused(&["image_urls[0]", "string", "null"])),
            (with(json!([""])), Refused(form)),
            (with(json!(["one"])), Refused(form)),
            (with(json!([gateway.sample("64x64.png")])), Refused(form)),
            (with(json!(["ftp://example.com/a.png"])), Refused(form)),
            (with(json!(["https://"])), Refused(form)),
            (with(json!(["data:text/plain;base64,aGVsbG8="])), Refused(kind)),
            (with(json!(["data:image/png,AAAA"])), Refused(form)),
            (with(json!([uri("image/png", &[7; 9000])])), Refused(kind)),
            (with(json!([uri("image/png", &[7; 90])])), Refused(kind)),
            (with(json!([url("/text")])), Fails(&["image_urls[0]", "PNG, JPEG or WebP"])),
            (with(json!([url("/missing")])), Fails(&["image_urls[0]", "404"])),
            (with(json!(["https://127.0.0.1:1/a.png"])), Fails(&["image_urls[0]"])),
            (with(json!(["https://169.254.169.254/latest/meta-data"])), Fails(&["image_urls[0]"])),
            (with(json!(["https://no-such-host.invalid/a.png"])), Fails(&["image_urls[0]"])),
        ];
        check(&gateway, rows).await;
        gateway.process.expect_sound_ledger().await;
    });
}

/// The file of a sample, from a sandbox of its own.
async fn sample(name: &str) -> Vec<u8> {
    let sandbox = usual_sandbox().await;
    let file = send_to(&format!("{}/samples/{name}", sandbox.context().samples), &[]).await.body.to_vec();
    sandbox.stop().await;
    file
}

#[test]
fn both_names_give_identical_results() {
    run(async {
        let gateway = TestGateway::start().await;
        let mut results = Vec::new();
        for model in [json!("imagine-1.5-gw"), json!("imagine-1.5-ext"), json!(null)] {
            let body = json!({"model": model, "prompt": "a lighthouse", "n": 2, "size": "2:3"});
            let task = gateway.finish(&body).await;
            results.push((files(&task).await, task["model"].clone(), task["cost"].clone()));
        }
        assert_eq!(results[0], results[1]);
        assert_eq!(results[0], results[2]);
        let calls = gateway.sandbox.imagine_record().calls;
        assert_eq!(calls.len(), 3);
        assert!(calls.iter().all(|call| call.body == calls[0].body && call.route == "generations"));
    });
}

#[test]
fn the_providers_request_matches_the_clients() {
    run(async {
        let more = "[plugins.settings.imagine]\nupstream_model = \"grok-imagine-image-quality\"\n";
        let gateway = TestGateway::start_with(more).await;
        gateway.finish(&imagine_request(json!({"prompt": "first", "n": 2, "size": "16:9", "seed": 7}))).await;
        let file = send_to(&gateway.sample("64x48.png"), &[]).await.body;
        let uri =
            format!("data:image/png;base64,{}", base64::engine::general_purpose::STANDARD.encode(&file));
        gateway
            .finish(&imagine_request(json!({"prompt": "second", "size": "16:9", "image_urls": [uri]})))
            .await;
        let (first, second) = (call_of(&gateway, "first"), call_of(&gateway, "second"));
        assert_eq!(first.route, "generations");
        assert_eq!(
            first.body,
            json!({"model": "grok-imagine-image-quality", "prompt": "first", "n": 2, "aspect_ratio": "16:9",
                "response_format": "url"})
        );
        assert_eq!((first.images, first.deliveries), (2, 2));
        assert_eq!(second.route, "edits");
        let mut sent = second.body;
        let facts = sent["image"]["url"].take();
        assert_eq!(
            sent,
            json!({"model": "grok-imagine-image-quality", "prompt": "second", "n": 1, "response_format": "url",
                "image": {"type": "image_url", "url": null}})
        );
        assert_eq!((&facts["bytes"], &facts["mime"]), (&json!(file.len()), &json!("image/png")));
    });
}

#[test]
fn a_key_without_the_model_gets_a_403_by_every_name() {
    run(async {
        let gateway = TestGateway::start().await;
        let context_only = gateway.process.make_key("acme", &["--unlimited", "--model", "ctx-pro"]).await;
        let images = "/v1/images/generations";
        for body in [
            imagine_request(json!({})),
            imagine_request(json!({"model": "imagine-1.5-ext"})),
            json!({"prompt": "a red kite"}),
        ] {
            let refused = context_only.post(images, &body).await;
            let error = refused.json()["error"].clone();
            assert_eq!((refused.status, &error["code"]), (403, &json!(403)), "{body}: {error}");
            assert_eq!(error["type"], "permission_error");
            assert!(refused.message().contains("imagine-1.5"), "{error}");
        }
        let own = gateway.process.make_key("acme", &["--unlimited", "--model", "imagine-1.5-gw"]).await;
        for body in [imagine_request(json!({"model": "imagine-1.5-ext"})), json!({"prompt": "a red kite"})] {
            assert_eq!(own.post(images, &body).await.status, 200, "{body}");
        }
    });
}

#[test]
fn each_image_is_held_and_paid_for() {
    run(async {
        let gateway = TestGateway::start().await;
        let poor = gateway.process.open_account("poor", "5").await;
        let images = "/v1/images/generations";
        let refused = poor.post(images, &imagine_request(json!({"n": 3}))).await;
        assert_eq!(refused.refusal("type"), (402, json!("payment_required")));
        let accepted = poor.post(images, &imagine_request(json!({"n": 2}))).await;
        assert_eq!(accepted.status, 200, "{}", accepted.json());
        assert_eq!(poor.end_of(&accepted.task_id()).await["cost"], 4.0);
        let account = gateway.process.account("poor").await;
        assert_eq!((&account["available"], &account["spent"]), (&json!(1_000_000), &json!(4_000_000)));
        gateway.process.expect_sound_ledger().await;
    });
}
