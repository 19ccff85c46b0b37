//! From a request to an upstream call: checks the request by the model's rules, then writes the call in the
//! protocol of the route's provider.

mod chat_messages;
mod chat_request;
mod older_names;
mod pairs;
mod pass_through;
mod to_chat;

use gatehouse_sdk::{Extra, Prepared, Protocol, Refusal, TextRequest};
use gatehouse_text_protocols::limits::CALL_TIMEOUT;
use gatehouse_text_protocols::relay::clamp;
use gatehouse_text_protocols::rules::Rules;

use crate::SURFACE;
use crate::request::Request;
use crate::state::State;

/// Checks and translates a request.
///
/// # Errors
/// The first wrong field, or a field the model of this route does not take.
pub(crate) fn prepare(text_request: &TextRequest) -> Result<Prepared<State>, Refusal> {
    if text_request.surface != SURFACE {
        return Err(Refusal::NotFound(format!("this family does not serve {:?}", text_request.surface)));
    }
    let route = &text_request.route;
    // The table is the operator's and the client cannot correct it, so the model counts as absent.
    let rules = Rules::read(&route.rules).map_err(|error| {
        Refusal::NotFound(format!("the rules of model `{}` do not read: {error}", route.model))
    })?;
    let renamed = older_names::renamed(&text_request.body);
    let body = renamed.as_deref().unwrap_or(&text_request.body);
    let mut request = Request::read(body, &route.model, route.protocol, &text_request.blobs, &rules)?;
    let lead = request.end(&rules, route.protocol == Protocol::Chat)?;
    let (call, fields) = match route.protocol {
        Protocol::Messages => pass_through::call(&request, text_request, &rules)?,
        Protocol::Chat => to_chat::call(&request, text_request, &rules)?,
    };
    Ok(Prepared {
        call: call.timeout(CALL_TIMEOUT).once(),
        streaming: request.stream,
        input_bytes: clamp(request.findings.input_bytes),
        pictures: request.findings.pictures,
        max_output_tokens: request.plan.max_tokens,
        state: State {
            model: route.model.clone(),
            upstream: route.upstream.clone(),
            wire: route.protocol.into(),
            shown: request.plan.shown,
            lead,
            stops: request.stops.iter().map(|stop| stop.decoded().into_owned()).collect(),
            names: request.names(route.protocol == Protocol::Chat),
            fields,
            input_estimate: request.findings.tokens(),
        },
        extra: Extra::new(),
    })
}
