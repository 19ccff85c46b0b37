//! Answers of a family as JSON, as written scripts expect them. `sdk/README.md` lists the fields.

use gatehouse_sdk::{
    Accepted, Action, Blame, Body, Call, Charge, Claim, Ending, Failure, Header, Line, Payload, Product,
    Reading, Refusal, Replay, Reply, Stage, Step, Target, UnixMs,
};
use serde_json::{Map, Value, json};

use crate::rules::{field_of, message_of};

/// The answer to a submission.
pub(crate) fn verdict(verdict: &Result<Accepted<Vec<u8>>, Refusal>) -> Value {
    match verdict {
        Ok(Accepted { doomed: Some(cause), model, charge: bill, .. }) => {
            let mut shown = failure(cause);
            shown.insert("model".to_owned(), json!(model));
            shown.insert("charge".to_owned(), charge(bill));
            json!({"doomed": shown})
        }
        Ok(accepted) => json!({"accepted": {
            "model": accepted.model,
            "charge": charge(&accepted.charge),
            "at_most": accepted.at_most.as_ref().map(charge),
            "stage": stage(accepted.stage),
            "progress": accepted.progress,
            "expected_ms": accepted.expected.map(|span| u64::try_from(span.as_millis()).unwrap_or(u64::MAX)),
            "state": bytes(accepted.state.as_deref().unwrap_or_default()),
            "brief": bytes(&accepted.brief),
        }}),
        Err(refusal) => refused(refusal),
    }
}

pub(super) fn refused(refusal: &Refusal) -> Value {
    let (reason, field, message) = match refusal {
        Refusal::Invalid { field, message } => ("invalid", field.as_deref(), message.clone()),
        Refusal::Several(problems) => ("invalid", field_of(problems), message_of(problems)),
        Refusal::NotFound(message) => ("not-found", None, message.clone()),
        Refusal::Forbidden(message) => ("forbidden", None, message.clone()),
    };
    json!({"refused": {"reason": reason, "field": field, "message": message}})
}

/// A step: its action under the action's name, and all else beside it.
pub(crate) fn step(now: UnixMs, step: &Step<Vec<u8>>) -> Value {
    let (name, action) = match &step.next {
        Action::Call(next) => ("call", call(next)),
        Action::Probe(probes) => (
            "probe",
            probes.iter().map(|probe| json!({"source": probe.source, "keep": probe.keep})).collect(),
        ),
        Action::Wait(moment) => ("wait", json!({"ms": moment.0.saturating_sub(now.0), "until": moment.0})),
        Action::Done(outcome) => (
            "done",
            json!({
                "public": outcome.public,
                "private": outcome.private,
                "products": products(&outcome.products),
                "claims": claims(&outcome.claims),
                "settle": outcome.settle.as_ref().map(charge),
            }),
        ),
        Action::Fail(end) => ("fail", ending(end)),
        Action::Other(name, value) => ("other", json!([name, value])),
    };
    let view = step.view.as_ref().map(
        |view| json!({"public": view.public, "private": view.private, "products": products(&view.products)}),
    );
    json!({
        name: action,
        "stage": stage(step.stage),
        "progress": step.progress,
        "view": view,
        "state": bytes(&step.state),
    })
}

/// The rendering of a task.
pub(crate) fn rendered(body: &Value) -> Value {
    json!({"rendered": body})
}

/// A migrated state, or why there is none.
pub(crate) fn migrated(migrated: &Result<Vec<u8>, String>) -> Value {
    match migrated {
        Ok(state) => json!({"migrated": {"state": bytes(state)}}),
        Err(why) => json!({"unreadable": why}),
    }
}

/// One call of several.
pub(crate) fn merged(merged: &Call) -> Value {
    json!({"merged": call(merged)})
}

/// The parts of the reply to it.
pub(crate) fn parts(parts: &[Option<Reply>]) -> Value {
    let part = |reply: &Reply| {
        json!({
            "status": reply.status,
            "headers": headers(&reply.headers),
            "body": body(&reply.body),
            "affinity": reply.affinity,
        })
    };
    json!({"parts": parts.iter().map(|reply| reply.as_ref().map(part)).collect::<Vec<_>>()})
}

fn headers(headers: &[Header]) -> Value {
    let pairs = headers.iter().map(|header| (header.name.to_ascii_lowercase(), json!(header.value)));
    Value::Object(pairs.collect())
}

fn ending(end: &Ending) -> Value {
    let mut shown = failure(&end.failure);
    shown.insert("public".to_owned(), json!(end.public));
    shown.insert("private".to_owned(), json!(end.private));
    shown.insert("products".to_owned(), products(&end.products));
    shown.insert("claims".to_owned(), claims(&end.claims));
    Value::Object(shown)
}

pub(super) fn failure(failure: &Failure) -> Map<String, Value> {
    let blame = match failure.blame {
        Blame::Request => "request",
        Blame::Moderation => "moderation",
        Blame::Cancelled => "cancelled",
        Blame::Limit => "limit",
        Blame::Timeout => "timeout",
        Blame::Upstream => "upstream",
        Blame::Account => "account",
    };
    let pairs = [("blame", json!(blame)), ("message", json!(failure.message))];
    pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

pub(super) fn call(call: &Call) -> Value {
    let mut shown = json!({
        "provider": call.provider,
        "affinity": call.affinity,
        "method": call.method,
        "headers": headers(&call.headers),
        "timeout_ms": call.timeout_ms,
        "replay": match call.replay {
            Replay::Safe => "safe",
            Replay::Token => "token",
            Replay::Once => "once",
        },
        "reading": match call.reading {
            Reading::Whole => "whole",
            Reading::Saved => "saved",
            Reading::Cut => "cut",
        },
        "credentials": call.credentials,
        "shared": call.shared.as_ref().map(|shared| json!({"key": shared.key, "item": shared.item})),
    });
    let (name, target) = match &call.target {
        Target::Path(path) => ("path", path),
        Target::Url(url) => ("url", url),
    };
    shown[name] = json!(target);
    match &call.body {
        Payload::None => {}
        Payload::Json(text) => shown["json"] = parsed(text),
        Payload::Form(parts) => {
            let part = |part: &gatehouse_sdk::Part| {
                let (name, filename, mime) = (&part.name, &part.filename, &part.mime);
                json!({"name": name, "filename": filename, "mime": mime, "data": body(&part.data)})
            };
            shown["form"] = parts.iter().map(part).collect();
        }
        Payload::Raw(raw) => shown["raw"] = json!({"mime": raw.mime, "data": body(&raw.data)}),
    }
    shown
}

fn body(body: &Body) -> Value {
    match body {
        Body::Inline(inline) => bytes(inline),
        Body::Blob(blob) => json!(blob),
    }
}

fn products(products: &[Product]) -> Value {
    products
        .iter()
        .map(|product| json!({"source": product.source, "mime": product.mime, "edit": product.edit}))
        .collect()
}

fn claims(claims: &[Claim]) -> Value {
    claims
        .iter()
        .map(|claim| json!({"name": claim.name, "private": claim.private, "affinity": claim.affinity}))
        .collect()
}

/// A charge of one line is that line; more are a list.
pub(super) fn charge(charge: &Charge) -> Value {
    let line = |line: &Line| json!({"keys": line.keys, "quantity": line.quantity, "unit": line.unit});
    match charge.lines.as_slice() {
        [one] => line(one),
        more => more.iter().map(line).collect(),
    }
}

fn stage(stage: Stage) -> &'static str {
    match stage {
        Stage::Submitted => "submitted",
        Stage::Pending => "pending",
        Stage::Processing => "processing",
    }
}

/// Bytes as the JSON in them, else as text.
pub(super) fn bytes(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap_or_else(|_| json!(String::from_utf8_lossy(bytes)))
}

pub(super) fn parsed(text: &str) -> Value {
    bytes(text.as_bytes())
}
