//! An operator's settings for a family against the schema in its manifest: which key is wrong, why, and what to write instead.
//!
//! Knows the keywords that a settings schema needs; any other is left to the plugin. A problem is a sentence, a semicolon and
//! the remedy.

use serde_json::{Map, Value};

use crate::rules::MAX_DEPTH;

/// Problems of one table that are reported.
const MAX_PROBLEMS: usize = 32;
/// Comparisons of a value with a schema: a schema of choices within choices would have no end.
const MAX_COMPARISONS: usize = 10_000;

/// One value that does not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingProblem {
    /// The keys that lead to it.
    pub path: Vec<String>,
    /// What is wrong, and the remedy after a semicolon.
    pub why: String,
}

/// Every value of `settings` that does not fit `schema`, at most 32.
#[must_use]
pub fn check_settings(schema: &Value, settings: &Value) -> Vec<SettingProblem> {
    let mut check = Check { root: schema, path: Vec::new(), found: Vec::new(), left: MAX_COMPARISONS };
    check.value(schema, settings, MAX_DEPTH);
    check.found.truncate(MAX_PROBLEMS);
    check.found
}

struct Check<'a> {
    root: &'a Value,
    path: Vec<String>,
    found: Vec<SettingProblem>,
    /// Comparisons left.
    left: usize,
}

impl<'a> Check<'a> {
    fn wrong(&mut self, why: String) {
        self.found.push(SettingProblem { path: self.path.clone(), why });
    }

    fn value(&mut self, schema: &Value, value: &Value, depth: usize) {
        let (Some(depth), Some(left)) = (depth.checked_sub(1), self.left.checked_sub(1)) else { return };
        self.left = left;
        let Value::Object(rules) = schema else {
            if *schema == Value::Bool(false) {
                self.wrong("no value is allowed here; remove it".to_owned());
            }
            return;
        };
        if let Some(target) = rules.get("$ref").and_then(Value::as_str).and_then(|name| self.definition(name))
        {
            self.value(target, value, depth);
        }
        for each in list(rules, "allOf") {
            self.value(each, value, depth);
        }
        let choices: Vec<&Value> = list(rules, "anyOf").chain(list(rules, "oneOf")).collect();
        if !choices.is_empty() {
            self.one_of(&choices, value, depth);
        }
        if !self.has_type(rules, value) {
            return;
        }
        self.literal(rules, value);
        self.bounds(rules, value);
        match value {
            Value::Object(table) => self.table(rules, table, depth),
            Value::Array(all) => {
                for (at, (one, schema)) in all.iter().zip(rules.get("items").into_iter().cycle()).enumerate()
                {
                    self.inside(&at.to_string(), schema, one, depth);
                }
            }
            _ => {}
        }
    }

    fn inside(&mut self, key: &str, schema: &Value, value: &Value, depth: usize) {
        self.path.push(key.to_owned());
        self.value(schema, value, depth);
        self.path.pop();
    }

    fn definition(&self, name: &str) -> Option<&'a Value> {
        self.root.get("$defs")?.get(name.strip_prefix("#/$defs/")?)
    }

    /// The choice with the fewest problems says what they are.
    fn one_of(&mut self, choices: &[&Value], value: &Value, depth: usize) {
        let mut problems = Vec::new();
        for choice in choices {
            let before = self.found.len();
            self.value(choice, value, depth);
            problems.push(self.found.split_off(before));
        }
        let is_whole = |found: &[SettingProblem]| found.iter().any(|one| one.path == self.path);
        let fewest = problems.into_iter().min_by_key(|found| (found.len(), is_whole(found)));
        self.found.extend(fewest.into_iter().flatten());
    }

    fn has_type(&mut self, rules: &Map<String, Value>, value: &Value) -> bool {
        let allowed: Vec<&str> = match rules.get("type") {
            Some(Value::String(one)) => vec![one],
            Some(Value::Array(all)) => all.iter().filter_map(Value::as_str).collect(),
            _ => return true,
        };
        let is = |name: &&str| match *name {
            "integer" => value.is_i64() || value.is_u64(),
            "number" => value.is_number(),
            "null" => value.is_null(),
            name => name == kind(value),
        };
        if allowed.iter().any(is) {
            return true;
        }
        let names: Vec<&str> = allowed.iter().map(|name| toml_name(name)).collect();
        let got = toml_name(kind(value));
        self.wrong(format!("expected {}, got {got}; {}", names.join(" or "), retype(&allowed)));
        false
    }

    fn literal(&mut self, rules: &Map<String, Value>, value: &Value) {
        let allowed: Vec<&Value> = list(rules, "enum").chain(rules.get("const")).collect();
        if allowed.is_empty() || allowed.contains(&value) {
            return;
        }
        let near =
            value.as_str().and_then(|text| nearest(text, allowed.iter().filter_map(|one| one.as_str())));
        let all: Vec<String> = allowed.iter().map(ToString::to_string).collect();
        let remedy = near.map_or_else(
            || format!("allowed here: {}", all.join(", ")),
            |near| format!("did you mean {near:?}?"),
        );
        self.wrong(format!("{value} is not allowed; {remedy}"));
    }

    fn bounds(&mut self, rules: &Map<String, Value>, value: &Value) {
        let many = |count: usize| Some(f64::from(u32::try_from(count).unwrap_or(u32::MAX)));
        let (size, names, unit) = match value {
            Value::Number(number) => (number.as_f64(), ["minimum", "maximum"], ""),
            Value::String(text) => (many(text.chars().count()), ["minLength", "maxLength"], " characters"),
            Value::Array(all) => (many(all.len()), ["minItems", "maxItems"], " entries"),
            _ => return,
        };
        let Some(size) = size else { return };
        let [least, most] = names.map(|name| rules.get(name).and_then(Value::as_f64));
        if let Some(least) = least.filter(|least| size < *least) {
            self.wrong(format!("expected at least {least}{unit}, got {size}; correct the value"));
        }
        if let Some(most) = most.filter(|most| size > *most) {
            self.wrong(format!("expected at most {most}{unit}, got {size}; correct the value"));
        }
    }

    fn table(&mut self, rules: &Map<String, Value>, table: &Map<String, Value>, depth: usize) {
        let known = rules.get("properties").and_then(Value::as_object);
        // A pattern may know any other key, and patterns are not read here.
        let more = rules.get("additionalProperties").filter(|_| !rules.contains_key("patternProperties"));
        for (key, value) in table {
            if let Some(schema) = known.and_then(|known| known.get(key)) {
                self.inside(key, schema, value, depth);
            } else if let Some(more) = more.filter(|more| **more != Value::Bool(false)) {
                self.inside(key, more, value, depth);
            } else if more.is_some() {
                let names: Vec<&str> = known.into_iter().flat_map(Map::keys).map(String::as_str).collect();
                let remedy = match nearest(key, names.iter().copied()) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None if names.is_empty() => "remove it: there are no settings here".to_owned(),
                    None => format!("known here: {}", names.join(", ")),
                };
                self.path.push(key.clone());
                self.wrong(format!("no setting of the name `{key}` is known; {remedy}"));
                self.path.pop();
            }
        }
        for missing in
            list(rules, "required").filter_map(Value::as_str).filter(|name| !table.contains_key(*name))
        {
            self.wrong(format!("`{missing}` is missing; add `{missing} = ...`"));
        }
    }
}

fn list<'a>(rules: &'a Map<String, Value>, key: &str) -> impl Iterator<Item = &'a Value> {
    rules.get(key).and_then(Value::as_array).into_iter().flatten()
}

/// The JSON type of a value.
fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// A type as the configuration's language calls it.
fn toml_name(kind: &str) -> &'static str {
    match kind {
        "boolean" => "true or false",
        "integer" => "a whole number",
        "number" => "a number",
        "string" => "a string",
        "array" => "a list",
        "object" => "a table",
        _ => "nothing",
    }
}

fn retype(allowed: &[&str]) -> &'static str {
    match allowed {
        ["string", ..] => "write it in double quotes",
        ["boolean" | "integer" | "number", ..] => "write it without quotes",
        ["array", ..] => "write a list: [ ... ]",
        ["object", ..] => "write a table: { key = value }",
        _ => "remove it",
    }
}

/// The known name that `name` may have been meant to be.
fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let (distance, near) = known.map(|known| (strsim::levenshtein(name, known), known)).min()?;
    (distance <= 1 + name.len() / 4).then_some(near)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema() -> Value {
        json!({
            "type": "object",
            "additionalProperties": false,
            "required": ["tier"],
            "properties": {
                "upstream_models": {"type": "object", "additionalProperties": {"type": "string", "minLength": 1}},
                "tier": {"$ref": "#/$defs/Tier"},
                "seconds": {"type": ["integer", "null"], "minimum": 1, "maximum": 60},
                "sizes": {"type": "array", "maxItems": 2, "items": {"enum": [1, 2]}},
                "target": {"anyOf": [{"type": "string"}, {"type": "object", "additionalProperties": false,
                                      "properties": {"url": {"type": "string"}}}]},
            },
            "$defs": {"Tier": {"enum": ["fast", "slow"], "type": "string"}},
        })
    }

    /// A misspelt key or a wrong type would otherwise be found by the first client, or by nobody.
    #[test]
    fn each_wrong_value_is_named_with_its_remedy() {
        for (settings, path, why) in [
            (
                json!({"tier": "fast", "upstream_modles": {}}),
                "upstream_modles",
                "no setting of the name `upstream_modles` is known; did you mean `upstream_models`?",
            ),
            (
                json!({"tier": "fast", "x": 1}),
                "x",
                "no setting of the name `x` is known; known here: seconds, sizes, target, tier, upstream_models",
            ),
            (json!({"tier": "fats"}), "tier", "\"fats\" is not allowed; did you mean \"fast\"?"),
            (json!({"tier": 5}), "tier", "expected a string, got a whole number; write it in double quotes"),
            (json!({}), "", "`tier` is missing; add `tier = ...`"),
            (
                json!({"tier": "fast", "seconds": "5"}),
                "seconds",
                "expected a whole number or nothing, got a string; write it without quotes",
            ),
            (
                json!({"tier": "fast", "seconds": 1.5}),
                "seconds",
                "expected a whole number or nothing, got a number; write it without quotes",
            ),
            (
                json!({"tier": "fast", "seconds": 0}),
                "seconds",
                "expected at least 1, got 0; correct the value",
            ),
            (
                json!({"tier": "fast", "upstream_models": {"a": ""}}),
                "upstream_models.a",
                "expected at least 1 characters, got 0; correct the value",
            ),
            (
                json!({"tier": "fast", "upstream_models": "a"}),
                "upstream_models",
                "expected a table, got a string; write a table: { key = value }",
            ),
            (json!({"tier": "fast", "sizes": [1, 3]}), "sizes.1", "3 is not allowed; allowed here: 1, 2"),
            (
                json!({"tier": "fast", "sizes": [1, 2, 1]}),
                "sizes",
                "expected at most 2 entries, got 3; correct the value",
            ),
            (
                json!({"tier": "fast", "target": {"ulr": "x"}}),
                "target.ulr",
                "no setting of the name `ulr` is known; known here: url",
            ),
            (json!([]), "", "expected a table, got a list; write a table: { key = value }"),
        ] {
            let found = check_settings(&schema(), &settings);
            let found: Vec<(String, &str)> =
                found.iter().map(|one| (one.path.join("."), one.why.as_str())).collect();
            assert_eq!(found, [(path.to_owned(), why)], "{settings}");
        }
    }

    #[test]
    fn what_fits_and_what_no_keyword_speaks_of_passes() {
        for settings in [
            json!({"tier": "slow"}),
            json!({"tier": "fast", "seconds": 60, "sizes": [2], "target": "x", "upstream_models": {"a": "b"}}),
            json!({"tier": "fast", "seconds": null, "target": {"url": "x"}}),
        ] {
            assert_eq!(check_settings(&schema(), &settings), [], "{settings}");
        }
        assert_eq!(check_settings(&json!({"type": "object", "if": false}), &json!({"any": 1})), []);
        assert_eq!(check_settings(&json!(true), &json!({})), []);
        for more in [json!(false), json!({"type": "string"})] {
            let patterns = json!({"patternProperties": {"^x-": {}}, "additionalProperties": more});
            assert_eq!(check_settings(&patterns, &json!({"x-a": 1})), []);
        }
        // A third party's schema never takes the host with it.
        let circle = json!({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}});
        assert_eq!(check_settings(&circle, &json!({})), []);
        let choices =
            json!({"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": vec![json!({"$ref": "#/$defs/a"}); 50]}}});
        assert_eq!(check_settings(&choices, &json!({})), []);
        let many: Value = (0..100).map(|at| (format!("k{at}"), Value::Null)).collect::<Map<_, _>>().into();
        assert_eq!(check_settings(&json!({"additionalProperties": false}), &many).len(), MAX_PROBLEMS);
    }
}
