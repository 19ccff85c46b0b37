//! The shapes that the host's schemas have in common: objects, envelopes, pages, references to components.

use serde_json::{Map, Value, json};

/// A component of the document by its name.
pub(super) fn reference(component: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{component}")})
}

/// An object that always has the required ones of its properties. People read these first, in this order.
pub(super) fn object(required: &[&str], properties: &Value) -> Value {
    json!({"type": "object", "required": required, "properties": properties})
}

/// An object that always has all of these.
pub(super) fn whole(properties: &Value) -> Value {
    let names = properties.as_object().into_iter().flat_map(Map::keys);
    object(&names.map(String::as_str).collect::<Vec<_>>(), properties)
}

/// A list of that component.
pub(super) fn list_of(component: &str) -> Value {
    json!({"type": "array", "items": reference(component)})
}

/// The envelope of an answer.
pub(super) fn wrapped(data: &Value) -> Value {
    object(&["code", "data"], &json!({"code": {"const": 200}, "data": data}))
}

/// The envelope of one page of a list of that component.
pub(super) fn page(component: &str) -> Value {
    object(
        &["code", "data", "has_more", "first_id", "last_id"],
        &json!({
            "code": {"const": 200},
            "data": list_of(component),
            "has_more": {"type": "boolean"},
            "first_id": {"type": ["string", "null"]},
            "last_id": {"type": ["string", "null"], "description": "`after` of the next page."},
        }),
    )
}
