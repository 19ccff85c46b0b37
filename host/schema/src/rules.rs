//! What a plugin's schema must keep, so that it can stand in a document with the schemas of others and become a form; and where a
//! schema holds other schemas (JSON Schema 2020-12). Everything else in it is data, which no rule applies to.

use serde_json::{Map, Value};

/// Bytes of one schema.
pub const MAX_BYTES: usize = 256 * 1024;
/// Schemas inside of each other.
pub const MAX_DEPTH: usize = 16;

/// Where the definitions are that a reference may name.
pub(crate) const DEFS: &str = "#/$defs/";
const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";
/// They give a part of the schema a name of its own, which is lost where it is joined with others.
const NAMING: [&str; 7] =
    ["$id", "$anchor", "$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$recursiveAnchor", "$vocabulary"];
const TYPES: [&str; 7] = ["array", "boolean", "integer", "null", "number", "object", "string"];

/// A rule that a schema breaks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{at}: {why}")]
pub struct SchemaError {
    /// Where, as JSON pointer from the schema's root; `#` is the root.
    pub at: String,
    /// What was expected and what came.
    pub why: String,
}

/// Checks a schema, and gives it as a value.
///
/// # Errors
/// [`SchemaError`]: it is no schema, too long or too deep, or names something outside of itself.
pub fn check(text: &str) -> Result<Value, SchemaError> {
    let root = |why: String| SchemaError { at: "#".to_owned(), why };
    if text.len() > MAX_BYTES {
        return Err(root(format!("expected at most {MAX_BYTES} bytes, got {}", text.len())));
    }
    let schema: Value =
        serde_json::from_str(text).map_err(|error| root(format!("expected JSON: {error}")))?;
    let empty = Map::new();
    let defs = schema.get("$defs").and_then(Value::as_object).unwrap_or(&empty);
    if let Some(name) = defs.keys().find(|name| !is_plain(name)) {
        let why = format!("expected names of letters, digits, dots, hyphens and underscores, got {name:?}");
        return Err(SchemaError { at: "#/$defs".to_owned(), why });
    }
    Rules { defs }.check(&schema, "#", 1)?;
    Ok(schema)
}

/// Usable as a part of a component's name.
fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte))
}

struct Rules<'a> {
    defs: &'a Map<String, Value>,
}

impl Rules<'_> {
    fn check(&self, schema: &Value, at: &str, depth: usize) -> Result<(), SchemaError> {
        let wrong = |why: String| Err(SchemaError { at: at.to_owned(), why });
        let members = match schema {
            Value::Bool(_) => return Ok(()),
            Value::Object(members) => members,
            other => return wrong(format!("expected a JSON Schema: an object or a boolean, got {other}")),
        };
        if depth > MAX_DEPTH {
            return wrong(format!("expected at most {MAX_DEPTH} schemas inside of each other"));
        }
        for (keyword, value) in members {
            self.check_keyword(keyword, value, at, depth)?;
        }
        Ok(())
    }

    fn check_keyword(&self, keyword: &str, value: &Value, at: &str, depth: usize) -> Result<(), SchemaError> {
        let here = format!("{at}/{keyword}");
        let wrong = |why: String| Err(SchemaError { at: here.clone(), why });
        if NAMING.contains(&keyword) {
            return wrong(format!("`{keyword}` is not allowed: a reference is \"{DEFS}<name>\""));
        }
        match (keyword, holds(keyword), value) {
            ("$ref", ..) => self.reference(value).or_else(wrong),
            ("$schema", _, Value::String(dialect)) if at == "#" => {
                if dialect.trim_end_matches('#') == DIALECT {
                    return Ok(());
                }
                wrong(format!("expected {DIALECT:?} or nothing, got {dialect:?}"))
            }
            ("$schema", ..) => wrong("expected at the root only, as text".to_owned()),
            ("$defs", ..) if at != "#" => wrong("expected definitions at the root only".to_owned()),
            ("type", ..) => check_type(value).or_else(wrong),
            (_, Some(Holds::Map), Value::Object(schemas)) => schemas
                .iter()
                .try_for_each(|(name, schema)| self.check(schema, &format!("{here}/{name}"), depth + 1)),
            (_, Some(Holds::List), Value::Array(schemas)) if !schemas.is_empty() => schemas
                .iter()
                .enumerate()
                .try_for_each(|(index, schema)| self.check(schema, &format!("{here}/{index}"), depth + 1)),
            (_, Some(Holds::One), schema) => self.check(schema, &here, depth + 1),
            (_, Some(Holds::Map), other) => wrong(format!("expected an object of schemas, got {other}")),
            (_, Some(Holds::List), other) => wrong(format!("expected a list of schemas, got {other}")),
            (_, None, _) => Ok(()),
        }
    }

    fn reference(&self, value: &Value) -> Result<(), String> {
        let Some(name) = value.as_str().and_then(|text| text.strip_prefix(DEFS)) else {
            return Err(format!("expected \"{DEFS}<name>\", got {value}"));
        };
        if self.defs.contains_key(name) {
            return Ok(());
        }
        Err(format!("{name:?} is not among the schema's `$defs`"))
    }
}

fn check_type(value: &Value) -> Result<(), String> {
    let known = |one: &Value| one.as_str().is_some_and(|word| TYPES.contains(&word));
    let is_known = match value {
        Value::Array(words) => !words.is_empty() && words.iter().all(known),
        one => known(one),
    };
    if is_known {
        Ok(())
    } else {
        Err(format!("expected a type of JSON Schema or a list of them, got {value}"))
    }
}

/// How a keyword holds schemas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holds {
    /// An object whose values are schemas.
    Map,
    /// A list of schemas.
    List,
    /// One schema.
    One,
}

/// How a keyword holds schemas; `None` where its value is data.
pub(crate) fn holds(keyword: &str) -> Option<Holds> {
    Some(match keyword {
        "$defs" | "properties" | "patternProperties" | "dependentSchemas" => Holds::Map,
        "allOf" | "anyOf" | "oneOf" | "prefixItems" => Holds::List,
        "items"
        | "additionalProperties"
        | "not"
        | "if"
        | "then"
        | "else"
        | "contains"
        | "propertyNames"
        | "contentSchema"
        | "unevaluatedItems"
        | "unevaluatedProperties" => Holds::One,
        _ => return None,
    })
}

/// Calls `visit` with every schema directly inside of `schema`.
pub(crate) fn for_each_mut(schema: &mut Value, visit: &mut impl FnMut(&mut Value)) {
    let Some(members) = schema.as_object_mut() else { return };
    for (keyword, value) in members {
        match (holds(keyword), value) {
            (Some(Holds::Map), Value::Object(schemas)) => schemas.values_mut().for_each(&mut *visit),
            (Some(Holds::List), Value::Array(schemas)) => schemas.iter_mut().for_each(&mut *visit),
            (Some(Holds::One), schema) => visit(schema),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn schemas_that_can_be_joined_pass() {
        for schema in [
            json!({}),
            json!(true),
            json!({"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object"}),
            json!({"$defs": {"Size": {"enum": ["1:1"]}}, "properties": {
                "size": {"anyOf": [{"$ref": "#/$defs/Size"}, {"type": "null"}]},
                "$id": {"type": ["string", "null"]},
                "list": {"items": {"$ref": "#/$defs/Size"}, "default": [{"$ref": "elsewhere"}]},
            }}),
        ] {
            assert_eq!(check(&schema.to_string()), Ok(schema.clone()), "{schema}");
        }
    }

    #[test]
    fn a_broken_rule_is_named() {
        let mut deep = json!({"type": "string"});
        for _ in 0..16 {
            deep = json!({"items": deep});
        }
        for (schema, at, why) in [
            (json!("x"), "#", "expected a JSON Schema"),
            (json!({"items": 7}), "#/items", "an object or a boolean, got 7"),
            (json!({"properties": []}), "#/properties", "expected an object of schemas"),
            (json!({"anyOf": []}), "#/anyOf", "expected a list of schemas"),
            (json!({"$id": "https://a"}), "#/$id", "`$id` is not allowed"),
            (json!({"properties": {"a": {"$anchor": "b"}}}), "#/properties/a/$anchor", "is not allowed"),
            (json!({"$dynamicRef": "#a"}), "#/$dynamicRef", "is not allowed"),
            (json!({"$ref": "https://a/b.json"}), "#/$ref", "expected \"#/$defs/<name>\""),
            (json!({"$ref": "#/properties/a"}), "#/$ref", "expected \"#/$defs/<name>\""),
            (json!({"$ref": "#/$defs/No"}), "#/$ref", "\"No\" is not among"),
            (json!({"$schema": "http://json-schema.org/draft-07/schema#"}), "#/$schema", "2020-12"),
            (json!({"items": {"$schema": DIALECT}}), "#/items/$schema", "at the root only"),
            (json!({"items": {"$defs": {}}}), "#/items/$defs", "at the root only"),
            (json!({"$defs": {"a/b": {}}}), "#/$defs", "got \"a/b\""),
            (json!({"type": "int"}), "#/type", "got \"int\""),
            (json!({"type": []}), "#/type", "got []"),
            (deep, "#/items/items", "at most 16 schemas"),
        ] {
            let error = check(&schema.to_string()).unwrap_err();
            assert!(error.at.starts_with(at) && error.why.contains(why), "{schema}: {error}");
        }
        let long = json!({"description": "x".repeat(MAX_BYTES)}).to_string();
        assert!(check(&long).unwrap_err().why.contains("at most 262144 bytes"));
        assert!(check("{").unwrap_err().why.contains("expected JSON"));
    }
}
