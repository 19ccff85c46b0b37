//! The history: customers, keys, finished and live tasks, and lines of the audit record, written by the store itself.

use std::path::Path;
use std::time::Duration;

use gatehouse_harness::TestSeed;
use gatehouse_model::{
    Credits, CustomerId, CustomerPolicy, Digest, Key, KeyDigest, KeyId, KeyPolicy, Phase, Status, Task,
    TaskId, UnixMs,
};
use gatehouse_store::{Config, Store};
use gatehouse_tasks::{Command, Ending, ResultRecord};
use tokio::task::JoinSet;

/// Commands under way at once.
const BATCH: usize = 1_000;
/// How far back the history goes.
const SPAN: Duration = Duration::from_secs(7 * 86_400);
/// Tasks for each further customer, which has one key. The first customer has every second task.
const TASKS_PER_CUSTOMER: usize = 500;
/// Tasks for each line of the audit record.
const TASKS_PER_LINE: usize = 10;

/// How much of it.
pub(super) struct Wanted {
    pub(super) finished: usize,
    pub(super) live: usize,
}

/// Writes it, from the oldest moment on; the ids of the first customer's live tasks. They are copies of the one live task, and
/// free.
pub(super) async fn fill(path: &Path, wanted: &Wanted) -> Vec<String> {
    let store = Store::open(path, &Config::default()).expect("the gateway has ended");
    let model: Task = store.live_tasks(None).await.expect("readable").pop().expect("one live task");
    let (count, seed) = (wanted.finished + wanted.live, TestSeed::default());
    let owners = owners(&store, &model, count / TASKS_PER_CUSTOMER).await;
    let begin = model.created.0 - u64::try_from(SPAN.as_millis()).expect("a week");
    let step = SPAN.as_millis() as u64 / (count as u64 + 1);
    let mut live = Vec::new();
    for first in (0..count).step_by(BATCH) {
        let mut writes = JoinSet::new();
        for number in first..(first + BATCH).min(count) {
            let at = UnixMs(begin + number as u64 * step);
            let (id, is_live) = (TaskId::new(at, &seed), number >= wanted.finished);
            let others = &owners[(number / 2) % owners.len()];
            let own = (model.customer.clone(), model.key.clone());
            let (customer, key) = if number % 2 == 0 { own } else { others.clone() };
            if is_live && number % 2 == 0 {
                live.push(id.to_string());
            }
            let mut task = Task {
                id,
                customer,
                key,
                created: at,
                revision: 0,
                status: Status::Submitted,
                held: Credits::ZERO,
                phase: Phase::Wait(model.deadline),
                ..model.clone()
            };
            task.charge.0[0].quantity = 0;
            writes.spawn(write(store.clone(), task, is_live, number % TASKS_PER_LINE == 0));
        }
        writes.join_all().await;
    }
    store.close();
    live
}

/// Further customers, every second of them without credit, each with its key.
async fn owners(store: &Store, model: &Task, count: usize) -> Vec<(CustomerId, KeyId)> {
    let at = model.created;
    let mut owners = Vec::new();
    for first in (0..count.max(1)).step_by(BATCH) {
        let mut writes = JoinSet::new();
        for number in first..(first + BATCH).min(count.max(1)) {
            let (customer, id) =
                (CustomerId(format!("customer-{number:06}")), KeyId(format!("key{number:07}")));
            owners.push((customer.clone(), id.clone()));
            let digest = KeyDigest(Digest::of(id.0.as_bytes()));
            let policy = KeyPolicy { name: format!("key {number}"), ..KeyPolicy::default() };
            let key = Box::new(Key::new(id, customer.clone(), digest, at, policy));
            let (amount, memo) = (Credits(Credits::UNIT), String::new());
            let mut commands = vec![
                Command::AddCustomer { id: customer.clone(), policy: CustomerPolicy::default(), at },
                Command::AddKey { key },
            ];
            if number % 2 == 0 {
                commands.push(Command::Deposit { customer, amount, memo, at });
            }
            let store = store.clone();
            writes.spawn(async move {
                for command in commands {
                    store.execute(command).await.expect("a working store").expect("a new row");
                }
            });
        }
        writes.join_all().await;
    }
    owners
}

async fn write(store: Store, task: Task, is_live: bool, has_line: bool) {
    let (id, at) = (task.id, task.created);
    let submit = Command::Submit { task: Box::new(task), idempotency: None };
    store.execute(submit).await.expect("a working store").expect("a new task");
    if has_line {
        let line = Command::Audit { task: Some(id), text: "a line of the benchmark".to_owned(), at };
        store.execute(line).await.expect("a working store").expect("a line");
    }
    if !is_live {
        let (public, private, media) = (b"{}".to_vec(), b"{}".to_vec(), vec![]);
        let result = ResultRecord { public, private, media };
        let ending = Ending::Completed { result, claims: vec![], cost: Credits::ZERO };
        let finish = Command::Finish { id, revision: 0, ending, audit: None, at };
        store.execute(finish).await.expect("a working store").expect("a live task");
    }
}
