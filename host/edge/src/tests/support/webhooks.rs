//! Scripted webhooks of a customer: one that is there, and a record of what was to be changed.

use std::num::NonZeroU32;
use std::time::Duration;

use gatehouse_driver::{
    ChangedWebhook, StoreError, TaskCallback, WebhookAction, WebhookDelivery, WebhookEndpoint, WebhookError,
    WebhookRequest,
};
use gatehouse_model::{DeliveryId, Key, Task, WebhookId};

use super::backend::ScriptedBackend;
use super::samples::webhook;

/// The methods of the driver about webhooks.
impl ScriptedBackend {
    pub(crate) async fn own_webhooks(&self, _: &Key) -> Result<Vec<WebhookEndpoint>, StoreError> {
        self.working(vec![webhook()])
    }
    pub(crate) async fn own_webhook(
        &self,
        key: &Key,
        id: WebhookId,
    ) -> Result<Option<WebhookEndpoint>, StoreError> {
        Ok(self.own_webhooks(key).await?.into_iter().find(|webhook| webhook.id == id))
    }
    pub(crate) async fn own_deliveries(
        &self,
        key: &Key,
        id: WebhookId,
        _: Option<DeliveryId>,
        _: usize,
    ) -> Result<Option<(Vec<WebhookDelivery>, bool)>, StoreError> {
        Ok(self.own_webhook(key, id).await?.map(|_| (Vec::new(), false)))
    }
    pub(crate) async fn own_callback(&self, task: &Task) -> Result<Option<TaskCallback>, StoreError> {
        let callback = |url: &String| TaskCallback { url: url.clone(), delivery: None, is_over: false };
        self.working(task.callback.as_ref().map(callback))
    }
    /// A second of one idempotency key is known; one that is to be rotated cannot be, and one that is to be tried out comes too
    /// often.
    pub(crate) async fn change_own_webhook(
        &self,
        request: WebhookRequest,
    ) -> Result<ChangedWebhook, WebhookError> {
        let repeated = request.idempotency.as_ref().is_some_and(|(token, _)| token == "again");
        let action = request.action.clone();
        self.webhook_requests.lock().unwrap().push(request);
        match action {
            WebhookAction::Rotate(_) => Err(WebhookError::Conflict("it has changed since".to_owned())),
            WebhookAction::Test(_) => {
                Err(WebhookError::TooOften { limit: NonZeroU32::MIN, wait: Duration::from_millis(2_500) })
            }
            WebhookAction::Edit(id, _) | WebhookAction::Remove(id) if id != webhook().id => {
                Err(WebhookError::Unknown(id))
            }
            _ => {
                let secret = (!repeated).then(|| "whsec_1".to_owned());
                let webhook = Some(webhook());
                Ok(ChangedWebhook { id: self::webhook().id, webhook, secret, delivery: None, repeated })
            }
        }
    }
    #[expect(clippy::unused_self, reason = "the driver's signature")]
    pub(crate) fn callback_secret(&self, key: &Key) -> String {
        format!("whsec_of_{}", key.id)
    }
}
