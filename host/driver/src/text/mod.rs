//! Text: a request that is answered while its client waits, whole or as a stream.
//!
//! ```text
//! model -> open (plugin) -> hold -> account -> call -> answer (plugin) -> settle -> body
//!                              ^-- another account, while the client has nothing      |
//!                                                      `-> pump: events -> relay (plugin) -> client
//! ```
//! The hold is an upper estimate, the settlement what the provider counted, once, by the host: a plugin
//! reports figures and never prices them. A client that leaves changes nothing of that: whole answers are
//! waited for, streams drained for a while. Who asked for a stream has it after a while even where no account
//! has answered yet: accounts are tried behind it, and a failure is the last thing said in it. No answer waits
//! for the disk: a crash ends the requests under way, and may forget the charges of the last moment before it,
//! always in the customer's favour. Never frames an event and never writes an error: `edge` does.

mod ask;
mod attempt;
mod bill;
mod blobs;
mod models;
mod pump;

pub use bill::TokenPrices;
pub use models::{ModelConfig, check_models};

pub(crate) use ask::UnderWay;
pub(crate) use bill::Bill;
pub(crate) use models::TextModels;

use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::{Header, Key, Obstacle, RequestId, Sse};
use tokio::sync::mpsc;

use crate::{CheckedBody, SubmitError};

/// A text request as it came off the wire.
pub struct CompletionRequest {
    /// Its id, under which its money is held.
    pub id: RequestId,
    /// The caller, already authenticated.
    pub key: Arc<Key>,
    /// "messages.create" or "chat.completions".
    pub surface: &'static str,
    /// What the client sent.
    pub body: CheckedBody,
    /// The client's headers a family may see.
    pub headers: Vec<Header>,
}

/// What a text request is answered with.
#[derive(Debug)]
pub enum CompletionResponse {
    /// The client's body, JSON.
    Whole(Vec<u8>),
    /// Its events.
    Stream(TextStream),
}

/// A stream's events in batches. Dropping it tells that the client has left.
#[derive(Debug)]
pub struct TextStream(mpsc::Receiver<Result<Vec<Sse>, TextError>>);

impl From<mpsc::Receiver<Result<Vec<Sse>, TextError>>> for TextStream {
    fn from(events: mpsc::Receiver<Result<Vec<Sse>, TextError>>) -> Self {
        Self(events)
    }
}

impl TextStream {
    /// The next events; `None` after the terminal one. An error is the last thing said.
    pub fn poll_next(
        &mut self,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<Vec<Sse>, TextError>>> {
        self.0.poll_recv(cx)
    }
}

/// Why a text request has no answer, or a stream no end. Nothing is charged but for what a cut stream
/// had delivered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TextError {
    /// Not accepted.
    #[error(transparent)]
    Refused(#[from] SubmitError),
    /// No provider account answered.
    #[error("{message}")]
    Rejected {
        /// What stood in the way.
        obstacle: Obstacle,
        /// For the client.
        message: String,
        /// When another try makes sense.
        retry_after: Option<Duration>,
    },
    /// The provider took too long.
    #[error("the provider did not answer in time")]
    Timeout,
    /// No account may be used at present.
    #[error("no account of the model's provider can take a request at present, retry in a moment")]
    Unavailable {
        /// When another try makes sense.
        retry_after: Option<Duration>,
    },
}

impl TextError {
    /// The provider's trouble, in words for the client.
    pub(crate) fn upstream(message: impl Into<String>) -> Self {
        Self::Rejected { obstacle: Obstacle::Upstream, message: message.into(), retry_after: None }
    }
}
