//! A schema as components of an OpenAPI document: its definitions move beside it, under names of its own.

use serde_json::Value;

use crate::rules::DEFS;
use crate::rules::for_each_mut;

/// Where components are in a document.
const COMPONENTS: &str = "#/components/schemas/";

/// A schema and its definitions, each with the name of its component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Components {
    /// The schema itself, under the prefix as name.
    pub root: Value,
    /// `<prefix>.<definition>`, sorted.
    pub definitions: Vec<(String, Value)>,
}

/// Makes components of a schema that passed [`crate::check`]. Nothing of it is changed but its references; `$schema` and
/// `$defs` are left out.
#[must_use]
pub fn splice(schema: &Value, prefix: &str) -> Components {
    let mut root = schema.clone();
    let mut definitions = Value::Null;
    if let Some(members) = root.as_object_mut() {
        members.remove("$schema");
        definitions = members.remove("$defs").unwrap_or_default();
    }
    rename(&mut root, prefix);
    let definitions = match definitions {
        Value::Object(definitions) => definitions
            .into_iter()
            .map(|(name, mut schema)| {
                rename(&mut schema, prefix);
                (format!("{prefix}.{name}"), schema)
            })
            .collect(),
        _ => Vec::new(),
    };
    Components { root, definitions }
}

fn rename(schema: &mut Value, prefix: &str) {
    if let Some(Value::String(reference)) = schema.get_mut("$ref")
        && let Some(name) = reference.strip_prefix(DEFS)
    {
        *reference = format!("{COMPONENTS}{prefix}.{name}");
    }
    for_each_mut(schema, &mut |inside| rename(inside, prefix));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn definitions_move_and_references_follow() {
        let schema = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$defs": {"Size": {"enum": ["1:1"]}, "Tile": {"properties": {"size": {"$ref": "#/$defs/Size"}}}},
            "properties": {
                "tiles": {"items": {"$ref": "#/$defs/Tile", "description": "Tiles."}},
                "data": {"default": {"$ref": "#/$defs/Size"}},
            },
        });
        let size = "#/components/schemas/painter.images.generate.Size";
        assert_eq!(
            splice(&schema, "painter.images.generate"),
            Components {
                root: json!({"properties": {
                    "tiles": {"items": {
                        "$ref": "#/components/schemas/painter.images.generate.Tile", "description": "Tiles.",
                    }},
                    "data": {"default": {"$ref": "#/$defs/Size"}},
                }}),
                definitions: vec![
                    ("painter.images.generate.Size".to_owned(), json!({"enum": ["1:1"]})),
                    (
                        "painter.images.generate.Tile".to_owned(),
                        json!({"properties": {"size": {"$ref": size}}})
                    ),
                ],
            }
        );
        assert_eq!(splice(&json!(true), "a"), Components { root: json!(true), definitions: vec![] });
    }
}
