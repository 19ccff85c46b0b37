//! What the edge asks of the house behind it, so that everything here can be tested over real sockets
//! without a store. [`Driver`] is the only implementation that ships.

use std::future::Future;
use std::time::Duration;

use gatehouse_driver::{
    CancelError, CompletionRequest, CompletionResponse, Driver, MediaFile, MediaRefusal, ModelListing,
    Receipt, StoreError, SubmitError, SubmitRequest, TaskFilter, TaskPage, TextError,
};
use gatehouse_model::{Key, KeyDigest, Task, TaskId};

use crate::errors::{Kind, Problem};

/// What a client reads when the store could not work: two of its troubles pass by themselves.
pub(crate) fn trouble(error: StoreError) -> Problem {
    match error {
        StoreError::Busy => Problem::new(Kind::Busy, "the gateway is busy, retry in a moment"),
        StoreError::Closed => Problem::new(Kind::Draining, "the gateway is restarting, retry in a moment"),
        other => Problem::internal(other),
    }
}

/// See the methods of [`Driver`] of the same names.
pub(crate) trait Backend: Send + Sync + 'static {
    fn key(&self, digest: &KeyDigest) -> Result<Option<Key>, StoreError>;
    fn keys_generation(&self) -> u64;
    fn submit(&self, request: SubmitRequest) -> impl Future<Output = Result<Receipt, SubmitError>> + Send;
    fn complete(
        &self,
        request: CompletionRequest,
    ) -> impl Future<Output = Result<CompletionResponse, TextError>> + Send;
    fn task(&self, key: &Key, id: TaskId) -> Result<Option<Task>, StoreError>;
    fn task_when_over(
        &self,
        key: &Key,
        id: TaskId,
        patience: Duration,
    ) -> impl Future<Output = Result<Option<Task>, StoreError>> + Send;
    fn tasks(
        &self,
        key: &Key,
        filter: &TaskFilter,
    ) -> impl Future<Output = Result<TaskPage, StoreError>> + Send;
    fn cancel(&self, key: &Key, id: TaskId) -> impl Future<Output = Result<Task, CancelError>> + Send;
    fn result(&self, task: &Task, base: &str) -> Option<Vec<u8>>;
    fn models(&self, key: &Key) -> Vec<ModelListing>;
    fn media(
        &self,
        name: &str,
        expires: &str,
        signature: &str,
        range: Option<&str>,
    ) -> impl Future<Output = Result<MediaFile, MediaRefusal>> + Send;
    fn is_ready(&self) -> bool;
}

impl Backend for Driver {
    fn key(&self, digest: &KeyDigest) -> Result<Option<Key>, StoreError> {
        Self::key(self, digest)
    }
    fn keys_generation(&self) -> u64 {
        Self::keys_generation(self)
    }
    async fn submit(&self, request: SubmitRequest) -> Result<Receipt, SubmitError> {
        Self::submit(self, request).await
    }
    async fn complete(&self, request: CompletionRequest) -> Result<CompletionResponse, TextError> {
        Self::complete(self, request).await
    }
    fn task(&self, key: &Key, id: TaskId) -> Result<Option<Task>, StoreError> {
        Self::task(self, key, id)
    }
    async fn task_when_over(
        &self,
        key: &Key,
        id: TaskId,
        patience: Duration,
    ) -> Result<Option<Task>, StoreError> {
        Self::task_when_over(self, key, id, patience).await
    }
    async fn tasks(&self, key: &Key, filter: &TaskFilter) -> Result<TaskPage, StoreError> {
        Self::tasks(self, key, filter).await
    }
    async fn cancel(&self, key: &Key, id: TaskId) -> Result<Task, CancelError> {
        Self::cancel(self, key, id).await
    }
    fn result(&self, task: &Task, base: &str) -> Option<Vec<u8>> {
        Self::result(self, task, base)
    }
    fn models(&self, key: &Key) -> Vec<ModelListing> {
        Self::models(self, key)
    }
    async fn media(
        &self,
        name: &str,
        expires: &str,
        signature: &str,
        range: Option<&str>,
    ) -> Result<MediaFile, MediaRefusal> {
        Self::media(self, name, expires, signature, range).await
    }
    fn is_ready(&self) -> bool {
        Self::is_ready(self)
    }
}
