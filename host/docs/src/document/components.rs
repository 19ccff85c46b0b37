//! The host's own schemas: receipts, tasks, dry runs, models, errors, and the outlines of text answers, whose details are
//! those of their protocols.

use gatehouse_schema::make_plain;
use serde_json::{Map, Value, json};

use crate::api::{Api, ErrorCase};
use crate::document::money::money;
use crate::document::shapes::{list_of, object, page, reference, wrapped};
use crate::document::{openai, webhooks};

/// Every schema that is not a plugin's.
pub(super) fn schemas(api: &Api) -> Map<String, Value> {
    let mut all = Map::new();
    for part in [
        requests(),
        tasks(),
        money(),
        models(),
        texts(),
        openai::schemas(),
        webhooks::schemas(),
        errors(&api.errors),
    ] {
        if let Value::Object(part) = part {
            all.extend(part.into_iter().map(|(name, mut schema)| {
                make_plain(&mut schema, false);
                (name, schema)
            }));
        }
    }
    all
}

/// A receipt: what is wrapped, the ended task where the client waited for it, or the answer to a dry run.
fn receipt_of(data: &Value) -> Value {
    json!({"oneOf": [data, reference("Task"), reference("DryRun")]})
}

/// What is wrapped, or the answer to a dry run. The choice is inside of the envelope: programs tell answers apart by the names
/// of their fields.
fn or_dry_run(data: &Value) -> Value {
    json!({"oneOf": [data, reference("DryRun")]})
}

fn requests() -> Value {
    json!({
        "TaskReceipt": wrapped(&receipt_of(&json!({
            "type": "array", "minItems": 1, "maxItems": 1, "items": object(&["status", "task_id"], &json!({
                "status": {"const": "submitted"}, "task_id": task_id(),
            })),
        }))),
        "AssetReceipt": wrapped(&receipt_of(&reference("AssetTask"))),
        "AssetTask": object(&["id", "object", "status", "progress", "model"], &json!({
            "id": task_id(), "object": {"const": "clip.avatar.asset.task"},
            "status": {"const": "processing"}, "progress": progress(), "model": {"type": "string"},
        })),
        "DryRun": {
            "type": "object", "required": ["dry_run", "model", "charges", "sum", "at_most"],
            "description": "What a request would cost.",
            "properties": {
                "dry_run": {"const": true},
                "model": {"type": "string", "description": "The model's own id."},
                "charges": list_of("DryRunCharge"),
                "sum": {"type": "number", "minimum": 0, "description": "Credits that would be held."},
                "at_most": {
                    "type": "boolean",
                    "description": "Whether the sum is an upper limit: text is charged by its tokens, once counted, and some tasks by what they made.",
                },
                "estimated_time": seconds("Usual duration"),
                "failure": {
                    "$ref": "#/components/schemas/TaskFailure",
                    "description": "The task would be accepted and fail with this.",
                },
            },
        },
        "DryRunCharge": object(&["price_keys", "price_key", "unit", "quantity", "unit_price", "sum"], &json!({
            "price_keys": {"type": "array", "items": {"type": "string"}, "description": "Most specific first."},
            "price_key": {"type": "string", "description": "The first of them that has a price."},
            "unit": {"type": "string", "description": "What is counted: `unit`, `second`, `million input tokens`, ..."},
            "quantity": {"type": "number", "minimum": 0},
            "per": {"enum": [1000, 1_000_000], "description": "For how many units the price is; absent: for one."},
            "unit_price": {"type": "number", "minimum": 0, "description": "Credits."},
            "sum": {"type": "number", "minimum": 0, "description": "Credits."},
        })),
    })
}

fn tasks() -> Value {
    let moment = |what: &str| json!({"type": "integer", "minimum": 0, "description": format!("{what}, in Unix seconds.")});
    json!({
        "Task": object(&["id", "status", "progress", "created", "model"], &json!({
            "id": task_id(),
            "status": {"enum": ["submitted", "pending", "processing", "completed", "failed"]},
            "progress": progress(),
            "result": {
                "description": "What the family made: `images` or `videos` with `url` and `expires_at`, or its own \
                    shape. It may be there before the end. Links are valid for 24 hours.",
            },
            "waiting_for": {
                "type": "string",
                "description": "What the task waits for from you: `modal`, the request that finishes an inpaint task.",
            },
            "waiting_reason": {
                "type": "string",
                "description": "Why the last such request could not be used. Send it once more; it costs nothing again.",
            },
            "error": reference("TaskFailure"),
            "created": moment("When it was accepted"),
            "completed": moment("When it ended"),
            "model": {"type": "string"},
            "cost": {"type": "number", "minimum": 0, "description": "Credits; 0 for a failed task."},
            "estimated_time": seconds("Usual duration"),
            "actual_time": seconds("Duration"),
            "queue_position": {
                "type": "integer", "minimum": 1,
                "description": "While it waits for its provider to take more work: its position among your own tasks \
                    and requests that wait there; 1 is the next. Only where it is known.",
            },
            "estimated_wait": seconds("At the present pace, how long until the provider takes it: an estimate"),
        })),
        "TaskFailure": object(&["type", "code", "message"], &json!({
            "type": {"enum": [
                "invalid_request_error", "content_policy_violation", "upstream_error", "timeout_error",
                "rate_limit_error", "cancelled", "server_error",
            ]},
            "code": {"const": "task_failed"},
            "message": {"type": "string"},
        })),
        "TaskResponse": wrapped(&reference("Task")),
        "TaskPage": page("Task"),
        "FamilyAnswer": {"type": "object", "description": "What the family answers."},
        "FamilyTask": {"type": "object", "description": "The task as its family renders it."},
    })
}

fn models() -> Value {
    let kind = json!({"enum": ["text", "image", "video", "audio", "avatar", "embedding"]});
    let modality = json!({"type": "string", "description": "What it makes, in its family's word."});
    let id = json!({"type": ["string", "null"]});
    let with_facts = |mut model: Value| {
        for (name, schema) in facts() {
            model["properties"][name] = schema;
        }
        model
    };
    json!({
        "Model": with_facts(object(&["id", "object", "created", "owned_by", "kind", "modality"], &json!({
            "id": {"type": "string"}, "object": {"const": "model"}, "created": {"type": "integer"},
            "owned_by": {"type": "string"}, "kind": kind, "modality": modality,
        }))),
        "ModelList": object(&["object", "data"], &json!({
            "object": {"const": "list"},
            "data": list_of("Model"),
        })),
        "MessagesModel": with_facts(json!({
            "type": "object", "required": ["type", "id", "display_name", "created_at", "kind", "modality"],
            "description": "What clients that send `anthropic-version` get.",
            "properties": {
                "type": {"const": "model"}, "id": {"type": "string"}, "display_name": {"type": "string"},
                "created_at": {"type": "string", "format": "date-time"}, "kind": kind, "modality": modality,
                "max_input_tokens": {"type": "integer"}, "max_tokens": {"type": "integer"},
            },
        })),
        "MessagesModelPage": object(&["data", "has_more", "first_id", "last_id"], &json!({
            "data": list_of("MessagesModel"),
            "has_more": {"type": "boolean"}, "first_id": id, "last_id": id,
        })),
        "Health": object(&["status"], &json!({"status": {"enum": ["ok", "ready"]}})),
        "OpenApi": object(&["openapi", "info", "paths"], &json!({
            "openapi": {"const": "3.1.0"}, "info": {"type": "object"}, "paths": {"type": "object"},
        })),
    })
}

/// What a model is described by, in either shape.
fn facts() -> [(&'static str, Value); 6] {
    let texts = || json!({"type": "array", "items": {"type": "string"}});
    let tokens = |what: &str| json!({"type": "integer", "minimum": 1, "description": what});
    let price = json!({
        "price_key": {"type": "string"}, "unit": {"type": "string"},
        "unit_price": {"type": "number", "minimum": 0, "description": "Credits."},
    });
    let price = object(&["price_key", "unit", "unit_price"], &price);
    [
        ("surfaces", texts()),
        ("context_length", tokens("Tokens of a request and its answer together.")),
        ("max_output_tokens", tokens("Tokens of the longest answer.")),
        ("input_modalities", texts()),
        ("output_modalities", texts()),
        ("prices", json!({"type": "array", "items": price})),
    ]
}

/// Outlines: the protocols say the rest.
fn texts() -> Value {
    json!({
        "ChatCompletion": object(&["id", "object", "choices"], &json!({
            "id": {"type": "string"}, "object": {"const": "chat.completion"},
            "created": {"type": "integer"}, "model": {"type": "string"},
            "choices": {"type": "array", "items": object(&["index", "message"], &json!({
                "index": {"type": "integer", "minimum": 0}, "message": {"type": "object"},
                "finish_reason": {"type": ["string", "null"]},
            }))},
            "usage": {"type": ["object", "null"]},
        })),
        "WrappedChatCompletion": wrapped(&or_dry_run(&reference("ChatCompletion"))),
        "EmbeddingList": object(&["object", "data", "model", "usage"], &json!({
            "object": {"const": "list"}, "data": {"type": "array", "items": {"type": "object"}},
            "model": {"type": "string"}, "usage": {"type": "object"},
        })),
        "Message": object(&["id", "type", "role", "content", "usage"], &json!({
            "id": {"type": "string"}, "type": {"const": "message"}, "role": {"const": "assistant"},
            "model": {"type": "string"}, "content": {"type": "array", "items": {"type": "object"}},
            "stop_reason": {"type": ["string", "null"]}, "usage": {"type": "object"},
        })),
        "Response": object(&["id", "object", "status", "output"], &json!({
            "id": {"type": "string"}, "object": {"const": "response"}, "status": {"type": "string"},
            "model": {"type": "string"}, "output": {"type": "array", "items": {"type": "object"}},
            "usage": {"type": ["object", "null"]},
        })),
        "DeletedResponse": object(&["id", "object", "deleted"], &json!({
            "id": {"type": "string"}, "object": {"const": "response"}, "deleted": {"const": true},
        })),
        "ResponseItems": object(&["object", "data", "has_more"], &json!({
            "object": {"const": "list"}, "data": {"type": "array", "items": {"type": "object"}},
            "has_more": {"type": "boolean"},
            "first_id": {"type": ["string", "null"]}, "last_id": {"type": ["string", "null"]},
        })),
    })
}

/// The four envelopes.
fn errors(cases: &[ErrorCase]) -> Value {
    let words = |word: fn(&ErrorCase) -> &'static str| -> Value {
        let all: std::collections::BTreeSet<&str> = cases.iter().map(word).collect();
        all.into_iter().collect()
    };
    let statuses: std::collections::BTreeSet<u16> = cases.iter().map(|case| case.status).collect();
    let statuses: Vec<u16> = statuses.into_iter().collect();
    let param = json!({"type": "string", "description": "The wrong field, as JSON path."});
    let resets = json!({
        "type": "string", "format": "date-time",
        "description": "With 402: when the quota resets that does not allow the request. Only where it does.",
    });
    // An envelope whose one member is an object with these.
    let error = |required: &[&str], properties: &Value| {
        object(&["error"], &json!({"error": object(required, properties)}))
    };
    let generic = |kind: Value| {
        let properties = json!({
            "code": {"enum": statuses, "description": "The status."},
            "message": {"type": "string"}, "type": {"enum": kind},
            "reason": {"enum": words(|case| case.reason)}, "param": param,
            "resets_at": resets,
        });
        error(&["code", "message", "type", "reason"], &properties)
    };
    let code = json!({"enum": words(|case| case.messages_code)});
    json!({
        "Error": generic(words(|case| case.type_word)),
        "JourneyError": generic(words(|case| case.journey_word)),
        "MessagesError": object(&["type", "error", "request_id"], &json!({
            "type": {"const": "error"},
            "error": object(&["type", "code", "message"], &json!({
                "type": {"const": "gateway_error"}, "code": code, "message": {"type": "string"},
                "details": {"type": "object", "properties": {"error_code": code}},
                "resets_at": resets,
            })),
            "request_id": {"type": "string"},
        })),
        "ModelError": {"oneOf": [reference("ResponsesError"), reference("MessagesError")]},
        "ResponsesError": error(&["message", "type", "param", "code"], &json!({
            "message": {"type": "string"}, "type": {"enum": words(|case| case.type_word)},
            "param": {"type": ["string", "null"]}, "code": {"type": ["string", "null"]},
            "resets_at": resets,
        })),
    })
}

fn task_id() -> Value {
    json!({"type": "string", "pattern": "^task_[0-9A-HJKMNP-TV-Z]{26}$"})
}

fn progress() -> Value {
    json!({"type": "integer", "minimum": 0, "maximum": 100, "description": "Percent; it never falls."})
}

fn seconds(what: &str) -> Value {
    json!({"type": "integer", "minimum": 0, "description": format!("{what}, in seconds.")})
}
