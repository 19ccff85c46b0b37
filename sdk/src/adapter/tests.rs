//! The exports, called as the host calls them: every field is converted. The families' scripts test the half for
//! jobs; this file tests the rest.

use jobs::Guest as _;
use manifest::Guest as _;
use serde_json::{Value, json};
use text::{Guest as _, GuestRelay as _};

use super::*;
use crate::bindings::gatehouse::family::parents;
use crate::{
    About, Accepted, Answered, Call, Charge, Chunk, Context, Ending, Event, Extra, Failure, Model, Obstacle,
    Outcome, Prepared, Product, Refusal, Reply, Route, Sse, Step, Submission, Surface, TextFailure,
    TextRequest, Usage, Verdict, View,
};

struct Parrot;

impl Family for Parrot {
    fn about() -> About {
        About::new("parrot", "1.0.0")
            .model(Model::new("parrot-1").alias("polly").serves("chat"))
            .surface(Surface::new::<Vec<String>>("chat").default_model("parrot-1"))
            .provider("cage")
            .price_key("parrot-1")
            .self_test("chat", json!({}), Verdict::Refused)
    }
}

impl Text for Parrot {
    type State = Vec<String>;
    type Relay = Echo;

    fn prepare(cx: &Context, request: TextRequest) -> Result<Prepared<Vec<String>>, Refusal> {
        if cx.settings["mute"] == true {
            return Err(Refusal::Forbidden("mute".into()));
        }
        let body: Value = serde_json::from_str(&request.body).unwrap();
        let word = body["word"].as_str().ok_or_else(|| Refusal::invalid("word", "expected a string"))?;
        let beta = request.header("anthropic-beta").unwrap_or("none").to_owned();
        let Route { model, upstream, provider, protocol, rules, .. } = request.route;
        Ok(Prepared {
            call: Call::post(provider, "/say").written(request.body.clone()).header("x-a", "b").token(),
            streaming: true,
            input_bytes: 3,
            pictures: u32::try_from(request.blobs.len()).unwrap(),
            max_output_tokens: 9,
            state: vec![word.to_owned(), model, upstream, format!("{protocol:?}"), rules.to_string(), beta],
            extra: Extra::new(),
        })
    }

    fn answer(_: &Context, state: Vec<String>, reply: Reply) -> Result<Answered, TextFailure> {
        match reply.status {
            200 => {
                let usage = Usage { input: 1, output: 2, cached: 3, cache_write: 4, cache_write_hour: 1 };
                let body = json!({"said": state, "reply": reply.text()}).to_string();
                Ok(Answered {
                    body,
                    usage: Some(usage),
                    counters: Vec::new(),
                    output_bytes: 6,
                    extra: Extra::new(),
                })
            }
            _ => Err(TextFailure::new(Obstacle::RateLimited, "rude")),
        }
    }

    fn relay(_: &Context, state: Vec<String>) -> Echo {
        Echo(state)
    }
}

/// Collects all events and sends them at the end.
struct Echo(Vec<String>);

impl Relay for Echo {
    fn push(&mut self, events: Vec<Sse>) -> Result<Chunk, TextFailure> {
        self.0.extend(events.iter().map(|event| event.data.clone()));
        Ok(Chunk { send: events, output_bytes: 1, ..Chunk::default() })
    }

    fn end(&mut self) -> Result<Chunk, TextFailure> {
        let all = Sse { event: None, data: self.0.join(" ") };
        Ok(Chunk { send: vec![all], usage: Some(Usage::default()), last: true, ..Chunk::default() })
    }
}

fn cx(settings: &str) -> types::Context {
    types::Context {
        now: 1_000,
        seed: 7,
        task_id: String::new(),
        accepted_at: 1_000,
        deadline: 9_000,
        customer: "c7".into(),
        settings: settings.into(),
        extra: String::new(),
    }
}

type Exports = Adapter<Parrot>;

#[test]
fn exports_the_whole_manifest() {
    let about: Value = serde_json::from_str(&Exports::describe()).unwrap();
    assert_eq!((&about["family"], &about["version"]), (&json!("parrot"), &json!("1.0.0")));
    assert_eq!(about["models"][0]["aliases"], json!(["polly"]));
    assert_eq!(about["surfaces"][0]["default_model"], "parrot-1");
    assert_eq!(about["surfaces"][0]["schema"]["type"], "array");
    assert_eq!(about["state_version"], 1);
    assert_eq!(about["self_tests"][0]["expect"], "refused");
}

fn text_request(body: &str) -> text::TextRequest {
    text::TextRequest {
        surface: "chat.completions".into(),
        body: body.into(),
        headers: vec![upstream::Header { name: "anthropic-beta".into(), value: "b1".into() }],
        blobs: vec![],
        route: text::Route {
            model: "parrot-1".into(),
            upstream: "p".into(),
            provider: "cage".into(),
            protocol: "chat".into(),
            rules: "{\"a\":1}".into(),
            extra: String::new(),
        },
        extra: String::new(),
    }
}

#[test]
fn converts_a_text_request() {
    let body = "{\"word\":  \"hello\", \"n\": 1.0}";
    let prepared = Exports::prepare(cx(""), text_request(body)).unwrap();
    assert_eq!((prepared.input_bytes, prepared.pictures, prepared.max_output_tokens), (3, 0, 9));
    let state: Vec<String> = serde_json::from_slice(&prepared.state).unwrap();
    assert_eq!(state, ["hello", "parrot-1", "p", "Chat", "{\"a\":1}", "b1"]);
    assert!(prepared.streaming);
    assert!(matches!(prepared.call.replay, upstream::Replay::Token));
    assert_eq!((prepared.call.provider.as_str(), prepared.call.timeout_ms), ("cage", 60_000));
    assert_eq!(prepared.call.headers[0].name, "x-a");
    assert!(matches!(&prepared.call.body, upstream::Payload::Json(sent) if sent == body));
}

#[test]
fn converts_refusals() {
    let open = |settings: &str, body: &str| Exports::prepare(cx(settings), text_request(body)).unwrap_err();
    let types::Refusal::Invalid(problems) = open("", "{}") else { panic!("expected a bad field") };
    let types::Problem { field, message } = problems.into_iter().next().unwrap();
    assert_eq!((field.as_deref(), message.as_str()), (Some("word"), "`word`: expected a string"));
    assert!(matches!(open("{\"mute\": true}", "{}"), types::Refusal::Forbidden(why) if why == "mute"));
}

#[test]
fn converts_answers() {
    let reply = |status: u16| Reply {
        status,
        headers: vec![],
        body: upstream::Bytes::Inline(b"squawk".to_vec()),
        affinity: "a".into(),
        extra: String::new(),
    };
    let answered = Exports::answer(cx(""), b"[\"a\"]".to_vec(), reply(200)).unwrap();
    let body: Value = serde_json::from_str(&answered.body).unwrap();
    assert_eq!(body, json!({"said": ["a"], "reply": "squawk"}));
    let usage = answered.usage.unwrap();
    let counters = [("input", 1), ("output", 2), ("cached", 3), ("cache-write", 3), ("cache-write-1h", 1)];
    assert_eq!(usage, counters.map(|(name, count)| (name.to_owned(), count)));
    assert_eq!(answered.output_bytes, 6);
    let rejection = Exports::answer(cx(""), b"[]".to_vec(), reply(400)).unwrap_err();
    assert!(matches!(rejection.obstacle, Obstacle::RateLimited) && rejection.message == "rude");
}

#[test]
fn a_stream_keeps_its_state() {
    let event = |data: &str| Sse { event: Some("delta".into()), data: data.into() };
    let stream = Stream::<Parrot>::new(cx(""), b"[\"a\"]".to_vec());
    let chunk = stream.push(vec![event("b"), event("c")]).unwrap();
    assert_eq!((chunk.send[1].event.as_deref(), chunk.send[1].data.as_str()), (Some("delta"), "c"));
    assert_eq!((chunk.output_bytes, chunk.last, chunk.usage.is_none()), (1, false, true));
    let end = stream.end().unwrap();
    assert_eq!(end.send[0].data, "a b c");
    assert!(end.last && end.usage.is_some());
}

struct Heir;

impl Family for Heir {
    fn about() -> About {
        About::new("heir", "1.0.0")
    }
}

/// Returns what came in.
impl Jobs for Heir {
    type State = Value;

    fn submit(_: &Context, request: Submission) -> Result<Accepted<Value>, Refusal> {
        let parent = request.parent().ok_or_else(|| Refusal::NotFound("no parent".into()))?;
        let name = request.owned("asset://1").ok_or_else(|| Refusal::NotFound("no name".into()))?;
        let kept = json!({"task": parent.task, "model": parent.model, "family": parent.family,
            "status": parent.status, "public": parent.public, "private": parent.private,
            "media": parent.media, "affinity": parent.affinity, "joining": parent.joining, "name": name.private, "blobs": request.blobs});
        Ok(Accepted::new("heir", Charge::keys(["heir"]), kept).brief("long"))
    }

    fn advance(cx: &Context, state: Value, event: Event) -> Step<Value> {
        let outcome = Outcome::new(json!({"event": event.name()}))
            .product("https://e.com/a", Some("image/png"))
            .with(Product::new("https://e.com/b").tile(1, 0, 2, 2))
            .claim("asset://2", json!({"a": 1}), Some("acct".into()))
            .settle(Charge::keys(["heir"]).times(2));
        match event {
            Event::Joined(_) => {
                Step::fail(state, Ending { public: Some(json!([])), ..Failure::request("no").into() })
            }
            Event::Timer => Step::wait(state, cx.now).view(View {
                products: vec![Product::new("https://e.com/c").clip(5, Some(9))],
                extra: Extra::from_iter([("later".to_owned(), json!(1))]),
                ..View::new(json!("media:0"), json!(1))
            }),
            _ => Step::done(state, outcome).progress(250),
        }
    }
}

#[test]
fn converts_parents_facts_and_outcomes() {
    let facts = types::Facts {
        kind: types::MediaKind::Video,
        mime: "video/mp4".into(),
        bytes: 9,
        width: Some(1),
        height: Some(2),
        milliseconds: Some(3),
        fps_milli: Some(4),
        has_audio: Some(true),
        has_alpha: None,
        blob: Some("blob:1".into()),
    };
    let request = jobs::Submission {
        surface: "videos.remix".into(),
        model: jobs::ModelName { id: "heir".into(), alias: None },
        body: "{}".into(),
        parents: vec![parents::Parent {
            task_id: "task_1".into(),
            family: "f".into(),
            model: "m".into(),
            status: parents::Status::Processing,
            public: "{\"a\":1}".into(),
            private: String::new(),
            media: vec![],
            affinity: Some("acct".into()),
            joining: vec![b"waits".to_vec()],
        }],
        owned: vec![parents::Owned { name: "asset://1".into(), private: "7".into(), affinity: None }],
        blobs: vec![facts],
        extra: String::new(),
    };
    let accepted = Adapter::<Heir>::submit(cx(""), request).unwrap();
    let kept: Value = serde_json::from_slice(&accepted.state).unwrap();
    let blob = json!({"kind": "Video", "mime": "video/mp4", "bytes": 9, "width": 1, "height": 2,
        "milliseconds": 3, "fps_milli": 4, "has_audio": true, "has_alpha": null, "blob": "blob:1"});
    let expected = json!({"task": "task_1", "model": "m", "family": "f", "status": "Processing",
        "public": {"a": 1}, "private": {}, "media": [], "affinity": "acct", "joining": [b"waits"], "name": 7, "blobs": [blob]});
    assert_eq!((kept, accepted.brief.as_slice()), (expected, b"long".as_slice()));

    let lost = Event::Lost(("https://e.com/a".into(), "gone".into()));
    let step = Adapter::<Heir>::advance(cx(""), b"0".to_vec(), lost);
    assert_eq!(step.progress, 100);
    let jobs::Action::Done(outcome) = step.next else { panic!("expected the end") };
    assert_eq!((outcome.public.as_str(), outcome.private.as_str()), ("{\"event\":\"lost\"}", "null"));
    assert_eq!(
        (outcome.claims[0].name.as_str(), outcome.claims[0].private.as_str()),
        ("asset://2", "{\"a\":1}")
    );
    let tile = r#"{"tile":{"column":1,"row":0,"columns":2,"rows":2}}"#;
    assert_eq!(outcome.products[1].edit.as_deref(), Some(tile));
    assert_eq!(outcome.settle.map(|charge| charge[0].quantity), Some(2));
    assert_eq!(outcome.extra, "");
    assert_eq!(outcome.products[0].mime.as_deref(), Some("image/png"));
}

#[test]
fn converts_views_and_bad_ends() {
    let advance = |event| Adapter::<Heir>::advance(cx(""), b"0".to_vec(), event);
    let view = advance(Event::Timer).view.unwrap();
    assert_eq!((view.public.as_str(), view.private.as_str()), ("\"media:0\"", "1"));
    assert_eq!(view.products[0].edit.as_deref(), Some(r#"{"clip":{"from":5,"to":9}}"#));
    assert_eq!(view.extra, r#"{"later":1}"#);
    let jobs::Action::Fail(ending) = advance(Event::Joined(vec![])).next else {
        panic!("expected a bad end")
    };
    assert_eq!(
        (ending.failure.message.as_str(), ending.public.as_deref(), ending.private),
        ("no", Some("[]"), None)
    );
}
