//! Checks a request: refused only without `model` or `prompt`, otherwise accepted. Other invalid parameters fail
//! the task.

use gatehouse_sdk::params::came;
use gatehouse_sdk::{Accepted, Charge, InvalidParam, Refusal, Submission};
use serde::Deserialize;
use serde_json::Value;

use crate::params::Model;
use crate::request::{ImageRequest, USUAL_DURATION};
use crate::state::State;

pub(crate) fn submit(request: &Submission) -> Result<Accepted<State>, Refusal> {
    let body = &request.body;
    if !body.is_object() {
        let problem = format!("expected a JSON object, got {}", came(Some(body)));
        return Err(InvalidParam::at(None, problem).into());
    }
    let model = model(body.get("model"))?;
    if body.get("prompt").is_none_or(Value::is_null) {
        return Err(Refusal::invalid(
            "prompt",
            format!("expected a string, got {}", came(body.get("prompt"))),
        ));
    }
    let charge = Charge::keys([model.id()]);
    Ok(match ImageRequest::read(request) {
        Ok(image) => Accepted::new(model.id(), charge, State::Accepted(image)).expected(USUAL_DURATION),
        Err(invalid) => Accepted::doomed(model.id(), charge, invalid.into()),
    })
}

fn model(value: Option<&Value>) -> Result<Model, Refusal> {
    value.and_then(|value| Model::deserialize(value).ok()).ok_or_else(|| {
        Refusal::invalid("model", format!("expected `ctx-pro` or `ctx-max`, got {}", came(value)))
    })
}
