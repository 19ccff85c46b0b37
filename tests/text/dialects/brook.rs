//! A dialect of lines, installed while the gateway runs: every surface, whole and streamed, its price, and its errors.

use gatehouse_harness::{Response, component, run};
use serde_json::json;

use super::{Provider, SURFACES, request, send};
use crate::text::scene::Scene;

const LINES: &str = "{\"piece\":\"ser\"}\n\n{\"piece\":\"ved\"}\n{\"done\":true,\"read\":7,\"wrote\":2}";
/// What `LINES` cost: seven tokens read at 2, two written at 5.
const PRICE: i64 = 24;

pub(super) async fn install(scene: &Scene, name: &str, wasm: &[u8]) {
    let file = scene.gateway.folder().join(name);
    std::fs::write(&file, wasm).expect("a file");
    scene.gateway.command(&["plugin", "install", &file.display().to_string()]).await;
}

/// Without it a dialect serves one kind of client, or is paid otherwise than a text family.
#[test]
fn a_dialect_serves_every_surface_whole_and_streamed() {
    run(async {
        let provider = Provider::default();
        let scene = provider.scene("").await;
        // Nobody speaks it yet.
        let early = send(&scene, SURFACES[0], &request(SURFACES[0], "over-brook", "hi", false)).await;
        assert_eq!(early.status, 503, "{}", early.text());
        assert_eq!(early.json()["error"]["reason"], "model_not_served", "{}", early.text());
        let listed = async || scene.caller.get("/v1/models").await.text();
        assert!(!listed().await.contains("over-brook"));
        install(&scene, "brook.wasm", &component("tests/fixtures/brook")).await;
        assert!(listed().await.contains("over-brook"));

        let array = format!("[{}]", LINES.replace("\n\n", ",").replace('\n', " ,\n"));
        for (model, lines) in [("over-brook", LINES), ("over-array", array.as_str()), ("over-whole", LINES)] {
            for surface in SURFACES {
                for stream in [false, true] {
                    let before = scene.spent().await;
                    let mime = if stream { "application/json" } else { "application/x-ndjson" };
                    provider.say(200, mime, if stream { lines } else { LINES });
                    let answer = send(&scene, surface, &request(surface, model, "hi", stream)).await;
                    let text = answer.text();
                    let of = format!("{surface} over {model}, streamed: {stream}: {text}");
                    assert_eq!(answer.status, 200, "{of}");
                    // One that does not stream is told as a stream in one piece.
                    let whole = if stream && model != "over-whole" { "ved" } else { "served" };
                    assert!(text.contains(whole) && text.contains(model), "{of}");
                    assert_eq!(scene.spent().await - before, PRICE, "{of}");
                    let asked = provider.last();
                    assert_eq!(
                        (asked.path.as_str(), &asked.body["model"]),
                        ("/brook", &json!("brook-1")),
                        "{of}"
                    );
                    assert_eq!(
                        (&asked.body["say"], &asked.body["stream"]),
                        (&json!(["hi"]), &json!(stream)),
                        "{of}"
                    );
                }
            }
        }
        // To ask for the price asks no provider.
        let mut asked = request(SURFACES[0], "over-brook", "hi", true);
        asked["dry_run"] = true.into();
        let priced = send(&scene, SURFACES[0], &asked).await;
        assert!(priced.status == 200 && priced.text().contains("over-brook"), "{}", priced.text());
        scene.gateway.expect_sound_ledger().await;
    });
}

/// Without it a client reads the names of a protocol that it does not speak, or is told to change what is not its own.
#[test]
fn what_a_dialect_says_of_a_request_names_the_clients_own_fields() {
    run(async {
        let provider = Provider::default();
        let scene = provider.scene("").await;
        install(&scene, "brook.wasm", &component("tests/fixtures/brook")).await;
        let image = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==";
        let chat = |parts: serde_json::Value| json!({"model": "over-brook", "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": parts}]});
        let part = json!({"type": "image_url", "image_url": {"url": image}});
        let block = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="}});
        let text = json!({"type": "text", "text": "look"});
        let messages = json!({"model": "over-brook", "max_tokens": 9, "messages": [{"role": "user", "content": [text, block]}]});
        for stream in [false, true] {
            for (surface, mut body, field) in [
                (SURFACES[0], chat(json!([text, part])), "messages[1].content[1].image_url.url"),
                (SURFACES[1], messages.clone(), "messages.0.content.1"),
            ] {
                body["stream"] = stream.into();
                let refused = send(&scene, surface, &body).await;
                assert_eq!(refused.status, 400, "{}", refused.text());
                assert!(refused.text().contains(field), "{surface}: {}", refused.text());
            }
            // The same of what the provider says, in place of an answer and within one.
            for status in [200, 422] {
                for (surface, mut body, field) in [
                    (SURFACES[0], chat(json!("look")), "messages[1]"),
                    (SURFACES[1], request(SURFACES[1], "over-brook", "look", stream), "messages.0"),
                ] {
                    body["stream"] = stream.into();
                    provider.say(
                        status,
                        "application/x-ndjson",
                        "{\"wrong\":\"messages.0.content.0: too wet\",\"at\":0}",
                    );
                    let refused = send(&scene, surface, &body).await;
                    let of = format!("{surface}, {status}, streamed: {stream}: {}", refused.text());
                    assert_eq!(refused.status, 400, "{of}");
                    assert!(refused.text().contains(field) && refused.text().contains("too wet"), "{of}");
                }
            }
            for (kind, status) in [("long", 400), ("broken", 502)] {
                let failed = fails(&provider, &scene, kind, 1, stream).await;
                assert_eq!(failed.status, status, "{kind}, streamed: {stream}: {}", failed.text());
                assert_eq!(
                    failed.text().contains("maximum context length"),
                    kind == "long",
                    "{}",
                    failed.text()
                );
            }
        }
        assert_eq!(scene.spent().await, 0);
        // What was delivered of a stream that breaks off is paid.
        provider.say(200, "application/x-ndjson", "{\"piece\":\"half an answer\"}\n");
        let cut = send(&scene, SURFACES[1], &request(SURFACES[1], "over-brook", "hi", true)).await;
        assert!(
            cut.text().contains("half an answer") && cut.text().contains("event: error"),
            "{}",
            cut.text()
        );
        let paid = scene.spent().await;
        assert!(paid > 0);
        // A rate limit is asked about once more, and an account that is refused is left alone: this comes last.
        for (kind, asked, status) in [("busy", 2, 429), ("account", 1, 502)] {
            let failed = fails(&provider, &scene, kind, asked, false).await;
            assert_eq!(failed.status, status, "{kind}: {}", failed.text());
        }
        assert_eq!(scene.spent().await, paid);
        scene.gateway.expect_sound_ledger().await;
    });
}

/// A request that the provider fails so often.
async fn fails(provider: &Provider, scene: &Scene, kind: &str, times: usize, stream: bool) -> Response {
    for _ in 0..times {
        provider.say(200, "application/x-ndjson", format!("{{\"wrong\":\"no\",\"kind\":\"{kind}\"}}"));
    }
    send(scene, SURFACES[0], &request(SURFACES[0], "over-brook", "hi", stream)).await
}
