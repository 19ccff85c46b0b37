//! The surface of embeddings: a chat provider makes vectors of texts.
//!
//! Owns the checks of a request and the form of its answer: a vector for each input, in the encoding that the client asked
//! for, whatever the provider sends. The operator's table has such models at chat providers only, so the route's protocol
//! is not looked at.

pub(crate) mod answer;
pub(crate) mod params;
mod request;
mod vector;

use gatehouse_sdk::{Body, Call, Extra, Prepared, Refusal, TextRequest};
use gatehouse_text_protocols::limits::CALL_TIMEOUT;
use gatehouse_text_protocols::relay::clamp;
use gatehouse_text_protocols::rules::{Rules, VectorEncoding};

use crate::state::{EmbeddingsAsked, State};
use request::Request;

/// The surface.
pub const SURFACE: &str = "embeddings.create";

pub(crate) fn prepare(text_request: &TextRequest) -> Result<Prepared<State>, Refusal> {
    let route = &text_request.route;
    let rules = Rules::read_lenient(&route.rules);
    let request = Request::read(&text_request.body, &rules)?;
    let body = request.write(&route.upstream, &rules);
    // An input that reads like the name of a file of this request is a text too: nothing in a raw body is replaced.
    let call = Call::post(route.provider.clone(), "/v1/embeddings")
        .raw("application/json", Body::Inline(body.into_bytes()));
    Ok(Prepared {
        call: call.once().timeout(CALL_TIMEOUT),
        streaming: false,
        input_bytes: clamp(request.input_bytes),
        pictures: 0,
        max_output_tokens: 0,
        state: State {
            model: route.model.clone(),
            upstream: route.upstream.clone(),
            embeddings: Some(EmbeddingsAsked {
                inputs: request.inputs,
                encoding: request.encoding.unwrap_or(VectorEncoding::Float),
            }),
            ..State::default()
        },
        extra: Extra::new(),
    })
}
