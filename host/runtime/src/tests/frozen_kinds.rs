//! Frozen components of the other interfaces, and of other languages than Rust (`tests/frozen/README.md`): each is loaded
//! with its self-tests and played. In tests this host says more in every record than they know (`abi_v1/types.rs`), and offers one more
//! interface (`stages/verifier.rs`), as a later one may.

use gatehouse_model::{
    Action, Charge, Context, DialectRequest, DirectPlan, DirectRequest, Event, Framing, Json, Line,
    ModelName, Protocol, Sse, Submission, TaskId, TextRequest, TextRoute, Usage,
};
use serde_json::json;

use crate::tests::common::{self, reply, unpacked};
use crate::{ComponentRunner, Half, Limits};

fn load(packed: &[u8]) -> ComponentRunner {
    loaded(&unpacked(packed))
}

fn loaded(wasm: &[u8]) -> ComponentRunner {
    ComponentRunner::load(wasm, Limits::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn context(runner: &ComponentRunner, task: Option<TaskId>) -> Context {
    common::context_of(runner.settings(), task)
}

fn route(protocol: Protocol) -> TextRoute {
    TextRoute { model: "m".into(), upstream: "u".into(), provider: "p".into(), protocol, rules: "{}".into() }
}

fn sse(data: &str) -> Sse {
    Sse { event: None, data: data.to_owned() }
}

/// Without it a change of `direct` or of charges refuses every family of sounds.
#[test]
fn an_answer_at_once_of_this_draft() {
    let runner = load(include_bytes!("../../../../tests/frozen/direct.wasm.gz"));
    let request = DirectRequest {
        surface: "audio.speech".to_owned(),
        model: "voice-1".to_owned(),
        body: json!({"input": "sing 12"}).to_string().into(),
        blobs: vec![],
    };
    let plan = runner.plan(context(&runner, None), request).unwrap().unwrap();
    let DirectPlan::Call(exchange) = plan else { panic!("a call") };
    let line =
        |quantity| Charge(vec![Line { keys: vec!["voice-1".into()], quantity, unit: "character".into() }]);
    assert_eq!((exchange.charge, exchange.at_most), (Some(line(7)), line(40)));
    let answer = runner.respond(context(&runner, None), exchange.state, reply(r#"{"sung": 12}"#));
    let response = answer.unwrap().unwrap();
    assert_eq!((response.mime.as_str(), response.settle), ("application/json", Some(line(12))));
}

/// Without it a change of `text` or of counters refuses every family of texts.
#[test]
fn a_text_of_this_draft() {
    let runner = load(include_bytes!("../../../../tests/frozen/text.wasm.gz"));
    let ask = |stream| {
        let body = json!({"model": "m", "messages": [], "stream": stream}).to_string().into();
        let (surface, headers, blobs) = ("chat.completions".to_owned(), vec![], vec![]);
        let request = TextRequest { surface, body, headers, blobs, route: route(Protocol::Chat) };
        runner.prepare(context(&runner, None), request).unwrap().unwrap()
    };
    let told = reply(r#"{"counters": {"input": 5, "input-audio": 3, "searches": 1}}"#);
    let answered = runner.answer(context(&runner, None), ask(false).state, told).unwrap().unwrap();
    assert_eq!(answered.usage, Some(Usage { input: 8, ..Usage::default() }));
    assert_eq!(answered.counters, [("input-audio".to_owned(), 3), ("searches".to_owned(), 1)]);
    let prepared = ask(true);
    assert!(prepared.streaming);
    let batches = vec![vec![sse("{}")], vec![sse("[DONE]")]];
    let chunks = runner.relay(Half::Text, context(&runner, None), prepared.state, batches).unwrap();
    assert!(chunks[1].as_ref().is_ok_and(|chunk| chunk.last && chunk.send == [sse("[DONE]")]), "{chunks:?}");
}

/// Without it a change of `dialect` refuses every provider that a dialect serves.
#[test]
fn a_dialect_of_this_draft() {
    let runner = load(include_bytes!("../../../../tests/frozen/dialect.wasm.gz"));
    let body: Json =
        json!({"model": "u", "max_tokens": 9, "messages": [{"role": "user", "content": "hello"}]})
            .to_string()
            .into();
    let ask = |streaming| {
        let (body, route) = (body.clone(), route(Protocol::Dialect("brook".into())));
        let request = DialectRequest { body, streaming, blobs: vec![], route };
        runner.translate(context(&runner, None), request).unwrap().unwrap()
    };
    let whole = reply("{\"piece\":\"hi\"}\n{\"done\":true,\"read\":7,\"wrote\":2}");
    let read = runner.read_answer(context(&runner, None), ask(false).state, whole).unwrap().unwrap();
    assert!(read.contains(r#""text":"hi""#), "{read:?}");
    let prepared = ask(true);
    assert_eq!(prepared.framing, Framing::Lines);
    let batches = vec![vec![sse(r#"{"piece":"hi"}"#)]];
    let chunks = runner.relay(Half::Dialect, context(&runner, None), prepared.state, batches).unwrap();
    assert!(chunks[0].as_ref().is_ok_and(|chunk| chunk.send.len() == 3), "{chunks:?}");
}

/// Without it a change that Rust's bindings forgive refuses what other languages made.
#[test]
fn a_job_in_javascript_of_this_draft() {
    plays_a_sketch(&load(include_bytes!("../../../../tests/frozen/javascript.wasm.gz")));
}

/// As that in JavaScript; and an interpreter of 18 MB, compiled code of many modules, stays within the limits of a component.
#[test]
fn a_job_in_python_of_this_draft() {
    let packed = include_bytes!("../../../../tests/frozen/python.wasm.zst");
    plays_a_sketch(&loaded(&zstd::decode_all(packed.as_slice()).expect("zstd")));
}

/// The job of the templates, from its request to its picture.
fn plays_a_sketch(runner: &ComponentRunner) {
    let submission = Submission {
        model: ModelName { id: "sketch-1".to_owned(), alias: None },
        body: json!({"model": "sketch-1", "prompt": "a kite"}).to_string().into(),
        ..common::request("")
    };
    let accepted = runner.submit(context(runner, None), submission).unwrap().unwrap();
    assert_eq!((accepted.charge.0[0].unit.as_str(), accepted.at_most), ("picture", Charge::default()));
    let task = Some(common::task_id());
    let (mut state, mut actions) = (accepted.state, Vec::new());
    let done = reply(r#"{"state": "done", "image": "https://e.com/a.png"}"#);
    for event in [
        Event::Start(accepted.brief),
        Event::Reply(reply(r#"{"id": "7"}"#)),
        Event::Timer,
        Event::Reply(done),
    ] {
        let step = runner.advance(context(runner, task), state, event).unwrap();
        state = step.state;
        actions.push(step.next);
    }
    let [Action::Call(_), Action::Wait(_), Action::Call(_), Action::Done(end)] = actions.as_slice() else {
        panic!("{actions:?}")
    };
    assert_eq!(end.products[0].source, "https://e.com/a.png");
}
