//! The whole document, and the route that serves it. It is made once and never changes while the gateway runs.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use gatehouse_model::Digest;
use http::header::CACHE_CONTROL;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::operation::{error_responses, operation, tag};
use crate::http::call::Call;
use crate::http::request::precondition::is_known;
use crate::http::route::BASE;
use crate::http::route::Route;
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

/// The document's bytes and their tag.
struct Document {
    bytes: Bytes,
    etag: String,
}

/// The routes, with the one that describes them all.
pub(crate) fn with_document(mut routes: Vec<Route>) -> Vec<Route> {
    let document: Arc<OnceLock<Document>> = Arc::default();
    let served = Arc::clone(&document);
    let serve = move |call: Call| {
        let served = Arc::clone(&served);
        async move {
            let document = served.get_or_init(|| Document { bytes: Bytes::new(), etag: String::new() });
            let reply = if is_known(&call.headers, &document.etag) {
                Reply::not_modified()
            } else {
                Reply::typed("application/json", document.bytes.clone().into())
            };
            Ok(reply.with_etag(&document.etag).with_header(CACHE_CONTROL, "no-cache"))
        }
    };
    let row = Route::get("/openapi.json", "getOpenApi", "Describes this API (OpenAPI 3.1).", serve);
    routes.push(row.returns::<Map<String, Value>>().tagged());
    let bytes = Bytes::from(describe(&routes).to_string());
    let etag = format!("\"{}\"", Digest::of(&bytes).prefix(16));
    let _ = document.set(Document { bytes, etag });
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
pub(super) struct Generators {
    pub(super) requests: SchemaGenerator,
    pub(super) answers: SchemaGenerator,
}

impl Generators {
    pub(super) fn new() -> Self {
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

    pub(super) fn schemas(mut self) -> Map<String, Value> {
        let mut schemas: Map<String, Value> = self.answers.take_definitions(true).into_iter().collect();
        // A type that is used both ways keeps its answer's form: it has the same fields.
        for (name, schema) in self.requests.take_definitions(true) {
            schemas.entry(name).or_insert(schema);
        }
        schemas
    }
}
