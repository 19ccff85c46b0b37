//! The description of the API: OpenAPI 3.1, assembled from the route table and the types of its rows, so that neither can say what
//! the other does not. It is made once and never changes while the gateway runs.
//!
//! An operation has its parameters, its body, and every status that it can answer with.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use gatehouse_model::Digest;
use http::header::CACHE_CONTROL;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::error::ERRORS;
use crate::http::call::Call;
use crate::http::request::precondition::is_known;
use crate::http::request::query::{Form, Parameter};
use crate::http::route::{Answers, BASE, Route, Takes};
use crate::reply::Reply;

/// The version of the API, not of the gateway: it counts changes that clients notice.
const API_VERSION: &str = "1.0.0";
const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// The body of every error.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ErrorAnswer")]
pub(crate) struct ErrorAnswer {
    /// What is wrong.
    error: ErrorBody,
    /// With 412: the object as it is now.
    #[serde(skip_serializing_if = "Option::is_none")]
    current: Option<Map<String, Value>>,
    /// With 409, for a refused plugin version: every stage up to the one that refused it.
    #[serde(skip_serializing_if = "Option::is_none")]
    stages: Option<Vec<Value>>,
}

/// What is wrong with a request.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Error")]
struct ErrorBody {
    /// The HTTP status.
    code: u16,
    /// The class of the error.
    r#type: String,
    /// The error, one word for programs.
    reason: String,
    /// The error in words.
    message: String,
    /// The parameter, header or field that is wrong, by its path.
    param: Option<String>,
    /// The id of the request, also in the header `x-request-id`.
    request_id: String,
}

/// The routes, with the one that describes them all. The document is made when it is asked for: commands and most gateways never
/// need it.
pub(crate) fn with_document(routes: fn() -> Vec<Route>) -> Vec<Route> {
    let made: Arc<OnceLock<(Bytes, String)>> = Arc::default();
    let serve = move |call: Call| {
        let made = Arc::clone(&made);
        async move {
            let (bytes, etag) = made.get_or_init(|| {
                let bytes = Bytes::from(describe(&with_document(routes)).to_string());
                let etag = format!("\"{}\"", Digest::of(&bytes).prefix(16));
                (bytes, etag)
            });
            let reply = if is_known(&call.headers, etag) {
                Reply::not_modified()
            } else {
                Reply::typed("application/json", bytes.clone().into())
            };
            Ok(reply.with_etag(etag).with_header(CACHE_CONTROL, "no-cache"))
        }
    };
    let row = Route::get("/openapi.json", "getOpenApi", serve).says("Describes this API (OpenAPI 3.1).");
    let mut routes = routes();
    routes.push(row.returns::<Map<String, Value>>().tagged());
    routes
}

/// The document of these routes.
pub(crate) fn describe(routes: &[Route]) -> Value {
    let mut generators = Generators::new();
    let error = generators.answers.subschema_for::<ErrorAnswer>();
    let mut paths: Map<String, Value> = Map::new();
    let mut tags: Vec<String> = Vec::new();
    for route in routes {
        let item = paths.entry(route.path.to_owned()).or_insert_with(|| json!({}));
        item[route.method.as_str().to_ascii_lowercase()] = operation(route, &mut generators);
        let tag = tag(route.path);
        if !tags.contains(&tag) {
            tags.push(tag);
        }
    }
    let tags: Vec<Value> = tags
        .into_iter()
        .map(|tag| json!({"name": tag, "description": format!("Paths below /{tag}.")}))
        .collect();
    json!({
        "openapi": "3.1.0",
        "jsonSchemaDialect": DIALECT,
        "info": {
            "title": "Gatehouse admin API",
            "version": API_VERSION,
            "description": "Customers, keys, plugins, configuration and the audit record of a gateway. Money is in \
                            millionths of a credit (`..._micro`), moments are RFC 3339 in UTC, durations are in \
                            milliseconds (`..._ms`). A path answers 405 to other methods and lists its own in `allow`.",
            "license": {"name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0"},
        },
        "servers": [{"url": BASE, "description": "The admin listener of this gateway."}],
        "security": [{"bearer": []}],
        "tags": tags,
        "paths": paths,
        "components": {
            "securitySchemes": {
                "bearer": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "The operator's token is in admin.json of the data folder, the viewer's in admin-viewer.json.",
                },
            },
            "responses": error_responses(&error, routes),
            "schemas": generators.schemas(),
        },
    })
}

/// The schemas of what goes in and of what comes out.
struct Generators {
    requests: SchemaGenerator,
    answers: SchemaGenerator,
}

impl Generators {
    fn new() -> Self {
        let settings = || {
            SchemaSettings::draft2020_12().with(|settings| {
                settings.definitions_path = "/components/schemas".into();
                settings.meta_schema = None;
            })
        };
        Self {
            requests: settings().for_deserialize().into_generator(),
            answers: settings().for_serialize().into_generator(),
        }
    }

    fn schemas(mut self) -> Map<String, Value> {
        let mut schemas: Map<String, Value> = self.answers.take_definitions(true).into_iter().collect();
        // A type that is used both ways keeps its answer's form: it has the same fields.
        for (name, schema) in self.requests.take_definitions(true) {
            schemas.entry(name).or_insert(schema);
        }
        schemas
    }
}

fn operation(route: &Route, generators: &mut Generators) -> Value {
    let mut operation = json!({
        "operationId": route.operation,
        "summary": route.summary.trim_end_matches('.'),
        "description": format!("{} Needs the role {}.", route.summary, route.role),
        "tags": [tag(route.path)],
        "parameters": parameters(route),
        "responses": responses(route, generators),
        "x-gatehouse-role": route.role.as_str(),
    });
    if let Some(body) = body(route.takes, generators) {
        operation["requestBody"] = body;
    }
    operation
}

fn parameters(route: &Route) -> Vec<Value> {
    let in_path = route.path.split('/').filter_map(|segment| segment.strip_prefix('{')?.strip_suffix('}'));
    let mut parameters: Vec<Value> = in_path
        .map(|name| json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"}}))
        .collect();
    parameters.extend(route.query.iter().map(parameter));
    let header = |name: &str, required: bool, meaning: &str| json!({"name": name, "in": "header", "required": required, "description": meaning, "schema": {"type": "string"}});
    if route.idempotent {
        let meaning = "A text of the client's own. The same request with the same text within 24 hours changes \
                       nothing and answers as before, but for a secret, which is not shown again.";
        let mut key = header("Idempotency-Key", true, meaning);
        key["schema"] = json!({"type": "string", "minLength": 1, "maxLength": 255});
        parameters.push(key);
    }
    if route.conditional {
        parameters.push(header("If-Match", true, "The ETag of the object as it was read, or `*`."));
    }
    if route.answers.tagged && route.is_safe() {
        parameters.push(header(
            "If-None-Match",
            false,
            "The ETag of what the client has: 304 if it is still so.",
        ));
    }
    parameters
}

fn parameter(parameter: &Parameter) -> Value {
    let schema = match parameter.form {
        Form::Text => json!({"type": "string", "minLength": 1, "maxLength": 500}),
        Form::Flag => json!({"type": "boolean"}),
        Form::Moment => json!({"type": "string", "format": "date-time"}),
        Form::Limit => json!({"type": "integer", "minimum": 1, "maximum": 100, "default": 50}),
        Form::OneOf(words) => json!({"type": "string", "enum": words}),
    };
    let schema = if parameter.repeats { json!({"type": "array", "items": schema}) } else { schema };
    json!({"name": parameter.name, "in": "query", "required": false, "description": parameter.meaning, "schema": schema})
}

fn body(takes: Takes, generators: &mut Generators) -> Option<Value> {
    let content = match takes {
        Takes::Nothing => return None,
        Takes::Json(schema) => json!({"application/json": {"schema": schema(&mut generators.requests)}}),
        Takes::Patch(schema) => {
            json!({"application/merge-patch+json": {"schema": schema(&mut generators.requests)}})
        }
        Takes::File(schema) => json!({
            "application/octet-stream": {"schema": {"type": "string", "format": "binary"}},
            "application/json": {"schema": schema(&mut generators.requests)},
        }),
    };
    Some(json!({"required": true, "content": content}))
}

fn responses(route: &Route, generators: &mut Generators) -> Value {
    let Answers { status, schema, tagged, text } = route.answers;
    let mut good = json!({"description": "Done."});
    if let Some(schema) = schema {
        good["content"] = json!({"application/json": {"schema": schema(&mut generators.answers)}});
    }
    if let Some(kind) = text {
        good["content"] = json!({kind: {"schema": {"type": "string"}}});
    }
    if tagged {
        good["headers"] =
            json!({"etag": {"description": "The version of the object.", "schema": {"type": "string"}}});
    }
    let mut responses: BTreeMap<String, Value> = BTreeMap::from([(status.to_string(), good)]);
    if tagged && route.is_safe() {
        responses.insert("304".to_owned(), json!({"description": "The client has it already."}));
    }
    for status in errors(route) {
        responses
            .insert(status.to_string(), json!({"$ref": format!("#/components/responses/Error{status}")}));
    }
    json!(responses)
}

/// The statuses of errors that a route can answer with. 405 is an answer to a method that has no row.
fn errors(route: &Route) -> Vec<u16> {
    let mut statuses = vec![400, 401, 403, 421, 429, 500, 503];
    if route.path.contains('{') || !route.is_safe() || route.looks_up {
        statuses.push(404);
    }
    if !matches!(route.takes, Takes::Nothing) {
        statuses.extend([408, 413, 415]);
    }
    if !route.is_safe() {
        statuses.extend([409, 422]);
    }
    if route.conditional {
        statuses.extend([412, 428]);
    }
    statuses
}

/// One answer for each status of an error that one of the routes can answer with.
fn error_responses(schema: &Schema, routes: &[Route]) -> Map<String, Value> {
    let answered: BTreeSet<u16> = routes.iter().flat_map(errors).collect();
    let mut meanings: BTreeMap<u16, Vec<String>> = BTreeMap::new();
    for row in ERRORS.iter().filter(|row| answered.contains(&row.status)) {
        meanings.entry(row.status).or_default().push(format!("`{}`: {}", row.reason, row.meaning));
    }
    let answer = |(status, meanings): (u16, Vec<String>)| {
        let mut answer = json!({
            "description": meanings.join(" "),
            "content": {"application/json": {"schema": schema}},
        });
        let header = match status {
            401 => Some("www-authenticate"),
            412 => Some("etag"),
            429 | 503 => Some("retry-after"),
            _ => None,
        };
        if let Some(header) = header {
            answer["headers"] = json!({header: {"schema": {"type": "string"}}});
        }
        (format!("Error{status}"), answer)
    };
    meanings.into_iter().map(answer).collect()
}

/// The first segment of a path: the resource.
fn tag(path: &str) -> String {
    path.split('/').nth(1).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::resources::routes;

    #[test]
    fn every_operation_has_its_own_name_and_lists_known_statuses() {
        let known: Vec<u16> = ERRORS.iter().map(|row| row.status).collect();
        let mut names = Vec::new();
        for route in routes() {
            assert!(errors(&route).iter().all(|status| known.contains(status)), "{}", route.operation);
            assert!(route.summary.ends_with('.'), "{}", route.operation);
            assert!(!names.contains(&route.operation), "{} twice", route.operation);
            names.push(route.operation);
        }
    }
}
