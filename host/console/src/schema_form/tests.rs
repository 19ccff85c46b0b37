//! Forms of schemas: every property has a control, and a value survives its form.

use gatehouse_schema::{Field, Kind, Reader};
use serde_json::{Map, Value, json};

use super::{Shown, fill, read, render};
use crate::form::Form;

fn fields(schema: &Value) -> Vec<Field> {
    match Reader::new(schema).kind(schema) {
        Kind::Object(fields) => fields,
        other => panic!("{other:?}"),
    }
}

/// One property of every kind that schemas have.
fn everything() -> Value {
    json!({
        "type": "object",
        "required": ["prompt", "mode", "messages"],
        "$defs": {
            "Deep": {"type": "object", "properties": {"deeper": {"$ref": "#/$defs/Deep"}, "n": {"type": "integer"}}},
            "Message": {"type": "object", "required": ["role", "content"], "properties": {
                "role": {"enum": ["system", "user", "assistant"]},
                "content": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "object"}}]},
                "name": {"type": "string"},
            }},
        },
        "properties": {
            "prompt": {"type": "string", "maxLength": 4000, "description": "What to <draw>."},
            "title": {"type": ["string", "null"], "examples": ["a", "b"]},
            "mode": {"enum": ["fast", "slow"]},
            "size": {"enum": [5, 10, null]},
            "raw": {"type": ["boolean", "null"]},
            "seed": {"type": "integer", "minimum": 0, "maximum": 18_446_744_073_709_551_615_u64},
            "scale": {"type": "number", "exclusiveMinimum": 0, "default": 1.5},
            "images": {"type": "array", "items": {"type": "string", "format": "uri"}, "maxItems": 4},
            "options": {"type": "object", "properties": {"a/b": {"type": "integer"}, "deep": {"$ref": "#/$defs/Deep"}}},
            "metadata": {"type": "object", "additionalProperties": {"type": "string"}},
            "stop": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]},
            "camera": {"oneOf": [
                {"type": "object", "required": ["type"], "properties": {"type": {"const": "simple"}, "zoom": {"type": "number"}}},
                {"type": "object", "required": ["type"], "properties": {"type": {"const": "path"}, "points": {"type": "array", "items": {"type": "object"}}}},
            ]},
            "messages": {"type": "array", "items": {"$ref": "#/$defs/Message"}},
            "tools": {"type": "array", "items": {"type": "object"}},
            "odd": {"allOf": [{"type": "string"}]},
            "anything": true,
        },
    })
}

#[test]
fn every_property_has_a_control() {
    let fields = fields(&everything());
    let form = Form::default();
    let page = render(&fields, &Shown { form: &form, problems: &[], more: "" }).into_string();
    for name in everything()["properties"].as_object().unwrap().keys() {
        assert!(page.contains(&format!("name=\"/{name}")), "{name} in {page}");
    }
    assert!(page.contains("What to &lt;draw&gt;.") && page.contains("0 to 18446744073709551615."), "{page}");
}

#[test]
fn a_value_survives_its_form() {
    let fields = fields(&everything());
    for value in [
        json!({}),
        json!({"prompt": "two\nlines", "mode": "slow", "size": 10, "raw": false, "title": "t"}),
        json!({"seed": 18_446_744_073_709_551_615_u64, "scale": 0.1}),
        json!({"seed": 9_007_199_254_740_993_u64, "scale": 2}),
        json!({"images": ["https://a/b", "data:x"], "metadata": {"a": "b", "c": "d"}}),
        json!({"options": {"a/b": 3, "deep": {"n": 1}}}),
        json!({"stop": "x"}),
        json!({"stop": ["x", "y"]}),
        json!({"stop": {"no": "form"}}),
        json!({"camera": {"type": "simple", "zoom": 1.5}}),
        json!({"camera": {"type": "path", "points": [{"x": 1}]}}),
        json!({"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "two\nlines"}]}),
        json!({"messages": [{"role": "user", "content": [{"type": "text", "text": "x"}]}]}),
        json!({"tools": [{"type": "function"}], "odd": "text", "anything": [1, null]}),
        json!({"prompt": "p", "unknown": {"kept": true}}),
        // A value of another type than the schema says is kept too: the plugin judges it.
        json!({"images": "one", "raw": "yes", "prompt": 7}),
    ] {
        let value: Map<String, Value> = value.as_object().unwrap().clone();
        let form = fill(&fields, &value);
        assert_eq!(read(&fields, &form), Ok(value.clone()), "{form:?}");
        // What is shown sends the same again.
        let page = render(&fields, &Shown { form: &form, problems: &[], more: "" }).into_string();
        for name in value.keys().filter(|name| *name != "unknown") {
            assert!(page.contains(&format!("name=\"/{name}")), "{name}");
        }
    }
}

#[test]
fn what_cannot_be_read_is_named() {
    let fields = fields(&everything());
    for (name, value, pointer) in [
        ("/seed", "1.5", "/seed"),
        ("/seed", "x", "/seed"),
        ("/scale", "1,5", "/scale"),
        ("/tools|json", "[", "/tools"),
        ("/options/a~1b", "x", "/options/a~1b"),
        ("|rest", "[]", "|rest"),
    ] {
        let mut form = Form::default();
        form.push(name, value.to_owned());
        let wrong = read(&fields, &form).unwrap_err();
        assert_eq!(wrong.len(), 1, "{name}");
        assert_eq!(wrong[0].0, pointer);
        let page = render(&fields, &Shown { form: &form, problems: &wrong, more: "" }).into_string();
        assert!(name == "|rest" || page.contains("expected"), "{name}: {page}");
    }
}

#[test]
fn a_list_gets_one_more_row() {
    let fields = fields(&everything());
    let mut form = Form::default();
    form.push("/images/0", "a".to_owned());
    form.push("/images/1", " ".to_owned());
    let page = |more: &str| render(&fields, &Shown { form: &form, problems: &[], more }).into_string();
    assert!(!page("").contains("name=\"/images/2\"") && page("/images").contains("name=\"/images/2\""));
    assert_eq!(read(&fields, &form).unwrap(), *json!({"images": ["a"]}).as_object().unwrap());
}
