//! Judging a request: refused only without `model` or `prompt`, otherwise accepted, if need be only to
//! fail with the reason.

use std::time::Duration;

use gatehouse_sdk::params::came;
use gatehouse_sdk::{Accepted, Charge, Mistake, Refusal, Submission};
use serde::Deserialize;
use serde_json::Value;

use crate::advance::State;
use crate::order::Order;
use crate::params::Model;

/// How long the provider usually takes.
pub(crate) const USUAL: Duration = Duration::from_secs(10);

pub(crate) fn judge(request: &Submission) -> Result<Accepted<State>, Refusal> {
    let body = &request.body;
    if !body.is_object() {
        let problem = format!("expected a JSON object, got {}", came(Some(body)));
        return Err(Mistake::at(None, problem).into());
    }
    let model = model(body.get("model"))?;
    if body.get("prompt").is_none_or(Value::is_null) {
        return Err(Refusal::invalid(
            "prompt",
            format!("expected a string, got {}", came(body.get("prompt"))),
        ));
    }
    let charge = Charge::keys([model.id()]);
    Ok(match Order::read(request) {
        Ok(order) => Accepted::new(model.id(), charge, State::Ordered(order)).expected(USUAL),
        Err(mistake) => Accepted::doomed(model.id(), charge, mistake.into()),
    })
}

fn model(value: Option<&Value>) -> Result<Model, Refusal> {
    value.and_then(|value| Model::deserialize(value).ok()).ok_or_else(|| {
        Refusal::invalid("model", format!("expected `ctx-pro` or `ctx-max`, got {}", came(value)))
    })
}
