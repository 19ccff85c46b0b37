//! Schemas as generators of clients read them. What JSON Schema allows and they stumble over is written in the plainest form
//! that says the same: `true`, titles that repeat, enumerations of several types, values that differ in case alone, and
//! defaults, which some take for fields that a client must send.

use serde_json::{Map, Value, json};

use crate::rules::for_each_mut;

/// Makes a schema and all inside of it plain. Defaults of a request's fields become words of their description.
pub fn make_plain(schema: &mut Value, is_request: bool) {
    for_each_mut(schema, &mut |inner| make_plain(inner, is_request));
    if *schema == Value::Bool(true) {
        *schema = json!({});
    }
    let Some(members) = schema.as_object_mut() else { return };
    members.remove("title");
    // Whether other fields are taken is a flag by itself.
    if members.get("additionalProperties") == Some(&json!({})) {
        members.insert("additionalProperties".to_owned(), true.into());
    }
    if is_request && let Some(default) = members.remove("default") {
        tell_default(members, &default);
    }
    match members.remove("enum") {
        Some(Value::Array(values)) if values.iter().all(Value::is_null) => write_only_null(members, &values),
        Some(Value::Array(values)) => write_values(members, &values),
        _ => {}
    }
}

/// Says a default in words, unless the description does.
fn tell_default(members: &mut Map<String, Value>, default: &Value) {
    let help = members.get("description").and_then(Value::as_str).unwrap_or_default();
    if default.is_null() || help.to_lowercase().contains("default") {
        return;
    }
    let help = format!("{help} Default: {default}.").trim_start().to_owned();
    members.insert("description".to_owned(), help.into());
}

/// Writes an enumeration of `null` alone as its type, and one of nothing as what no value fits.
fn write_only_null(members: &mut Map<String, Value>, values: &[Value]) {
    members.remove("type");
    let (name, value) = if values.is_empty() { ("not", json!({})) } else { ("type", json!("null")) };
    members.insert(name.to_owned(), value);
}

/// Writes an enumeration: of one type where that says the same, `null` as a type of its own.
fn write_values(members: &mut Map<String, Value>, values: &[Value]) {
    let mut words: Vec<&str> = Vec::new();
    for word in values.iter().filter_map(Value::as_str) {
        if words.iter().all(|known| !known.eq_ignore_ascii_case(word)) {
            words.push(word);
        }
    }
    // A number that may be written as a text, too, is listed as the text.
    let is_word =
        |value: &&Value| words.iter().any(|word| word.parse() == Ok(value.as_f64().unwrap_or(f64::NAN)));
    let others = values.iter().filter(|value| !value.is_string() && !value.is_null() && !is_word(value));
    let kept: Vec<Value> = words.iter().map(|word| Value::from(*word)).chain(others.cloned()).collect();
    let is_text = kept.iter().all(Value::is_string);
    let allows_null = values.iter().any(Value::is_null);
    if let Some(Value::Array(types)) = members.get_mut("type") {
        types
            .retain(|name| !(allows_null && name == "null" || is_text && name != "string" && name != "null"));
        if let [only] = types.as_slice() {
            let only = only.clone();
            members.insert("type".to_owned(), only);
        }
    }
    members.insert("enum".to_owned(), kept.into());
    if allows_null {
        let about = ["description", "examples", "deprecated"];
        let (outside, inside): (Map<_, _>, Map<_, _>) =
            std::mem::take(members).into_iter().partition(|(name, _)| about.contains(&name.as_str()));
        *members = outside;
        members.insert("anyOf".to_owned(), json!([inside, {"type": "null"}]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each of them stopped a generator, or made it write a client that does not compile.
    #[test]
    fn what_generators_stumble_over_is_plain() {
        #[rustfmt::skip]
        let table = [
            (json!(true), json!({})),
            (json!({"title": "Params", "type": "object", "properties": {"title": true}}),
                json!({"type": "object", "properties": {"title": {}}})),
            (json!({"type": "array", "items": true}), json!({"type": "array", "items": {}})),
            (json!({"type": "object", "additionalProperties": true}), json!({"type": "object", "additionalProperties": true})),
            (json!({"type": "integer", "default": 5}), json!({"type": "integer", "description": "Default: 5."})),
            (json!({"default": "a", "description": "Which."}), json!({"description": "Which. Default: \"a\"."})),
            (json!({"default": 1, "description": "1 by default."}), json!({"description": "1 by default."})),
            (json!({"default": null}), json!({})),
            (json!({"enum": ["720p", "4k", "4K"]}), json!({"enum": ["720p", "4k"]})),
            (json!({"type": ["string", "number", "null"], "enum": ["0.25", "1", 0.25, 1, null], "description": "x"}),
                json!({"description": "x", "anyOf": [{"type": "string", "enum": ["0.25", "1"]}, {"type": "null"}]})),
            (json!({"type": ["integer", "null"], "enum": [5, 10, null]}),
                json!({"anyOf": [{"type": "integer", "enum": [5, 10]}, {"type": "null"}]})),
            (json!({"enum": [1, 2]}), json!({"enum": [1, 2]})),
            (json!({"enum": [null]}), json!({"type": "null"})),
            (json!({"type": ["string", "null"], "enum": [null], "description": "x"}),
                json!({"type": "null", "description": "x"})),
            (json!({"type": "string", "enum": []}), json!({"not": {}})),
            (json!({"const": true}), json!({"const": true})),
        ];
        for (mut schema, expected) in table {
            let given = schema.clone();
            make_plain(&mut schema, true);
            assert_eq!(schema, expected, "{given}");
        }
        let mut answer = json!({"default": 5});
        make_plain(&mut answer, false);
        assert_eq!(answer, json!({"default": 5}), "an answer has no fields to send");
    }
}
