//! Assembles the OpenAPI document (3.1): paths from the routes, bodies from the plugins, answers and errors from the host.

mod body;
mod components;
mod money;
mod openai;
mod responses;
mod results;
mod shapes;
mod webhooks;

use std::collections::{BTreeMap, BTreeSet};

use gatehouse_model::FamilyListing;
use serde_json::{Map, Value, json};

use crate::api::{Api, Operation, Parameter, Security};

/// The version of the API, which plugins do not change.
const VERSION: &str = "1.0.0";
const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// The document.
#[must_use]
pub fn document(api: &Api) -> Value {
    let mut schemas = components::schemas(api);
    let mut paths: BTreeMap<&str, Map<String, Value>> = BTreeMap::new();
    for operation in &api.operations {
        if let Some(described) = describe(api, operation, &mut schemas) {
            paths.entry(operation.path).or_default().insert(operation.method.to_lowercase(), described);
        }
    }
    let mut document = json!({
        "openapi": "3.1.0",
        "jsonSchemaDialect": DIALECT,
        "info": {
            "title": "Gatehouse",
            "version": VERSION,
            "summary": "One API for generative models.",
            "description": ABOUT,
            "license": {"name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0"},
        },
        "servers": [{"url": "/", "description": "This gateway."}],
        "tags": tags(&paths),
        "x-gatehouse-plugins": plugins(api),
        "paths": paths,
        "components": {
            "schemas": schemas,
            "responses": responses::components(api),
            "headers": responses::headers(),
            "securitySchemes": {
                "key": {"type": "http", "scheme": "bearer", "description": "An API key."},
                "xApiKey": {"type": "apiKey", "in": "header", "name": "x-api-key", "description": "An API key."},
            },
        },
    });
    // What nothing refers to is taken out, such as the model of a plugin, which the host has written. The schemas come last: responses refer to them.
    for kind in ["responses", "headers", "schemas"] {
        keep_used(&mut document, kind);
    }
    document
}

const ABOUT: &str = "Text is answered while the client waits. Pictures and videos are tasks: a request gets a receipt \
    at once, and the task is read, or followed as events, until its result is there. Fields that are not listed are \
    ignored unless an operation says otherwise. `dry_run: true` in any body checks the request and names its price \
    without doing anything.";

/// What each group holds, in the order of the document.
const TAGS: [(&str, &str); 10] = [
    ("Text", "Answered while the client waits, whole or as a stream."),
    ("Images", "Tasks that make pictures."),
    ("Videos", "Tasks that make videos."),
    ("Avatars", "Assets for videos."),
    ("Journey", "Pictures in steps: each task offers the next ones."),
    ("Tasks", "Read, follow, list and cancel tasks."),
    ("Webhooks", "Where the ends of tasks are posted to."),
    ("Money", "Balance and usage."),
    ("Models", "What may be used."),
    ("Gateway", "Health and this documentation."),
];

fn tags(paths: &BTreeMap<&str, Map<String, Value>>) -> Value {
    let used: BTreeSet<&str> =
        paths.values().flat_map(Map::values).filter_map(|operation| operation["tags"][0].as_str()).collect();
    let known = TAGS.iter().filter(|(name, _)| used.contains(name));
    let known = known.map(|(name, description)| json!({"name": name, "description": description}));
    // The groups that families bring come last.
    let others = used.iter().filter(|name| TAGS.iter().all(|(known, _)| known != *name));
    known.chain(others.map(|name| json!({"name": name}))).collect()
}

/// Which versions the document describes.
fn plugins(api: &Api) -> Value {
    let row = |family: &FamilyListing| json!({"family": family.family, "version": family.version, "digest": family.digest.to_string()});
    api.families.iter().map(row).collect()
}

/// One operation; `None` where no family serves it.
fn describe(api: &Api, operation: &Operation, schemas: &mut Map<String, Value>) -> Option<Value> {
    let mut described = Map::new();
    if let Some(own) = &operation.own_body {
        described.insert("requestBody".to_owned(), body::of_host(api, operation, own)?);
    } else if let Some(surface) = operation.surface {
        described.insert("requestBody".to_owned(), body::request(api, operation, surface, schemas)?);
    } else if let Some(view) = operation.view {
        api.families.iter().find(|family| family.views.iter().any(|surface| surface == view))?;
    }
    described.insert("operationId".to_owned(), operation.id.clone().into());
    described.insert("tags".to_owned(), json!([operation.tag]));
    described.insert("summary".to_owned(), operation.summary.clone().into());
    if !operation.description.is_empty() {
        described.insert("description".to_owned(), operation.description.into());
    }
    let mut parameters = parameters(operation);
    if let Some(surface) = operation.reads {
        parameters.extend(query_of(api, surface)?);
    }
    if !parameters.is_empty() {
        described.insert("parameters".to_owned(), parameters.into());
    }
    let mut answers = responses::of(api, operation);
    if let Some(result) =
        operation.surface.or(operation.reads).and_then(|surface| results::of(api, surface, schemas))
    {
        results::tell(operation, result, &mut described, &mut answers);
    }
    described.insert("responses".to_owned(), answers);
    described.insert("security".to_owned(), security(operation.security));
    Some(described.into())
}

/// The parameters of a query as the family of a surface describes them; `None` where no family serves it.
fn query_of(api: &Api, surface: &str) -> Option<Vec<Value>> {
    let own = api.families.iter().flat_map(|family| &family.surfaces).find(|own| own.name == surface)?;
    let schema: Value = serde_json::from_str(&own.schema).unwrap_or_default();
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    let properties = schema["properties"].as_object().into_iter().flatten();
    let described = properties.map(|(name, property)| {
        let mut schema = property.clone();
        gatehouse_schema::make_plain(&mut schema, true);
        json!({"name": name, "in": "query", "required": required.iter().any(|one| one == name), "schema": schema})
    });
    Some(described.collect())
}

fn parameters(operation: &Operation) -> Vec<Value> {
    let name =
        operation.path.split_once('{').and_then(|(_, rest)| rest.split_once('}')).map(|(name, _)| name);
    let in_path = name.map(|name| {
        json!({
            "name": name, "in": "path", "required": true, "schema": {"type": "string", "minLength": 1},
            "description": operation.path_parameter,
        })
    });
    let other = |parameter: &Parameter| {
        let schema: Value = serde_json::from_str(parameter.schema).unwrap_or_default();
        json!({
            "name": parameter.name, "in": parameter.at, "required": false, "schema": schema,
            "description": parameter.help,
        })
    };
    in_path.into_iter().chain(operation.parameters.iter().map(other)).collect()
}

fn security(security: Security) -> Value {
    match security {
        Security::Key => json!([{"key": []}]),
        Security::KeyInEither => json!([{"key": []}, {"xApiKey": []}]),
        Security::Optional => json!([{}, {"key": []}]),
        Security::Open => json!([]),
    }
}

/// Keeps the components of one kind that are reached from the paths, or from other kinds.
fn keep_used(document: &mut Value, kind: &str) {
    let prefix = format!("#/components/{kind}/");
    let mut used = BTreeSet::new();
    let mut open = Vec::new();
    references(&document["paths"], &prefix, &mut open);
    if let Some(components) = document["components"].as_object() {
        let others = components.iter().filter(|(other, _)| *other != kind);
        others.for_each(|(_, other)| references(other, &prefix, &mut open));
    }
    while let Some(name) = open.pop() {
        if used.insert(name.clone()) {
            references(&document["components"][kind][&name], &prefix, &mut open);
        }
    }
    if let Some(components) = document["components"][kind].as_object_mut() {
        components.retain(|name, _| used.contains(name));
    }
}

/// Every component named by a reference.
fn references(value: &Value, prefix: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => members.iter().for_each(|(name, value)| match value {
            Value::String(text) if name == "$ref" => {
                found.extend(text.strip_prefix(prefix).map(str::to_owned));
            }
            value => references(value, prefix, found),
        }),
        Value::Array(items) => items.iter().for_each(|item| references(item, prefix, found)),
        _ => {}
    }
}

#[cfg(test)]
mod tests;
