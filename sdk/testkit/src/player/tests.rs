//! The kit itself: it runs a good script, and reports what is wrong with a bad one.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use gatehouse_sdk::{
    About, Accepted, Action, Answered, Blame, Call, Charge, Chunk, Context, Direct, DirectRequest, Event,
    Exchange, Extra, Failure, Family, HttpRoute, Jobs, Model, Obstacle, Outcome, Plan, Prepared, Probe,
    Refusal, Relay, Reply, Response, Sse, Stage, Step, Submission, Surface, Text, TextFailure, TextRequest,
    UnixMs, Usage,
};
use serde_json::{Value, json};

use crate::direct::NativeDirect;
use crate::machine::{Native, NativeText};

use crate::{Script, picture};

/// Does what its request asks for.
struct Puppet;

impl Family for Puppet {
    const STATE_VERSION: u32 = 2;
    const READS_STATE: &'static [u32] = &[1];

    fn about() -> About {
        About::new("puppet", "0.1.0")
            .model(Model::new("puppet-1").serves("images.generate"))
            .surface(Surface::new::<Value>("images.generate"))
            .provider("strings")
            .price_key("puppet-1")
    }
}

static CALLS: AtomicU64 = AtomicU64::new(0);

impl Jobs for Puppet {
    type State = String;

    fn submit(_: &Context, request: Submission) -> Result<Accepted<String>, Refusal> {
        let charge = Charge::keys(["puppet-1"]);
        match request.body["act"].as_str() {
            None => Err(Refusal::invalid("act", "expected a string")),
            Some("doomed") => Ok(Accepted::doomed("puppet-1", charge, Failure::request("no"))),
            Some("stranger") => Ok(Accepted::new("puppet-2", charge, String::new())),
            Some("random") => {
                Ok(Accepted::new("puppet-1", charge, CALLS.fetch_add(1, Ordering::Relaxed).to_string()))
            }
            Some("huge") => Ok(Accepted::new("puppet-1", charge, "h".repeat(70_000))),
            Some(act) => Ok(Accepted::new("puppet-1", charge, act.to_owned())),
        }
    }

    fn advance(cx: &Context, act: String, event: Event) -> Step<String> {
        match (act.as_str(), event) {
            ("call", Event::Start(_)) => Step::call(act, Call::get("strings", "/pull")),
            ("call", Event::Reply(_)) => Step::wait(act, cx.now.plus(Duration::from_secs(5))).progress(10),
            ("call", Event::Timer) => {
                let outcome = Outcome::new(json!({"at": cx.now.0, "url": "media:0"}));
                Step::done(act, outcome.product("https://e.com/a", None))
            }
            ("call", Event::Lost(_)) => Step::fail(act, Failure::upstream("lost")),
            ("probe", Event::Start(_)) => Step::probe(act, vec![Probe::look("https://e.com/a")]),
            ("foreign", Event::Start(_)) => Step::call(act, Call::get("other", "/pull")),
            ("header", Event::Start(_)) => {
                Step::call(act, Call::get("strings", "/pull").header("X-Key", "k"))
            }
            ("slashless", Event::Start(_)) => Step::call(act, Call::get("strings", "pull")),
            ("past", Event::Start(_)) => Step::wait(act, UnixMs(0)),
            ("empty", Event::Start(_)) => Step::done(act, Outcome::new(json!(["media:0"]))),
            ("patient", Event::Start(_)) => Step::wait(act, cx.now.plus(Duration::from_secs(5))),
            ("patient", Event::Joined(_)) => Step::wait("dear".to_owned(), cx.now),
            ("dear", Event::Start(_) | Event::Timer) => {
                let settle = Charge::keys(["puppet-1"]).times(2);
                Step::done(act, Outcome::new(json!({})).settle(settle))
            }
            _ => Step::new(act, Action::Fail(Failure::request("the end").into())),
        }
    }

    fn migrate(_: u32, state: &[u8]) -> Result<String, String> {
        let state: Value = serde_json::from_slice(state).map_err(|error| error.to_string())?;
        state["act"].as_str().map(str::to_owned).ok_or_else(|| "no act".to_owned())
    }
}

fn submitted(act: impl Into<Value>) -> Script {
    Script::new().submit("images.generate", json!({"act": act.into()}))
}

fn started(act: &str) -> Script {
    submitted(act).expect_accepted(|_| ()).start()
}

#[test]
fn runs_a_good_script() {
    let start = UnixMs(1_000_000);
    submitted("call")
        .at(start)
        .expect_accepted(|accepted| assert_eq!(accepted.stage, Stage::Submitted))
        .later(Duration::from_secs(1))
        .start()
        .expect_call(|call| assert_eq!(call.provider, "strings"))
        .reply(200, json!({}))
        .expect_wait(|wait| assert_eq!(*wait, Duration::from_secs(5)))
        .expect_progress(10)
        .timer()
        .expect_done(move |outcome| {
            assert_eq!(outcome.public["at"], start.plus(Duration::from_secs(6)).0);
        })
        .lost("gone")
        .expect_fail(Blame::Upstream, "lost")
        .run_native::<Puppet>();
    submitted("doomed").expect_doomed("no").run_native::<Puppet>();
    submitted(Value::Null).expect_refused("act", "`act`: expected a string").run_native::<Puppet>();
}

#[test]
fn reports_line_and_reason_of_a_bad_script() {
    let table: Vec<(Script, &str)> = vec![
        (submitted("call"), "no line expects it"),
        (submitted("call").expect_doomed("no"), "`expect_doomed`"),
        (submitted("doomed").expect_accepted(|_| ()), "came: accepted as \"puppet-1\", doomed: Some"),
        (submitted("doomed").expect_doomed("yes"), "expected message: \"yes\"\n  came: \"no\""),
        (
            submitted(Value::Null).expect_refused("b", ""),
            "expected field: Some(\"b\")\n  came: Some(\"act\")",
        ),
        (submitted("call").start(), "has not been expected by any line"),
        (submitted("call").expect_accepted(|_| ()).reply(200, json!({})), "`reply`"),
        (submitted("doomed").expect_doomed("no").start(), "unexpected here"),
        (started("call").expect_wait(|_| ()), "expected: expect_wait\n  came: Call("),
        (started("call").expect_call(|_| ()).timer(), "unexpected here"),
        (started("call").expect_call(|call| assert_eq!(call.method, "PUT")), "line 4 of the script"),
        (started("call").expect_call(|_| ()).expect_progress(5), "expected progress: 5\n  came: 0"),
        (started("call").expect_call(|_| ()).expect_stage(Stage::Pending), "expected stage: Stage::Pending"),
        (started("probe").expect_probe(|_| ()).probed([]), "unexpected here"),
        (started("end").expect_fail(Blame::Upstream, "the end"), "expected blame: Blame::Upstream"),
        (submitted("random"), "answered in two ways"),
        (submitted("stranger"), "\"puppet-2\" is not in the manifest"),
        (submitted("huge"), "a state of 70002 bytes"),
        (started("foreign"), "the provider \"other\" is not in the manifest"),
        (started("header"), "the header \"X-Key\" is the host's"),
        (started("slashless"), "the URL \"pull\" is not http or https"),
        (started("past"), "a wait ends before now"),
        (started("empty"), "\"media:0\" in the result, but there are 0 products"),
        (started("dear"), "settle.quantity: expected at most 1, which was charged for [\"puppet-1\"], got 2"),
        (
            Script::new().submit("images.create", json!({})),
            "expected a surface of the manifest (\"images.generate\"), got \"images.create\"",
        ),
    ];
    for (number, (script, expected)) in table.into_iter().enumerate() {
        let panic = catch_unwind(AssertUnwindSafe(|| script.run_native::<Puppet>()))
            .expect_err(&format!("script {number} should fail with {expected:?}"));
        let message = panic.downcast_ref::<String>().cloned().unwrap_or_default();
        assert!(message.contains(expected), "script {number}: {message}");
    }
}

/// What a joining request was charged is not in the script, so nothing is said about what the task settles then.
#[test]
fn a_task_that_was_joined_may_settle_more_than_its_own_charge() {
    started("patient")
        .expect_wait(|_| ())
        .joined("brief")
        .expect_wait(|_| ())
        .timer()
        .expect_done(|outcome| {
            assert_eq!(outcome.settle.as_ref().map(|settle| settle.lines[0].quantity), Some(2));
        })
        .run_native::<Puppet>();
}

#[test]
fn matches_findings_to_probes() {
    started("probe")
        .expect_probe(|probes| assert_eq!(probes.len(), 1))
        .probed([Ok(picture(4, 3, "blob:1"))])
        .expect_fail(Blame::Request, "the end")
        .run_native::<Puppet>();
}

/// A text family: repeats what it hears, and fails when it is told to.
struct Parrot;

impl Family for Parrot {
    fn about() -> About {
        About::new("parrot", "0.1.0").surface(Surface::new::<Value>("chat.completions"))
    }
}

impl Text for Parrot {
    type State = String;
    type Relay = Echo;

    fn prepare(_: &Context, request: TextRequest) -> Result<Prepared<String>, Refusal> {
        let body: Value = serde_json::from_str(&request.body).unwrap();
        let word =
            body["word"].as_str().ok_or_else(|| Refusal::invalid("word", "expected a string"))?.to_owned();
        let call = Call::post(request.route.provider, "/say").written(request.body);
        Ok(Prepared {
            call,
            streaming: true,
            input_bytes: 4,
            pictures: 0,
            max_output_tokens: 9,
            state: word,
            extra: Extra::new(),
        })
    }

    fn answer(_: &Context, word: String, reply: Reply) -> Result<Answered, TextFailure> {
        match reply.status {
            200 => Ok(Answered {
                body: json!({"word": word}).to_string(),
                output_bytes: 4,
                ..Answered::default()
            }),
            _ => Err(TextFailure::new(Obstacle::RateLimited, "later")),
        }
    }

    fn relay(_: &Context, word: String) -> Echo {
        Echo { word, heard: 0 }
    }
}

struct Echo {
    word: String,
    heard: usize,
}

impl Relay for Echo {
    fn push(&mut self, events: Vec<Sse>) -> Result<Chunk, TextFailure> {
        self.heard += events.len();
        if self.word == "random" {
            self.heard = usize::try_from(CALLS.fetch_add(1, Ordering::Relaxed)).unwrap();
        }
        if events.iter().any(|event| event.data == "break") {
            return Err(TextFailure::upstream("broken"));
        }
        let data = json!({"heard": self.heard}).to_string();
        Ok(Chunk { send: vec![Sse { event: Some(self.word.clone()), data }], ..Chunk::default() })
    }

    fn end(&mut self) -> Result<Chunk, TextFailure> {
        let usage = Some(Usage { output: 3, ..Usage::default() });
        Ok(Chunk {
            send: vec![Sse { event: None, data: "[DONE]".to_owned() }],
            usage,
            last: true,
            ..Chunk::default()
        })
    }
}

const SAYS: &str = r#"
    {"text": {"surface": "chat.completions", "body": {"model": "m", "word": "hi"},
              "route": {"provider": "cage", "protocol": "chat"}}}
    {"expect": {"prepared": {"streaming": true, "state": "hi", "call": {"provider": "cage", "json": {"word": "hi"}}}}}
"#;

fn parrot(lines: &str) -> Result<(), String> {
    Script::parse(lines, "s.play".as_ref())?.play(&NativeText::<Parrot>::NEW)
}

fn assert_played(lines: &str, came: &Result<(), String>, problem: Option<&str>) {
    match (came, problem) {
        (Ok(()), None) => {}
        (Err(came), Some(problem)) => assert!(came.contains(problem), "{lines}: {came}"),
        (came, _) => panic!("{lines}: {came:?}"),
    }
}

#[test]
fn plays_a_text_family() {
    let events = r#"{"events": [{"data": {"a": 1}}, {"event": "x", "data": "b"}]}
        {"expect": {"chunk": {"send": [{"event": "hi", "data": {"heard": 2}}], "usage": null, "last": false}}}"#;
    let more = events.replace("\"heard\": 2", "\"heard\": 4");
    let end = r#""end" {"expect": {"chunk": {"send": [{"data": "[DONE]"}], "usage": {"output": 3}, "last": true}}}"#;
    let whole = r#"{"answer": {"status": 200, "json": {}}}
        {"expect": {"answered": {"body": {"word": "hi"}, "usage": null, "output_bytes": 4}}}
        {"answer": {"status": 429, "json": {}}}
        {"expect": {"failed": {"obstacle": "rate-limited", "message": "later"}}}"#;
    let refused = r#"{"text": {"surface": "chat.completions", "body": {"model": "m"},
                      "route": {"provider": "cage", "protocol": "chat"}}}
        {"expect": {"refused": {"field": "word"}}}"#;
    let breaks = r#"{"events": [{"data": "break"}]} {"expect": {"failed": {"obstacle": "upstream"}}}"#;
    for (lines, problem) in [
        (format!("{SAYS}{events}{more}{end}{SAYS}{whole}{refused}"), None),
        (format!("{SAYS}{breaks}"), None),
        (format!("{SAYS}{breaks}{events}"), Some("unexpected here: the stream has ended")),
        (format!("{SAYS}{end}{end}"), Some("unexpected here: the stream has ended")),
        (format!("{SAYS}{more}"), Some("chunk.send[0].data.heard: expected 4\n  came: 2")),
        (format!("{SAYS}{refused}{events}"), Some("no request has been prepared")),
        (end.to_owned(), Some("no request has been prepared")),
        (whole.to_owned(), Some("no request has been prepared")),
        (SAYS.replace("\"state\": \"hi\"", "\"state\": \"ho\""), Some("prepared.state: expected \"ho\"")),
        (SAYS.lines().take(3).collect::<Vec<_>>().join("\n"), Some("no line expects it")),
        (format!("{SAYS}{events}").replace("hi", "random"), Some("answered in two ways")),
        (
            r#"{"submit": {"surface": "chat.completions", "body": {}}}"#.to_owned(),
            Some("the interface \"jobs\" is not played here"),
        ),
        (SAYS.replace("chat.completions", "chat.complete"), Some("expected a surface of the manifest")),
    ] {
        assert_played(&lines, &parrot(&lines), problem);
    }
    Script::parse(SAYS, "s.play".as_ref()).unwrap().run_native_text::<Parrot>();
}

#[test]
fn plays_migrations_of_a_live_task() {
    let puppet = |lines: &str| Script::parse(lines, "s.play".as_ref())?.play(&Native::<Puppet>::new());
    let migrate = r#"{"migrate": {"from": 1, "json": {"act": "call"}}}
        {"expect": {"migrated": {"state": "call"}}}"#;
    let goes_on =
        r#"{"reply": {"status": 200, "json": {}}} {"expect": {"wait": {"ms": 5000}, "state": "call"}}"#;
    let foreign = migrate.replace("{\"act\": \"call\"}", "7");
    for (lines, problem) in [
        (format!("{migrate}{goes_on}"), None),
        (foreign.replace("{\"migrated\": {\"state\": \"call\"}}", "{\"unreadable\": \"no act\"}"), None),
        (foreign, Some("migrated: expected {\"state\":\"call\"}\n  came: nothing")),
        (migrate.replace("\"from\": 1", "\"from\": 3"), Some("states of version 3 are not read")),
        (format!("{migrate}\"start\""), Some("unexpected here: a migrated task was started")),
        (format!("{migrate}{{\"lost\": \"x\"}}"), Some("unexpected here")),
        (
            r#"{"merge": {"key": "k", "items": []}}"#.to_owned(),
            Some("the interface \"bulk\" is not played here"),
        ),
    ] {
        assert_played(&lines, &puppet(&lines), problem);
    }
}

/// Answers at once, as its request asks for.
struct Cockatoo;

impl Family for Cockatoo {
    fn about() -> About {
        About::new("cockatoo", "0.1.0")
            .model(Model::new("cockatoo-1").serves("audio.speech"))
            .surface(Surface::new::<Value>("audio.speech"))
            .surface(Surface::new::<Value>("voices.list"))
            .route(HttpRoute::answer("/v1/audio/speech", "audio.speech"))
            .route(HttpRoute::read("/v1/voices", "voices.list"))
            .provider("bird")
            .price_key("cockatoo-1")
    }
}

impl Direct for Cockatoo {
    type State = String;

    fn prepare(_: &Context, request: DirectRequest) -> Result<Plan<String>, Refusal> {
        let act = request.body["act"].as_str().ok_or_else(|| Refusal::invalid("act", "expected a string"))?;
        let call = Call::post("bird", "/say").json(&json!({})).once();
        let exchange = Exchange::new(call, act.to_owned()).passes("audio/*");
        Ok(match act {
            "list" => Plan::Respond(Response::json(&json!(["polly"])).fresh_for(60)),
            "forever" => Plan::Respond(Response::json(&json!([])).fresh_for(86_401)),
            "free" => Plan::Call(exchange),
            "special" => {
                Plan::Call(Exchange { call: exchange.call.clone().without_credentials(), ..exchange })
            }
            "typeless" => Plan::Call(exchange.passes("sound")),
            _ => Plan::Call(exchange.charge(Charge::keys(["cockatoo-1"]).times(2))),
        })
    }

    fn answer(_: &Context, act: String, reply: Reply) -> Result<Response, Failure> {
        let response = Response::json(&json!({"said": reply.status}));
        let settle = |units| response.clone().settle(Charge::keys(["cockatoo-1"]).times(units));
        match (act.as_str(), reply.is_success()) {
            ("less" | "free", true) => Ok(settle(1)),
            ("more", true) => Ok(settle(3)),
            ("glad", _) | (_, true) => Ok(response),
            (_, false) => Err(Failure::upstream("it is silent")),
        }
    }
}

/// Without it an author would see only in a running gateway what the host makes of an answer at once.
#[test]
fn answers_at_once_play_as_the_host_serves_them() {
    let ask = |surface: &str, act: &str, rest: &str| {
        format!(
            r#"{{"direct": {{"surface": "{surface}", "model": "cockatoo-1", "body": {{"act": "{act}"}}}}}} {rest}"#
        )
    };
    let speak = |act: &str, rest: &str| {
        ask("audio.speech", act, &format!(r#"{{"expect": {{"planned": {{"passes": ["audio/*"]}}}}}} {rest}"#))
    };
    let json = r#"{"answer": {"status": 200, "json": {}}}"#;
    let sound = r#"{"answer": {"status": 200, "text": "aa", "headers": {"Content-Type": "audio/wav"}}}"#;
    let error = r#"{"answer": {"status": 500, "headers": {"content-type": "audio/wav"}}}"#;
    let rows = [
        (speak("say", &format!(r#"{sound} {{"expect": {{"passed": {{"mime": "audio/wav"}}}}}}"#)), ""),
        (
            speak(
                "less",
                &format!(r#"{json} {{"expect": {{"responded": {{"settle": {{"quantity": 1}}}}}}}}"#),
            ),
            "",
        ),
        (speak("say", &format!(r#"{error} {{"expect": {{"fail": {{"blame": "upstream"}}}}}}"#)), ""),
        (ask("voices.list", "list", r#"{"expect": {"responded": {"body": ["polly"], "fresh_s": 60}}}"#), ""),
        (speak("more", json), "settle.quantity: expected at most 2"),
        (speak("free", json), "settle: expected none, for nothing was charged"),
        (speak("glad", error), "expected a failure for an answer with the status 500"),
        (ask("audio.speech", "forever", ""), "fresh_s: expected at most 86400 seconds, got 86401"),
        (ask("audio.speech", "special", ""), "expected a plain call"),
        (ask("audio.speech", "typeless", ""), "expected a type such as audio/mpeg, got \"sound\""),
        (ask("voices.list", "say", ""), "a charge on a surface that reads"),
        (ask("voices.list", "free", ""), "expected a safe call on a surface that reads"),
        (ask("audio.song", "say", ""), "expected a surface of the manifest"),
        (json.to_owned(), "unexpected here: no request has been prepared"),
        (speak("say", "\"end\""), "unexpected here: no request has been prepared"),
    ];
    for (text, expected) in rows {
        let script = Script::parse(&text, "s.play".as_ref()).unwrap();
        let played = script.play(&NativeDirect::<Cockatoo>::new()).err().unwrap_or_default();
        let fits = if expected.is_empty() { played.is_empty() } else { played.contains(expected) };
        assert!(fits, "{text}: {played}");
    }
}
