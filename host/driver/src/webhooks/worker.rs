//! The loop that starts attempts: wakes for what a commit has left, for what is due, and for an attempt that ended.
//!
//! Without a webhook it sleeps for good: no timer, no read.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::{Digest, UnixMs, WebhookId};
use gatehouse_store::StoreError;
use tokio::task::{Id, JoinSet};

use super::queue::{AttemptEnd, Waiting, WebhookQueue};
use crate::shared::{Shared, ShutdownState};
use crate::store_pause::StorePause;

/// The loop sleeps no longer than this while something is due later: the wall clock may be set meanwhile.
const MAX_SLEEP: Duration = Duration::from_secs(60);

/// What is to be read for the queue. It stays here until the store has answered.
struct Unread {
    /// Every webhook for which a delivery waits: at a start.
    all: bool,
    webhooks: BTreeSet<WebhookId>,
    pause: StorePause,
}

/// Sends what webhooks are told.
pub(crate) struct WebhookSender {
    pub(crate) shared: Arc<Shared>,
}

impl WebhookSender {
    pub(crate) async fn run(self: Arc<Self>) {
        if let Err(error) = self.send_webhooks().await {
            tracing::error!(%error, "no further webhooks are sent");
        }
    }

    async fn send_webhooks(self: &Arc<Self>) -> Result<(), StoreError> {
        let mut queue = WebhookQueue::default();
        let mut running = JoinSet::new();
        // Looked up by an id, never walked through.
        let mut sent: HashMap<Id, WebhookId> = HashMap::new();
        let mut unread = Unread { all: true, webhooks: BTreeSet::new(), pause: StorePause::default() };
        loop {
            let again = self.read_due(&mut queue, &mut unread).await?;
            while !self.shared.has_reached(ShutdownState::Draining)
                && let Some((webhook, delivery)) = queue.take(self.shared.now())
            {
                let state = Arc::clone(self);
                let task = running.spawn(async move { state.attempt(webhook, delivery).await });
                sent.insert(task.id(), webhook);
            }
            let due = [queue.next_due(), again].into_iter().flatten().min();
            tokio::select! {
                biased;
                Some(ended) = running.join_next_with_id() => {
                    let (id, end) = match ended {
                        Ok((id, Ok(end))) => (id, end),
                        // Nothing was sent. What was is recorded before an attempt ends.
                        Ok((id, Err(error))) if error.passes() => (id, AttemptEnd::Nothing),
                        Ok((_, Err(error))) => return Err(error),
                        // It panicked: a bug, which must not stop the others.
                        Err(error) => (error.id(), AttemptEnd::Failed),
                    };
                    if let Some(webhook) = sent.remove(&id) {
                        queue.ended(webhook, end, self.shared.now(), self.shared.seed.unit());
                        unread.webhooks.insert(webhook);
                    }
                }
                mut changed = self.shared.store.changed_webhooks() => unread.webhooks.append(&mut changed),
                () = self.until_due(due) => {}
            }
        }
    }

    /// Reads what is due next; when to try again what the store could not answer now.
    async fn read_due(
        &self,
        queue: &mut WebhookQueue,
        unread: &mut Unread,
    ) -> Result<Option<UnixMs>, StoreError> {
        let read: Result<(), StoreError> = async {
            if unread.all {
                unread.webhooks.append(&mut self.shared.store.waiting_webhooks().await?);
                unread.all = false;
            }
            while let Some(&id) = unread.webhooks.first() {
                queue.look(id, self.next_delivery(id).await?, self.shared.now());
                unread.webhooks.pop_first();
            }
            Ok(())
        }
        .await;
        match read {
            Ok(()) => {
                unread.pause.passed();
                Ok(None)
            }
            Err(error) if error.passes() => {
                let now = self.shared.now();
                Ok(Some(now.plus(unread.pause.failed(now, self.shared.seed.unit()))))
            }
            Err(error) => Err(error),
        }
    }

    /// What a webhook, or a queue of callbacks, sends next; nothing where the webhook is disabled or gone.
    async fn next_delivery(&self, id: WebhookId) -> Result<Option<Waiting>, StoreError> {
        let webhook = self.shared.store.webhook(id).await?;
        if webhook.as_ref().is_some_and(|webhook| webhook.disabled.is_some()) {
            return Ok(None);
        }
        let Some((due, delivery)) = self.shared.store.next_delivery(id).await? else { return Ok(None) };
        let address = webhook.as_ref().map(|webhook| Digest::of(webhook.url.as_bytes()));
        let customer = match webhook {
            Some(webhook) => Some(webhook.customer),
            None => {
                let found = self.shared.store.delivery(delivery).await?;
                found.filter(|found| found.callback.is_some()).map(|found| found.customer)
            }
        };
        Ok(customer.map(|customer| Waiting { due, delivery, customer, address }))
    }

    async fn until_due(&self, due: Option<UnixMs>) {
        // A shutdown leaves the rest to the next process.
        match due.filter(|_| !self.shared.has_reached(ShutdownState::Draining)) {
            Some(due) => self.shared.clock.pause(due.since(self.shared.now()).min(MAX_SLEEP)).await,
            None => std::future::pending().await,
        }
    }
}
