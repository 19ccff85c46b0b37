//! The doctor's report and the audit record, read away from the async workers.

use std::collections::BTreeMap;

use gatehouse_store::{AuditQuery, RowPage};
use gatehouse_tasks::{AuditRecord, Report};

use super::admin_service::{AdminService, Backend, on_blocking_thread, store_failed};
use crate::api::error::OperationError;
use crate::api::result::Examination;

/// Lines in one answer.
const MAX_LINES: usize = 1_000;
/// Pages of the record that are read for one answer, each a bounded number of rows under a snapshot of its own.
const MAX_PAGES: usize = 50;

impl AdminService {
    /// The disk, "store" or "media", for whose sake new tasks are refused; `None` without a running gateway.
    #[must_use]
    pub fn full_disk(&self) -> Option<&'static str> {
        match &self.backend {
            Backend::Running { driver, .. } => driver.full_disk(),
            Backend::Offline(_) => None,
        }
    }

    /// Sums up the ledger again and checks every hold and every index row against its task.
    ///
    /// # Errors
    /// The store's; what merely contradicts itself is in the report.
    pub async fn examination(&self) -> Result<Examination, OperationError> {
        let store = self.store.clone();
        let report = on_blocking_thread(move || store.examine()).await?.map_err(store_failed)?;
        Ok(examination(report))
    }

    /// How many lines of the audit record lie in the range of time of `query`.
    ///
    /// # Errors
    /// The store's.
    pub async fn audit_span(&self, query: AuditQuery) -> Result<u64, OperationError> {
        self.store.audit_span(query).await.map_err(store_failed)
    }

    /// A page of the audit record, newest first: lines with their numbers, below the number `before`.
    ///
    /// # Errors
    /// The store's.
    pub async fn audit_page(
        &self,
        query: AuditQuery,
        before: Option<u64>,
        limit: usize,
    ) -> Result<RowPage<(u64, AuditRecord), u64>, OperationError> {
        self.store.list_audit(query, before, limit).await.map_err(store_failed)
    }

    /// Lines of the audit record, newest first, below the number `before`: at most 1,000, and fewer than `limit` only where the
    /// filter leaves out most of them.
    ///
    /// # Errors
    /// The store's.
    pub async fn audit_lines(
        &self,
        query: AuditQuery,
        mut before: Option<u64>,
        limit: usize,
    ) -> Result<RowPage<AuditRecord, u64>, OperationError> {
        let (limit, mut rows) = (limit.min(MAX_LINES), Vec::new());
        for _ in 0..MAX_PAGES {
            let page = self.audit_page(query.clone(), before, limit - rows.len()).await?;
            rows.extend(page.rows.into_iter().map(|(_, line)| line));
            before = page.next;
            if before.is_none() || rows.len() >= limit {
                break;
            }
        }
        Ok(RowPage { rows, next: before })
    }
}

fn examination(report: Report) -> Examination {
    let mut findings = report.findings;
    let listed = u64::try_from(findings.len()).unwrap_or(u64::MAX);
    if report.found > listed {
        findings.push(format!("and {} more", report.found - listed));
    }
    let counts = [
        ("accounts", report.customers),
        ("keys", report.keys),
        ("ledger entries", report.entries),
        ("open holds", report.holds),
        ("live tasks", report.live),
        ("names", report.names),
        ("finished tasks", report.finished),
        ("price versions", report.price_books),
        ("deployment reports", report.deployments),
    ];
    let counts = counts.map(|(name, count)| (name.to_owned(), count));
    Examination { findings, counts: BTreeMap::from(counts), imbalance: report.imbalance }
}
