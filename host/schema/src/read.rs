//! Reads fields out of a schema. Whatever it does not know becomes [`Kind::Json`]: no field is ever left out.

use std::cell::Cell;
use std::cmp::Ordering;

use serde_json::{Map, Number, Value};

use crate::field::{Choice, Field, Kind, Limits, Variant};
use crate::rules::{MAX_BYTES, MAX_DEPTH};

/// Keywords that say more than a field can: such a value is JSON.
const BEYOND_FORMS: [&str; 8] =
    ["allOf", "not", "if", "then", "patternProperties", "prefixItems", "dependentSchemas", "contains"];

/// Bytes of schemas that one reading looks at. Without references it is never more: each is looked at twice on each level.
/// With them a short schema of definitions that name each other several times would be read into one of any size.
const MAX_READ: usize = 2 * MAX_DEPTH * MAX_BYTES;

/// Reads schemas of one document, whose references it follows: a schema with `$defs`, or an OpenAPI document.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    document: &'a Value,
}

/// How a schema was reached.
#[derive(Clone, Debug, Default)]
struct Trail {
    /// Followed so far: a schema inside of itself ends here.
    references: Vec<String>,
    depth: usize,
}

impl Trail {
    fn deeper(&self) -> Self {
        Self { depth: self.depth + 1, ..self.clone() }
    }
}

/// One question to a [`Reader`], from its beginning to its end.
struct Reading<'a> {
    document: &'a Value,
    /// Bytes that may still be looked at.
    left: Cell<usize>,
}

/// About as many as it is written with.
fn bytes(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 2,
        Value::Array(items) => items.iter().map(|item| 1 + bytes(item)).sum::<usize>() + 1,
        Value::Object(members) => {
            members.iter().map(|(name, value)| name.len() + 4 + bytes(value)).sum::<usize>() + 1
        }
        _ => 1,
    }
}

impl<'a> Reader<'a> {
    /// A reader of that document.
    #[must_use]
    pub fn new(document: &'a Value) -> Self {
        Self { document }
    }

    /// What a value of `schema` may be; `null` aside.
    #[must_use]
    pub fn kind(&self, schema: &Value) -> Kind {
        self.reading().kind_at(schema, &Trail::default())
    }

    /// The fields of an object of `schema`; none where a value is something else.
    #[must_use]
    pub fn fields(&self, schema: &Value) -> Vec<Field> {
        match self.kind(schema) {
            Kind::Object(fields) => fields,
            _ => Vec::new(),
        }
    }

    /// The field `name` with that schema.
    #[must_use]
    pub fn field(&self, name: &str, schema: &Value, required: bool) -> Field {
        self.reading().field_at(name, schema, required, &Trail::default())
    }

    fn reading(&self) -> Reading<'a> {
        Reading { document: self.document, left: Cell::new(MAX_READ) }
    }
}

impl Reading<'_> {
    /// Looks at that schema; `None` where too much was looked at.
    fn spend(&self, schema: &Value) -> Option<()> {
        let left = self.left.get().checked_sub(bytes(schema));
        self.left.set(left.unwrap_or_default());
        left.map(drop)
    }

    /// The schema behind a reference, with what stands beside the reference over it. `None` where the reference leads
    /// nowhere, or back to where it came from, or where the schemas are too many.
    fn resolved(&self, schema: &Value, trail: &mut Trail) -> Option<Value> {
        self.spend(schema)?;
        let mut schema = schema.clone();
        while let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
            if trail.references.iter().any(|before| before == reference) {
                return None;
            }
            let target = self.document.pointer(reference.strip_prefix('#')?)?;
            self.spend(target)?;
            trail.references.push(reference.to_owned());
            let mut own = schema.as_object().cloned().unwrap_or_default();
            own.remove("$ref");
            let mut target = target.clone();
            if let Some(target) = target.as_object_mut() {
                let (properties, required) = (target.remove("properties"), target.remove("required"));
                if let Some(properties) = properties {
                    join(&mut own, &properties, required.as_ref());
                }
                target.extend(own);
            }
            schema = target;
        }
        Some(schema)
    }

    fn field_at(&self, name: &str, schema: &Value, required: bool, trail: &Trail) -> Field {
        let mut trail = trail.clone();
        let full = self.resolved(schema, &mut trail).unwrap_or_default();
        let (full, nullable) = without_null(full);
        // `anyOf: [X, null]` has its annotations outside and may have more of them inside.
        let inside = full.get("x-inside-null");
        let inside = inside.and_then(|inside| self.resolved(inside, &mut trail.clone())).unwrap_or_default();
        let at = |keyword: &str| full.get(keyword).or_else(|| inside.get(keyword));
        let text = |keyword: &str| at(keyword).and_then(Value::as_str).map(str::to_owned);
        let kind = match full.get("x-inside-null") {
            Some(schema) => self.kind_at(schema, &trail),
            None => self.kind_at(&full, &trail),
        };
        Field {
            name: name.to_owned(),
            required,
            nullable,
            kind,
            title: text("title"),
            help: text("description"),
            default: at("default").filter(|value| !value.is_null()).cloned(),
            examples: at("examples").and_then(Value::as_array).cloned().unwrap_or_default(),
            deprecated: at("deprecated").and_then(Value::as_bool).unwrap_or_default(),
            widget: text("x-widget"),
            order: at("x-order").and_then(Value::as_i64),
        }
    }

    fn kind_at(&self, schema: &Value, trail: &Trail) -> Kind {
        let mut trail = trail.deeper();
        let trail = &mut trail;
        if trail.depth > MAX_DEPTH {
            return Kind::Json;
        }
        let Some(schema) = self.resolved(schema, trail) else { return Kind::Json };
        let (schema, _) = without_null(schema);
        if let Some(inside) = schema.get("x-inside-null") {
            return self.kind_at(inside, trail);
        }
        let Some(members) = schema.as_object() else { return Kind::Json };
        if let Some(value) = members.get("const") {
            return Kind::Choice(vec![Choice { value: value.clone(), help: None }]);
        }
        if let Some(values) = members.get("enum").and_then(Value::as_array) {
            let values = values.iter().filter(|value| !value.is_null());
            return Kind::Choice(values.map(|value| Choice { value: value.clone(), help: None }).collect());
        }
        if let Some(forms) = ["oneOf", "anyOf"].iter().find_map(|name| members.get(*name)?.as_array()) {
            return self.variants(forms, members, trail);
        }
        if BEYOND_FORMS.iter().any(|keyword| members.contains_key(*keyword)) {
            return Kind::Json;
        }
        self.kind_of_type(members, trail)
    }

    fn kind_of_type(&self, members: &Map<String, Value>, trail: &Trail) -> Kind {
        let count = |keyword: &str| members.get(keyword).and_then(Value::as_u64);
        let text = |keyword: &str| members.get(keyword).and_then(Value::as_str).map(str::to_owned);
        match members.get("type").and_then(Value::as_str) {
            Some("string") => Kind::Text {
                length: Limits { min: count("minLength"), max: count("maxLength") },
                pattern: text("pattern"),
                format: text("format"),
            },
            Some("boolean") => Kind::Boolean,
            Some(word @ ("integer" | "number")) => number(members, word == "integer"),
            Some("array") => Kind::List {
                item: Box::new(members.get("items").map_or(Kind::Json, |items| self.kind_at(items, trail))),
                length: Limits { min: count("minItems"), max: count("maxItems") },
                unique: members.get("uniqueItems").and_then(Value::as_bool).unwrap_or_default(),
            },
            Some("object") => self.object(members, trail),
            None if members.contains_key("properties") => self.object(members, trail),
            _ => Kind::Json,
        }
    }

    fn object(&self, members: &Map<String, Value>, trail: &Trail) -> Kind {
        let Some(properties) = members.get("properties").and_then(Value::as_object) else {
            return match members.get("additionalProperties") {
                Some(values) if values.is_object() => Kind::Map(Box::new(self.kind_at(values, trail))),
                _ => Kind::Json,
            };
        };
        let required: Vec<&str> = members
            .get("required")
            .and_then(Value::as_array)
            .map(|names| names.iter().filter_map(Value::as_str).collect())
            .unwrap_or_default();
        let mut fields: Vec<Field> = properties
            .iter()
            .filter(|(_, schema)| schema.get("readOnly") != Some(&Value::Bool(true)))
            .map(|(name, schema)| self.field_at(name, schema, required.contains(&name.as_str()), trail))
            .collect();
        fields.sort_by(|one, other| order(one, other, &required));
        Kind::Object(fields)
    }

    fn variants(&self, forms: &[Value], shared: &Map<String, Value>, trail: &Trail) -> Kind {
        let mut resolved = Vec::with_capacity(forms.len());
        for form in forms {
            let mut trail = trail.clone();
            let Some(form) = self.resolved(form, &mut trail) else { return Kind::Json };
            resolved.push((form, trail));
        }
        if let Some(choices) = choices(&resolved) {
            return Kind::Choice(choices);
        }
        let variant = |((mut form, trail), at): ((Value, Trail), usize)| {
            // What stands beside the forms holds for each of them.
            if let (Some(own), Some(properties)) = (form.as_object_mut(), shared.get("properties")) {
                join(own, properties, shared.get("required"));
            }
            Variant {
                name: self.variant_name(&form, at),
                help: form.get("description").and_then(Value::as_str).map(str::to_owned),
                kind: self.kind_at(&form, &trail),
            }
        };
        Kind::Variants(resolved.into_iter().zip(1..).map(variant).collect())
    }

    /// The value of the first constant field, else the title, else the type.
    fn variant_name(&self, form: &Value, number: usize) -> String {
        let properties = form.get("properties").and_then(Value::as_object);
        let tag = properties.and_then(|all| {
            all.values().find_map(|schema| {
                let schema = self.resolved(schema, &mut Trail::default())?;
                let only = schema.get("enum").and_then(Value::as_array).filter(|all| all.len() == 1);
                let value = schema.get("const").or_else(|| only?.first())?;
                value.as_str().map(str::to_owned)
            })
        });
        let word = |keyword: &str| form.get(keyword).and_then(Value::as_str).map(str::to_owned);
        tag.or_else(|| word("title")).or_else(|| word("type")).unwrap_or_else(|| format!("form {number}"))
    }
}

/// Adds the properties and required names that stand beside forms to one of them.
fn join(form: &mut Map<String, Value>, properties: &Value, required: Option<&Value>) {
    if let Some(shared) = properties.as_object() {
        let own = form.entry("properties").or_insert_with(|| Map::new().into());
        if let Some(own) = own.as_object_mut() {
            for (name, schema) in shared {
                own.entry(name.clone()).or_insert_with(|| schema.clone());
            }
        }
    }
    if let Some(shared) = required.and_then(Value::as_array) {
        let own = form.entry("required").or_insert_with(|| Vec::<Value>::new().into());
        if let Some(own) = own.as_array_mut() {
            own.extend(shared.iter().cloned());
        }
    }
}

/// The schema without `null`, and whether it had it. In `anyOf: [X, null]` the form X comes as `x-inside-null`.
fn without_null(mut schema: Value) -> (Value, bool) {
    let Some(members) = schema.as_object_mut() else { return (schema, false) };
    if let Some(Value::Array(types)) = members.get_mut("type") {
        let before = types.len();
        types.retain(|word| word != "null");
        let nullable = types.len() < before;
        if let [only] = types.as_slice() {
            let only = only.clone();
            members.insert("type".to_owned(), only);
        }
        return (schema, nullable);
    }
    for keyword in ["anyOf", "oneOf"] {
        let Some(Value::Array(forms)) = members.get_mut(keyword) else { continue };
        let before = forms.len();
        forms.retain(|form| form.get("type").is_none_or(|word| word != "null"));
        let nullable = forms.len() < before;
        if nullable && forms.len() == 1 {
            let only = forms.remove(0);
            members.remove(keyword);
            members.insert("x-inside-null".to_owned(), only);
        }
        return (schema, nullable);
    }
    let nullable =
        members.get("enum").and_then(Value::as_array).is_some_and(|all| all.contains(&Value::Null));
    (schema, nullable)
}

/// Constants with their descriptions, where every form is one: an enum with documented values.
fn choices(forms: &[(Value, Trail)]) -> Option<Vec<Choice>> {
    let mut found = Vec::new();
    for (form, _) in forms {
        let help = form.get("description").and_then(Value::as_str).map(str::to_owned);
        match (form.get("const"), form.get("enum").and_then(Value::as_array)) {
            (Some(value), _) => found.push(Choice { value: value.clone(), help }),
            (None, Some(values)) => {
                let choice = |value: &Value| Choice { value: value.clone(), help: help.clone() };
                found.extend(values.iter().map(choice));
            }
            (None, None) => return None,
        }
    }
    Some(found)
}

fn number(members: &Map<String, Value>, integer: bool) -> Kind {
    let at = |keyword: &str| -> Option<Number> { members.get(keyword)?.as_number().cloned() };
    let (above, below) = (at("exclusiveMinimum"), at("exclusiveMaximum"));
    Kind::Number {
        integer,
        exclusive: (above.is_some(), below.is_some()),
        range: Limits { min: above.or_else(|| at("minimum")), max: below.or_else(|| at("maximum")) },
        multiple_of: at("multipleOf"),
    }
}

/// `x-order`, then `model`, `prompt`, the required ones as they are listed, and the rest by name.
fn order(one: &Field, other: &Field, required: &[&str]) -> Ordering {
    let rank = |field: &Field| {
        let listed = required.iter().position(|name| *name == field.name);
        let named = ["model", "prompt"].iter().position(|name| *name == field.name);
        (
            field.order.is_none(),
            field.order,
            named.unwrap_or(usize::MAX),
            listed.unwrap_or(usize::MAX),
            field.name.clone(),
        )
    };
    rank(one).cmp(&rank(other))
}

#[cfg(test)]
mod tests;
