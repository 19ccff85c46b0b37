//! Routes that a manifest declares, with a text-to-speech family from outside of the gateway: a sound as the answer, a list of
//! voices, long texts as tasks, paid by the character.

use std::convert::Infallible;
use std::future::pending;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use gatehouse_harness::{Caller, Gateway, Response, component_file, run, serve_http, until, until_some};
use gatehouse_sandbox::Sandbox;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::Request;
use hyper::body::{Frame, Incoming};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::gateways::{sandbox, setup};

const SPEECH: &str = "/v1/audio/speech";
/// How the paths of the provider begin.
const PROVIDED: [&str; 3] = ["/v1/speak", "/v1/voices", "/v1/jobs"];
/// Where an operator allows the paths of the family.
const PATHS: &str = "[plugins]\npaths = [\"/v1/audio/*\", \"/v1/voices\"]\n\n";

/// First pieces of a sound that is more than sockets hold, and is kept all the same.
const LOUD: usize = 1000;

type Body = UnsyncBoxBody<Bytes, Infallible>;
/// What the provider was asked, by which account, in the order of its coming.
type Asked = Arc<Mutex<Vec<String>>>;

struct Scene {
    gateway: Gateway,
    _sandbox: Sandbox,
    caller: Caller,
    /// Each permit lets the provider send the rest of one sound.
    rest: Arc<Semaphore>,
    asked: Asked,
    file: String,
}

/// The first piece of a sound. Of each piece the end waits for the next, as long as a secret may be that began there.
fn beginning() -> Bytes {
    "the beginning ".repeat(500).into()
}

/// A second of silence.
fn wav() -> Vec<u8> {
    let mut bytes =
        b"RIFF\x24\x1f\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x40\x1f\0\0\x01\0\x08\0data\0\x1f\0\0"
            .to_vec();
    bytes.resize(44 + 0x1f00, 0x80);
    bytes
}

fn whole(status: u16, mime: &str, body: impl Into<Bytes>) -> hyper::Response<Body> {
    let body = Full::new(body.into()).boxed_unsync();
    hyper::Response::builder().status(status).header("content-type", mime).body(body).expect("a head")
}

/// What the provider knows.
struct Provider {
    rest: Arc<Semaphore>,
    asked: Asked,
    /// Whether the song that needs two accounts was asked for.
    was_asked: AtomicBool,
}

/// The provider: speaks in two pieces, the second once the test says so.
async fn provide(request: Request<Incoming>, provider: Arc<Provider>) -> hyper::Response<Body> {
    let (head, body) = request.into_parts();
    // A gateway of another test may still ask for what stood at this port before.
    if !PROVIDED.iter().any(|path| head.uri.path().starts_with(path)) {
        return whole(404, "application/json", "{}");
    }
    let number = {
        let mut asked = provider.asked.lock().expect("no other panic");
        asked.push(format!("{} {} by {:?}", head.method, head.uri, head.headers.get("authorization")));
        asked.len() - 1
    };
    let body = body.collect().await.expect("a body").to_bytes();
    let said: Value = serde_json::from_slice(&body).unwrap_or_default();
    let text = said["text"].as_str().unwrap_or_default().to_owned();
    match (head.method.as_str(), head.uri.path()) {
        ("POST", "/v1/speak") if text.starts_with("sing ") => {
            let sung: u64 = text.strip_prefix("sing ").and_then(|sung| sung.parse().ok()).unwrap_or_default();
            // The first account that is asked for this song is out of breath.
            if sung == 39 && !provider.was_asked.swap(true, Ordering::Relaxed) {
                return whole(503, "application/json", "{}");
            }
            whole(200, "application/json", json!({"characters": sung}).to_string())
        }
        ("POST", "/v1/speak") if text == "bad" => whole(400, "application/json", "{}"),
        ("POST", "/v1/speak") if text.starts_with("silent") => pending().await,
        ("POST", "/v1/speak") if text == "less" => whole(200, "application/json", r#"{"characters": 1}"#),
        ("POST", "/v1/speak") if text == "more" => whole(200, "application/json", r#"{"characters": 99}"#),
        ("POST", "/v1/speak") if text == "second" && number == 0 => whole(401, "application/json", "{}"),
        ("POST", "/v1/speak") if text == "broken" => whole(500, "application/json", "{}"),
        ("POST", "/v1/speak") => {
            let second = async move {
                provider.rest.acquire().await.expect("open").forget();
                Ok(Frame::data(Bytes::from_static(b"and the end")))
            };
            let pieces = if text == "loud" { LOUD } else { 1 };
            let first = stream::iter((0..pieces).map(|_| Ok(Frame::data(beginning()))));
            let body = StreamBody::new(first.chain(stream::once(second))).boxed_unsync();
            hyper::Response::builder().header("content-type", "audio/mpeg").body(body).expect("a head")
        }
        ("GET", path) if path.starts_with("/v1/voices/") => {
            whole(200, "application/json", json!({"voices": [path]}).to_string())
        }
        ("POST", "/v1/jobs") => whole(
            200,
            "application/json",
            json!({"id": if text == "endless" { "endless" } else { "short" }}).to_string(),
        ),
        ("GET", "/v1/jobs/endless") => whole(200, "application/json", json!({"id": "endless"}).to_string()),
        ("GET", _) => {
            let audio = BASE64_STANDARD.encode(wav());
            whole(200, "application/json", json!({"id": "done", "audio": audio}).to_string())
        }
        _ => whole(200, "application/json", "{}"),
    }
}

impl Scene {
    /// A gateway without the family, and the file to install it from.
    async fn start(more: &str) -> Self {
        let rest = Arc::new(Semaphore::new(0));
        let asked = Asked::default();
        let of_provider = Arc::new(Provider {
            rest: Arc::clone(&rest),
            asked: Arc::clone(&asked),
            was_asked: AtomicBool::new(false),
        });
        let address =
            serve_http(move |request: Request<Incoming>| provide(request, Arc::clone(&of_provider))).await;
        let sandbox = sandbox(Duration::from_millis(20)).await;
        let setup = setup(&sandbox)
            .with_provider("speaker", &format!("http://{address}"), "\"bearer\"", 10, &["main", "spare"])
            .with("[prices]\n\"voice-1\" = \"0.25\"\n\n")
            .with(more);
        let gateway = Gateway::start(setup).await;
        let caller = gateway.open_account("acme", "100").await;
        let file = component_file("tests/fixtures/speech");
        Self { gateway, _sandbox: sandbox, caller, rest, asked, file: file.display().to_string() }
    }

    /// The same with the family.
    async fn with_speech() -> Self {
        Self::with_speech_and("").await
    }

    /// The same with more configuration.
    async fn with_speech_and(more: &str) -> Self {
        let scene = Self::start(&format!("{PATHS}{more}")).await;
        scene.gateway.command(&["plugin", "install", &scene.file]).await;
        scene
    }

    /// Asks for a sound under an idempotency key.
    async fn speak(&self, key: &str, input: &str) -> Response {
        let headers = [("idempotency-key", key), ("prefer", "wait=1, respond-async")];
        self.caller.post_with(&headers, SPEECH, &json!({"input": input})).await
    }

    /// The same once the first answer is kept, a moment after it is paid.
    async fn speak_again(&self, key: &str, input: &str) -> Response {
        let known = async || Some(self.speak(key, input).await).filter(|answer| answer.status != 409);
        until_some("the answer is kept", known).await
    }

    /// How often the provider was asked.
    fn asked(&self) -> usize {
        self.asked.lock().expect("no other panic").len()
    }

    fn expect_asked(&self, times: usize) {
        let asked = self.asked.lock().expect("no other panic");
        assert_eq!(asked.len(), times, "{asked:#?}");
    }

    async fn spent(&self) -> Value {
        self.gateway.account_without_holds("acme").await["spent"].clone()
    }
}

/// Without it a family could only serve surfaces that the gateway had thought of.
#[test]
fn a_family_serves_a_path_once_its_operator_allows_it() {
    run(async {
        let scene = Scene::start("").await;
        let (_, text) = scene.gateway.refused(&["plugin", "install", &scene.file]).await;
        for part in ["POST /v1/audio/speech", "[plugins.families.speech]", "paths = [\"/v1/audio/speech\"]"] {
            assert!(text.contains(part), "{part} in {text}");
        }
        let unknown = scene.caller.post(SPEECH, &json!({"input": "a"})).await;
        assert_eq!((unknown.status, unknown.message()), (404, format!("unknown path {SPEECH:?}")));

        let allowed = PATHS.to_owned() + &scene.gateway.config();
        scene.gateway.reload(&allowed).await;
        scene.gateway.command(&["plugin", "install", &scene.file]).await;
        let document = scene.caller.get("/v1/openapi.json").await.json();
        let paths = &document["paths"];
        assert_eq!(paths[SPEECH]["post"]["tags"], json!(["Audio"]));
        assert_eq!(paths["/v1/voices"]["get"]["parameters"][0]["name"], "language");
        assert_eq!(paths["/v1/speech/books"]["post"]["summary"], "Read a book");
        let models = scene.caller.get("/v1/models/voice-1").await.json();
        assert_eq!((&models["modality"], &models["kind"]), (&json!("audio"), &json!("audio")));
        let priced = scene.caller.post(SPEECH, &json!({"input": "hello", "dry_run": true})).await.json();
        assert_eq!((&priced["sum"], &priced["charges"][0]["quantity"]), (&json!(1.25), &json!(5)));

        // Taken back and allowed again, with what else the family serves.
        scene.gateway.set_config(&allowed.replacen("\"/v1/audio/*\", ", "", 1));
        let told = scene.gateway.command(&["reload"]).await;
        assert!(told.contains("POST /v1/audio/speech"), "{told}");
        assert_eq!(scene.caller.post(SPEECH, &json!({"input": "a"})).await.status, 404, "taken back");
        assert_eq!(scene.caller.get("/v1/voices").await.status, 200);
        let document = scene.caller.get("/v1/openapi.json").await.json();
        assert!(document["paths"].get(SPEECH).is_none(), "documented though nobody serves it");
        scene.gateway.reload(&allowed).await;
        assert_eq!(scene.caller.post(SPEECH, &json!({"input": ""})).await.status, 400, "served again");

        scene.gateway.command(&["plugin", "disable", "speech"]).await;
        let off = scene.caller.post(SPEECH, &json!({"input": "a"})).await;
        assert_eq!(off.refusal("reason"), (503, json!("model_not_served")));
        scene.gateway.command(&["plugin", "uninstall", "speech"]).await;
        assert_eq!(scene.caller.post(SPEECH, &json!({"input": "a"})).await.status, 404);
    });
}

/// Without it a client would wait for the whole sound, or pay for what it did not get.
#[test]
fn a_sound_comes_as_it_is_spoken_and_is_paid_by_the_character() {
    run(async {
        let scene = Scene::with_speech().await;
        let spoken = json!({"model": "voice", "input": "good morning"});
        let mut client = scene.caller.begin(&[], SPEECH, &spoken).await;
        let head = client.read_head().await.expect("a head");
        assert_eq!((head.status, head.header("content-type")), (200, "audio/mpeg"));
        client.until("the beginning the beginning ").await;
        scene.rest.add_permits(1);
        let sound = client.read_until("and the end").await;
        assert_eq!(sound.len(), beginning().len() + "and the end".len(), "each byte once");
        assert_eq!(scene.spent().await, 3_000_000, "12 characters");

        for (input, status) in [("bad", 400), ("broken", 502), ("", 400)] {
            let refused = scene.caller.post(SPEECH, &json!({"input": input})).await;
            assert_eq!(refused.status, status, "{input}: {}", refused.text());
        }
        let dear = scene.caller.post(SPEECH, &json!({"input": "x".repeat(400)})).await;
        assert_eq!(dear.refusal("reason"), (402, json!("insufficient_balance")));
        let other = scene.gateway.make_key("acme", &["--unlimited", "--model", "ctx-pro"]).await;
        assert_eq!(other.post(SPEECH, &json!({"input": "a"})).await.status, 403);
        assert_eq!(scene.spent().await, 3_000_000, "what failed is free");

        // It leaves in the middle: the provider was asked, so it pays.
        let mut client = scene.caller.begin(&[], SPEECH, &json!({"input": "bye!"})).await;
        client.until("beginning ").await;
        drop(client);
        until("it is paid", async || scene.spent().await == 4_000_000).await;
        scene.gateway.expect_sound_ledger().await;
    });
}

/// Without it a song that is longer than its request says is sung at the operator's cost, or any song costs the longest.
#[test]
fn a_song_settles_up_to_the_limit_that_was_held() {
    run(async {
        let scene = Scene::with_speech().await;
        let priced = scene.caller.post(SPEECH, &json!({"input": "sing 1", "dry_run": true})).await.json();
        assert_eq!((&priced["sum"], &priced["at_most"]), (&json!(10), &json!(true)), "{priced}");
        assert_eq!(priced["charges"][0]["unit"], "character", "{priced}");
        let mut spent = 0;
        for (song, cost) in [(12, 3_000_000), (39, 9_750_000), (40, 10_000_000), (41, 10_000_000)] {
            let sung = scene.caller.post(SPEECH, &json!({"input": format!("sing {song}")})).await;
            assert_eq!((sung.status, sung.json()), (200, json!({"characters": song})));
            spent += cost;
            assert_eq!(scene.spent().await, spent, "{song} characters");
        }
        assert!(scene.gateway.log_text().contains("a plugin settles above what was held"));
        scene.gateway.expect_sound_ledger().await;
    });
}

/// Without it what a family offers could only be read from its documentation, and a long text could not be stopped.
#[test]
fn voices_are_read_for_free_and_long_texts_are_tasks() {
    run(async {
        let scene = Scene::with_speech().await;
        let voices = scene.caller.get("/v1/voices?language=de").await;
        assert_eq!((voices.status, voices.json()), (200, json!({"voices": ["/v1/voices/de"]})));
        assert_eq!(voices.header("cache-control"), "private, max-age=60");
        let wrong = scene.caller.get("/v1/voices?language=DE").await;
        assert_eq!((wrong.status, wrong.json()["error"]["param"].clone()), (400, json!("language")));
        assert_eq!(scene.caller.send("HEAD", "/v1/voices", &[], "").await.status, 200);

        let done = scene.caller.finish("/v1/speech/books", &json!({"input": "chapter one"})).await;
        assert_eq!((&done["status"], &done["cost"]), (&json!("completed"), &json!(2.75)));
        assert!(done["result"]["audio"][0]["url"][0].as_str().is_some_and(|url| url.contains("/v1/media/")));

        let endless = scene.caller.post("/v1/speech/books", &json!({"input": "endless"})).await.task_id();
        until("it is spoken", async || scene.caller.task(&endless).await["status"] == "processing").await;
        let path = format!("/v1/tasks/{endless}/cancel");
        let stopped = scene.caller.send("POST", &path, &[], "").await;
        assert!(matches!(stopped.status, 200 | 202), "{}", stopped.text());
        assert_eq!(scene.caller.end_of(&endless).await["status"], "failed");
        assert_eq!(scene.spent().await, 2_750_000, "what was stopped is free");
        scene.gateway.expect_sound_ledger().await;
    });
}

/// Without it a customer would pay for what was not spoken, or a provider's word would bill more than was held.
#[test]
fn an_answer_at_once_is_billed_by_what_its_family_settles() {
    run(async {
        let mut scene = Scene::with_speech().await;
        scene.rest.add_permits(1);
        let second = scene.caller.post(SPEECH, &json!({"input": "second"})).await;
        assert_eq!((second.status, scene.asked()), (200, 2), "another account");
        until("6 characters", async || scene.spent().await == 1_500_000).await;
        assert_eq!(scene.caller.post(SPEECH, &json!({"input": "less"})).await.json()["characters"], 1);
        assert_eq!(scene.spent().await, 1_750_000, "1 of 4");
        let other = scene.gateway.open_account("zeta", "2").await;
        assert_eq!(other.post(SPEECH, &json!({"input": "more"})).await.status, 200);
        assert_eq!(scene.gateway.account_without_holds("zeta").await["spent"], 1_000_000, "what was held");
        assert_eq!(scene.spent().await, 1_750_000, "another customer's");

        // Nobody settles it: the next start gives it back.
        let _client = scene.caller.begin(&[], SPEECH, &json!({"input": "silent night"})).await;
        until("it is asked", async || scene.asked() == 5).await;
        scene.gateway.crash().await;
        assert_eq!(scene.spent().await, 1_750_000);
        scene.gateway.expect_sound_ledger().await;
    });
}

/// Without it a provider that is silent would keep a client's money, or one that never ends would be had for nothing.
#[test]
fn an_answer_at_once_ends_with_its_time() {
    run(async {
        let scene = Scene::with_speech_and("[text]\ntime_limit_s = 1\nstream_s = 1\n\n").await;
        let silent = scene.caller.post(SPEECH, &json!({"input": "silent"})).await;
        assert_eq!(silent.json()["error"]["reason"], "upstream_timeout", "{}", silent.text());
        assert_eq!(scene.spent().await, 0, "nothing was said");
        // On a slow machine a sound may not even begin in its time, which is free.
        let is_cut = async || scene.caller.try_post(SPEECH, &json!({"input": "ever"})).await.is_err();
        until("a sound without an end is cut", is_cut).await;
        assert_eq!(scene.spent().await, 1_000_000, "it was spoken up to there");
        scene.gateway.expect_sound_ledger().await;
    });
}

/// Without it a client whose connection broke would pay for its sound twice.
#[test]
fn a_repeated_request_is_answered_with_the_first_sound() {
    run(async {
        let scene = Scene::with_speech().await;
        let sound = beginning().len() + "and the end".len();
        let headers = [("idempotency-key", "k1")];
        let mut client = scene.caller.begin(&headers, SPEECH, &json!({"input": "bye!"})).await;
        client.until("beginning ").await;
        let early = scene.speak("k1", "bye!").await;
        assert_eq!(early.refusal("param"), (409, json!("Idempotency-Key")));
        assert_eq!(scene.speak("k1", "hello").await.status, 422, "another request");

        // It leaves in the middle: the sound is made to its end, for the client that comes again.
        drop(client);
        scene.rest.add_permits(1);
        until("it is paid", async || scene.spent().await == 1_000_000).await;
        let again = scene.speak_again("k1", "bye!").await;
        assert_eq!(
            (again.status, again.header("content-type"), again.text().len()),
            (200, "audio/mpeg", sound)
        );
        assert_eq!(again.header("idempotency-replayed"), "true");
        scene.expect_asked(1);

        // One that is not passed is kept too; one that failed is not.
        for (input, replayed) in [("less", "true"), ("bad", "")] {
            let (first, second) = (scene.speak(input, input).await, scene.speak(input, input).await);
            assert_eq!((first.status, first.text()), (second.status, second.text()), "{input}");
            assert_eq!(
                (first.header("idempotency-replayed"), second.header("idempotency-replayed")),
                ("", replayed)
            );
        }
        scene.expect_asked(4);
        let other = scene.gateway.make_key("acme", &["--unlimited"]).await;
        scene.rest.add_permits(1);
        let own = other.post_with(&headers, SPEECH, &json!({"input": "bye!"})).await;
        assert_eq!((own.status, own.header("idempotency-replayed")), (200, ""), "a key's own");
        assert_eq!(scene.spent().await, 2_250_000);
        scene.gateway.expect_sound_ledger().await;
    });
}

/// Without it a client that stops reading and never closes loses the sound that it paid for.
#[test]
fn an_answer_is_kept_although_its_client_does_not_read_it() {
    run(async {
        let scene = Scene::with_speech().await;
        let sound = LOUD * beginning().len() + "and the end".len();
        let headers = [("idempotency-key", "k2")];
        let mut client = scene.caller.begin(&headers, SPEECH, &json!({"input": "loud"})).await;
        client.until("beginning ").await;
        scene.rest.add_permits(1);
        until("it is paid", async || scene.spent().await == 1_000_000).await;
        let again = scene.speak_again("k2", "loud").await;
        assert_eq!((again.status, again.text().len()), (200, sound));
        assert_eq!(again.header("idempotency-replayed"), "true");
        let late = client.read().await.expect("the whole answer");
        assert_eq!((late.status, late.text().len()), (200, sound), "it may still read it");
        scene.expect_asked(1);
        scene.gateway.expect_sound_ledger().await;
    });
}
