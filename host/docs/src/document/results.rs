//! What requests come to, where a family's manifest says so: the JSON of an answer at once, or the `result` of a task, which is
//! read on another path and so stands in `x-gatehouse-result`.

use gatehouse_schema::{make_plain, splice};
use serde_json::{Map, Value, json};

use crate::api::{Api, Content, Operation, RESULT};
use crate::document::shapes::reference;

/// What the families of a surface make; `None` where none says so. Adds the components it needs.
pub(super) fn of(api: &Api, surface: &str, schemas: &mut Map<String, Value>) -> Option<Value> {
    let mut forms = Vec::new();
    for family in &api.families {
        let Some(own) = family.surfaces.iter().find(|own| own.name == surface) else { continue };
        let schema: Option<Value> =
            own.result_schema.as_deref().and_then(|text| serde_json::from_str(text).ok());
        let Some(schema) = schema else { continue };
        let name = format!("{}.{surface}.result", family.family);
        let parts = splice(&schema, &name);
        for (name, mut component) in parts.definitions.into_iter().chain([(name.clone(), parts.root)]) {
            // What the family answers, not what a client sends.
            make_plain(&mut component, false);
            schemas.insert(name, component);
        }
        forms.push(reference(&name));
    }
    match forms.len() {
        0 => None,
        1 => forms.pop(),
        _ => Some(json!({"anyOf": forms})),
    }
}

/// Writes it where a reader looks for it.
pub(super) fn tell(
    operation: &Operation,
    result: Value,
    described: &mut Map<String, Value>,
    answers: &mut Value,
) {
    let is_at_once = |content: &Content| matches!(content, Content::Bytes(_));
    if !operation.answers.iter().flat_map(|answer| answer.contents).any(is_at_once) {
        described.insert(RESULT.to_owned(), result);
        return;
    }
    let content = &mut answers["200"]["content"]["application/json"];
    let schema = match content["schema"].take() {
        Value::Null => result,
        other => json!({"anyOf": [result, other]}),
    };
    content["schema"] = schema;
}
