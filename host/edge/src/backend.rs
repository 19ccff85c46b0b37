//! The driver as the edge sees it: a trait, so that tests run the edge over real sockets without a store.
//! [`Driver`] is the only implementation outside tests. Adds no behaviour.

use std::future::Future;
use std::time::Duration;

use gatehouse_driver::{
    CancelError, CompletionRequest, CompletionResponse, Driver, MediaFile, MediaRefusal, ModelListing,
    Receipt, StoreError, SubmitError, SubmitRequest, TaskFilter, TaskPage, TextError, ViewError, ViewRequest,
};
use gatehouse_model::{Key, KeyDigest, Task, TaskId};

use crate::errors::{Kind, Refusal};

/// The refusal for a store error. `Busy` and `Closed` pass by themselves.
pub(crate) fn store_refusal(error: StoreError) -> Refusal {
    match error {
        StoreError::Busy => Refusal::new(Kind::Busy, "the gateway is busy, retry in a moment"),
        StoreError::Closed => Refusal::new(Kind::Draining, "the gateway is restarting, retry in a moment"),
        other => Refusal::internal(other),
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
        max_wait: Duration,
    ) -> impl Future<Output = Result<Option<Task>, StoreError>> + Send;
    fn tasks(
        &self,
        key: &Key,
        filter: &TaskFilter,
    ) -> impl Future<Output = Result<TaskPage, StoreError>> + Send;
    fn cancel(&self, key: &Key, id: TaskId) -> impl Future<Output = Result<Task, CancelError>> + Send;
    fn result(&self, task: &Task, base: &str) -> Option<Vec<u8>>;
    fn view(&self, request: &ViewRequest<'_>) -> impl Future<Output = Result<Vec<u8>, ViewError>> + Send;
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
        max_wait: Duration,
    ) -> Result<Option<Task>, StoreError> {
        Self::task_when_over(self, key, id, max_wait).await
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
    async fn view(&self, request: &ViewRequest<'_>) -> Result<Vec<u8>, ViewError> {
        Self::view(self, request).await
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
