//! A request on its way in: judged by the model's rules, then handed to the translation its route needs.

use std::time::Duration;

use gatehouse_sdk::{Prepared, Protocol, Refusal, TextRequest};

use crate::answer::clamp;
use crate::request::Request;
use crate::rules::Rules;
use crate::{SURFACE, State, open_chat, open_messages};

/// A whole answer of a large model takes minutes.
const PATIENCE: Duration = Duration::from_secs(600);

/// Judges and translates it.
///
/// # Errors
/// The first mistake, or what the model of this route does not take.
pub(crate) fn judge(inquiry: &TextRequest) -> Result<Prepared<State>, Refusal> {
    if inquiry.surface != SURFACE {
        return Err(Refusal::NotFound(format!("this family does not serve {:?}", inquiry.surface)));
    }
    let route = &inquiry.route;
    // The table is the operator's: the client can mend nothing, so the model is as good as absent.
    let rules = Rules::read(&route.rules).map_err(|error| {
        Refusal::NotFound(format!("the rules of model `{}` do not read: {error}", route.model))
    })?;
    let request = Request::read(&inquiry.body, &route.model, &rules)?;
    let call = match route.protocol {
        Protocol::Messages => open_messages::call(&request, inquiry, &rules)?,
        Protocol::Chat => open_chat::call(&request, inquiry, &rules)?,
    };
    Ok(Prepared {
        call: call.timeout(PATIENCE).once(),
        streaming: request.stream,
        input_bytes: clamp(request.notes.weight.read),
        pictures: request.notes.weight.pictures,
        max_output_tokens: request.plan.max_tokens,
        state: State { model: route.model.clone(), wire: route.protocol.into(), shown: request.plan.shown },
    })
}
