//! Forms of schemas, there and back. Without them a limit of a key changes by being looked at, or a wrong word makes a key that
//! never expires.

use gatehouse_model::UnixMs;
use serde_json::{Value, json};

use super::fields::{Controls, Hint, given};
use crate::form::Form;
use crate::parts::elements::Problems;

const NOW: UnixMs = UnixMs(1000);

fn document() -> Value {
    let number = json!({"type": ["integer", "null"]});
    let limits =
        json!({"type": "object", "properties": {"concurrency": number, "requests_per_minute": number}});
    let schema = json!({"type": "object", "required": ["customer"], "properties": {
        "customer": {"type": "string"},
        "name": {"type": "string"},
        "quota_micro": {"type": ["integer", "null"]},
        "overlap_ms": {"type": ["integer", "null"]},
        "expires": {"anyOf": [{"type": "string", "format": "date-time"}, {"type": "null"}]},
        "models": {"type": "array", "items": {"type": "string"}},
        "events": {"type": "array", "items": {"enum": ["a", "b"]}},
        "format": {"enum": ["wrapped", "bare"]},
        "enabled": {"type": "boolean"},
        "limits": {"$ref": "#/limits"},
        "model_limits": {"type": "object", "additionalProperties": {"$ref": "#/limits"}},
    }});
    let body = json!({"requestBody": {"content": {"application/json": {"schema": schema}}}});
    json!({"limits": limits, "paths": {"/keys": {"post": body}}})
}

fn controls() -> Controls {
    let hints = [Hint::of("name", "Called", "")];
    Controls::of(&document(), "post", "/keys", &hints).unwrap()
}

fn read(form: &str) -> (Value, String) {
    let mut problems = Problems::default();
    let value = controls().read(&Form::parse(form.as_bytes()), NOW, &mut problems);
    (value, problems.summary().into_string())
}

#[test]
fn an_object_survives_its_form() {
    let null = json!({"concurrency": null, "requests_per_minute": null});
    for object in [
        json!({
            "customer": "c", "name": "", "quota_micro": null, "overlap_ms": null, "expires": null, "models": null, "events": [],
            "format": null, "enabled": false, "limits": null, "model_limits": null,
        }),
        json!({
            "customer": "c", "name": "n", "quota_micro": 2_500_000, "overlap_ms": 86_400_000, "expires": "1970-01-02T00:00:01.000Z",
            "models": ["x", "y"], "events": ["b"], "format": "bare", "enabled": true,
            "limits": {"concurrency": 3, "requests_per_minute": null},
            "model_limits": {"x": {"concurrency": null, "requests_per_minute": 1}},
        }),
    ] {
        let mut problems = Problems::default();
        let read = controls().read(&controls().fill(&object), NOW, &mut problems);
        let mut expected = object.clone();
        if expected["limits"].is_null() {
            expected["limits"] = null.clone();
        }
        assert!(problems.is_empty());
        assert_eq!(read, expected);
    }
}

#[test]
fn labels_and_order_come_from_the_schema_unless_a_hint_has_others() {
    let labels: Vec<String> = controls().0.into_iter().map(|control| control.label).collect();
    assert_eq!(labels[0], "Called");
    for label in ["Quota, credits", "Requests per minute", "Concurrency", "Model limits"] {
        assert!(labels.iter().any(|found| found == label), "{label} in {labels:?}");
    }
}

#[test]
fn what_cannot_be_read_is_named_at_its_field() {
    for (form, field) in [
        ("", "customer"),
        ("customer=c&quota=1e3", "quota"),
        ("customer=c&concurrency=none", "concurrency"),
        ("customer=c&expires=2020-01-01", "expires"),
        ("customer=c&expires=1y", "expires"),
        ("customer=c&overlap=2y", "overlap"),
        ("customer=c&format=json", "format"),
        ("customer=c&model_limits=x+requests", "model_limits"),
        ("customer=c&model_limits=x", "model_limits"),
    ] {
        let (_, problems) = read(form);
        assert!(problems.contains(&format!("href=\"#f-{field}\"")), "{form}: {problems}");
    }
}

#[test]
fn times_from_now_and_first_letters_are_enough() {
    let (value, problems) =
        read("customer=c&expires=24h&overlap=0&model_limits=x+requests%3D5+concurrency%3D2%0Ay+conc%3D1");
    assert!(problems.is_empty(), "{problems}");
    assert_eq!(value["expires"], "1970-01-02T00:00:01.000Z");
    assert_eq!(value["overlap_ms"], 0);
    assert_eq!(value["model_limits"]["x"], json!({"requests_per_minute": 5, "concurrency": 2}));
    assert_eq!(value["model_limits"]["y"], json!({"requests_per_minute": null, "concurrency": 1}));
    assert_eq!(read("customer=c&expires=never").0["expires"], Value::Null);
}

#[test]
fn a_patch_takes_away_what_the_form_no_longer_names() {
    let before = json!({"model_limits": {"x": {"concurrency": 1}, "y": {"concurrency": 2}}});
    let (mut patch, _) = read("customer=c&model_limits=y+conc%3D3");
    controls().take_away(&before, &mut patch);
    assert_eq!(
        patch["model_limits"],
        json!({"x": null, "y": {"requests_per_minute": null, "concurrency": 3}})
    );
    assert_eq!(given(patch)["model_limits"], json!({"y": {"concurrency": 3}}));
}

#[test]
fn a_refusal_stands_at_its_field() {
    for (param, message, other, expected) in [
        ("networks[0]", "networks[0]: no", "", "networks[0]: no"),
        ("models[0]", "models[0]: no", "", "#f-models"),
        ("limits.concurrency", "limits.concurrency: no", "", "#f-concurrency"),
        ("quota_micro", "quota_micro: no", "", "#f-quota"),
        ("", "no customer x", "customer", "#f-customer"),
    ] {
        let mut problems = Problems::default();
        controls().refuse(param, message, other, &mut problems);
        let text = problems.summary().into_string();
        assert!(text.contains(expected), "{param}: {text}");
    }
}
