//! Pages of a customer's tasks, newest first, by status and model.
//!
//! Owns the query, the page and the order. A page reads about as many rows as it shows: the index of a day is sorted
//! by status and model, so a page merges the few lists its filter allows. Runs on a blocking thread, a few at a time.
//! Never writes.

use std::collections::BinaryHeap;
use std::ops::Bound;

use gatehouse_model::{CustomerId, Status, Task, TaskId};
use redb::{Range, ReadOnlyTable, ReadTransaction};

use crate::error::StoreError;
use crate::layout::{self, Day, IndexKey};
use crate::tables::task_in;

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
    let mut page = TaskPage::default();
    let newest = query.after.unwrap_or(TaskId::from_bits(u128::MAX)).timestamp().day();
    let mut days: Vec<u32> = txn.list_tables()?.filter_map(|table| layout::task_index_day(&table)).collect();
    days.retain(|day| *day <= newest);
    days.sort_unstable_by(|a, b| b.cmp(a));
    for day in days {
        let index = txn.open_table(Day::new(day).task_index())?;
        let mut listed = DayList::open(&index, customer, query, &mut page.rows_read)?;
        while let Some(id) = listed.next(&mut page.rows_read)? {
            if page.tasks.len() == query.limit {
                page.more = true;
                return Ok(page);
            }
            page.tasks.extend(task_in(txn, id)?);
        }
    }
    Ok(page)
}

/// One day's matches, newest first.
struct DayList {
    /// A list of ids for every status and model.
    lists: Vec<Range<'static, IndexKey, ()>>,
    /// The newest id of each list that is not shown yet, and the list it is from.
    heads: BinaryHeap<(u128, usize)>,
}

impl DayList {
    fn open(
        index: &ReadOnlyTable<IndexKey, ()>,
        customer: &CustomerId,
        query: &TaskQuery,
        rows_read: &mut usize,
    ) -> Result<Self, StoreError> {
        let before = query.after.map_or(u128::MAX, TaskId::bits);
        let customer = customer.0.as_str();
        let mut day = Self { lists: Vec::new(), heads: BinaryHeap::new() };
        for (status, model) in lists_of(index, customer, query, rows_read)? {
            let (status, model) = (status.as_str(), model.as_str());
            day.lists.push(index.range((customer, status, model, 0)..(customer, status, model, before))?);
            day.advance(day.lists.len() - 1, rows_read)?;
        }
        Ok(day)
    }

    fn next(&mut self, rows_read: &mut usize) -> Result<Option<TaskId>, StoreError> {
        let Some((id, list)) = self.heads.pop() else { return Ok(None) };
        self.advance(list, rows_read)?;
        Ok(Some(TaskId::from_bits(id)))
    }

    fn advance(&mut self, list: usize, rows_read: &mut usize) -> Result<(), StoreError> {
        if let Some(row) = self.lists[list].next_back() {
            *rows_read += 1;
            self.heads.push((row?.0.value().3, list));
        }
        Ok(())
    }
}

/// The statuses and models a query may find in one day's index. Looks up only the first row of each.
pub(crate) fn lists_of(
    index: &ReadOnlyTable<IndexKey, ()>,
    customer: &str,
    query: &TaskQuery,
    rows_read: &mut usize,
) -> Result<Vec<(String, String)>, StoreError> {
    let statuses = query.status.map_or_else(|| Status::ALL.to_vec(), |status| vec![status]);
    if let Some(model) = &query.model {
        return Ok(statuses.into_iter().map(|status| (status.as_str().to_owned(), model.clone())).collect());
    }
    let mut found: Vec<(String, String)> = Vec::new();
    let only = query.status.map(Status::as_str);
    loop {
        let from = match found.last() {
            Some((status, model)) => Bound::Excluded((customer, status.as_str(), model.as_str(), u128::MAX)),
            None => Bound::Included((customer, only.unwrap_or_default(), "", 0)),
        };
        let Some(row) = index.range((from, Bound::Unbounded))?.next() else { return Ok(found) };
        *rows_read += 1;
        let row = row?.0;
        let (owner, status, model, _) = row.value();
        if owner != customer || only.is_some_and(|only| only != status) {
            return Ok(found);
        }
        found.push((status.to_owned(), model.to_owned()));
    }
}
