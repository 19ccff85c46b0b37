//! One attempt: the delivery is read, signed with every secret of its webhook, posted, and what came of it is durable
//! before the next attempt of that webhook begins.
//!
//! A crash in between leaves the delivery as it was, so it is sent again: at least once, always under the same id.

use std::time::Duration;

use bytes::Bytes;
use gatehouse_model::{DeliveryId, Span, SpanKind, WebhookId, metric};
use gatehouse_store::{Durability, StoreError};
use gatehouse_tasks::{Callback, Command, MAX_ANSWER, WebhookAttempt, WebhookChange, WebhookDelivery};
use gatehouse_upstream::{Answer, Post};

use super::queue::AttemptEnd;
use crate::webhook_secret::{UnreadableSecret, WebhookSecret};
use crate::webhooks::worker::WebhookSender;

/// The longest time for one attempt.
const TIMEOUT: Duration = Duration::from_secs(15);
/// Statuses that ask for a pause.
const THROTTLES: [u16; 4] = [429, 502, 503, 504];

/// Where a delivery goes.
struct Receiver {
    url: String,
    /// Each of them signs.
    secrets: Result<Vec<WebhookSecret>, UnreadableSecret>,
}

impl WebhookSender {
    /// Sends a delivery once.
    pub(super) async fn attempt(
        &self,
        webhook: WebhookId,
        delivery: DeliveryId,
    ) -> Result<AttemptEnd, StoreError> {
        let delivery =
            self.shared.store.delivery(delivery).await?.filter(|delivery| delivery.due().is_some());
        let Some(delivery) = delivery else { return Ok(AttemptEnd::Nothing) };
        let receiver = self.receiver(webhook, &delivery).await?;
        let Some(receiver) = receiver else { return Ok(AttemptEnd::Nothing) };
        let at = self.shared.now();
        let mut span = self.delivery_span(&delivery).await;
        let outcome = self.post(receiver, &delivery).await;
        let took_ms = u64::try_from(self.shared.now().since(at).as_millis()).unwrap_or(u64::MAX);
        let retry_after = outcome.as_ref().ok().and_then(|answer| answer.retry_after);
        let (status, error, answer) = match outcome {
            Ok(answer) => (Some(answer.status), String::new(), text(&answer.body)),
            Err(error) => (None, error, String::new()),
        };
        if let Some(mut span) = span.take() {
            match status {
                Some(status) => span.set("http.response.status_code", u32::from(status)),
                None => span.fail(&error),
            }
        }
        let attempt = WebhookAttempt { at, took_ms, status, error, answer };
        let end = match (attempt.succeeded(), status, retry_after) {
            (true, ..) => AttemptEnd::Taken,
            (false, Some(status), Some(pause)) if THROTTLES.contains(&status) => AttemptEnd::Throttled(pause),
            _ => AttemptEnd::Failed,
        };
        metrics::counter!(metric::WEBHOOK_ATTEMPTS, "outcome" => end.as_str()).increment(1);
        // Never the address: its query may hold a secret of its owner.
        tracing::debug!(delivery = %delivery.id, %webhook, ?status, took_ms, "webhook attempt");
        let change = WebhookChange::Record {
            delivery: delivery.id,
            attempt,
            retry_after_ms: retry_after.map(|wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)),
            chance: u32::try_from(self.shared.seed.next_u64() % 1_001).unwrap_or_default(),
        };
        let command = Command::Webhook { change: Box::new(change), at: self.shared.now() };
        if let Err(rejection) = self.shared.store.execute_when_free(command, Durability::Immediate).await? {
            tracing::error!(?rejection, "the store rejected what became of a webhook attempt");
        }
        Ok(end)
    }

    /// A span for an attempt, if the task that it tells of is traced.
    async fn delivery_span(&self, delivery: &WebhookDelivery) -> Option<Span> {
        let tracer = self.shared.tracer.as_ref()?;
        let task = self.shared.store.task(delivery.task?).await.ok()??;
        let mut span = tracer.resume(task.trace?).begin("webhook", SpanKind::Client);
        span.set("gatehouse.delivery", delivery.id.to_string().as_str());
        Some(span)
    }

    /// Where a delivery goes, and what signs it; nowhere where its webhook is disabled or gone.
    async fn receiver(
        &self,
        id: WebhookId,
        delivery: &WebhookDelivery,
    ) -> Result<Option<Receiver>, StoreError> {
        if let Some(Callback { url, key }) = delivery.callback.clone() {
            let secrets = Ok(vec![WebhookSecret::of_key(&self.shared.pepper, &key)]);
            return Ok(Some(Receiver { url, secrets }));
        }
        let webhook = self.shared.store.webhook(id).await?.filter(|webhook| webhook.disabled.is_none());
        Ok(webhook.map(|webhook| {
            let sealed = webhook.secrets(self.shared.now());
            let secrets = sealed.map(|sealed| WebhookSecret::open(sealed, &self.shared.pepper, id)).collect();
            Receiver { secrets, url: webhook.url }
        }))
    }

    /// The answer, or why there is none.
    async fn post(&self, receiver: Receiver, delivery: &WebhookDelivery) -> Result<Answer, String> {
        let at = self.shared.now();
        let secrets = receiver.secrets.map_err(|error| error.to_string())?;
        let signatures: Vec<String> =
            secrets.iter().map(|secret| secret.sign(delivery.id, at, &delivery.body)).collect();
        let headers = [
            ("webhook-id", delivery.id.to_string()),
            ("webhook-timestamp", at.seconds().to_string()),
            ("webhook-signature", signatures.join(" ")),
        ];
        let post = Post {
            url: &receiver.url,
            headers: &headers,
            body: Bytes::from(delivery.body.clone()),
            timeout: TIMEOUT,
            max_answer: MAX_ANSWER,
            over_http: self.shared.config.webhooks_over_http,
        };
        self.shared.upstream.fetcher().post(&post).await.map_err(|error| error.to_string())
    }
}

/// The beginning of an answer as text, at most [`MAX_ANSWER`] bytes.
fn text(body: &[u8]) -> String {
    let mut text = String::from_utf8_lossy(body).into_owned();
    text.truncate(text.floor_char_boundary(MAX_ANSWER));
    text
}
