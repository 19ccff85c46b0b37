//! What needs a person, for the first page of the console. Owns nothing; reads the store, and asks the running gateway.

use std::sync::Arc;

use gatehouse_model::Customer;
use gatehouse_store::{AuditQuery, RowPage, Store};
use gatehouse_tasks::{AuditRecord, WebhookEndpoint};

use super::gateway::Gateway;
use crate::api::error::OperationError;

/// Lines in one answer.
const MAX_LINES: usize = 1_000;
/// Pages of the record that are read for one answer, each a bounded number of rows under a snapshot of its own.
const MAX_PAGES: usize = 50;

/// Finds what needs a person.
pub struct Attention {
    pub(super) store: Store,
    pub(super) gateway: Arc<Gateway>,
}

impl Attention {
    /// The disk, "store" or "media", for whose sake new tasks are refused; `None` without a running gateway.
    #[must_use]
    pub fn full_disk(&self) -> Option<&'static str> {
        self.gateway.driver()?.full_disk()
    }

    /// Lines of the audit record, newest first, below the number `before`: at most 1,000, and fewer than `limit` only where the
    /// filter leaves out most of them.
    pub async fn audit_lines(
        &self,
        query: AuditQuery,
        mut before: Option<u64>,
        limit: usize,
    ) -> Result<RowPage<AuditRecord, u64>, OperationError> {
        let (limit, mut rows) = (limit.min(MAX_LINES), Vec::new());
        for _ in 0..MAX_PAGES {
            let page = self.store.list_audit(query.clone(), before, limit - rows.len()).await?;
            rows.extend(page.rows.into_iter().map(|(_, line)| line));
            before = page.next;
            if before.is_none() || rows.len() >= limit {
                break;
            }
        }
        Ok(RowPage { rows, next: before })
    }

    /// The first customers that have no credit, by id. Reads these alone.
    pub async fn customers_without_credit(&self, limit: usize) -> Result<Vec<Customer>, OperationError> {
        Ok(self.store.customers_without_credit(None, limit).await?.rows)
    }

    /// How many customers have no credit.
    pub async fn count_without_credit(&self) -> Result<u64, OperationError> {
        Ok(self.store.count_without_credit().await?)
    }

    /// The first webhooks, by id, that do not reach their receiver: disabled by the gateway, or failing since their last
    /// success.
    pub async fn troubled_webhooks(&self, limit: usize) -> Result<Vec<WebhookEndpoint>, OperationError> {
        Ok(self.store.troubled_webhooks(limit).await?)
    }

    /// How many webhooks do not reach their receiver.
    pub async fn count_troubled_webhooks(&self) -> Result<u64, OperationError> {
        Ok(self.store.count_troubled_webhooks().await?)
    }

    /// How many tasks wait for a ruling; none without a running gateway.
    #[must_use]
    pub fn ambiguous_tasks(&self) -> usize {
        self.gateway.driver().map_or(0, |driver| driver.rulings.waiting())
    }
}
