//! The audit record as the oracle reads it.

use futures_util::FutureExt as _;
use gatehouse_model::TaskId;
use gatehouse_store::{AuditQuery, Store};
use gatehouse_tasks::AuditRecord;

/// Lines of one read.
const LINES: usize = 1_000;

/// All lines about a task, newest first.
pub(crate) fn lines_about(store: &Store, task: TaskId) -> Result<Vec<AuditRecord>, String> {
    let query = AuditQuery { task: Some(task), ..AuditQuery::default() };
    let (mut lines, mut before) = (Vec::new(), None);
    loop {
        // A store whose writer the simulation runs reads in place.
        let page = store.list_audit(query.clone(), before, LINES).now_or_never();
        let page =
            page.ok_or("the audit record was not read in place")?.map_err(|error| error.to_string())?;
        lines.extend(page.rows.into_iter().map(|(_, line)| line));
        before = page.next;
        if before.is_none() {
            return Ok(lines);
        }
    }
}
