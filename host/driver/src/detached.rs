//! Detaches work from its client's connection. Nothing else in the gateway does that for a request.

use bytes::Bytes;

use crate::errors::SubmitError;

/// Runs `work` on a task of its own, to its end, even if its caller goes away meanwhile.
///
/// `received` is held until then: the edge counts the memory of a request by these bytes, each of them as several, for what is
/// made of them while the work lasts.
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::sync::Notify;

    use super::*;

    #[tokio::test]
    async fn work_runs_to_its_end_without_its_caller_and_keeps_the_body() {
        let (started, resume) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let body: Arc<[u8]> = Arc::from([1]);
        let bytes = Bytes::from_owner(Arc::clone(&body));
        let (signal, resumed) = (Arc::clone(&started), Arc::clone(&resume));
        let work = async move {
            signal.notify_one();
            resumed.notified().await;
            Ok::<_, SubmitError>(())
        };
        let caller = tokio::spawn(detached(bytes, work));
        started.notified().await;
        caller.abort();
        assert!(caller.await.is_err());
        assert_eq!(Arc::strong_count(&body), 2, "still counted");
        resume.notify_one();
        while Arc::strong_count(&body) > 1 {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn a_panic_is_an_internal_error() {
        let work = async { if true { panic!("a bug") } else { Ok::<(), SubmitError>(()) } };
        assert!(matches!(detached(Bytes::new(), work).await, Err(SubmitError::Internal(_))));
    }
}
