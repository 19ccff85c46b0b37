//! Values that fit a JSON Schema: arguments of tool calls and structured output.
//!
//! Knows the common keywords (`type`, `properties`, `required`, `enum`, `const`, `items`, `anyOf`, `$ref`, `format`,
//! bounds) and ignores others.
//! Depth is bounded, so that a schema cannot recurse without end.

use serde_json::{Map, Value, json};

use super::seed::Seed;
use super::words;

/// Deeper parts of a schema get null.
const MAX_DEPTH: usize = 12;
/// The most items of a list.
const MAX_ITEMS: u64 = 16;

/// A value that fits, the same for the same seed.
pub(crate) fn of(schema: &Value, seed: &mut Seed) -> Value {
    Sampler { root: schema }.below("", schema, seed, 0)
}

/// Samples parts of one schema.
struct Sampler<'a> {
    /// What references point into.
    root: &'a Value,
}

impl Sampler<'_> {
    /// A value for the part of that name.
    fn below(&self, name: &str, schema: &Value, seed: &mut Seed, depth: usize) -> Value {
        if depth > MAX_DEPTH {
            return Value::Null;
        }
        if let Some(target) = schema["$ref"].as_str() {
            let target = target.strip_prefix('#').and_then(|path| self.root.pointer(path));
            return self.below(name, target.unwrap_or(&Value::Null), seed, depth + 1);
        }
        if let Some(value) = schema.get("const") {
            return value.clone();
        }
        if let Some(values) = schema["enum"].as_array().filter(|values| !values.is_empty()) {
            return seed.pick(values).clone();
        }
        for either in ["anyOf", "oneOf", "allOf"] {
            if let Some(first) = schema[either].as_array().and_then(|parts| parts.first()) {
                return self.below(name, first, seed, depth + 1);
            }
        }
        let kind = match &schema["type"] {
            Value::String(kind) => kind.as_str(),
            Value::Array(kinds) => kinds.first().and_then(Value::as_str).unwrap_or_default(),
            _ if schema["properties"].is_object() => "object",
            _ => "string",
        };
        match kind {
            "array" => {
                let count = schema["minItems"].as_u64().unwrap_or(1).clamp(1, MAX_ITEMS);
                (0..count).map(|_| self.below(name, &schema["items"], seed, depth + 1)).collect()
            }
            "boolean" => Value::Bool(seed.below(2) == 1),
            "integer" | "number" => number(schema, seed),
            "null" => Value::Null,
            "object" => self.object(schema, seed, depth),
            _ => Value::String(string(name, schema, seed)),
        }
    }

    /// An object of its required fields; of all, where the schema does not say which are.
    fn object(&self, schema: &Value, seed: &mut Seed, depth: usize) -> Value {
        let Some(properties) = schema["properties"].as_object() else { return json!({}) };
        let required = schema["required"].as_array();
        let is_wanted = |name: &str| required.is_none_or(|names| names.iter().any(|known| known == name));
        let fields = properties.iter().filter(|(name, _)| is_wanted(name));
        let fields = fields.map(|(name, part)| (name.clone(), self.below(name, part, seed, depth + 1)));
        Value::Object(fields.collect::<Map<_, _>>())
    }
}

/// A text that its format or its name calls for, or any words.
fn string(name: &str, schema: &Value, seed: &mut Seed) -> String {
    let text = match (schema["format"].as_str().unwrap_or_default(), name) {
        ("date", _) => "2026-11-22".to_owned(),
        ("date-time", _) => "2026-11-22T09:30:00Z".to_owned(),
        ("email", _) => "keeper@example.com".to_owned(),
        ("uri" | "url", _) | (_, "url") => "https://example.com/".to_owned(),
        ("uuid", _) => "01234567-89ab-4def-8123-456789abcdef".to_owned(),
        (_, "command") => "echo hello".to_owned(),
        (_, "path" | "file_path") => "/tmp/lighthouse.txt".to_owned(),
        _ => words::prose(seed, 2),
    };
    match schema["maxLength"].as_u64().and_then(|most| usize::try_from(most).ok()) {
        Some(most) => text.chars().take(most).collect(),
        None => text,
    }
}

fn number(schema: &Value, seed: &mut Seed) -> Value {
    let least = schema["minimum"].as_i64().unwrap_or(0);
    let most = schema["maximum"].as_i64().unwrap_or_else(|| least.saturating_add(99)).max(least);
    let span = usize::try_from(most.saturating_sub(least)).unwrap_or(99).min(1_000_000);
    let step = i64::try_from(seed.below(span + 1)).unwrap_or(0);
    Value::from(least.saturating_add(step))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_fit() {
        let mut seed = Seed::of(b"x");
        let schema = json!({
            "type": "object",
            "properties": {
                "city": { "type": "string" },
                "unit": { "enum": ["c", "f"] },
                "days": { "type": "integer", "minimum": 3, "maximum": 5 },
                "exact": { "type": ["boolean", "null"] },
                "tags": { "type": "array", "items": { "const": 7 } },
                "where": { "anyOf": [{ "properties": { "x": { "type": "null" } } }] },
            },
        });
        for _ in 0..20 {
            let value = of(&schema, &mut seed);
            assert_eq!(value["city"].as_str().map(words::count), Some(2), "{value}");
            assert!(["c", "f"].contains(&value["unit"].as_str().expect("a word")), "{value}");
            assert!((3..=5).contains(&value["days"].as_i64().expect("a number")), "{value}");
            assert!(value["exact"].is_boolean(), "{value}");
            assert_eq!((&value["tags"], &value["where"]), (&json!([7]), &json!({ "x": null })));
        }
    }

    #[test]
    fn only_required_fields_and_references_are_followed() {
        let schema = json!({
            "type": "object",
            "$defs": { "place": { "type": "object", "properties": { "path": { "type": "string" } } } },
            "properties": {
                "places": { "type": "array", "minItems": 2, "items": { "$ref": "#/$defs/place" } },
                "on": { "type": "string", "format": "date" },
                "note": { "type": "string" },
            },
            "required": ["places", "on"],
        });
        let place = json!({ "path": "/tmp/lighthouse.txt" });
        let expected = json!({ "places": [place, place], "on": "2026-11-22" });
        assert_eq!(of(&schema, &mut Seed::of(b"x")), expected);
    }
}
