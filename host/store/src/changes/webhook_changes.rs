//! The webhooks whose rows have changed since their sender looked last.
//!
//! Holds ids only, so it is bounded by the number of webhooks, whether or not anyone looks.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use gatehouse_model::WebhookId;
use tokio::sync::Notify;

/// What the sender has not seen.
#[derive(Default)]
pub(crate) struct WebhookChanges {
    changed: Mutex<BTreeSet<WebhookId>>,
    woken: Notify,
}

impl WebhookChanges {
    /// A commit with rows of these webhooks can be read.
    pub(crate) fn committed(&self, mut webhooks: BTreeSet<WebhookId>) {
        if webhooks.is_empty() {
            return;
        }
        self.changed.lock().unwrap_or_else(PoisonError::into_inner).append(&mut webhooks);
        self.woken.notify_one();
    }

    /// Those since this was last asked. Ends once there are any.
    pub(crate) async fn next(&self) -> BTreeSet<WebhookId> {
        loop {
            let changed = std::mem::take(&mut *self.changed.lock().unwrap_or_else(PoisonError::into_inner));
            if !changed.is_empty() {
                return changed;
            }
            self.woken.notified().await;
        }
    }
}
