//! Components that are made for another host than this one: the fixture as it was built when the contract had its third draft,
//! kept as a binary, and the same made for later versions of the contract.
//!
//! The binary is `tests/fixtures/puppet` with the interfaces `manifest`, `jobs`, `views` and `bulk`. A change of the contract that
//! it does not survive refuses every component that operators have: then the change is wrong, not the binary.

use std::sync::{Arc, OnceLock};

use crate::tests::common::{self, context, open, reply, step_context, unpacked};
use crate::{PluginService, Version};
use gatehouse_model::{Action, Event, ModelName, Refusal, Submission};
use serde_json::{Value, json};

fn frozen() -> &'static [u8] {
    static READ: OnceLock<Vec<u8>> = OnceLock::new();
    READ.get_or_init(|| unpacked(include_bytes!("../../../../tests/frozen/jobs-views-bulk.wasm.gz")))
}

/// The same component, made for another version of the contract.
fn made_for(version: &str) -> Vec<u8> {
    let (from, to) = (b"@1.0.0", format!("@{version}"));
    assert_eq!(from.len(), to.len());
    let mut wasm = frozen().to_vec();
    let starts: Vec<usize> = memchr::memmem::find_iter(&wasm, b"gatehouse:family/").collect();
    for start in starts {
        let name = &mut wasm[start..];
        let end = name.iter().position(|byte| *byte == b'@').expect("a version follows");
        assert_eq!(&name[end..end + from.len()], from);
        name[end..end + from.len()].copy_from_slice(to.as_bytes());
    }
    wasm
}

fn request(script: &Value) -> Submission {
    Submission {
        model: ModelName { id: "puppet-1".to_owned(), alias: Some("puppet".to_owned()) },
        body: json!({"model": "puppet", "script": script}).to_string().into(),
        ..common::request("")
    }
}

/// Everything the component can say, and some of what it is told.
async fn plays(service: &PluginService, version: &Arc<Version>) {
    let call =
        json!({"call": {"path": "/a", "headers": [["x-a", "b"]], "json": {"c": 1}, "extra": {"later": 1}}});
    let product = json!({"source": "https://e.com/a.png", "tile": [0, 1, 2, 2], "extra": {"later": 1}});
    let done = json!({"done": {"public": ["media:0"], "products": [product], "settle": {"quantity": 2, "unit": "picture"}}});
    let script =
        json!({"submit": {"quantity": 3, "extra": {"later": {"x": 1}}}, "steps": [call, {"wait": 5}, done]});
    let accepted = service.submit(version, context(version), request(&script)).await.unwrap().unwrap();
    assert_eq!((accepted.model.as_str(), accepted.charge.0[0].quantity), ("puppet-1", 3));

    let mut state = accepted.state;
    let mut actions = Vec::new();
    for event in [Event::Start(accepted.brief), Event::Reply(reply("fine")), Event::Timer] {
        let step = service.advance(version, step_context(version), state, event).await.unwrap();
        state = step.state;
        actions.push(step.next);
    }
    let [Action::Call(call), Action::Wait(_), Action::Done(end)] = actions.as_slice() else {
        panic!("{actions:?}")
    };
    assert_eq!((call.provider.as_str(), call.headers[0].value.as_str()), ("trap", "b"));
    assert!(end.products[0].edit.is_some());
    assert_eq!(end.settle.as_ref().map(|settle| settle.0[0].quantity), Some(2));

    let refused = json!({"submit": {"refuse": "no", "refuse-too": ["never"], "field": "prompt"}});
    let refusal = service.submit(version, context(version), request(&refused)).await.unwrap();
    let field = Some("prompt".to_owned());
    assert_eq!(refusal, Err(Refusal::Invalid { field, message: "no; never".to_owned() }));

    let items = || ["7".to_owned()].into();
    let merged = service.merge(version, context(version), "poll".to_owned(), items()).await.unwrap();
    assert_eq!(merged.provider, "trap");
}

#[tokio::test]
async fn a_component_of_the_third_draft_serves() {
    let dir = tempfile::tempdir().unwrap();
    let service = open(dir.path());
    service.install(frozen()).unwrap();
    plays(&service, &service.registry().family("puppet").unwrap()).await;
}

/// Without it each release of the contract would refuse every component of the one before, or of the one after.
#[tokio::test]
async fn a_component_of_another_first_version_of_the_contract_serves() {
    for made_for in ["1.0.1", "1.1.0", "1.9.9"].map(made_for) {
        let dir = tempfile::tempdir().unwrap();
        let service = open(dir.path());
        service.install(&made_for).unwrap();
        plays(&service, &service.registry().family("puppet").unwrap()).await;
    }
    let dir = tempfile::tempdir().unwrap();
    let refused = open(dir.path()).install(&made_for("2.0.0")).unwrap_err().to_string();
    assert!(
        refused.contains("it is made for gatehouse:family 2.0.0, this gateway speaks 1.0.0"),
        "{refused}"
    );
}
