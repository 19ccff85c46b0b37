//! What the provider knows to have happened, for tests that compare it with the gateway's own ledger.
//!
//! Served as JSON on a listener of its own, so that a test can ask after it has killed the gateway.

use std::sync::Arc;

use http::{Method, Request, StatusCode};
use hyper::body::Incoming;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::provider::Provider;
use super::refusal::Refusal;
use crate::server::{Answer, Site, reply};

/// Everything that was asked of the provider since it started, as far as it remembers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Truth {
    /// Jobs accepted since the start, also those forgotten since.
    pub accepted: u64,
    /// The accepted jobs, oldest first: the latest 100,000.
    pub submits: Vec<Submit>,
    /// Submits that were refused, oldest first: the latest 10,000.
    pub declined: Vec<Declined>,
    /// What each account has left, in the provider's credits, in the order of the settings' keys.
    pub credits: Vec<u64>,
}

/// One accepted job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Submit {
    /// The job's id.
    pub id: String,
    /// Index into the settings' keys.
    pub account: usize,
    /// `flux-kontext-pro` or `flux-kontext-max`.
    pub model: String,
    /// As sent.
    pub prompt: String,
    /// As sent, but for input images: `{"sha256", "bytes", "width", "height"}`, or `{"url"}`.
    pub body: Value,
    /// When, in milliseconds since the Unix epoch.
    pub at: u64,
    /// Whether the client was told the id; `false` under the markers that lose the answer.
    pub answered: bool,
    /// What it cost the account; moderated and failed jobs cost nothing.
    pub cost: u64,
    /// Times its result was asked for.
    pub polls: u32,
    /// Times its file was handed out whole.
    pub deliveries: u32,
}

/// One refused submit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Declined {
    /// The HTTP status it was refused with.
    pub status: u16,
    /// The prompt, when the body had one.
    pub prompt: Option<String>,
    /// When, in milliseconds since the Unix epoch.
    pub at: u64,
}

/// The truth listener.
pub(crate) struct TruthSite(pub(super) Arc<Provider>);

impl Site for TruthSite {
    async fn answer(self: Arc<Self>, request: Request<Incoming>) -> Answer {
        if request.uri().path() != "/truth" {
            return Ok(Refusal::not_found().response());
        }
        if request.method() != Method::GET {
            return Ok(Refusal::method().response());
        }
        let text = serde_json::to_vec(&self.0.truth()).expect("plain data with text keys");
        Ok(reply(StatusCode::OK, "application/json", text))
    }
}
