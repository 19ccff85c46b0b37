//! The dialect as the host meets it, natively and as the component, against the shapes that Google's documentation and its
//! answers have.

mod answers;
mod errors;
mod requests;
mod streams;

use std::sync::LazyLock;

use gatehouse_play::{Both, Component};
use gatehouse_sdk::{
    Context, DialectPrepared, DialectRequest, Family, Refusal, TextFailure, UnixMs, Verdict,
};
use generatecontent::{DIALECT, GenerateContent};
use serde_json::{Value, json};

const UPSTREAM: &str = "gemini-2.5-flash";

static COMPONENT: LazyLock<Component> = LazyLock::new(|| crate::component("generatecontent"));

fn both() -> Both<'static> {
    Both::new(&COMPONENT, Context { seed: 0xabc, ..Context::at(UnixMs(1_790_000_000_500)) })
}

/// A Messages request with `fields` over it.
fn asked(fields: Value) -> DialectRequest {
    let good = json!({"model": UPSTREAM, "max_tokens": 100, "messages": [{"role": "user", "content": "hi"}]});
    let body = crate::over(good, fields);
    DialectRequest {
        streaming: body["stream"] == true,
        upstream: body["model"].as_str().expect("a name").to_owned(),
        body: body.to_string(),
        blobs: vec![],
        dialect: DIALECT.into(),
        model: "lm-flash".into(),
        provider: "google".into(),
        rules: json!({}),
        extra: gatehouse_sdk::Extra::new(),
    }
}

fn prepared(fields: Value) -> DialectPrepared<Vec<u8>> {
    both()
        .translate::<GenerateContent>(&asked(fields.clone()))
        .unwrap_or_else(|why| panic!("{fields}: {why:?}"))
}

/// What Google is sent.
fn sent(fields: Value) -> Value {
    prepared(fields).call.json_body()
}

fn refused(fields: Value) -> String {
    match both().translate::<GenerateContent>(&asked(fields)) {
        Err(Refusal::Invalid { field, message }) => {
            assert!(message.contains(field.as_deref().unwrap_or_default()), "{message}");
            field.unwrap_or_default()
        }
        other => panic!("{other:?}"),
    }
}

/// The Messages answer to a reply.
fn answer(fields: Value, status: u16, body: &str) -> Result<Value, TextFailure> {
    let reply = gatehouse_sdk::Reply::raw(status, body);
    let answer = both().read_answer::<GenerateContent>(&prepared(fields).state, &reply)?;
    Ok(serde_json::from_str(&answer).expect("JSON"))
}

#[test]
fn the_manifest_names_the_dialect_and_its_self_tests_hold() {
    let about = GenerateContent::about();
    assert_eq!(
        (about.family.as_str(), about.dialects.as_slice()),
        ("generatecontent", &[DIALECT.to_owned()][..])
    );
    assert!(about.surfaces.is_empty() && about.models.is_empty() && about.providers.is_empty());
    for test in about.self_tests {
        let request = DialectRequest { body: test.body.clone(), ..asked(json!({})) };
        let got = both().translate::<GenerateContent>(&request);
        assert_eq!(got.is_ok(), test.expect == Verdict::Accepted, "{}: {got:?}", test.body);
    }
}
