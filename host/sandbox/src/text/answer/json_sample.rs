//! Values that fit a JSON Schema: arguments of tool calls and structured output.
//!
//! Knows the common keywords (`type`, `properties`, `enum`, `const`, `items`, `anyOf`, bounds) and ignores others.
//! Depth is bounded, so that a schema cannot recurse without end.

use serde_json::{Map, Value, json};

use super::seed::Seed;
use super::words;

/// Deeper parts of a schema get null.
const MAX_DEPTH: usize = 12;

/// A value that fits, the same for the same seed.
pub(crate) fn of(schema: &Value, seed: &mut Seed) -> Value {
    below(schema, seed, 0)
}

fn below(schema: &Value, seed: &mut Seed, depth: usize) -> Value {
    if depth > MAX_DEPTH {
        return Value::Null;
    }
    if let Some(value) = schema.get("const") {
        return value.clone();
    }
    if let Some(values) = schema["enum"].as_array().filter(|values| !values.is_empty()) {
        return seed.pick(values).clone();
    }
    for either in ["anyOf", "oneOf", "allOf"] {
        if let Some(first) = schema[either].as_array().and_then(|parts| parts.first()) {
            return below(first, seed, depth + 1);
        }
    }
    let kind = match &schema["type"] {
        Value::String(kind) => kind.as_str(),
        Value::Array(kinds) => kinds.first().and_then(Value::as_str).unwrap_or_default(),
        _ if schema["properties"].is_object() => "object",
        _ => "string",
    };
    match kind {
        "array" => json!([below(&schema["items"], seed, depth + 1)]),
        "boolean" => Value::Bool(seed.below(2) == 1),
        "integer" | "number" => number(schema, seed),
        "null" => Value::Null,
        "object" => object(schema, seed, depth),
        _ => Value::String(words::prose(seed, 2)),
    }
}

fn object(schema: &Value, seed: &mut Seed, depth: usize) -> Value {
    let Some(properties) = schema["properties"].as_object() else { return json!({}) };
    let fields = properties.iter().map(|(name, part)| (name.clone(), below(part, seed, depth + 1)));
    Value::Object(fields.collect::<Map<_, _>>())
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
}
