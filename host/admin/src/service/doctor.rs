//! The doctor's examinations, the audit record, and what else needs a person.

use std::collections::BTreeMap;

use gatehouse_model::Customer;
use gatehouse_store::{AuditQuery, RowPage};
use gatehouse_tasks::{AuditRecord, Report, WebhookEndpoint};

use super::admin_service::{AdminService, Backend};
use super::job::{Jobs, Look};
use crate::api::doctor::{DoctorReport, DoctorRun, RunState};
use crate::api::error::OperationError;

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
            let page = self.store.list_audit(query.clone(), before, limit - rows.len()).await?;
            rows.extend(page.rows.into_iter().map(|(_, line)| line));
            before = page.next;
            if before.is_none() || rows.len() >= limit {
                break;
            }
        }
        Ok(RowPage { rows, next: before })
    }
}

/// What needs a person, for the first page of the console.
impl AdminService {
    /// The first customers that have no credit, by id. Reads these alone.
    ///
    /// # Errors
    /// The store's.
    pub async fn customers_without_credit(&self, limit: usize) -> Result<Vec<Customer>, OperationError> {
        Ok(self.store.customers_without_credit(None, limit).await?.rows)
    }

    /// How many customers have no credit.
    ///
    /// # Errors
    /// The store's.
    pub async fn count_without_credit(&self) -> Result<u64, OperationError> {
        Ok(self.store.count_without_credit().await?)
    }

    /// The first webhooks, by id, that do not reach their receiver: disabled by the gateway, or failing since their last
    /// success.
    ///
    /// # Errors
    /// The store's.
    pub async fn troubled_webhooks(&self, limit: usize) -> Result<Vec<WebhookEndpoint>, OperationError> {
        Ok(self.store.troubled_webhooks(limit).await?)
    }

    /// How many webhooks do not reach their receiver.
    ///
    /// # Errors
    /// The store's.
    pub async fn count_troubled_webhooks(&self) -> Result<u64, OperationError> {
        Ok(self.store.count_troubled_webhooks().await?)
    }

    /// How many tasks wait for a ruling; none without a running gateway.
    #[must_use]
    pub fn ambiguous_tasks(&self) -> usize {
        match &self.backend {
            Backend::Running { driver, .. } => driver.rulings.waiting(),
            Backend::Offline(_) => 0,
        }
    }
}

impl AdminService {
    /// How far the examination `wanted` is; without a number the one under way, or a new one. Waits a moment for its end.
    pub(crate) async fn examination(
        &self,
        runs: &Jobs<DoctorReport>,
        wanted: Option<u64>,
    ) -> Result<DoctorRun, OperationError> {
        if wanted.is_none() {
            let store = self.store.clone();
            // Where one is under way, that one is looked at.
            runs.begin(move |progress| Ok(DoctorReport::from(store.examine_with(progress)?)));
        }
        let Look { number, checked, of, end } = runs.look(&*self.clock, wanted).await?;
        let state = if end.is_some() { RunState::Done } else { RunState::Running };
        Ok(DoctorRun { run: number, state, checked, of, report: end })
    }
}

impl From<Report> for DoctorReport {
    fn from(report: Report) -> Self {
        let sound = report.is_clean();
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
        Self { sound, findings, counts: BTreeMap::from(counts), imbalance_micro: report.imbalance.0 }
    }
}
