//! What needs a person, for the first page of the console. Owns nothing; reads the store, and asks the running gateway.

use std::sync::Arc;

use gatehouse_store::{AuditQuery, RowPage, Store};
use gatehouse_tasks::AuditRecord;

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

    /// How many tasks wait for a ruling; none without a running gateway.
    #[must_use]
    pub fn ambiguous_tasks(&self) -> usize {
        self.gateway.driver().map_or(0, |driver| driver.rulings.waiting())
    }
}
