//! The surface of responses: each request is a chat completion inside (`gatehouse_text_protocols::responses`), so
//! every model and every rule is the same on both surfaces, and so is the bill.

pub(crate) mod params;
mod stream;

use gatehouse_sdk::{Answered, Context, Prepared, Protocol, Refusal, Reply, TextFailure, TextRequest};
use gatehouse_text_protocols::responses::{Target, translate, whole};
use gatehouse_text_protocols::rules::Rules;

use crate::prepare;
use crate::response;
use crate::state::State;

pub(crate) use stream::Responses;

/// The surface.
pub const SURFACE: &str = "responses.create";

pub(crate) fn prepare(cx: &Context, mut request: TextRequest) -> Result<Prepared<State>, Refusal> {
    let rules = Rules::read_lenient(&request.route.rules);
    let target = Target {
        upstream: &request.route.upstream,
        is_messages: request.route.protocol == Protocol::Messages,
        rules: &rules,
        customer: &cx.customer,
        now: cx.now.0,
        seed: cx.seed,
    };
    let mut translated = translate(&request.body, &target)?;
    // The original is not needed beside its translation.
    request.body = std::mem::take(&mut translated.body);
    let prepared = prepare::prepare(&request);
    let mut prepared = prepared.map_err(|refusal| translated.fields.refusal(refusal))?;
    prepared.state.fields = prepared.state.fields.after(&translated.fields).kept();
    prepared.state.response = Some(translated.echo);
    Ok(prepared)
}

/// A whole answer.
pub(crate) fn answer(cx: &Context, mut state: State, reply: &Reply) -> Result<Answered, TextFailure> {
    let answered = response::answer(cx, &state, reply)?;
    Ok(match state.response.take() {
        Some(echo) => Answered { body: whole(echo, &answered.body, answered.usage), ..answered },
        None => answered,
    })
}
