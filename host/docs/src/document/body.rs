//! Request bodies: the schemas of the families that serve a surface, with the models that the caller may use.

use gatehouse_schema::splice;
use serde_json::{Map, Value, json};

use crate::api::{Api, Operation, Surface};
use crate::document::components::HOST_FIELDS;

/// The body of an operation; `None` where no family serves its surface. Adds the components it needs.
pub(super) fn request(
    api: &Api,
    operation: &Operation,
    surface: &str,
    schemas: &mut Map<String, Value>,
) -> Option<Value> {
    let mut forms = Vec::new();
    let mut mapping = Map::new();
    let mut examples = Map::new();
    let mut has_default = false;
    for family in &api.families {
        let Some(own) = family.surfaces.iter().find(|own| own.name == surface) else { continue };
        let name = format!("{}.{surface}", family.name);
        let reference = format!("#/components/schemas/{name}");
        if !schemas.contains_key(&name) {
            let schema: Value = serde_json::from_str(&own.schema).unwrap_or(Value::Bool(true));
            let parts = splice(&schema, &name);
            schemas.extend(parts.definitions);
            let root =
                if operation.model_in_body { with_model(parts.root, own) } else { as_object(parts.root) };
            schemas.insert(name, root.into());
        }
        mapping.extend(own.models.iter().map(|model| (model.clone(), reference.clone().into())));
        has_default |= own.default_model.is_some();
        if let Some(example) = example(own, operation.model_in_body) {
            examples.insert(family.name.clone(), json!({"value": example}));
        }
        forms.push(json!({"$ref": reference}));
    }
    let own = match forms.len() {
        0 => return None,
        1 => forms.remove(0),
        // A discriminator needs its field, which a request may leave out where there is a default.
        _ if has_default || !operation.model_in_body => json!({"oneOf": forms}),
        _ => json!({"oneOf": forms, "discriminator": {"propertyName": "model", "mapping": mapping}}),
    };
    let host = json!({"$ref": format!("#/components/schemas/{HOST_FIELDS}")});
    let mut content = json!({"schema": {"allOf": [own, host]}});
    if !examples.is_empty() {
        content["examples"] = examples.into();
    }
    Some(json!({"required": true, "content": {"application/json": content}}))
}

/// The schema of an object; `true` means any.
fn as_object(root: Value) -> Map<String, Value> {
    let mut members = root.as_object().cloned().unwrap_or_default();
    members.entry("type").or_insert_with(|| "object".into());
    members
}

/// A family's schema with `model` as the host checks it: one of the caller's names, needed without a default.
fn with_model(root: Value, surface: &Surface) -> Map<String, Value> {
    let mut members = as_object(root);
    let mut model = json!({"type": "string", "enum": surface.models});
    let properties = members.entry("properties").or_insert_with(|| Map::new().into());
    if let Some(properties) = properties.as_object_mut() {
        let help = properties.get("model").and_then(|own| own.get("description")).cloned();
        model["description"] = help.unwrap_or_else(|| "The model.".into());
        if let Some(default) = &surface.default_model {
            model["default"] = default.clone().into();
        }
        properties.insert("model".to_owned(), model);
    }
    let required = members.entry("required").or_insert_with(|| Vec::<Value>::new().into());
    if let Some(required) = required.as_array_mut() {
        required.retain(|name| name != "model");
        if surface.default_model.is_none() {
            required.insert(0, "model".into());
        }
    }
    // Forms of models that the caller may not use.
    if let Some(forms) = members.get_mut("oneOf").and_then(Value::as_array_mut) {
        forms.retain(|form| {
            let model = form.pointer("/properties/model/const").and_then(Value::as_str);
            model.is_none_or(|model| surface.models.iter().any(|own| own == model))
        });
    }
    members
}

/// A body that the family accepts, for a model of the caller.
fn example(surface: &Surface, model_in_body: bool) -> Option<Value> {
    let mut body: Value = serde_json::from_str(surface.example.as_deref()?).ok()?;
    if model_in_body {
        let named = body["model"].as_str().map(str::to_owned).or_else(|| surface.default_model.clone());
        let is_usable = named.is_some_and(|name| surface.models.contains(&name));
        if !is_usable {
            body["model"] = surface.models.first()?.clone().into();
        }
    }
    Some(body)
}
