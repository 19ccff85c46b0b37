//! Requests, calls and framings of dialects.

pub use gatehouse_contract::Framing;
use serde_json::Value;

use super::call::Call;
use super::json::{self, Extra};
use super::media::Facts;
use crate::bindings::exports::gatehouse::family::dialect;

/// A Messages request that a dialect translates, and the provider of its model.
#[derive(Clone, Debug, PartialEq)]
pub struct DialectRequest {
    /// A Messages request, JSON, with the provider's name of the model. Large files in it are `blob:<id>:base64`.
    pub body: String,
    /// Whether the answer is to be a stream.
    pub streaming: bool,
    /// Facts about the blobs in `body`, and perhaps about others that the client sent.
    pub blobs: Vec<Facts>,
    /// Which of the family's dialects it is.
    pub dialect: String,
    /// The public id of the model.
    pub model: String,
    /// The provider's name of it.
    pub upstream: String,
    /// A provider's name, for [`Call`].
    pub provider: String,
    /// The model's `rules`; an empty object where the operator wrote nothing.
    pub rules: Value,
    /// What a later host says besides.
    pub extra: Extra,
}

/// What a dialect makes of a request.
#[derive(Clone, Debug, PartialEq)]
pub struct DialectPrepared<S> {
    /// The upstream request.
    pub call: Call,
    /// How the provider frames a stream.
    pub framing: Framing,
    /// For the answer.
    pub state: S,
    /// What a later host may know.
    pub extra: Extra,
}

impl<S> DialectPrepared<S> {
    /// A call, and what its answer needs to know.
    #[must_use]
    pub fn new(call: Call, framing: Framing, state: S) -> Self {
        Self { call, framing, state, extra: Extra::new() }
    }
}

impl From<dialect::DialectRequest> for DialectRequest {
    fn from(request: dialect::DialectRequest) -> Self {
        let route = request.route;
        Self {
            body: request.body,
            streaming: request.streaming,
            blobs: request.blobs,
            dialect: route.protocol,
            model: route.model,
            upstream: route.upstream,
            provider: route.provider,
            rules: json::of_host(&route.rules),
            extra: json::extra_of_host(&request.extra),
        }
    }
}

impl From<DialectPrepared<Vec<u8>>> for dialect::DialectPrepared {
    fn from(prepared: DialectPrepared<Vec<u8>>) -> Self {
        let DialectPrepared { call, framing, state, extra } = prepared;
        Self { call, framing: framing.name().to_owned(), state, extra: json::extra(extra) }
    }
}
