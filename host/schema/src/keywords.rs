//! Where a schema holds other schemas (JSON Schema 2020-12). Everything else in it is data, which no rule applies to.

use serde_json::Value;

/// An object whose values are schemas.
const MAPS: [&str; 4] = ["$defs", "properties", "patternProperties", "dependentSchemas"];
/// A list of schemas.
const LISTS: [&str; 4] = ["allOf", "anyOf", "oneOf", "prefixItems"];
/// One schema.
const SINGLE: [&str; 11] = [
    "items",
    "additionalProperties",
    "not",
    "if",
    "then",
    "else",
    "contains",
    "propertyNames",
    "contentSchema",
    "unevaluatedItems",
    "unevaluatedProperties",
];

/// How a keyword holds schemas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holds {
    Map,
    List,
    One,
}

/// How a keyword holds schemas; `None` where its value is data.
pub(crate) fn holds(keyword: &str) -> Option<Holds> {
    if MAPS.contains(&keyword) {
        Some(Holds::Map)
    } else if LISTS.contains(&keyword) {
        Some(Holds::List)
    } else {
        SINGLE.contains(&keyword).then_some(Holds::One)
    }
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
