//! The one place that detaches work from the connection of the client that asked for it.

use bytes::Bytes;

use crate::SubmitError;

/// Runs `work` on a task of its own, to its end, even if its caller goes away meanwhile.
///
/// `received` is held until then: the edge counts the memory of a request by these bytes, and what is made of
/// them while the work lasts takes no more than they do.
pub(crate) async fn detached<T: Send + 'static, E: From<SubmitError> + Send + 'static>(
    received: Bytes,
    work: impl Future<Output = Result<T, E>> + Send + 'static,
) -> Result<T, E> {
    let running = tokio::spawn(async move {
        let outcome = work.await;
        drop(received);
        outcome
    });
    running.await.unwrap_or_else(|error| Err(SubmitError::Internal(error.to_string()).into()))
}
