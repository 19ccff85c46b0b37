//! JSON Schemas as Google takes them: a part of OpenAPI 3.0, which has no references, no `const`, one type, and `nullable`.
//!
//! What it knows is kept in its order, which the model writes in; references, `allOf` and `const` are written out; the rest is
//! left out, so that a schema says less than the client's and never something else.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use gatehouse_sdk::Refusal;
use gatehouse_text_protocols::json::{JsonString, Object, Raw, Writer, items, quoted};

/// Schemas inside of each other, after references are written out.
const MAX_DEPTH: usize = 24;
/// Schemas in one, after references are written out: a few lines of them can stand for millions.
const MAX_SCHEMAS: usize = 4000;
/// Names and numbers in one reference.
const MAX_STEPS: usize = 2 * MAX_DEPTH;
/// Bytes that all references of a request may be written out as: the plugin has memory for a few times as much.
pub(super) const MAX_WRITTEN_OUT: usize = 2 << 20;
/// Bytes that a reference counts as beside what it points to.
const REFERENCE_BYTES: usize = 128;
/// Members that mean the same to Google.
const KEPT: [&str; 15] = [
    "title",
    "description",
    "default",
    "example",
    "nullable",
    "minimum",
    "maximum",
    "minItems",
    "maxItems",
    "minLength",
    "maxLength",
    "minProperties",
    "maxProperties",
    "pattern",
    "propertyOrdering",
];
/// The formats that Google knows; it refuses the others.
const FORMATS: [&str; 6] = ["enum", "date-time", "int32", "int64", "float", "double"];

/// The schemas of one document.
pub(super) struct Schemas<'a> {
    root: Raw<'a>,
    /// What is on the way to the targets of references, by its place in the document: each value is read once.
    members: BTreeMap<*const u8, BTreeMap<String, Raw<'a>>>,
    /// The places of the schemas that are being written out.
    open: Vec<*const u8>,
    left: usize,
    /// What is left of [`MAX_WRITTEN_OUT`].
    room: usize,
}

/// What one schema says, with what it refers to.
#[derive(Default)]
struct Gathered<'a> {
    types: Vec<Cow<'a, str>>,
    properties: Vec<(Cow<'a, str>, Raw<'a>)>,
    required: Vec<Raw<'a>>,
    choices: Vec<Raw<'a>>,
    values: Option<Vec<Raw<'a>>>,
    items: Option<Raw<'a>>,
    kept: Vec<(Cow<'a, str>, Raw<'a>)>,
}

impl<'a> Schemas<'a> {
    /// The schema as Google takes it; `path` is its place in the request, `room` what is left of [`MAX_WRITTEN_OUT`].
    pub(super) fn clean(schema: Raw<'a>, room: &mut usize, path: &str) -> Result<String, Refusal> {
        let mut schemas =
            Self { root: schema, members: BTreeMap::new(), open: Vec::new(), left: MAX_SCHEMAS, room: *room };
        let written = schemas.schema(schema, 0);
        *room = schemas.room;
        written.ok_or_else(|| {
            let problem = format!(
                "expected at most {MAX_SCHEMAS} schemas, at most {MAX_DEPTH} inside of each other, and references to \
                 at most {} KiB in the whole request, once they are written out, got more",
                MAX_WRITTEN_OUT / 1024
            );
            Refusal::invalid(path, problem)
        })
    }

    /// `None` when it is too large.
    fn schema(&mut self, raw: Raw<'a>, depth: usize) -> Option<String> {
        self.left = self.left.checked_sub(1)?;
        if depth > MAX_DEPTH {
            return None;
        }
        // `true`: any value. Google wants a type.
        let Some(object) = Object::parse(raw.get()) else { return Some(r#"{"type":"string"}"#.to_owned()) };
        let mut gathered = Gathered::default();
        let open = self.open.len();
        self.open.push(place_of(raw));
        self.gather(&object, &mut gathered, depth)?;
        let written = self.write(gathered, depth);
        self.open.truncate(open);
        written
    }

    fn gather(&mut self, object: &Object<'a>, into: &mut Gathered<'a>, depth: usize) -> Option<()> {
        if depth > MAX_DEPTH {
            return None;
        }
        if let Some(reference) = object.text("$ref")
            && let Some(found) = self.target(&reference)
        {
            let place = place_of(found);
            if self.open.contains(&place) {
                // A tree ends here: what is deeper is any object.
                into.types = vec!["object".into()];
                return Some(());
            }
            self.open.push(place);
            self.left = self.left.checked_sub(1)?;
            self.room = self.room.checked_sub(REFERENCE_BYTES + found.get().len())?;
            let target = Object::parse(found.get()).unwrap_or_default();
            self.gather(&target, into, depth + 1)?;
        }
        for raw in object.items("allOf").unwrap_or_default() {
            self.left = self.left.checked_sub(1)?;
            let part = Object::parse(raw.get()).unwrap_or_default();
            self.gather(&part, into, depth + 1)?;
        }
        into.add(object, self.left)
    }

    /// What a reference points to in this document: `#` is all of it, and names and numbers lead on from there.
    fn target(&mut self, reference: &str) -> Option<Raw<'a>> {
        let pointer = reference.strip_prefix('#')?;
        let mut found = self.root;
        if pointer.is_empty() {
            return Some(found);
        }
        let mut rest = pointer.strip_prefix('/')?;
        for step in 0..MAX_STEPS {
            let members = self.members.entry(place_of(found)).or_insert_with(|| members_of(found));
            let named = |name: &str| members.get(name).or_else(|| members.get(&unescaped(name))).copied();
            // Not every client escapes the slashes in a definition's name. To read the rest at every step would take too long.
            if (step == 1 || !rest.contains('/'))
                && let Some(target) = named(rest)
            {
                return Some(target);
            }
            let (name, behind) = rest.split_once('/')?;
            found = named(name)?;
            rest = behind;
        }
        None
    }

    fn write(&mut self, from: Gathered<'a>, depth: usize) -> Option<String> {
        let Gathered { types, properties, required, choices, values, items, kept } = from;
        let mut nullable = types.iter().any(|kind| kind == "null");
        let types: Vec<&str> = types.iter().map(Cow::as_ref).filter(|kind| *kind != "null").collect();
        let mut written = Vec::with_capacity(choices.len());
        for choice in choices {
            if is_null(choice) {
                nullable = true;
            } else {
                written.push(self.schema(choice, depth + 1)?);
            }
        }
        let mut out = Writer::new(256);
        let own = |mut out: Writer| {
            if nullable && !kept.iter().any(|(name, _)| name == "nullable") {
                out.member("nullable", "true");
            }
            kept.iter().for_each(|(name, raw)| out.member(name, raw.get()));
            out.done()
        };
        if let [one] = written.as_slice()
            && types.is_empty()
            && properties.is_empty()
        {
            // A choice of one, most often of a value that may be null.
            let one = Object::parse(one).unwrap_or_default();
            let over = |name: &str| kept.iter().any(|(known, _)| known == name);
            one.iter().filter(|(name, _)| !over(name)).for_each(|(name, raw)| out.member(name, raw.get()));
            return Some(own(out));
        }
        if types.len() > 1 {
            written.extend(types.iter().map(|kind| any_of_type(kind)));
        }
        let of_values =
            values.as_ref().filter(|values| values.iter().all(|raw| JsonString::of(raw).is_some()));
        let kind = match types.as_slice() {
            [kind] => Some(*kind),
            [] if !properties.is_empty() => Some("object"),
            [] if items.is_some() => Some("array"),
            [] if written.is_empty() => Some("string"),
            _ => None,
        };
        if let Some(kind) = kind {
            out.string("type", kind);
        }
        if let Some(values) = of_values.filter(|_| matches!(kind, Some("string") | None)) {
            // Google refuses an empty one.
            let values = values.iter().map(|raw| raw.get()).filter(|text| *text != "\"\"");
            let values: Vec<&str> = values.collect();
            if !values.is_empty() {
                out.member("enum", &format!("[{}]", values.join(",")));
            }
        }
        if !properties.is_empty() {
            let mut members = Writer::new(256);
            for (name, raw) in &properties {
                members.member(name, &self.schema(raw, depth + 1)?);
            }
            out.member("properties", &members.done());
            let names: BTreeSet<&str> = properties.iter().map(|(name, _)| name.as_ref()).collect();
            let has = |raw: &Raw<'a>| {
                JsonString::of(raw).is_some_and(|name| names.contains(name.decoded().as_ref()))
            };
            let required: Vec<&str> = required.iter().filter(|raw| has(raw)).map(|raw| raw.get()).collect();
            if !required.is_empty() {
                out.member("required", &format!("[{}]", required.join(",")));
            }
        }
        if kind == Some("array") {
            let items = match items {
                Some(items) => self.schema(items, depth + 1)?,
                // Google refuses an array that does not say of what.
                None => any_of_type("string"),
            };
            out.member("items", &items);
        }
        if !written.is_empty() {
            out.member("anyOf", &format!("[{}]", written.join(",")));
        }
        Some(own(out))
    }
}

impl<'a> Gathered<'a> {
    /// What an object says itself; of what others said before, it is one more. `None` when that is more than what is `left`.
    fn add(&mut self, object: &Object<'a>, left: usize) -> Option<()> {
        let own = object.object("properties").unwrap_or_default();
        let required = object.items("required").unwrap_or_default();
        let more = own.iter().count() + required.len();
        if more > left || self.properties.len() + self.required.len() + more > MAX_SCHEMAS {
            return None;
        }
        match object.get("type") {
            Some(raw) if JsonString::of(raw).is_some() => {
                self.types = object.text("type").into_iter().collect();
            }
            Some(raw) => {
                let all = items(raw).unwrap_or_default();
                self.types = all.into_iter().filter_map(|raw| Some(JsonString::of(raw)?.decoded())).collect();
            }
            None => {}
        }
        for (name, raw) in own.iter() {
            self.properties.retain(|(known, _)| known != name);
            self.properties.push((Cow::Owned(name.to_owned()), raw));
        }
        self.required.extend(required);
        for choice in ["anyOf", "oneOf"] {
            self.choices.extend(object.items(choice).unwrap_or_default());
        }
        if let Some(value) = object.get("const") {
            self.values = Some(vec![value]);
        }
        if let Some(values) = object.items("enum") {
            self.values = Some(values.into_iter().filter(|raw| raw.get() != "null").collect());
        }
        let first = || object.items("prefixItems")?.into_iter().next();
        if let Some(raw) = object.get("items").or_else(first) {
            // An older schema lists the items one by one.
            self.items = items(raw).and_then(|all| all.into_iter().next()).or(Some(raw));
        }
        for (name, raw) in object.iter() {
            let is_kept = match name {
                "format" => {
                    JsonString::of(raw).is_some_and(|format| FORMATS.contains(&format.decoded().as_ref()))
                }
                name => KEPT.contains(&name),
            };
            if is_kept {
                self.kept.retain(|(known, _)| known != name);
                self.kept.push((Cow::Owned(name.to_owned()), raw));
            }
        }
        Some(())
    }
}

/// Where a value is in its document. No two values begin at the same place.
fn place_of(raw: Raw<'_>) -> *const u8 {
    raw.get().as_ptr()
}

/// The members of an object by their names, or the items of a list by their numbers.
fn members_of(raw: Raw<'_>) -> BTreeMap<String, Raw<'_>> {
    match items(raw) {
        Some(all) => all.into_iter().enumerate().map(|(at, raw)| (at.to_string(), raw)).collect(),
        None => {
            let object = Object::parse(raw.get()).unwrap_or_default();
            object.iter().map(|(name, raw)| (name.to_owned(), raw)).collect()
        }
    }
}

/// A name as it was before it became a part of a reference.
fn unescaped(name: &str) -> String {
    let (mut bytes, mut rest) = (Vec::with_capacity(name.len()), name);
    while let Some((before, behind)) = rest.split_once('%') {
        bytes.extend_from_slice(before.as_bytes());
        let byte = behind.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(byte.unwrap_or(b'%'));
        rest = if byte.is_some() { &behind[2..] } else { behind };
    }
    bytes.extend_from_slice(rest.as_bytes());
    String::from_utf8_lossy(&bytes).replace("~1", "/").replace("~0", "~")
}

/// A schema of a type alone.
fn any_of_type(kind: &str) -> String {
    let items = if kind == "array" { r#","items":{"type":"string"}"# } else { "" };
    format!("{{\"type\":{}{items}}}", quoted(kind))
}

/// Whether a choice is the value `null`.
fn is_null(choice: Raw<'_>) -> bool {
    Object::parse(choice.get()).is_some_and(|choice| choice.text("type").as_deref() == Some("null"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clean(schema: &str) -> String {
        let raw: Raw<'_> = serde_json::from_str(schema).expect("JSON");
        let mut room = MAX_WRITTEN_OUT;
        Schemas::clean(raw, &mut room, "tools.0.input_schema").expect("small enough")
    }

    /// Without it Google refuses every request with such a tool, or the model writes another shape than the client reads.
    #[test]
    fn a_schema_says_what_google_can_read_in_the_clients_order() {
        for (schema, expected) in [
            (
                r#"{"$schema":"s","type":"object","additionalProperties":false,"properties":{"z":{"type":"string"},"a":{"type":"integer","exclusiveMinimum":0}},"required":["z","gone"]}"#,
                r#"{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"integer"}},"required":["z"]}"#,
            ),
            (
                r#"{"type":["string","null"],"format":"uri","maxLength":5}"#,
                r#"{"type":"string","nullable":true,"maxLength":5}"#,
            ),
            (r#"{"type":["string","integer"]}"#, r#"{"anyOf":[{"type":"string"},{"type":"integer"}]}"#),
            (
                r#"{"anyOf":[{"type":"number"},{"type":"null"}],"description":"d"}"#,
                r#"{"type":"number","nullable":true,"description":"d"}"#,
            ),
            (
                r#"{"anyOf":[{"type":"number"},{"type":"string"}]}"#,
                r#"{"anyOf":[{"type":"number"},{"type":"string"}]}"#,
            ),
            (
                r#"{"oneOf":[{"const":"a"},{"enum":["b","c",null]}]}"#,
                r#"{"anyOf":[{"type":"string","enum":["a"]},{"type":"string","enum":["b","c"]}]}"#,
            ),
            (r#"{"type":"integer","enum":[1,2]}"#, r#"{"type":"integer"}"#),
            (r#"{"type":"array"}"#, r#"{"type":"array","items":{"type":"string"}}"#),
            (
                r#"{"type":"array","items":[{"type":"number"}]}"#,
                r#"{"type":"array","items":{"type":"number"}}"#,
            ),
            (
                r#"{"type":"array","prefixItems":[{"type":"boolean"}]}"#,
                r#"{"type":"array","items":{"type":"boolean"}}"#,
            ),
            (r#"{"type":"object","properties":{}}"#, r#"{"type":"object"}"#),
            (
                r#"{"properties":{"a":true,"b":{}}}"#,
                r#"{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}}}"#,
            ),
            (
                r##"{"$defs":{"p":{"type":"object","properties":{"x":{"type":"number"}}}},"allOf":[{"$ref":"#/$defs/p"},{"properties":{"y":{"type":"number"}}}],"title":"t"}"##,
                r#"{"type":"object","properties":{"x":{"type":"number"},"y":{"type":"number"}},"title":"t"}"#,
            ),
            (
                r#"{"type":"string","format":"date-time","pattern":"^\\d"}"#,
                r#"{"type":"string","format":"date-time","pattern":"^\\d"}"#,
            ),
            (
                r##"{"type":"object","properties":{"from":{"type":"object","properties":{"x":{"type":"number"}}},"to":{"$ref":"#/properties/from"}}}"##,
                r#"{"type":"object","properties":{"from":{"type":"object","properties":{"x":{"type":"number"}}},"to":{"type":"object","properties":{"x":{"type":"number"}}}}}"#,
            ),
            (
                r##"{"properties":{"a/b c":{"anyOf":[{"type":"number"},{"type":"boolean"}]},"d":{"$ref":"#/properties/a~1b%20c/anyOf/1"}}}"##,
                r#"{"type":"object","properties":{"a/b c":{"anyOf":[{"type":"number"},{"type":"boolean"}]},"d":{"type":"boolean"}}}"#,
            ),
            (
                r##"{"definitions":{"a/~0%20":{"type":"integer"}},"properties":{"a":{"$ref":"#/definitions/a/~0%20"},"b":{"$ref":"#/definitions/gone"},"c":{"$ref":"b.json#/definitions"}}}"##,
                r#"{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"string"},"c":{"type":"string"}}}"#,
            ),
            (
                r##"{"properties":{"a":{"type":"number"},"child":{"$ref":"#"}},"required":["child"]}"##,
                r#"{"type":"object","properties":{"a":{"type":"number"},"child":{"type":"object"}},"required":["child"]}"#,
            ),
            (r#"{"type":"string","enum":["a","","b"]}"#, r#"{"type":"string","enum":["a","b"]}"#),
            (r#"{"const":""}"#, r#"{"type":"string"}"#),
        ] {
            assert_eq!(clean(schema), expected, "{schema}");
            assert_eq!(clean(expected), expected, "once more");
        }
    }

    /// Without it a tool that takes a tree is refused, or a schema of a kilobyte keeps a plugin busy until it is stopped, which
    /// counts against its version.
    #[test]
    fn references_are_written_out_within_bounds() {
        let tree = r##"{"$defs":{"n":{"type":"object","properties":{"n":{"$ref":"#/$defs/n"}}}},"$ref":"#/$defs/n"}"##;
        assert_eq!(clean(tree), r#"{"type":"object","properties":{"n":{"type":"object"}}}"#);
        let to_itself = r##"{"$defs":{"n":{"$ref":"#/$defs/n"}},"$ref":"#/$defs/n"}"##;
        assert_eq!(clean(to_itself), r#"{"type":"object"}"#);
        let row = |n: usize| {
            format!(r##""d{n}":{{"anyOf":[{{"$ref":"#/$defs/d{0}"}},{{"$ref":"#/$defs/d{0}"}}]}}"##, n + 1)
        };
        let rows: Vec<String> = (0..14).map(row).collect();
        let wide =
            format!(r##"{{"$defs":{{{},"d14":{{"type":"string"}}}},"$ref":"#/$defs/d0"}}"##, rows.join(","));
        let around = r##"{"properties":{"a":{"properties":{"b":{"$ref":"#/properties/a"}}},"c":{"$ref":"#/properties/a/properties/b"}}}"##;
        let inner = r#"{"type":"object","properties":{"b":{"type":"object"}}}"#;
        assert_eq!(clean(around), format!(r#"{{"type":"object","properties":{{"a":{inner},"c":{inner}}}}}"#));
        let said = "x".repeat(MAX_WRITTEN_OUT / 8);
        let referred = |times: usize| {
            let references = vec![r##"{"$ref":"#/$defs/d"}"##; times].join(",");
            format!(r#"{{"$defs":{{"d":{{"description":"{said}"}}}},"anyOf":[{references}]}}"#)
        };
        let long = referred(9);
        let names: Vec<String> = (0..=MAX_SCHEMAS).map(|n| format!("\"p{n}\"")).collect();
        let required = format!(r#"{{"required":[{}]}}"#, names.join(","));
        let properties = format!(r#"{{"properties":{{{}:{{}}}}}}"#, names.join(":{},"));
        let parts = format!(r#"{{"allOf":[{}]}}"#, vec!["{}"; MAX_SCHEMAS].join(","));
        for schema in [wide, long, required, properties, parts] {
            let raw: Raw<'_> = serde_json::from_str(&schema).expect("JSON");
            let mut room = MAX_WRITTEN_OUT;
            let refused = Schemas::clean(raw, &mut room, "tools.0.input_schema").expect_err("too large");
            assert!(
                matches!(&refused, Refusal::Invalid { field: Some(field), .. } if field == "tools.0.input_schema")
            );
        }
        let half = referred(5);
        let raw: Raw<'_> = serde_json::from_str(&half).expect("JSON");
        let mut room = MAX_WRITTEN_OUT;
        Schemas::clean(raw, &mut room, "tools.0.input_schema").expect("small enough");
        let second = Schemas::clean(raw, &mut room, "tools.1.input_schema");
        assert!(second.is_err(), "one bound for all of them");
    }
}
