//! Answers and errors. Each operation names every status of the error table, in its own form: a client can get any of
//! them anywhere, because head, body and limits are checked before a route counts.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use crate::api::{Answer, Api, Content, ErrorCase, ErrorForm, Operation};
use crate::document::shapes::reference;

/// What the names of a form's responses begin with, and the component of its bodies.
fn names_of(form: ErrorForm) -> (&'static str, &'static str) {
    match form {
        ErrorForm::Generic => ("Error", "Error"),
        ErrorForm::Journey => ("JourneyError", "JourneyError"),
        ErrorForm::Messages => ("MessagesError", "MessagesError"),
        ErrorForm::Responses => ("ResponsesError", "ResponsesError"),
        ErrorForm::OpenAi => ("OpenAiError", "ResponsesError"),
        ErrorForm::Models => ("ModelError", "ModelError"),
    }
}

/// The responses of an operation.
pub(super) fn of(api: &Api, operation: &Operation) -> Value {
    let mut responses = Map::new();
    for answer in &operation.answers {
        responses.insert(answer.status.to_string(), answer_of(answer));
    }
    for status in by_status(api, operation.form).into_keys() {
        let name = format!("{}{status}", names_of(operation.form).0);
        let reference = json!({"$ref": format!("#/components/responses/{name}")});
        responses.insert(status.to_string(), reference);
    }
    responses.into()
}

/// Every error of every form that an operation has.
pub(super) fn components(api: &Api) -> Value {
    let mut all = Map::new();
    let forms: BTreeSet<ErrorForm> = api.operations.iter().map(|operation| operation.form).collect();
    for form in forms {
        let (name, schema) = names_of(form);
        for (status, cases) in by_status(api, form) {
            all.insert(format!("{name}{status}"), error(schema, status, &cases));
        }
    }
    all.into()
}

/// Headers that several responses share.
pub(super) fn headers() -> Value {
    json!({
        "RequestId": {"description": "The request's id, for questions.", "schema": {"type": "string"}},
        "QuotaReset": {
            "description": "When the quota that does not allow the request resets, and the same request passes it; RFC 3339 \
                            in UTC. Only where it resets.",
            "schema": {"type": "string", "format": "date-time"},
        },
        "QuotaRetryAfter": {
            "description": "Seconds until that moment, however many.",
            "schema": {"type": "integer", "minimum": 1},
        },
        "RetryAfter": {
            "description": "Seconds until another try makes sense.",
            "schema": {"type": "integer", "minimum": 1, "maximum": 60},
        },
    })
}

fn by_status(api: &Api, form: ErrorForm) -> BTreeMap<u16, Vec<&ErrorCase>> {
    let mut all: BTreeMap<u16, Vec<&ErrorCase>> = BTreeMap::new();
    for case in &api.errors {
        let status = if form == ErrorForm::Responses { case.responses_status } else { case.status };
        all.entry(status).or_default().push(case);
    }
    all
}

fn error(schema: &str, status: u16, cases: &[&ErrorCase]) -> Value {
    let mut reasons: Vec<&str> = cases.iter().map(|case| case.reason).collect();
    reasons.dedup();
    let retry = if cases.iter().any(|case| case.retry) { " The same request may succeed later." } else { "" };
    let mut headers = json!({"x-request-id": {"$ref": "#/components/headers/RequestId"}});
    if matches!(status, 429 | 503) {
        headers["retry-after"] = json!({"$ref": "#/components/headers/RetryAfter"});
    }
    if status == 402 {
        headers["retry-after"] = json!({"$ref": "#/components/headers/QuotaRetryAfter"});
        headers["x-quota-reset"] = json!({"$ref": "#/components/headers/QuotaReset"});
    }
    json!({
        "description": format!("{}.{retry}", reasons.join(", ")),
        "headers": headers,
        "content": {"application/json": {"schema": reference(schema)}},
    })
}

fn answer_of(answer: &Answer) -> Value {
    let mut content = Map::new();
    for form in answer.contents {
        match form {
            Content::Json(components) => {
                let schema = match components {
                    [only] => reference(only),
                    several => {
                        let forms: Value = several.iter().map(|name| reference(name)).collect();
                        json!({"oneOf": forms})
                    }
                };
                content.insert("application/json".to_owned(), json!({"schema": schema}));
            }
            Content::Events(help, data) => {
                content.insert("text/event-stream".to_owned(), json!({"schema": event(help, *data)}));
            }
            Content::Html => {
                content.insert("text/html".to_owned(), json!({"schema": {"type": "string"}}));
            }
            Content::Bytes(types) => {
                for mime in *types {
                    content.insert((*mime).to_owned(), json!({}));
                }
            }
        }
    }
    let mut described = json!({
        "description": answer.help,
        "headers": {"x-request-id": {"$ref": "#/components/headers/RequestId"}},
    });
    if !content.is_empty() {
        described["content"] = content.into();
    }
    described
}

/// One event of a stream, as the fields of its lines.
fn event(help: &str, data: Option<&str>) -> Value {
    let mut text = json!({"type": "string", "description": "JSON on one line."});
    if let Some(component) = data {
        text["contentMediaType"] = "application/json".into();
        text["contentSchema"] = reference(component);
    }
    json!({
        "type": "object", "description": help, "required": ["data"],
        "properties": {"event": {"type": "string"}, "data": text, "id": {"type": "string"}},
    })
}
