//! The doctor's report and the audit record, read away from the async workers.

use std::collections::BTreeMap;

use gatehouse_model::TaskId;
use gatehouse_tasks::Report;

use super::admin_service::{AdminService, on_blocking_thread, store_failed};
use crate::api::error::OperationError;
use crate::api::result::{AuditNote, Examination, OperationResult};

impl AdminService {
    pub(super) async fn examine(&self) -> Result<OperationResult, OperationError> {
        let store = self.store.clone();
        let report = on_blocking_thread(move || store.examine()).await?.map_err(store_failed)?;
        Ok(OperationResult::Examined(examination(report)))
    }

    pub(super) async fn read_audit(
        &self,
        task: Option<TaskId>,
        limit: u32,
    ) -> Result<OperationResult, OperationError> {
        let (store, limit) = (self.store.clone(), usize::try_from(limit).unwrap_or(usize::MAX));
        let notes = on_blocking_thread(move || store.audit(task, limit)).await?.map_err(store_failed)?;
        let notes = notes.into_iter().map(|note| AuditNote { at: note.at, task: note.task, text: note.text });
        Ok(OperationResult::Audit { notes: notes.collect() })
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
    ];
    let counts = counts.map(|(name, count)| (name.to_owned(), count));
    Examination { findings, counts: BTreeMap::from(counts), imbalance: report.imbalance }
}
