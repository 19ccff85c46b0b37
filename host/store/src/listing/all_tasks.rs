//! Pages of all customers' tasks, newest first: by time, status, key, family, customer and whether an operator is asked about
//! them, together in any way.
//!
//! Each filter is a list of ids in the order of time, or a few of them. A page goes down all its filters at once: the newest
//! id below the present one that every filter has is the next task. Where filters have little in common that takes long, so
//! a page ends after twice its length at the latest, with the tasks it found and where the next page begins. Runs on a
//! blocking thread, a few at a time. Never writes.

use std::ops::{Bound, Range};

use gatehouse_model::{CustomerId, KeyId, Status, Task, TaskId, UnixMs, settings};
use redb::ReadTransaction;

use crate::engine::tasks::{ALL, AMBIGUOUS, BY_FAMILY, BY_KEY, BY_STATUS};
use crate::error::StoreError;
use crate::layout::{HISTORY, IndexKey, LIVE, TASK_INDEX};
use crate::read::task;
use crate::table::ReadRows;

settings! {
    /// Which tasks to list. Values of one filter are alternatives; an empty filter lets all pass.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct AllTasksQuery {
        /// In one of these states.
        pub statuses: Vec<Status> = Vec::new(),
        /// Through one of these keys.
        pub keys: Vec<KeyId> = Vec::new(),
        /// Of one of these families.
        pub families: Vec<String> = Vec::new(),
        /// Of this customer.
        pub customer: Option<CustomerId> = None,
        /// Only those whose call is ambiguous and waits for a ruling.
        pub ambiguous: bool = false,
        /// Of this canonical model.
        pub model: Option<String> = None,
        /// Of this user of a client.
        pub user: Option<String> = None,
        /// With this name and value in its metadata.
        pub tag: Option<(String, String)> = None,
        /// Created in this time.
        pub created: Range<UnixMs> = UnixMs(0)..UnixMs(u64::MAX),
        /// Only tasks older than this one.
        pub after: Option<TaskId> = None,
        /// At most this many.
        pub limit: usize = 0,
    }
}

/// A page of tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllTasksPage {
    /// Newest first. May be fewer than the limit although `next` is there.
    pub tasks: Vec<Task>,
    /// Where the next page begins ([`AllTasksQuery::after`]); `None` where this is the last one.
    pub next: Option<TaskId>,
    /// Rows of indexes that were looked up.
    pub rows_read: usize,
    /// Tasks that were read, those left out included.
    pub tasks_read: usize,
}

/// Bits of the first id of that moment.
pub(crate) fn first_id(at: UnixMs) -> u128 {
    const TIME_BITS: u64 = (1 << 48) - 1;
    u128::from(at.0.min(TIME_BITS)) << 80
}

/// A page of all customers' tasks.
pub(crate) fn list_all_tasks(
    txn: &ReadTransaction,
    query: &AllTasksQuery,
) -> Result<AllTasksPage, StoreError> {
    let mut page = AllTasksPage::default();
    let oldest = first_id(query.created.start);
    let until = match query.created.end {
        UnixMs(u64::MAX) => u128::MAX,
        end => first_id(end),
    };
    let mut before = query.after.map_or(until, |after| after.bits().min(until));
    let newest_day = TaskId::from_bits(before).timestamp().day();
    let oldest_day = query.created.start.day();
    let mut days = TASK_INDEX.days(txn.list_tables()?);
    days.retain(|day| (oldest_day..=newest_day).contains(day));
    // Looking a day up is not what a page is limited by; what it then goes through is.
    let mut limit = query.limit.saturating_mul(2);
    for day in days.into_iter().rev() {
        let known = page.rows_read;
        let mut filters = Filters::open(txn, day, query, &mut page.rows_read)?;
        limit += page.rows_read - known + filters.lists();
        while let Some(id) = filters.newest_below(before, limit, &mut page.rows_read)? {
            let id = match id {
                Next::Task(id) if id < oldest => return Ok(page),
                Next::Task(id) => id,
                Next::Limit(position) => {
                    page.next = Some(TaskId::from_bits(position));
                    return Ok(page);
                }
            };
            if page.tasks.len() == query.limit || page.tasks_read > query.limit.saturating_mul(2) {
                page.next = Some(TaskId::from_bits(before));
                return Ok(page);
            }
            before = id;
            page.tasks_read += 1;
            page.tasks.extend(task(txn, TaskId::from_bits(id))?.filter(|task| query.shows(task)));
        }
    }
    Ok(page)
}

impl AllTasksQuery {
    /// What no list decides.
    pub(crate) fn shows(&self, task: &Task) -> bool {
        self.model.as_ref().is_none_or(|model| task.model == *model)
            && task.tags.have(self.user.as_deref(), self.tag.as_ref())
    }
}

/// What [`Filters::newest_below`] found.
enum Next {
    /// A task that every filter lets pass.
    Task(u128),
    /// Too much was read. All tasks from here on were looked at.
    Limit(u128),
}

/// The filters of a query on one day.
struct Filters(Vec<Filter>);

impl Filters {
    fn open(
        txn: &ReadTransaction,
        day: u32,
        query: &AllTasksQuery,
        rows_read: &mut usize,
    ) -> Result<Self, StoreError> {
        let index = || TASK_INDEX.of(day).open(txn);
        let mut filters = Vec::new();
        let mut add = |list: &str, values: Vec<String>| -> Result<(), StoreError> {
            if !values.is_empty() {
                let lists = values.into_iter().map(|value| List::new(ALL, list, &value)).collect();
                filters.push(Filter::Index { index: index()?, lists });
            }
            Ok(())
        };
        if query.customer.is_none() {
            add(BY_STATUS, query.statuses.iter().map(|status| status.as_str().to_owned()).collect())?;
        }
        add(BY_KEY, query.keys.iter().map(|key| key.0.clone()).collect())?;
        add(BY_FAMILY, query.families.clone())?;
        add(AMBIGUOUS, if query.ambiguous { vec![String::new()] } else { vec![] })?;
        if let Some(customer) = &query.customer {
            let index = index()?;
            let lists = lists_of(&index, &customer.0, query, rows_read)?;
            filters.push(Filter::Index { index, lists });
        }
        if filters.is_empty() {
            let history = HISTORY.of(day).open_if_any(txn)?;
            let tables = std::iter::once(LIVE.open(txn)?).chain(history);
            let start = first_id(UnixMs(u64::from(day) * 86_400_000));
            filters.push(Filter::Tasks {
                start,
                tables: tables.map(|table| (table, Newest::Unknown)).collect(),
            });
        }
        Ok(Self(filters))
    }

    fn lists(&self) -> usize {
        let lists = self.0.iter().map(|filter| match filter {
            Filter::Index { lists, .. } => lists.len(),
            Filter::Tasks { tables, .. } => tables.len(),
        });
        lists.sum()
    }

    /// The newest id below that one which every filter has.
    fn newest_below(
        &mut self,
        mut before: u128,
        limit: usize,
        rows_read: &mut usize,
    ) -> Result<Option<Next>, StoreError> {
        loop {
            let (mut newest, mut oldest) = (0, u128::MAX);
            for filter in &mut self.0 {
                let Some(id) = filter.newest_below(before, rows_read)? else { return Ok(None) };
                (newest, oldest) = (newest.max(id), oldest.min(id));
            }
            if newest == oldest {
                return Ok(Some(Next::Task(oldest)));
            }
            // Nothing above the oldest of them is in all filters.
            before = oldest + 1;
            if *rows_read >= limit {
                return Ok(Some(Next::Limit(before)));
            }
        }
    }
}

/// One filter: the lists of ids of its values, merged.
enum Filter {
    Index {
        index: ReadRows<IndexKey, ()>,
        lists: Vec<List>,
    },
    /// No filter at all.
    Tasks {
        start: u128,
        tables: Vec<(ReadRows<u128, Task>, Newest)>,
    },
}

/// A list of the index.
struct List {
    prefix: (String, String, String),
    newest: Newest,
}

impl List {
    fn new(customer: &str, list: &str, value: &str) -> Self {
        Self { prefix: (customer.to_owned(), list.to_owned(), value.to_owned()), newest: Newest::Unknown }
    }
}

/// A customer's lists on one day: of all states and models that a query may find. Looks up only the first row of each.
fn lists_of(
    index: &ReadRows<IndexKey, ()>,
    customer: &str,
    query: &AllTasksQuery,
    rows_read: &mut usize,
) -> Result<Vec<List>, StoreError> {
    let mut lists = Vec::new();
    if let Some(model) = &query.model {
        let statuses = if query.statuses.is_empty() { &Status::ALL[..] } else { &query.statuses };
        lists.extend(statuses.iter().map(|status| List::new(customer, status.as_str(), model)));
        return Ok(lists);
    }
    let mut from = Bound::Included((customer.to_owned(), String::new(), String::new(), 0));
    loop {
        let start =
            from.as_ref().map(|(customer, status, model, id)| (&**customer, &**status, &**model, *id));
        let Some(row) = index.keys((start, Bound::Unbounded))?.next() else { return Ok(lists) };
        *rows_read += 1;
        let (owner, status, model, _) = row?;
        if owner != customer {
            return Ok(lists);
        }
        from = if query.statuses.is_empty() || query.statuses.iter().any(|of| of.as_str() == status) {
            lists.push(List::new(customer, &status, &model));
            Bound::Excluded((owner, status, model, u128::MAX))
        } else {
            // The first text that is greater.
            Bound::Included((owner, status + "\0", String::new(), 0))
        };
    }
}

/// The newest id of a list below the present position.
#[derive(Clone, Copy)]
enum Newest {
    Unknown,
    Id(u128),
    None,
}

impl Newest {
    fn is_below(self, before: u128) -> bool {
        match self {
            Self::Unknown => false,
            Self::Id(id) => id < before,
            Self::None => true,
        }
    }

    fn id(self) -> Option<u128> {
        match self {
            Self::Id(id) => Some(id),
            Self::Unknown | Self::None => None,
        }
    }
}

impl Filter {
    fn newest_below(&mut self, before: u128, rows_read: &mut usize) -> Result<Option<u128>, StoreError> {
        let mut newest = None;
        match self {
            Self::Index { index, lists } => {
                for list in lists {
                    if !list.newest.is_below(before) {
                        let (a, b, c) = &list.prefix;
                        let (a, b, c) = (a.as_str(), b.as_str(), c.as_str());
                        let mut keys = index.keys((a, b, c, 0)..(a, b, c, before))?;
                        let newest = keys.next_back().transpose()?;
                        list.newest = newest.map_or(Newest::None, |(.., id)| Newest::Id(id));
                        *rows_read += 1;
                    }
                    newest = newest.max(list.newest.id());
                }
            }
            Self::Tasks { start, tables } => {
                for (table, known) in tables {
                    if !known.is_below(before) {
                        let mut keys = table.keys(*start..before.max(*start))?;
                        *known = keys.next_back().transpose()?.map_or(Newest::None, Newest::Id);
                        *rows_read += 1;
                    }
                    newest = newest.max(known.id());
                }
            }
        }
        Ok(newest)
    }
}
