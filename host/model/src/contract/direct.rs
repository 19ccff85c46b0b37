//! The types of requests that are answered while the client waits, with what one call returned.

use bytes::Bytes;

use crate::contract::call::Call;
use crate::contract::charge::Charge;
use crate::contract::facts::Facts;
use crate::contract::json::Json;

/// A request as its family sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectRequest {
    /// Its surface.
    pub surface: String,
    /// The own id of the model; empty on a surface that reads.
    pub model: String,
    /// An object: the body, or the parameters of the query.
    pub body: Json,
    /// Facts about the blobs of the body, in order of appearance.
    pub blobs: Vec<Facts>,
}

/// What a family makes of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DirectPlan {
    /// One call.
    Call(Box<Exchange>),
    /// An answer without one.
    Respond(DirectResponse),
}

/// The one call of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// To the provider.
    pub call: Call,
    /// What it costs where the answer does not settle; `None` where it is free.
    pub charge: Option<Charge>,
    /// The most that the answer may settle for; without lines where that is the charge.
    pub at_most: Charge,
    /// The types of a successful answer that is the client's as it comes.
    pub passes: Vec<String>,
    /// For the answer.
    pub state: Vec<u8>,
}

/// What the client gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectResponse {
    /// Its type.
    pub mime: String,
    /// Its bytes.
    pub body: Bytes,
    /// Billed in place of what was held.
    pub settle: Option<Charge>,
    /// Seconds for which the client may keep it.
    pub fresh_s: Option<u32>,
}
