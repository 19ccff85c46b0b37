//! Google's dialect over the simulated provider, on every surface: words, tools, pictures, thoughts, structured answers, errors, the
//! second account, and a swap of its version under load.

use gatehouse_harness::{component, run};
use gatehouse_sandbox::Sandbox;
use gatehouse_sandbox::text::Received;
use serde_json::{Value, json};

use super::brook::install;
use super::{SURFACES, request, send};
use crate::gateways::usual_sandbox;
use crate::text::scene::Scene;

const MODEL: &str = "over-gemini";
/// A picture of 1 by 1.
const PIXEL: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg==";

/// A gateway, and a provider of its own beside that of the scene.
async fn start() -> (Scene, Sandbox) {
    let sandbox = usual_sandbox().await;
    let provider = format!(
        "[providers.gemini]\nbase_url = \"{}\"\nauth = {{ header = \"x-goog-api-key\" }}\n\n",
        sandbox.gemini().origin
    );
    let accounts: String = ["first", "second"]
        .iter()
        .map(|name| format!("[providers.gemini.accounts.{name}]\nsecret = {{ file = \"SECRET\" }}\n\n"))
        .collect();
    let model = format!(
        "[models.{MODEL}]\nprovider = \"gemini\"\nprotocol = \"generatecontent\"\nupstream = \"gemini-sim\"\n\
         prices = {{ input = \"2\", output = \"5\" }}\n\n"
    );
    (Scene::start(&format!("{provider}{accounts}{model}")).await, sandbox)
}

/// What the provider billed for its requests from the given one on: tokens read at 2, written at 5.
fn billed(requests: &[Received]) -> i64 {
    let bills = requests.iter().filter_map(|request| request.usage);
    let sum: u64 = bills.map(|usage| 2 * usage.all_input() + 5 * usage.output).sum();
    i64::try_from(sum).expect("a small sum")
}

fn schema() -> Value {
    json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"], "additionalProperties": false})
}

/// The body of a surface with a tool, a picture, thoughts, or a structured answer.
fn with(surface: &str, what: &str, stream: bool) -> Value {
    let mut body = request(surface, MODEL, "What is the weather?", stream);
    let (chat, messages) = (surface == SURFACES[0], surface == SURFACES[1]);
    let uri = format!("data:image/png;base64,{PIXEL}");
    match what {
        "tools" if chat => {
            body["tools"] =
                json!([{"type": "function", "function": {"name": "get_weather", "parameters": schema()}}]);
        }
        "tools" if messages => body["tools"] = json!([{"name": "get_weather", "input_schema": schema()}]),
        "tools" => {
            body["tools"] = json!([{"type": "function", "name": "get_weather", "parameters": schema()}]);
        }
        "images" if chat => {
            body["messages"][0]["content"] =
                json!([{"type": "text", "text": "see"}, {"type": "image_url", "image_url": {"url": uri}}]);
        }
        "images" if messages => {
            let source = json!({"type": "base64", "media_type": "image/png", "data": PIXEL});
            body["messages"][0]["content"] =
                json!([{"type": "image", "source": source}, {"type": "text", "text": "see"}]);
        }
        "images" => {
            let content =
                json!([{"type": "input_text", "text": "see"}, {"type": "input_image", "image_url": uri}]);
            body["input"] = json!([{"role": "user", "content": content}]);
        }
        "thoughts" if chat => body["reasoning_effort"] = "low".into(),
        "thoughts" if messages => body["thinking"] = json!({"type": "adaptive"}),
        "thoughts" => body["reasoning"] = json!({"effort": "low", "summary": "auto"}),
        "structured" if chat => {
            let format = json!({"name": "place", "schema": schema(), "strict": true});
            body["response_format"] = json!({"type": "json_schema", "json_schema": format});
        }
        "structured" if messages => {
            body["output_config"] = json!({"format": {"type": "json_schema", "schema": schema()}});
        }
        "structured" => {
            body["text"] = json!({"format": {"type": "json_schema", "name": "place", "schema": schema(), "strict": true}});
        }
        _ => {}
    }
    body
}

/// Without it what a surface can say is lost on the way to a provider that speaks otherwise, or paid otherwise than it bills.
#[test]
fn every_surface_says_and_reads_all_of_it() {
    run(async {
        let (scene, sandbox) = start().await;
        for surface in SURFACES {
            for (what, expected) in [
                ("words", "you wrote: What is the weather?"),
                ("tools", "get_weather"),
                ("images", "saw image/png 1x1"),
                ("thoughts", "let me see:"),
                ("structured", "city"),
            ] {
                for stream in [false, true] {
                    let (before, spent) = (sandbox.gemini_record().requests.len(), scene.spent().await);
                    let answer = send(&scene, surface, &with(surface, what, stream)).await;
                    let of = format!("{what} on {surface}, streamed: {stream}: {}", answer.text());
                    assert_eq!(answer.status, 200, "{of}");
                    let requests = sandbox.gemini_record().requests[before..].to_vec();
                    assert_eq!(requests.len(), 1, "{of}");
                    assert_eq!(requests[0].path.ends_with("alt=sse"), stream, "{of}");
                    assert_eq!(scene.spent().await - spent, billed(&requests), "{of}");
                    // A stream is in pieces of a few letters.
                    if !stream {
                        assert!(answer.text().replace('\\', "").contains(expected), "{expected} in {of}");
                    }
                }
            }
        }
        scene.gateway.expect_sound_ledger().await;
    });
}

/// Without it a client would be refused for an account's sake, or pay for what was refused.
#[test]
fn an_account_that_is_out_is_passed_over_and_a_refusal_is_free() {
    run(async {
        let (scene, sandbox) = start().await;
        for surface in SURFACES {
            for stream in [false, true] {
                let text = format!("[[429:1]] hi {surface} {stream}");
                let (before, spent) = (sandbox.gemini_record().requests.len(), scene.spent().await);
                let answer = send(&scene, surface, &request(surface, MODEL, &text, stream)).await;
                assert_eq!(answer.status, 200, "{surface}, streamed: {stream}: {}", answer.text());
                let requests = sandbox.gemini_record().requests[before..].to_vec();
                assert_eq!(requests.iter().map(|one| one.status).collect::<Vec<_>>(), [Some(429), Some(200)]);
                assert_eq!(scene.spent().await - spent, billed(&requests));
            }
            let spent = scene.spent().await;
            for (marker, status) in [("400", 400), ("500", 502), ("503", 503)] {
                let body = request(surface, MODEL, &format!("[[{marker}]] {surface}"), false);
                let answer = send(&scene, surface, &body).await;
                let found = answer.status;
                assert!(
                    found == status || status > 500 && found > 500,
                    "{marker} on {surface}: {found} {}",
                    answer.text()
                );
            }
            assert_eq!(scene.spent().await, spent, "what is refused is free");
        }
        scene.gateway.expect_sound_ledger().await;
    });
}

/// Without it an update of a dialect would fail the requests that run meanwhile.
#[test]
fn a_swap_under_load_loses_no_request() {
    run(async {
        let (scene, sandbox) = start().await;
        let scene = std::sync::Arc::new(scene);
        let callers: Vec<_> = (0..12)
            .map(|number| {
                let scene = std::sync::Arc::clone(&scene);
                tokio::spawn(async move {
                    for turn in 0..6 {
                        let surface = SURFACES[number % 3];
                        let text = format!("[[pace:5]] hello {number} {turn}");
                        let answer =
                            send(&scene, surface, &request(surface, MODEL, &text, number % 2 == 0)).await;
                        assert_eq!(answer.status, 200, "{surface}: {}", answer.text());
                        assert!(answer.text().contains("hello") || number % 2 == 0, "{}", answer.text());
                    }
                })
            })
            .collect();
        // The same code under another digest: a section more.
        let mut next = component("plugins/generatecontent");
        next.extend([0, 6, 4, b'n', b'e', b'x', b't', 1]);
        install(&scene, "next.wasm", &next).await;
        for caller in callers {
            caller.await.expect("no request is lost");
        }
        let requests = sandbox.gemini_record().requests;
        assert_eq!(requests.len(), 12 * 6);
        assert_eq!(scene.spent().await, billed(&requests));
        scene.gateway.expect_sound_ledger().await;
    });
}
