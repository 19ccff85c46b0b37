//! The schemas of webhooks, of what was sent to them, and of callbacks. Moments are Unix seconds.

use serde_json::{Map, Value, json};

use crate::document::shapes::{list_of, object, page, reference, wrapped};

/// The field of every submission.
pub(super) fn callback_url() -> Value {
    json!({
        "type": ["string", "null"], "maxLength": 2048,
        "description": "Where the end of the task is posted to once it has completed, failed or was cancelled: a public https \
            address, and none at which an operator disabled a webhook of this account (403). Signed as webhooks are, with the \
            secret of `GET /v1/callbacks/secret`.",
    })
}

/// Bodies and answers.
pub(super) fn schemas() -> Value {
    let events = json!({
        "type": "array", "uniqueItems": true, "items": {"enum": ["task.completed", "task.failed", "task.cancelled", "balance.low", "quota.reached"]},
        "description": "Which events; empty for all.",
    });
    let url = json!({
        "type": "string", "minLength": 1, "maxLength": 2048,
        "description": "A public https address without user name and password.",
    });
    let description =
        json!({"type": "string", "maxLength": 200, "description": "For people; at most 200 bytes."});
    let enabled = json!({"type": "boolean", "description": "Whether anything is sent."});
    let settable = json!({"url": url, "events": events, "description": description, "enabled": enabled});
    let text = json!({"type": ["string", "null"]});
    json!({
        "NewWebhook": {
            "type": "object", "required": ["url"], "properties": settable, "additionalProperties": false,
        },
        "WebhookEdit": {"type": "object", "properties": settable, "additionalProperties": false},
        "Webhook": webhook(&settable),
        "WebhookResponse": wrapped(&reference("Webhook")),
        "WebhookList": wrapped(&list_of("Webhook")),
        "RemovedWebhook": wrapped(&object(&["id", "deleted"], &json!({
            "id": {"type": "string"}, "deleted": {"const": true},
        }))),
        "WebhookAttempt": object(&["at", "took_ms", "status", "problem"], &json!({
            "at": {"type": "integer", "minimum": 0}, "took_ms": {"type": "integer", "minimum": 0},
            "status": {"type": ["integer", "null"], "description": "Of the receiver's answer; null without one."},
            "problem": {"type": "string", "description": "Why it failed; empty where it did not."},
        })),
        "WebhookDelivery": object(&[
            "id", "event", "task", "created", "status", "due", "reason", "attempts",
        ], &json!({
            "id": {"type": "string", "description": "`webhook-id` of every attempt."},
            "event": {"type": "string"}, "task": text, "created": {"type": "integer", "minimum": 0},
            "status": {"enum": ["pending", "delivered", "failed"]},
            "due": moment("When the next attempt is due"),
            "reason": {"type": ["string", "null"], "description": "Why it is not tried any more."},
            "attempts": {"type": "array", "items": reference("WebhookAttempt"), "description": "Oldest first."},
        })),
        "DeliveryResponse": wrapped(&reference("WebhookDelivery")),
        "DeliveryPage": page("WebhookDelivery"),
        "CallbackResponse": wrapped(&object(&["task", "url", "status", "delivery"], &json!({
            "task": {"type": "string"},
            "url": {"type": "string", "description": "Without its query."},
            "status": {
                "enum": ["waiting", "pending", "delivered", "failed", "forgotten"],
                "description": "`waiting` before the end of the task, `forgotten` a week after it.",
            },
            "delivery": {"oneOf": [reference("WebhookDelivery"), {"type": "null"}]},
        }))),
        "CallbackSecret": wrapped(&object(&["key", "secret"], &json!({
            "key": {"type": "string", "description": "The id of the key."},
            "secret": {"type": "string", "description": "`whsec_` and 32 bytes in base64."},
        }))),
    })
}

/// A webhook: what may be set, and what became of it.
fn webhook(settable: &Value) -> Value {
    let mut properties = json!({
        "id": {"type": "string"},
        "disabled_at": moment("Since when nothing is sent"),
        "disabled_reason": {"type": ["string", "null"]},
        "created": {"type": "integer", "minimum": 0},
        "secret_created": {"type": "integer", "minimum": 0},
        "old_secret_until": moment("Until when the secret before signs too"),
        "pending": {"type": "integer", "minimum": 0, "description": "Deliveries that wait."},
        "failing_since": moment("The first failure since the last success"),
        "last_success": moment("The last success"),
        "last_attempt": {"oneOf": [reference("WebhookAttempt"), {"type": "null"}]},
    });
    if let (Some(all), Some(more)) = (properties.as_object_mut(), settable.as_object()) {
        all.extend(more.clone());
    }
    let required: Vec<String> = properties.as_object().into_iter().flat_map(Map::keys).cloned().collect();
    properties["secret"] =
        json!({"type": "string", "description": "Only in the answer that makes it, the first time."});
    json!({"type": "object", "required": required, "properties": properties})
}

fn moment(what: &str) -> Value {
    json!({"type": ["integer", "null"], "minimum": 0, "description": format!("{what}, in Unix seconds.")})
}
