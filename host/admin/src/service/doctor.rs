//! The doctor's examinations. Owns the one under way; reads the store.

use std::collections::BTreeMap;
use std::sync::Arc;

use gatehouse_model::Clock;
use gatehouse_store::{Progress, Store};
use gatehouse_tasks::Report;

use super::job::{Jobs, Look};
use crate::api::doctor::{DoctorReport, DoctorRun, RunState};
use crate::api::error::OperationError;

/// Examines the store, once at a time.
pub struct Doctor {
    store: Store,
    clock: Arc<dyn Clock>,
    runs: Jobs<DoctorReport, Progress>,
}

impl Doctor {
    pub(super) fn new(store: Store, clock: Arc<dyn Clock>) -> Self {
        Self { store, clock, runs: Jobs::default() }
    }

    /// How far the examination `wanted` is; without a number the one under way, or a new one. Waits a moment for its end.
    pub(crate) async fn look(&self, wanted: Option<u64>) -> Result<DoctorRun, OperationError> {
        if wanted.is_none() {
            let store = self.store.clone();
            // Where one is under way, that one is looked at.
            self.runs.begin(move |progress| Ok(DoctorReport::from(store.examine_with(progress)?)));
        }
        let Look { number, progress, end } = self.runs.look(&*self.clock, wanted).await?;
        let (checked, of) = progress.so_far();
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
