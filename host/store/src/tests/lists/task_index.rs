//! The index of tasks follows the tasks, and the doctor finds where it does not.

use gatehouse_model::{Phase, Status};
use gatehouse_sample::{START, change, completed, failed, ruled, sent_call, task, task_id};
use gatehouse_tasks::{Change, Command};

use crate::AllTasksQuery;
use crate::layout::{IndexKey, TASK_INDEX};
use crate::store::Store;
use crate::table::WriteRows;
use crate::tests::{Dump, altered, begun, finish, indexed, submit};

/// A live task that moved, one that did not, one completed and one failed.
async fn with_tasks() -> Store {
    let store = begun().await;
    let submits = (0..4).map(|number| submit(task(number, 0, 0, 1, START)));
    let changes = [(Status::Pending, 0), (Status::Processing, 1), (Status::Processing, 2)];
    let moves = changes.map(|(status, revision)| {
        let change = Box::new(change(status, 10));
        Command::Advance { id: task_id(0), revision, change, at: START }
    });
    let ends = [finish(task_id(2), completed(1)), finish(task_id(3), failed())];
    for command in submits.chain(moves).chain(ends) {
        store.execute(command).await.unwrap().unwrap();
    }
    store
}

#[tokio::test]
async fn a_task_is_listed_as_ambiguous_until_it_is_ruled_on() {
    let listed = |store: &Store| {
        let rows = Dump::of_store(store).task_index;
        let ambiguous =
            rows.into_iter().filter(|(customer, list, ..)| customer.is_empty() && list == "ambiguous");
        ambiguous.map(|(_, _, _, id)| id).collect::<Vec<_>>()
    };
    for number in 0..3 {
        let store = with_tasks().await;
        assert_eq!(listed(&store), []);
        for (revision, phase) in [
            (0, Phase::Sent { call: sent_call(), at: START }),
            (1, Phase::Ambiguous { call: sent_call(), at: START, outage: None }),
        ] {
            let change = Box::new(Change { phase, ..change(Status::Submitted, 10) });
            let command = Command::Advance { id: task_id(1), revision, change, at: START };
            store.execute(command).await.unwrap().unwrap();
        }
        assert_eq!(listed(&store), [task_id(1).bits()]);
        let query = AllTasksQuery { ambiguous: true, limit: 5, ..AllTasksQuery::default() };
        let page = store.list_all_tasks(query).await.unwrap();
        assert_eq!(page.tasks.iter().map(|task| task.id).collect::<Vec<_>>(), [task_id(1)]);
        assert!(store.examine().unwrap().is_clean());
        let (id, ruling, reason) = (task_id(1), ruled(number), "x".to_owned());
        let command = Command::Reconcile { id, revision: None, ruling, reason, deadline: START, at: START };
        store.execute(command).await.unwrap().unwrap();
        assert_eq!(listed(&store), [], "ruling {number}");
        assert!(store.examine().unwrap().is_clean());
    }
}

#[tokio::test]
async fn every_task_has_one_row_that_moves_with_its_status() {
    let store = with_tasks().await;
    let expected: Vec<_> =
        [(0, Status::Processing), (1, Status::Submitted), (2, Status::Completed), (3, Status::Failed)]
            .map(|(number, status)| {
                let mut task = task(number, 0, 0, 1, START);
                task.status = status;
                indexed(&task)
            })
            .concat();
    assert_eq!(Dump::of_store(&store).task_index, expected.into_iter().collect());
    assert!(store.examine().unwrap().is_clean());
}

/// What the doctor finds once the index of a task's day was changed by hand.
async fn findings(number: u8, alter: impl FnOnce(&mut WriteRows<'_, IndexKey, ()>)) -> Vec<String> {
    altered(&with_tasks().await, |txn| {
        alter(&mut TASK_INDEX.of(task_id(number).timestamp().day()).open_to_write(txn).unwrap());
    })
}

#[tokio::test]
async fn a_row_without_its_task_and_a_task_without_its_row_are_found() {
    let row =
        |number, status| ("customer-0", status, ["model-0", "model-1"][usize::from(number) % 2], number);
    let key = |number: u8, status| {
        let (customer, status, model, _) = row(number, status);
        (customer, status, model, task_id(number).bits())
    };
    let unlisted = |number| format!("task {}: the index does not list it as it is", task_id(number));
    let unknown = |id, status, model| {
        format!(
            "task {id}: the index lists it as {status}, of {model:?} and customer customer-0, but there is no such task"
        )
    };
    for (number, status) in [(0, "processing"), (1, "submitted"), (2, "completed"), (3, "failed")] {
        let removed = findings(number, |index| assert!(index.remove(key(number, status)).unwrap())).await;
        assert_eq!(removed, [unlisted(number)]);
        let twice = findings(number, |index| index.insert(key(number, "pending"), &()).unwrap()).await;
        assert_eq!(twice, [unknown(task_id(number), "pending", row(number, "").2)]);
        let moved = findings(number, |index| {
            assert!(index.remove(key(number, status)).unwrap());
            index.insert(key(number, "pending"), &()).unwrap();
        });
        assert_eq!(moved.await, [unlisted(number), unknown(task_id(number), "pending", row(number, "").2)]);
        let list = ["status", "key", "family"][usize::from(number) % 3];
        let value = [status, "key0", "sample"][usize::from(number) % 3];
        let all = |value| ("", list, value, task_id(number).bits());
        let removed = findings(number, |index| assert!(index.remove(all(value)).unwrap())).await;
        assert_eq!(removed, [unlisted(number)]);
        let twice = findings(number, |index| index.insert(all("other"), &()).unwrap()).await;
        let id = task_id(number);
        assert_eq!(
            twice,
            [format!("task {id}: the index lists it by {list} \"other\", but there is no such task")]
        );
    }
    let invented = findings(0, |index| {
        index.insert(("customer-0", "failed", "model-9", task_id(0).bits() + 5), &()).unwrap();
    });
    let id = gatehouse_model::TaskId::from_bits(task_id(0).bits() + 5);
    assert_eq!(invented.await, [unknown(id, "failed", "model-9")]);
}
