//! Answers of a family that answers at once as JSON, as written scripts expect them. `sdk/README.md` lists the fields.

use gatehouse_sdk::{Exchange, Failure, Plan, Refusal, Response};
use serde_json::{Value, json};

use super::shown::{bytes, call, charge, failure, refused};

/// The answer to a request.
pub(crate) fn planned(verdict: &Result<Plan<Vec<u8>>, Refusal>) -> Value {
    match verdict {
        Ok(Plan::Call(Exchange { call: next, charge: bill, at_most, passes, state, .. })) => {
            json!({"planned": {
                "call": call(next),
                "charge": bill.as_ref().map(charge),
                "at_most": at_most.as_ref().map(charge),
                "passes": passes,
                "state": bytes(state),
            }})
        }
        Ok(Plan::Respond(answer)) => response(answer),
        Err(refusal) => refused(refusal),
    }
}

/// What a client gets as its provider sends it.
pub(crate) fn passed(mime: &str) -> Value {
    json!({"passed": {"mime": mime}})
}

/// What the family made of its provider's answer.
pub(crate) fn responded(answer: &Result<Response, Failure>) -> Value {
    match answer {
        Ok(answer) => response(answer),
        Err(cause) => json!({"fail": failure(cause)}),
    }
}

fn response(response: &Response) -> Value {
    let Response { mime, body, settle, fresh_s, .. } = response;
    json!({"responded": {
        "mime": mime, "body": bytes(body), "settle": settle.as_ref().map(charge), "fresh_s": fresh_s,
    }})
}
