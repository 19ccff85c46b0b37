//! The types of requests that are answered with what one call returned: what `edge` hands in, and what it gets back.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::Stream;
use gatehouse_model::{Key, RequestId};
use tokio::sync::mpsc;

use crate::api::DryRun;
use crate::body::CheckedBody;
use crate::request_report::RequestReport;
use crate::text::TextError;

/// A request of an authenticated caller.
pub struct AnswerRequest {
    /// Its id, under which its money is held.
    pub id: RequestId,
    /// The caller's key.
    pub key: Arc<Key>,
    /// "audio.speech", ...
    pub surface: &'static str,
    /// The family of a surface that reads; on any other the model tells it.
    pub reader: Option<&'static str>,
    /// What the client sent, or the parameters of its query.
    pub body: CheckedBody,
    /// The `Idempotency-Key` header.
    pub idempotency: Option<String>,
    /// Filled with what is left of the key's rates, and with what it holds and pays.
    pub report: RequestReport,
}

/// What a request is answered with.
#[derive(Debug)]
pub enum AnswerResponse {
    /// One body.
    Whole(WholeAnswer),
    /// A body as its provider sends it.
    Pieces(AnswerPieces),
    /// What it would come to: the body asked for no more.
    DryRun(DryRun),
}

/// One body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WholeAnswer {
    /// Its type.
    pub mime: String,
    /// Its bytes.
    pub body: Bytes,
    /// Seconds for which the client may keep it.
    pub fresh_s: Option<u32>,
    /// An earlier request with the same idempotency key was answered with it.
    pub is_repeated: bool,
}

/// A body as its provider sends it. Dropping it means that the client has disconnected.
#[derive(Debug)]
pub struct AnswerPieces {
    /// Its type.
    pub mime: String,
    pieces: mpsc::Receiver<Piece>,
}

/// A piece of an answer, or the error that ends it.
pub(super) type Piece = Result<Bytes, TextError>;

/// The sender of an answer's pieces.
pub(super) type Client = mpsc::Sender<Piece>;

impl AnswerPieces {
    /// Pieces that come out of a channel.
    #[must_use]
    pub fn new(mime: String, pieces: mpsc::Receiver<Result<Bytes, TextError>>) -> Self {
        Self { mime, pieces }
    }
}

impl Stream for AnswerPieces {
    type Item = Result<Bytes, TextError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.pieces.poll_recv(cx)
    }
}
