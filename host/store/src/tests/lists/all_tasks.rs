//! All customers' tasks: what is listed by every filter, in which order, in which pieces, and how much is read for it.

use gatehouse_model::{KeyId, Phase, Status, Task, TaskId, UnixMs};
use gatehouse_sample::{START, change, completed, customer_id, failed, key_id, sent_call, task};
use gatehouse_tasks::{Change, Command};

use super::{MANY, expected, fill, id};
use crate::AllTasksQuery;
use crate::store::Store;
use crate::tests::{begun, finish, minute, submit};
use crate::transaction::open::commit;

/// A free task: its key by thirds, its family by sevenths, its model by halves.
fn made(number: u64, id: TaskId) -> Task {
    let key = u8::try_from(number % 3).unwrap();
    let family = if number.is_multiple_of(7) { "rare" } else { "usual" }.to_owned();
    let model = format!("model-{}", number % 2);
    Task { id, family, model, ..task(0, key, key / 2, 0, id.timestamp()) }
}

/// Every fourth one is live, of these every second one is ambiguous, the others have completed or failed in turn.
async fn filled() -> Store {
    let store = begun().await;
    fill(&store, |number| made(number, id(number)));
    let lost = (0..MANY).filter(|number| number % 8 == 0).flat_map(|number| {
        let sent = Phase::Sent { call: sent_call(), at: START };
        let lost = Phase::Ambiguous { call: sent_call(), at: START, outage: None };
        [sent, lost].into_iter().zip(0..).map(move |(phase, revision)| {
            let change = Box::new(Change { phase, ..change(Status::Submitted, 0) });
            Command::Advance { id: id(number), revision, change, at: START }
        })
    });
    commit(&store.database().unwrap(), lost.collect()).unwrap();
    store
}

/// Every page, joined. A page of one filter, or none, reads no more than twice what it shows.
async fn all_pages(store: &Store, query: &AllTasksQuery) -> Vec<u64> {
    let (mut numbers, mut after) = (Vec::new(), query.after);
    for _ in 0..10_000 {
        let page = store.list_all_tasks(AllTasksQuery { after, ..query.clone() }).await.unwrap();
        assert!(page.tasks.len() <= query.limit);
        // Six days, with the look-up of their lists.
        let look_ups = 6 * 12;
        let (rows, limit) = (page.rows_read, query.limit);
        assert!(rows <= 3 * limit + look_ups, "{rows} rows, limit {limit}");
        assert!(page.tasks_read <= 2 * query.limit + 1, "{} tasks", page.tasks_read);
        numbers.extend(super::numbers(&page.tasks));
        match page.next {
            Some(next) => {
                assert!(after.is_none_or(|after| next < after), "a page goes on");
                after = Some(next);
            }
            None => return numbers,
        }
    }
    panic!("the pages do not end");
}

fn status(number: u64) -> Status {
    match number % 4 {
        0 => Status::Submitted,
        2 => Status::Completed,
        _ => Status::Failed,
    }
}

#[tokio::test]
async fn filters_go_together_in_any_way() {
    let store = filled().await;
    let statuses =
        [vec![], vec![Status::Completed], vec![Status::Submitted, Status::Failed], vec![Status::Pending]];
    let keys: [Vec<u8>; 3] = [vec![], vec![1], vec![0, 2]];
    let families = [vec![], vec!["rare".to_owned()]];
    let customers = [None, Some(0_u8)];
    let models = [None, Some("model-1".to_owned())];
    for wanted in &statuses {
        for (through, ambiguous) in keys.iter().flat_map(|keys| [(keys, false), (keys, true)]) {
            for of in &families {
                for customer in &customers {
                    for model in &models {
                        let query = AllTasksQuery {
                            statuses: wanted.clone(),
                            keys: through.iter().map(|key| key_id(*key)).collect(),
                            families: of.clone(),
                            customer: customer.map(customer_id),
                            model: model.clone(),
                            ambiguous,
                            limit: 50,
                            ..AllTasksQuery::default()
                        };
                        let expected = expected(|number| {
                            let key = u8::try_from(number % 3).unwrap();
                            (wanted.is_empty() || wanted.contains(&status(number)))
                                && (through.is_empty() || through.contains(&key))
                                && (of.is_empty() || number % 7 == 0)
                                && customer.is_none_or(|customer| key / 2 == customer)
                                && (model.is_none() || number % 2 == 1)
                                && (!ambiguous || number % 8 == 0)
                        });
                        assert_eq!(all_pages(&store, &query).await, expected, "{query:?}");
                    }
                }
            }
        }
    }
}

#[tokio::test]
async fn pages_of_any_length_and_time_show_every_task_once() {
    let store = filled().await;
    for limit in [1, 7, 100, 1299, 1300, 5000] {
        for (from, until) in [(0, MANY), (100, 800), (1299, 1300), (700, 700), (900, 800)] {
            let created = id(from).timestamp()..id(until).timestamp();
            let query = AllTasksQuery { created, limit, ..AllTasksQuery::default() };
            assert_eq!(all_pages(&store, &query).await, expected(|number| (from..until).contains(&number)));
            let query = AllTasksQuery { statuses: vec![Status::Failed], ..query };
            let failed = |number| (from..until).contains(&number) && status(number) == Status::Failed;
            assert_eq!(all_pages(&store, &query).await, expected(failed));
        }
    }
    let nothing = AllTasksQuery { created: UnixMs(0)..UnixMs(1), limit: 9, ..AllTasksQuery::default() };
    assert_eq!(store.list_all_tasks(nothing).await.unwrap(), crate::AllTasksPage::default());
}

/// The bound of the specification, on many rows: a page reads at most twice what it shows, wherever it begins.
#[tokio::test]
async fn a_page_of_many_tasks_reads_no_more_than_twice_what_it_shows() {
    const COUNT: u64 = 30_000;
    const LIMIT: usize = 50;
    let store = begun().await;
    let id = |number: u64| minute(number / 10, u128::from(number));
    for first in (0..COUNT).step_by(1000) {
        let made = |number: u64| Task { key: KeyId("key0".into()), ..made(number * 3, id(number)) };
        let submits = (first..first + 1000).map(|number| submit(made(number)));
        commit(&store.database().unwrap(), submits.collect()).unwrap();
        let end = |number| finish(id(number), if number % 999 == 0 { failed() } else { completed(0) });
        commit(&store.database().unwrap(), (first..first + 1000).map(end).collect()).unwrap();
    }
    let of = |statuses: Vec<Status>, keys: Vec<KeyId>, families: Vec<&str>| AllTasksQuery {
        statuses,
        keys,
        families: families.into_iter().map(str::to_owned).collect(),
        limit: LIMIT,
        ..AllTasksQuery::default()
    };
    let live = vec![Status::Submitted, Status::Pending, Status::Processing];
    let middle = Some(id(COUNT / 2));
    for query in [
        of(vec![], vec![], vec![]),
        of(vec![Status::Completed], vec![], vec![]),
        of(vec![Status::Failed], vec![], vec![]),
        of(live, vec![], vec![]),
        of(vec![], vec![key_id(0)], vec![]),
        of(vec![], vec![], vec!["usual"]),
        of(vec![Status::Completed], vec![key_id(0)], vec![]),
        of(vec![Status::Failed], vec![key_id(0)], vec!["usual"]),
        of(vec![Status::Completed], vec![key_id(2)], vec!["usual"]),
    ] {
        for after in [None, middle] {
            let page = store.list_all_tasks(AllTasksQuery { after, ..query.clone() }).await.unwrap();
            let read = page.rows_read.max(page.tasks_read);
            // Beside it: looking up at most four lists a day, on three days, and the row that says there is more.
            assert!(read <= 2 * LIMIT + 3 * 4 + 2, "{read} for {query:?}");
        }
    }
}
