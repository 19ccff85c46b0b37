//! Forms of schemas: every property has a control, and a value survives its form.

use gatehouse_schema::{Field, Reader};
use serde_json::{Map, Value, json};

use super::{Shown, fill, read, render};
use crate::form::Form;

pub(super) fn fields(schema: &Value) -> Vec<Field> {
    Reader::new(schema).fields(schema)
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
            "Shot": {"type": "object", "required": ["type", "image_url", "role"], "properties": {
                "type": {"const": "shot"},
                "image_url": {"type": "string"},
                "role": {"enum": ["first", "last"]},
                "weight": {"type": ["number", "null"]},
                "tags": {"type": "array", "items": {"type": "string"}},
                "area": {"type": "object", "properties": {"x": {"type": "integer"}, "more": {"type": "object"}}},
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
            "shots": {"type": "array", "items": {"$ref": "#/$defs/Shot"}},
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
        json!({"shots": [{"type": "shot", "image_url": "https://a/b", "role": "last", "weight": 0.5, "tags": ["a", "b"]},
            {"type": "shot", "image_url": "x", "area": {"x": 1, "more": {"y": 2}}}]}),
        // What rows do not hold is JSON.
        json!({"shots": [{"image_url": "x"}]}),
        json!({"shots": [{"type": "shot"}]}),
        json!({"shots": [{"type": "shot", "image_url": 7}, {"type": "shot", "image_url": "x"}]}),
        json!({"shots": [{"type": "shot", "image_url": "x", "weight": null, "other": 1}, "x"]}),
        json!({"tools": [{"type": "function"}], "odd": "text", "anything": [1, null]}),
        json!({"prompt": "p", "unknown": {"kept": true}}),
        // A value of another type than the schema says is kept too: the plugin judges it.
        json!({"images": "one", "raw": "yes", "prompt": 7}),
        json!({"images": [7, "https://a/b", null, {"no": "text"}, "data:x"]}),
        json!({"metadata": {"a": 7, "b": "c", "d": [1]}}),
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

#[test]
fn objects_in_a_list_are_rows_with_files() {
    let fields = fields(&everything());
    let mut form = Form::default();
    for (name, value) in [
        ("/shots/0/type", "\"shot\""),
        ("/shots/0/image_url", " "),
        ("/shots/1/type", "\"shot\""),
        ("/shots/1/image_url", "a"),
        ("/shots/1/role", "\"last\""),
        ("/shots/1/weight", "heavy"),
    ] {
        form.push(name, value.to_owned());
    }
    let wrong = read(&fields, &form).unwrap_err();
    assert_eq!(wrong.len(), 1);
    let page = |problems: &[(String, String)], more| {
        render(&fields, &Shown { form: &form, problems, more }).into_string()
    };
    // What is wrong stands at its field, once.
    let shown = page(&wrong, "");
    assert!(
        shown.contains("id=\"f-shots-1-weight-problem\"") && shown.matches("expected a number").count() == 1,
        "{shown}"
    );
    let of_list =
        [("/shots".to_owned(), "too many".to_owned()), ("/shots/7/role".to_owned(), "not there".to_owned())];
    assert!(page(&of_list, "").contains("too many; not there"));
    for at in 0..2 {
        let file = format!("type=\"file\" name=\"/shots/{at}/image_url|file\" accept=\"image/*\"");
        assert!(shown.contains(&file), "{file}: {shown}");
    }
    assert!(!shown.contains("name=\"/shots/2/image_url\""));
    assert!(page(&[], "/shots").contains("name=\"/shots/2/image_url\""));
    // A row without a value is none.
    form.set("/shots/1/weight", String::new());
    let body = read(&fields, &form).unwrap();
    assert_eq!(Value::Object(body), json!({"shots": [{"type": "shot", "image_url": "a", "role": "last"}]}));
}
