//! Requests that are answered at once, the call of each, and what clients get.

use serde_json::Value;

pub use crate::bindings::exports::gatehouse::family::direct::DirectResponse as Response;

use super::call::Call;
use super::failure::Charge;
use super::json;
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
}

/// What a family makes of a request.
#[derive(Clone, Debug, PartialEq)]
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
    /// What is held; `None` where the answer is free, as on a surface that reads.
    pub charge: Option<Charge>,
    /// The types of a successful answer whose bytes are the client's as they come.
    pub passes: Vec<String>,
    /// For the answer.
    pub state: S,
}

impl<S> Exchange<S> {
    /// A free call, of whose answer `answer` makes the client's.
    #[must_use]
    pub fn new(call: Call, state: S) -> Self {
        Self { call, charge: None, passes: Vec::new(), state }
    }

    /// What is held for it.
    #[must_use]
    pub fn charge(mut self, charge: Charge) -> Self {
        self.charge = Some(charge);
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
            Self::Call(Exchange { call, charge, passes, state }) => {
                Plan::Call(Exchange { call, charge, passes, state: change(state) })
            }
            Self::Respond(response) => Plan::Respond(response),
        }
    }
}

impl Response {
    /// A body of that type.
    #[must_use]
    pub fn new(mime: impl Into<String>, body: impl Into<Vec<u8>>) -> Self {
        Self { mime: mime.into(), body: body.into(), settle: None, fresh_s: None }
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

    /// Bills this instead of what was held; never more.
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
        })
    }
}

impl From<Plan<Vec<u8>>> for direct::Plan {
    fn from(plan: Plan<Vec<u8>>) -> Self {
        match plan {
            Plan::Call(Exchange { call, charge, passes, state }) => {
                Self::Call(direct::Exchange { call, charge, passes, state })
            }
            Plan::Respond(response) => Self::Respond(response),
        }
    }
}
