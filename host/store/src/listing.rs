//! A customer's tasks, listed in pages of bounded work.
//!
//! Owns the query, the page and the walk over the rows of a customer. A page reads at most [`MAX_ROWS_PER_PAGE`]
//! rows, however few of them match, and its cursor says where the next page continues. The walk runs on a blocking
//! thread, a few at a time, so that a long history delays no other request. Never writes.

use gatehouse_model::{CustomerId, Status, Task, TaskId};
use redb::ReadTransaction;

use crate::error::StoreError;
use crate::layout::{self, Day};
use crate::read::task_in;
use crate::store::Store;

/// Rows one page reads at most; about 10 ms of work.
pub const MAX_ROWS_PER_PAGE: usize = 2_000;
/// Rows read under one snapshot.
const CHUNK: usize = 500;

/// Which of a customer's tasks to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskQuery {
    /// Only this status.
    pub status: Option<Status>,
    /// Only this canonical model.
    pub model: Option<String>,
    /// Only tasks older than this one.
    pub after: Option<TaskId>,
    /// At most this many.
    pub limit: usize,
}

/// A page of tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskPage {
    /// Tasks that match, newest first. With a filter there may be fewer than the limit, or none, although older
    /// matches exist: then the page has read its maximum of rows.
    pub tasks: Vec<Task>,
    /// Where the next page continues (its [`TaskQuery::after`]); `None` when nothing older is left.
    pub next: Option<TaskId>,
    /// Rows read for this page.
    pub rows_read: usize,
}

impl TaskQuery {
    fn matches(&self, task: &Task) -> bool {
        self.status.is_none_or(|status| task.status == status)
            && self.model.as_ref().is_none_or(|model| task.model == *model)
    }
}

impl Store {
    /// A page of a customer's tasks. Walks rows on a blocking thread.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn list_tasks(&self, customer: &CustomerId, query: TaskQuery) -> Result<TaskPage, StoreError> {
        let (store, customer) = (self.clone(), customer.clone());
        self.off_worker(move || store.page(&customer, &query)).await
    }

    fn page(&self, customer: &CustomerId, query: &TaskQuery) -> Result<TaskPage, StoreError> {
        let mut page = TaskPage::default();
        let mut before = query.after.map_or(u128::MAX, TaskId::bits);
        while page.rows_read < MAX_ROWS_PER_PAGE {
            let size = CHUNK.min(MAX_ROWS_PER_PAGE - page.rows_read);
            let rows = self.read(|txn| rows_before(txn, customer, before, size))?;
            let was_last = rows.len() < size;
            for (id, task) in rows {
                page.rows_read += 1;
                if let Some(task) = task.filter(|task| query.matches(task)) {
                    if page.tasks.len() == query.limit {
                        let last = page.tasks.last().map_or(before, |task| task.id.bits());
                        page.next = Some(TaskId::from_bits(last));
                        return Ok(page);
                    }
                    page.tasks.push(task);
                }
                before = id;
            }
            if was_last {
                return Ok(page);
            }
        }
        page.next = Some(TaskId::from_bits(before));
        Ok(page)
    }
}

/// At most `limit` of a customer's tasks older than `before`, newest first, by id. A listed task without a row is
/// still a row of the walk.
fn rows_before(
    txn: &ReadTransaction,
    customer: &CustomerId,
    before: u128,
    limit: usize,
) -> Result<Vec<(u128, Option<Task>)>, StoreError> {
    let newest = TaskId::from_bits(before).timestamp().day();
    let mut days: Vec<u32> = txn.list_tables()?.filter_map(|table| layout::owners_day(&table)).collect();
    days.retain(|day| *day <= newest);
    days.sort_unstable_by(|a, b| b.cmp(a));
    let (customer, mut rows) = (customer.0.as_str(), Vec::new());
    for day in days {
        let owners = txn.open_table(Day::new(day).owners())?;
        for row in owners.range((customer, 0)..(customer, before))?.rev() {
            if rows.len() == limit {
                return Ok(rows);
            }
            let (_, id) = row?.0.value();
            rows.push((id, task_in(txn, TaskId::from_bits(id))?));
        }
    }
    Ok(rows)
}
