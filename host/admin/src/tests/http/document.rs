//! The document: it lists every route with its role and its statuses, names only what it defines, and keeps its tag.

use serde_json::Value;

use super::Api;
use crate::http::request::query::Form;
use crate::http::resources::routes;

/// Every reference in the document.
fn references<'v>(value: &'v Value, found: &mut Vec<&'v str>) {
    match value {
        Value::Object(fields) => {
            found.extend(fields.get("$ref").and_then(Value::as_str));
            fields.values().for_each(|value| references(value, found));
        }
        Value::Array(values) => values.iter().for_each(|value| references(value, found)),
        _ => {}
    }
}

#[tokio::test]
async fn it_lists_every_route() {
    let api = Api::start().await;
    let document = api.get("/openapi.json").await;
    assert_eq!(document["openapi"], "3.1.0");
    for route in routes() {
        let operation = &document["paths"][route.path][route.method.as_str().to_lowercase()];
        assert_eq!(operation["operationId"], route.operation, "{}", route.path);
        assert_eq!(operation["x-gatehouse-role"], route.role.as_str());
        let responses = operation["responses"].as_object().expect("responses");
        assert!(responses.contains_key("401") && responses.contains_key("403"), "{}", route.path);
        for name in route.path.split('/').filter(|segment| segment.starts_with('{')) {
            let parameters = operation["parameters"].as_array().expect("parameters");
            assert!(
                parameters.iter().any(
                    |parameter| name == format!("{{{}}}", parameter["name"].as_str().unwrap_or_default())
                ),
                "{name}"
            );
        }
    }
}

#[tokio::test]
async fn it_lists_what_a_parameter_answers_that_finds_nothing() {
    let api = Api::start().await;
    let document = api.get("/openapi.json").await;
    let operator = ("authorization", api.operator.as_str());
    let mut asked = 0;
    for route in routes() {
        // A log's tail has no end, and a name in braces is another matter.
        if !route.is_safe() || route.path.contains('{') || route.path.ends_with("/tail") {
            continue;
        }
        let responses = &document["paths"][route.path]["get"]["responses"];
        for parameter in route.query.iter().filter(|parameter| matches!(parameter.form, Form::Text)) {
            let path = format!("{}?{}=nobody", route.path, parameter.name);
            let status = api.send("GET", &path, &[operator], "").await.status;
            // No gateway runs behind this API: a read of its logs is refused.
            if status == 409 {
                continue;
            }
            assert!(responses[status.to_string()].is_object(), "{path}: {status}");
            asked += 1;
        }
    }
    assert!(asked > 10, "{asked}");
}

#[tokio::test]
async fn its_references_lead_somewhere() {
    let api = Api::start().await;
    let document = api.get("/openapi.json").await;
    let mut found = Vec::new();
    references(&document, &mut found);
    assert!(found.len() > 20, "{found:?}");
    for reference in found {
        let pointer = reference.strip_prefix('#').expect("a reference within the document");
        assert!(document.pointer(pointer).is_some(), "{reference}");
    }
}

#[tokio::test]
async fn it_keeps_its_tag() {
    let api = Api::start().await;
    let bearer = ("authorization", api.viewer.as_str());
    let first = api.send("GET", "/openapi.json", &[bearer], "").await;
    let tag = first.header("etag").to_owned();
    assert_eq!((first.header("cache-control"), tag.is_empty()), ("no-cache", false));
    let again = api.send("GET", "/openapi.json", &[bearer, ("if-none-match", &tag)], "").await;
    assert_eq!((again.status, again.body.len()), (304, 0));
}
