//! The simulated provider's servers over pipes. How they answer and what they remember is in `record`.

pub(crate) mod hooks;
mod pages;
pub(crate) mod quilts;
pub(crate) mod tasks;
pub(crate) mod texts;
pub(crate) mod transcripts;

use hyper::body::{Body, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::DuplexStream;

/// The provider closed the connection instead of answering.
#[derive(Debug, thiserror::Error)]
#[error("hung up")]
pub(crate) struct HungUp;

/// Answers everything that comes through one pipe: with hyper, in the runtime of the system under test.
pub(crate) async fn serve<F, B>(pipe: DuplexStream, answer: impl Fn(Request<Incoming>) -> F)
where
    F: Future<Output = Result<Response<B>, HungUp>>,
    B: Body<Error: std::error::Error + Send + Sync> + 'static,
{
    // Broken pipes are part of the simulation.
    let _ = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .serve_connection(TokioIo::new(pipe), service_fn(answer))
        .await;
}
