//! Requests that are answered at once, the call of each, and what clients get.

use serde_json::Value;

use super::call::Call;
use super::failure::Charge;
use super::json::{self, Extra};
use super::media::Facts;
use crate::bindings::exports::gatehouse::family::direct;
use crate::bindings::gatehouse::family::types;

/// A request.
#[derive(Clone, Debug, PartialEq)]
pub struct DirectRequest {
    /// Its surface.
    pub surface: String,
    /// The own id of its model, never an alias; empty on a surface that reads.
    pub model: String,
    /// An object: the body, or the parameters of the query as texts.
    pub body: Value,
    /// Facts about the files of a form and the blobs cut out of `body`, in order of appearance.
    pub blobs: Vec<Facts>,
    /// What a later host says besides.
    pub extra: Extra,
}

/// What the client gets.
#[derive(Clone, Debug, PartialEq)]
pub struct Response {
    /// Its type, such as "audio/mpeg".
    pub mime: String,
    /// Its bytes.
    pub body: Vec<u8>,
    /// Billed instead of the charge, up to what was held.
    pub settle: Option<Charge>,
    /// For how many seconds the client may keep it, up to a day.
    pub fresh_s: Option<u32>,
    /// What a later host may know.
    pub extra: Extra,
}

/// What a family makes of a request.
#[derive(Clone, Debug, PartialEq)]
#[expect(
    clippy::large_enum_variant,
    reason = "one is made for each request, and authors write it without a box"
)]
pub enum Plan<S> {
    /// One call.
    Call(Exchange<S>),
    /// An answer without one, which is free.
    Respond(Response),
}

/// The one call of a request.
#[derive(Clone, Debug, PartialEq)]
pub struct Exchange<S> {
    /// The upstream request.
    pub call: Call,
    /// What it costs where the answer passes or does not settle; `None` where it is free, as on a surface that reads.
    pub charge: Option<Charge>,
    /// The most that the answer may settle for, where that can be more than the charge: the dearer of both is held.
    pub at_most: Option<Charge>,
    /// The types of a successful answer whose bytes are the client's as they come.
    pub passes: Vec<String>,
    /// For the answer.
    pub state: S,
    /// What a later host may know.
    pub extra: Extra,
}

impl<S> Exchange<S> {
    /// A free call, of whose answer `answer` makes the client's.
    #[must_use]
    pub fn new(call: Call, state: S) -> Self {
        Self { call, charge: None, at_most: None, passes: Vec::new(), state, extra: Extra::new() }
    }

    /// What it costs.
    #[must_use]
    pub fn charge(mut self, charge: Charge) -> Self {
        self.charge = Some(charge);
        self
    }

    /// The most that its answer may settle for.
    #[must_use]
    pub fn at_most(mut self, charge: Charge) -> Self {
        self.at_most = Some(charge);
        self
    }

    /// A successful answer of this type ("audio/mpeg", "audio/*") is the client's as it comes.
    #[must_use]
    pub fn passes(mut self, mime: impl Into<String>) -> Self {
        self.passes.push(mime.into());
        self
    }
}

impl<S> Plan<S> {
    /// The same plan with another state.
    pub fn map<T>(self, change: impl FnOnce(S) -> T) -> Plan<T> {
        match self {
            Self::Call(Exchange { call, charge, at_most, passes, state, extra }) => {
                Plan::Call(Exchange { call, charge, at_most, passes, state: change(state), extra })
            }
            Self::Respond(response) => Plan::Respond(response),
        }
    }
}

impl Response {
    /// A body of that type.
    #[must_use]
    pub fn new(mime: impl Into<String>, body: impl Into<Vec<u8>>) -> Self {
        Self { mime: mime.into(), body: body.into(), settle: None, fresh_s: None, extra: Extra::new() }
    }

    /// A JSON body.
    #[must_use]
    pub fn json(body: &Value) -> Self {
        Self::new("application/json", body.to_string())
    }

    /// The client may keep it for so many seconds.
    #[must_use]
    pub fn fresh_for(mut self, seconds: u32) -> Self {
        self.fresh_s = Some(seconds);
        self
    }

    /// Bills this instead of the charge, up to what was held.
    #[must_use]
    pub fn settle(mut self, charge: Charge) -> Self {
        self.settle = Some(charge);
        self
    }
}

impl TryFrom<direct::DirectRequest> for DirectRequest {
    type Error = types::Refusal;

    fn try_from(request: direct::DirectRequest) -> Result<Self, types::Refusal> {
        Ok(Self {
            surface: request.surface,
            model: request.model,
            body: json::of_client(&request.body)?,
            blobs: request.blobs,
            extra: json::extra_of_host(&request.extra),
        })
    }
}

impl From<Plan<Vec<u8>>> for direct::Plan {
    fn from(plan: Plan<Vec<u8>>) -> Self {
        match plan {
            Plan::Call(Exchange { call, charge, at_most, passes, state, extra }) => {
                Self::Call(direct::Exchange {
                    call,
                    charge: charge.map(Into::into),
                    at_most: at_most.map(Into::into),
                    passes,
                    state,
                    extra: json::extra(extra),
                })
            }
            Plan::Respond(response) => Self::Respond(response.into()),
        }
    }
}

impl From<Response> for direct::DirectResponse {
    fn from(response: Response) -> Self {
        let Response { mime, body, settle, fresh_s, extra } = response;
        Self { mime, body, settle: settle.map(Into::into), fresh_s, extra: json::extra(extra) }
    }
}
