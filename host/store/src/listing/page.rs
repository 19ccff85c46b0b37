//! Pages of a customer's tasks, newest first, by status and model: of all tasks those that are listed for the customer.

use gatehouse_model::{CustomerId, Status, Task, TaskId};
use redb::ReadTransaction;

use crate::error::StoreError;
use crate::listing::all_tasks::{AllTasksPage, AllTasksQuery, list_all_tasks};

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
    /// Tasks that match, newest first. The last one is where the next page continues ([`TaskQuery::after`]).
    pub tasks: Vec<Task>,
    /// Whether older tasks match too.
    pub more: bool,
    /// Rows of the index read for this page.
    pub rows_read: usize,
}

/// A page of a customer's tasks.
pub(crate) fn list_tasks(
    txn: &ReadTransaction,
    customer: &CustomerId,
    query: &TaskQuery,
) -> Result<TaskPage, StoreError> {
    let TaskQuery { status, model, after, limit } = query.clone();
    let (customer, statuses) = (Some(customer.clone()), status.into_iter().collect());
    let query = AllTasksQuery { statuses, customer, model, after, limit, ..AllTasksQuery::default() };
    let AllTasksPage { tasks, next, rows_read, .. } = list_all_tasks(txn, &query)?;
    Ok(TaskPage { tasks, more: next.is_some(), rows_read })
}
