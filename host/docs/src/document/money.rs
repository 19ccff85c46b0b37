//! The schemas of balance and usage. Amounts are credits, beside the exact number of millionths.

use serde_json::{Value, json};

use crate::document::shapes::{list_of, object, reference, whole, wrapped};

/// The components of the endpoints about money.
pub(super) fn money() -> Value {
    let count = || json!({"type": "integer", "minimum": 0});
    let mut sums = json!({
        "requests": count(), "failures": count(), "input_tokens": count(), "output_tokens": count(),
        "cached_tokens": count(), "cache_write_tokens": count(),
    });
    amount(&mut sums, "cost", "Paid.");
    amount(&mut sums, "refunded", "Held for requests that failed, and given back.");
    let mut row = json!({
        "day": {"type": "string", "format": "date"},
        "key": {"type": "string", "description": "The id of a key."},
        "model": {"type": "string"},
    });
    join(&mut row, &sums);
    let mut balance = json!({"key": reference("KeyBalance")});
    amount(&mut balance, "available", "What new requests may cost.");
    amount(&mut balance, "held", "Set aside for requests that go on.");
    amount(&mut balance, "spent", "Paid so far.");
    let mut key = json!({"id": {"type": "string"}, "name": {"type": "string"}});
    amount(
        &mut key,
        "used",
        "Paid and held by this key, and by those it was rotated from; in the present period where its quota resets.",
    );
    for (name, help) in [("quota", "Null without one."), ("remaining", "Of the quota; null without one.")] {
        key[name] = json!({"type": ["number", "null"], "description": help});
        key[format!("{name}_micro")] = json!({"type": ["integer", "null"]});
    }
    key["resets_at"] = resets_at();
    let mut quota = json!({"resets_at": resets_at()});
    amount(&mut quota, "limit", "The most that may be used.");
    amount(&mut quota, "used", "Paid and held, in the present period where the quota resets.");
    amount(&mut quota, "remaining", "What is left of it.");
    balance["quota"] = json!({
        "description": "The quota of the account, for all its keys together; null without one.",
        "oneOf": [reference("AccountQuota"), {"type": "null"}],
    });
    json!({
        "AccountQuota": whole(&quota),
        "BalanceResponse": wrapped(&whole(&balance)),
        "KeyBalance": whole(&key),
        "KeyLimits": whole(&json!({
            "requests_per_minute": limit("Requests in a minute."),
            "tokens_per_minute": limit("Tokens in a minute, read and written."),
            "concurrency": limit("Live tasks and open text requests."),
        })),
        "KeyResponse": wrapped(&whole(&own_key())),
        "UsagePage": object(&["code", "data", "total", "has_more", "next"], &json!({
            "code": {"const": 200},
            "data": list_of("UsageRow"),
            "total": whole(&sums),
            "has_more": {"type": "boolean"},
            "next": {"type": ["string", "null"], "description": "`after` of the next page."},
        })),
        "UsageRow": whole(&row),
    })
}

/// What a key may do.
fn own_key() -> Value {
    let texts = |help: &str| json!({"type": "array", "items": {"type": "string"}, "description": help});
    json!({
        "id": {"type": "string"}, "name": {"type": "string"},
        "created": {"type": "integer", "minimum": 0, "description": "In Unix seconds."},
        "expires": {"type": ["integer", "null"], "minimum": 0, "description": "In Unix seconds."},
        "models": texts("Those it may use; empty for all."),
        "networks": texts("Those it may be used from; empty for all."),
        "chat_format": {"enum": ["wrapped", "bare"]},
        "limits": reference("KeyLimits"),
        "model_limits": {
            "type": "object", "additionalProperties": reference("KeyLimits"),
            "description": "Of single models; a request counts against both.",
        },
    })
}

fn limit(help: &str) -> Value {
    json!({"type": ["integer", "null"], "minimum": 1, "description": format!("{help} Null: no limit.")})
}

fn resets_at() -> Value {
    json!({
        "type": ["string", "null"], "format": "date-time",
        "description": "When nothing is used again, in UTC; null for a quota that never resets.",
    })
}

fn amount(properties: &mut Value, name: &str, help: &str) {
    properties[name] = json!({"type": "number", "description": format!("{help} Credits.")});
    properties[format!("{name}_micro")] =
        json!({"type": "integer", "description": "Millionths of a credit."});
}

fn join(all: &mut Value, more: &Value) {
    if let (Some(all), Some(more)) = (all.as_object_mut(), more.as_object()) {
        all.extend(more.clone());
    }
}
