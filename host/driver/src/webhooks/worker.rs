//! The loop that starts attempts: wakes for what a commit has left, for what is due, and for an attempt that ended.
//!
//! Without a webhook it sleeps for good: no timer, no read.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::{DeliveryId, UnixMs, WebhookId};
use gatehouse_store::StoreError;
use tokio::task::{Id, JoinSet};

use super::queue::{AttemptEnd, WebhookQueue};
use crate::state::{DriverState, ShutdownState};

/// Attempts under way at once, of all webhooks.
const MAX_IN_FLIGHT: usize = 128;
/// The loop sleeps no longer than this while something is due later: the wall clock may be set meanwhile.
const MAX_SLEEP: Duration = Duration::from_secs(60);

impl DriverState {
    pub(crate) async fn run_webhooks(self: Arc<Self>) {
        if let Err(error) = self.send_webhooks().await {
            tracing::error!(%error, "no further webhooks are sent");
        }
    }

    async fn send_webhooks(self: &Arc<Self>) -> Result<(), StoreError> {
        let mut queue = WebhookQueue::default();
        let mut running = JoinSet::new();
        // Looked up by an id, never walked through.
        let mut sent: HashMap<Id, WebhookId> = HashMap::new();
        for id in self.store.waiting_webhooks()? {
            queue.look(id, self.next_delivery(id)?, self.now());
        }
        loop {
            while running.len() < MAX_IN_FLIGHT
                && !self.has_reached(ShutdownState::Draining)
                && let Some((webhook, delivery)) = queue.take(self.now())
            {
                let state = Arc::clone(self);
                let task = running.spawn(async move { state.attempt(webhook, delivery).await });
                sent.insert(task.id(), webhook);
            }
            // At the limit only an end makes the next one possible.
            let due = queue.next_due().filter(|_| running.len() < MAX_IN_FLIGHT);
            tokio::select! {
                biased;
                Some(ended) = running.join_next_with_id() => {
                    let (id, end) = match ended {
                        Ok((id, end)) => (id, end?),
                        // It panicked: a bug, which must not stop the others.
                        Err(error) => (error.id(), AttemptEnd::Failed),
                    };
                    if let Some(webhook) = sent.remove(&id) {
                        queue.ended(webhook, end, self.now(), self.seed.unit());
                        queue.look(webhook, self.next_delivery(webhook)?, self.now());
                    }
                }
                changed = self.store.changed_webhooks() => {
                    for id in changed {
                        queue.look(id, self.next_delivery(id)?, self.now());
                    }
                }
                () = self.until_due(due) => {}
            }
        }
    }

    /// What a webhook, or a queue of callbacks, sends next; nothing where the webhook is disabled or gone.
    fn next_delivery(&self, id: WebhookId) -> Result<Option<(UnixMs, DeliveryId)>, StoreError> {
        match self.store.webhook(id)? {
            Some(webhook) if webhook.disabled.is_some() => Ok(None),
            Some(_) => self.store.next_delivery(id),
            None => {
                let Some((due, delivery)) = self.store.next_delivery(id)? else { return Ok(None) };
                let found = self.store.delivery(delivery)?;
                let is_callback = found.is_some_and(|found| found.callback.is_some());
                Ok(is_callback.then_some((due, delivery)))
            }
        }
    }

    async fn until_due(&self, due: Option<UnixMs>) {
        // A shutdown leaves the rest to the next process.
        match due.filter(|_| !self.has_reached(ShutdownState::Draining)) {
            Some(due) => self.clock.pause(due.since(self.now()).min(MAX_SLEEP)).await,
            None => std::future::pending().await,
        }
    }
}
