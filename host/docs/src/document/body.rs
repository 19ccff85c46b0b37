//! Request bodies: the schemas of the families that serve a surface, with the models that the caller may use.

use gatehouse_model::SurfaceListing;
use gatehouse_schema::{make_plain, splice};
use serde_json::{Map, Value, json};

use crate::api::{Api, Operation, OwnBody};
use crate::document::shapes::reference;
use crate::document::webhooks;

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
        let name = format!("{}.{surface}", family.family);
        let schema: Value = serde_json::from_str(&own.schema).unwrap_or(Value::Bool(true));
        let parts = splice(&schema, &name);
        let root = if operation.model_in_body { with_model(parts.root, own) } else { as_object(parts.root) };
        let root = with_whole_forms(root, &parts.definitions);
        for (name, mut definition) in parts.definitions {
            make_plain(&mut definition, true);
            schemas.insert(name, definition);
        }
        for form in by_model(&name, root) {
            let reference = format!("#/components/schemas/{}", form.name);
            let models = form.model.map_or_else(|| own.models.clone(), |model| vec![model]);
            mapping.extend(models.into_iter().map(|model| (model, reference.clone().into())));
            forms.push(json!({"$ref": reference}));
            let mut schema = with_host_fields(form.schema, operation.makes_task).into();
            make_plain(&mut schema, true);
            schemas.insert(form.name, schema);
        }
        has_default |= own.default_model.is_some();
        if let Some(example) = example(own, operation.model_in_body) {
            examples.insert(family.family.clone(), json!({"value": example}));
        }
    }
    let own = match forms.len() {
        0 => return None,
        1 => forms.remove(0),
        _ if !operation.model_in_body => json!({"anyOf": forms}),
        // A discriminator needs its field, which a request may leave out where there is a default. The models keep the forms
        // apart all the same; of `anyOf`, programs make one type with the words of one form.
        _ if has_default => json!({"oneOf": forms}),
        _ => json!({"oneOf": forms, "discriminator": {"propertyName": "model", "mapping": mapping}}),
    };
    let mut content = json!({"schema": own});
    if !examples.is_empty() {
        content["examples"] = examples.into();
    }
    let mut contents = json!({"application/json": content});
    if operation.takes_forms {
        contents["multipart/form-data"] = json!({"schema": contents["application/json"]["schema"]});
    }
    Some(json!({"required": true, "content": contents}))
}

/// The body of an operation that the host describes itself; `None` where no family serves it.
pub(super) fn of_host(api: &Api, operation: &Operation, own: &OwnBody) -> Option<Value> {
    let mut example: Value = serde_json::from_str(own.example).unwrap_or_default();
    if let Some(name) = own.surface {
        let mut surfaces = api.families.iter().flat_map(|family| &family.surfaces);
        example["model"] = surfaces.find(|surface| surface.name == name)?.models.first()?.clone().into();
    }
    let schema = reference(own.component);
    let mut contents = Map::new();
    if operation.takes_forms {
        contents.insert("multipart/form-data".to_owned(), json!({"schema": schema}));
    }
    let json = json!({"schema": schema, "examples": {"gatehouse": {"value": example}}});
    contents.insert("application/json".to_owned(), json);
    Some(json!({"required": true, "content": contents}))
}

/// One form of a family's body.
struct Form {
    /// Of its component.
    name: String,
    /// The one model that it is for.
    model: Option<String>,
    schema: Map<String, Value>,
}

/// The forms of a body that has one for each of its models, or the whole as one: programs do not look for a choice within the
/// choice between families.
fn by_model(name: &str, root: Map<String, Value>) -> Vec<Form> {
    let of_model = |form: &Value| {
        let model = form.pointer("/properties/model/const")?.as_str()?.to_owned();
        Some(Form { name: format!("{name}.{model}"), model: Some(model), schema: form.as_object()?.clone() })
    };
    let forms = root.get("oneOf").and_then(Value::as_array);
    let forms: Option<Vec<Form>> = forms.and_then(|forms| forms.iter().map(of_model).collect());
    match forms {
        Some(forms) if !forms.is_empty() => forms,
        _ => vec![Form { name: name.to_owned(), model: None, schema: root }],
    }
}

/// What a client may note down about a task. Any value is taken: what cannot be kept is ignored.
const TAGS: [(&str, &str); 2] = [
    (
        "user",
        "Whom the client serves with it: a text of at most 512 characters, kept with the task for its operator.",
    ),
    (
        "metadata",
        "An object of at most 16 texts of at most 512 characters, with names of at most 64, kept with the task for its operator. \
         What is longer or no text is not kept.",
    ),
];

/// With the fields that every body may have, whatever its family.
fn with_host_fields(mut schema: Map<String, Value>, makes_task: bool) -> Map<String, Value> {
    let properties = schema.entry("properties").or_insert_with(|| Map::new().into());
    if let Some(properties) = properties.as_object_mut() {
        properties.insert(
            "dry_run".to_owned(),
            json!({
                "type": "boolean",
                "description": "Checks the request and answers what it would cost. Nothing is made, held or sent.",
            }),
        );
        if makes_task {
            properties.insert("callback_url".to_owned(), webhooks::callback_url());
            // A family that has a word for them says what they are.
            for (name, description) in TAGS {
                properties.entry(name).or_insert_with(|| json!({ "description": description }));
            }
        }
    }
    schema
}

/// The schema of an object; `true` means any.
fn as_object(root: Value) -> Map<String, Value> {
    let mut members = root.as_object().cloned().unwrap_or_default();
    members.entry("type").or_insert_with(|| "object".into());
    members
}

/// A family's schema with `model` as the host checks it: one of the caller's names, needed without a default.
fn with_model(root: Value, surface: &SurfaceListing) -> Map<String, Value> {
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

/// A schema of several forms with each form in one piece: one that adds fields to a definition lists all of them itself.
/// Programs that read a definition by itself would miss those beside its reference.
fn with_whole_forms(mut root: Map<String, Value>, definitions: &[(String, Value)]) -> Map<String, Value> {
    let forms = root.get_mut("oneOf").and_then(Value::as_array_mut);
    for form in forms.into_iter().flatten().filter_map(Value::as_object_mut) {
        let definition = form.get("$ref").and_then(Value::as_str).and_then(|reference| {
            let name = reference.strip_prefix("#/components/schemas/")?;
            definitions.iter().find(|(own, _)| own == name)?.1.as_object()
        });
        let Some(definition) = definition.filter(|_| form.contains_key("properties")).cloned() else {
            continue;
        };
        form.remove("$ref");
        for (name, value) in definition {
            match (form.get_mut(&name), value) {
                (Some(Value::Object(own)), Value::Object(more)) => {
                    for (name, value) in more {
                        own.entry(name).or_insert(value);
                    }
                }
                (Some(Value::Array(own)), Value::Array(more)) => own.extend(more),
                (Some(_), _) => {}
                (None, value) => {
                    form.insert(name, value);
                }
            }
        }
    }
    root
}

/// A body that the family accepts, for a model of the caller.
fn example(surface: &SurfaceListing, model_in_body: bool) -> Option<Value> {
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
