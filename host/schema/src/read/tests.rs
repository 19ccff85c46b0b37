//! Schemas as `schemars` writes them, and what people read of them.

use serde_json::json;

use super::*;

fn fields(schema: &Value) -> Vec<Field> {
    Reader::new(schema).fields(schema)
}

fn text() -> Kind {
    Kind::Text { length: Limits::default(), pattern: None, format: None }
}

fn values(kind: &Kind) -> Vec<Value> {
    match kind {
        Kind::Choice(choices) => choices.iter().map(|choice| choice.value.clone()).collect(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn fields_are_ordered_for_people() {
    let schema = json!({"type": "object", "required": ["seconds", "prompt"], "properties": {
        "audio": {"type": "boolean"}, "model": {"type": "string"}, "prompt": {"type": "string"},
        "seconds": {"type": "integer"}, "zoom": {"type": "number", "x-order": 2}, "first": {"x-order": 1},
    }});
    let found: Vec<(String, bool)> =
        fields(&schema).into_iter().map(|field| (field.name, field.required)).collect();
    let expected = [
        ("first", false),
        ("zoom", false),
        ("model", false),
        ("prompt", true),
        ("seconds", true),
        ("audio", false),
    ];
    assert_eq!(found, expected.map(|(name, required)| (name.to_owned(), required)));
}

#[test]
fn optional_fields_are_nullable_in_each_form() {
    let schema = json!({
        "$defs": {"Size": {"description": "A ratio.", "enum": ["1:1", "16:9"], "default": "1:1"}},
        "type": "object",
        "properties": {
            "a": {"type": ["string", "null"], "description": "Text.", "default": null},
            "b": {"anyOf": [{"$ref": "#/$defs/Size"}, {"type": "null"}], "description": "Wider."},
            "c": {"anyOf": [{"$ref": "#/$defs/Size"}, {"type": "null"}]},
            "d": {"$ref": "#/$defs/Size", "description": "Own."},
            "e": {"type": ["integer", "null"], "enum": [5, 10, null]},
        },
    });
    let found = fields(&schema);
    assert_eq!(
        (found[0].nullable, &found[0].kind, found[0].help.as_deref(), &found[0].default),
        (true, &text(), Some("Text."), &None)
    );
    assert_eq!((found[1].nullable, found[1].help.as_deref()), (true, Some("Wider.")));
    assert_eq!(values(&found[1].kind), [json!("1:1"), json!("16:9")]);
    assert_eq!((found[2].help.as_deref(), &found[2].default), (Some("A ratio."), &Some(json!("1:1"))));
    assert_eq!((found[3].nullable, found[3].help.as_deref()), (false, Some("Own.")));
    assert_eq!((found[4].nullable, values(&found[4].kind)), (true, vec![json!(5), json!(10)]));
}

#[test]
fn limits_are_exact() {
    let schema = json!({"properties": {
        "a": {"type": "integer", "format": "int64", "minimum": -1, "maximum": 9_223_372_036_854_775_807_i64},
        "b": {"type": "number", "exclusiveMinimum": 0.0, "maximum": 2, "multipleOf": 0.5},
        "c": {"type": "string", "minLength": 1, "maxLength": 64, "pattern": "\\S", "format": "uri"},
        "d": {"type": "array", "items": {"type": "string"}, "minItems": 2, "maxItems": 4, "uniqueItems": true},
    }});
    let kinds: Vec<Kind> = fields(&schema).into_iter().map(|field| field.kind).collect();
    assert_eq!(
        kinds,
        [
            Kind::Number {
                integer: true,
                range: Limits { min: Some((-1).into()), max: Some(i64::MAX.into()) },
                exclusive: (false, false),
                multiple_of: None,
            },
            Kind::Number {
                integer: false,
                range: Limits { min: Number::from_f64(0.0), max: Some(2.into()) },
                exclusive: (true, false),
                multiple_of: Number::from_f64(0.5),
            },
            Kind::Text {
                length: Limits { min: Some(1), max: Some(64) },
                pattern: Some("\\S".to_owned()),
                format: Some("uri".to_owned()),
            },
            Kind::List {
                item: Box::new(text()),
                length: Limits { min: Some(2), max: Some(4) },
                unique: true
            },
        ]
    );
}

#[test]
fn forms_have_the_name_of_their_tag() {
    let schema = json!({
        "$defs": {"Two": {"type": "object", "title": "Two", "properties": {"b": {"type": "boolean"}}}},
        "properties": {
            "tagged": {"oneOf": [
                {"type": "object", "properties": {"type": {"const": "auto"}}, "required": ["type"]},
                {"type": "object", "properties": {"type": {"const": "tool"}, "name": {"type": "string"}}},
            ]},
            "untagged": {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/Two"}]},
            "words": {"oneOf": [{"const": "a", "description": "The first."}, {"enum": ["b", "c"]}]},
        },
    });
    let found = fields(&schema);
    let names = |kind: &Kind| match kind {
        Kind::Variants(variants) => variants.iter().map(|one| one.name.clone()).collect::<Vec<_>>(),
        other => panic!("{other:?}"),
    };
    assert_eq!(names(&found[0].kind), ["auto", "tool"]);
    assert_eq!(names(&found[1].kind), ["string", "Two"]);
    let Kind::Choice(words) = &found[2].kind else { panic!("{:?}", found[2]) };
    assert_eq!(words[0], Choice { value: json!("a"), help: Some("The first.".to_owned()) });
    assert_eq!(values(&found[2].kind), [json!("a"), json!("b"), json!("c")]);
}

#[test]
fn a_form_has_what_stands_beside_it() {
    // An enum tagged by `model` of two structs, as schemars writes it.
    let schema = json!({
        "$defs": {"Old": {"type": "object", "properties": {"seed": {"type": "integer"}}, "required": ["seed"]}},
        "oneOf": [{
            "$ref": "#/$defs/Old", "type": "object",
            "properties": {"model": {"const": "m-1"}}, "required": ["model"],
        }],
        "properties": {"prompt": {"type": "string"}}, "required": ["prompt"],
    });
    let Kind::Variants(forms) = Reader::new(&schema).kind(&schema) else { panic!("{schema}") };
    let Kind::Object(fields) = &forms[0].kind else { panic!("{forms:?}") };
    let names: Vec<&str> = fields.iter().map(|field| field.name.as_str()).collect();
    assert_eq!((forms[0].name.as_str(), names), ("m-1", vec!["model", "prompt", "seed"]));
    assert!(fields.iter().all(|field| field.required), "{fields:?}");
}

#[test]
fn what_no_form_can_say_is_json_and_never_left_out() {
    let schema = json!({"$defs": {"Tree": {"type": "object", "properties": {"left": {"$ref": "#/$defs/Tree"}}}},
    "properties": {
        "a": {}, "b": true, "c": {"type": "object"}, "d": {"not": {"type": "string"}},
        "e": {"allOf": [{"type": "string"}]}, "f": {"$ref": "#/$defs/Missing"},
        "g": {"type": "object", "additionalProperties": {"type": "string"}},
        "h": {"type": ["string", "integer"]}, "i": {"$ref": "#/$defs/Tree"},
        "hidden": {"readOnly": true},
    }});
    let found = fields(&schema);
    assert_eq!(found.len(), 9);
    for field in found.iter().filter(|field| !["g", "i"].contains(&field.name.as_str())) {
        assert_eq!(field.kind, Kind::Json, "{}", field.name);
    }
    assert_eq!(found[6].kind, Kind::Map(Box::new(text())));
    assert!(matches!(found[8].kind, Kind::Object(_)), "a schema inside of itself ends");
}

/// Without it the manifest of a plugin takes the memory of the process that looks at it: 16 definitions of 64 fields come to
/// 64^16 of them.
#[test]
fn definitions_that_name_each_other_often_come_to_an_end() {
    fn count(kind: &Kind) -> usize {
        match kind {
            Kind::Object(fields) => fields.iter().map(|field| 1 + count(&field.kind)).sum(),
            Kind::Variants(forms) => forms.iter().map(|form| 1 + count(&form.kind)).sum(),
            _ => 0,
        }
    }
    let next = |number: usize| json!({"$ref": format!("#/$defs/d{}", number + 1)});
    let of_fields = |number| {
        let fields = (0..64).map(|field| (format!("f{field}"), next(number)));
        json!({"type": "object", "properties": fields.collect::<Map<_, _>>()})
    };
    let of_forms = |number| json!({"anyOf": (0..64).map(|_| next(number)).collect::<Vec<_>>()});
    for definition in [&of_fields as &dyn Fn(usize) -> Value, &of_forms] {
        let definitions = (0..20).map(|number| (format!("d{number}"), definition(number)));
        let schema = json!({"$defs": definitions.collect::<Map<_, _>>(), "$ref": "#/$defs/d0"});
        let found = count(&Reader::new(&schema).kind(&schema));
        assert!((64..200_000).contains(&found), "{found}");
    }
}
