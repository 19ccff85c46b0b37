//! The driver as the edge sees it: the methods of it that are called here. In the edge's own tests a scripted one takes its
//! place, so that they run over real sockets without a store. Adds no behaviour.

use std::sync::Arc;
use std::time::Duration;

use gatehouse_driver::{
    AnswerRequest, AnswerResponse, CancelError, Cancelled, ChangedWebhook, CompletionRequest,
    CompletionResponse, Driver, DryRun, FollowedTask, Funds, KeptResponse, MediaFile, MediaRefusal,
    ModelListing, QueueEstimate, Receipt, RequestMemory, ServedRoute, StoreError, SubmitError, SubmitRequest,
    TaskCallback, TaskFilter, TaskPage, TextError, UsageFilter, UsageRows, ViewError, ViewRequest, Waiting,
    WebhookDelivery, WebhookEndpoint, WebhookError, WebhookRequest,
};
use gatehouse_model::{
    Boxed, DeliveryId, FamilyListing, Key, KeyDigest, Media, Sse, Task, TaskId, Tracer, WebhookId,
};

use crate::errors::{Kind, Refusal};
#[cfg(test)]
use crate::tests::support::backend::ScriptedBackend;

/// Declares the trait, and has the driver's services answer by their own methods of the same names: those of `now` at once,
/// those of `later` in a future. The scripted one answers by its own methods.
macro_rules! backend {
    (
        now { $($of:ident { $(fn $now:ident($($a:ident: $b:ty),*) -> $c:ty;)* })* }
        later { $($by:ident { $(fn $later:ident($($d:ident: $e:ty),*) -> $f:ty;)* })* }
    ) => {
        /// See the methods of the same names of the driver's services.
        pub(crate) trait Backend: Send + Sync + 'static {
            $($(fn $now(&self, $($a: $b),*) -> $c;)*)*
            $($(fn $later<'a>(&'a self, $($d: $e),*) -> Boxed<'a, $f>;)*)*
        }

        impl Backend for Driver {
            $($(fn $now(&self, $($a: $b),*) -> $c {
                self.$of.$now($($a),*)
            })*)*
            $($(fn $later<'a>(&'a self, $($d: $e),*) -> Boxed<'a, $f> {
                Box::pin(self.$by.$later($($d),*))
            })*)*
        }

        #[cfg(test)]
        impl Backend for ScriptedBackend {
            $($(fn $now(&self, $($a: $b),*) -> $c {
                ScriptedBackend::$now(self, $($a),*)
            })*)*
            $($(fn $later<'a>(&'a self, $($d: $e),*) -> Boxed<'a, $f> {
                Box::pin(ScriptedBackend::$later(self, $($d),*))
            })*)*
        }
    };
}

backend! {
    now {
        keys {
            fn keys_generation() -> u64;
        }
        models {
            fn families(key: Option<&Key>) -> Vec<FamilyListing>;
            fn model_id(name: &str) -> Option<String>;
            fn routes() -> Arc<[ServedRoute]>;
            fn starting() -> Option<SubmitError>;
            fn switched_off_path(path: &str, family: &str) -> Option<SubmitError>;
        }
        process {
            fn families_not_ready() -> Vec<String>;
            fn is_ready() -> bool;
            fn tracer() -> Option<&Arc<Tracer>>;
        }
        tasks {
            fn queue_estimate(task: &Task) -> Option<QueueEstimate>;
            fn result(task: &Task, base: &str) -> Option<Vec<u8>>;
            fn waiting(task: &Task) -> Option<Waiting>;
        }
        webhooks {
            fn callback_secret(key: &Key) -> String;
        }
    }
    later {
        answers {
            fn answer(request: AnswerRequest) -> Result<AnswerResponse, TextError>;
        }
        balances {
            fn funds(key: &'a Key) -> Result<Option<Funds>, StoreError>;
            fn usage(key: &'a Key, filter: UsageFilter) -> Result<UsageRows, StoreError>;
            fn usage_in_all(key: &'a Key, filter: UsageFilter) -> Result<UsageRows, StoreError>;
        }
        cancels {
            fn cancel(key: &'a Key, id: TaskId) -> Result<Cancelled, CancelError>;
        }
        conversations {
            fn forget_response(key: &'a Key, id: &'a str) -> Result<bool, SubmitError>;
            fn response(key: &'a Key, id: &'a str) -> Result<Option<KeptResponse>, SubmitError>;
            fn response_events(
                key: &'a Key, id: &'a str, after: Option<u64>, memory: Arc<dyn RequestMemory>
            ) -> Result<Option<Vec<Sse>>, SubmitError>;
        }
        files {
            fn delete_result(task: &'a Task) -> Result<(), MediaRefusal>;
            fn is_result_deleted(task: &'a Task) -> Result<bool, MediaRefusal>;
            fn media(
                name: &'a str, expires: &'a str, signature: &'a str, range: Option<&'a str>
            ) -> Result<MediaFile, MediaRefusal>;
            fn result_file(media: &'a Media, range: Option<&'a str>) -> Result<MediaFile, MediaRefusal>;
        }
        intake {
            fn dry_run(request: SubmitRequest) -> Result<DryRun, SubmitError>;
            fn submit(request: SubmitRequest) -> Result<Receipt, SubmitError>;
        }
        keys {
            fn key(digest: &'a KeyDigest) -> Result<Option<Key>, StoreError>;
        }
        models {
            fn models(key: &'a Key) -> Result<Vec<ModelListing>, StoreError>;
        }
        tasks {
            fn follow(key: &'a Key, id: TaskId) -> Result<Option<FollowedTask>, StoreError>;
            fn task(key: &'a Key, id: TaskId) -> Result<Option<Task>, StoreError>;
            fn task_when_over(
                key: &'a Key, id: TaskId, max_wait: Duration
            ) -> Result<Option<Task>, StoreError>;
            fn tasks(key: &'a Key, filter: &'a TaskFilter) -> Result<TaskPage, StoreError>;
            fn view(request: &'a ViewRequest<'a>) -> Result<Vec<u8>, ViewError>;
        }
        texts {
            fn complete(request: CompletionRequest) -> Result<CompletionResponse, TextError>;
        }
        webhooks {
            fn change_own_webhook(request: WebhookRequest) -> Result<ChangedWebhook, WebhookError>;
            fn own_callback(task: &'a Task) -> Result<Option<TaskCallback>, StoreError>;
            fn own_deliveries(
                key: &'a Key, id: WebhookId, after: Option<DeliveryId>, limit: usize
            ) -> Result<Option<(Vec<WebhookDelivery>, bool)>, StoreError>;
            fn own_webhook(key: &'a Key, id: WebhookId) -> Result<Option<WebhookEndpoint>, StoreError>;
            fn own_webhooks(key: &'a Key) -> Result<Vec<WebhookEndpoint>, StoreError>;
        }
    }
}

/// The refusal for a store error. `Closed` passes too: another process follows.
pub(crate) fn store_refusal(error: StoreError) -> Refusal {
    match error {
        StoreError::Busy => Refusal::new(Kind::Busy, "the gateway is busy, retry in a moment"),
        StoreError::Closed => Refusal::new(Kind::Draining, "the gateway is restarting, retry in a moment"),
        StoreError::Unavailable => {
            Refusal::new(Kind::Busy, "the gateway's store cannot be reached now, retry in a moment")
        }
        StoreError::NoRoom => Refusal::new(Kind::DiskFull, "the gateway's disk is full, retry later"),
        other => Refusal::internal(other),
    }
}
