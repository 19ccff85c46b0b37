//! The log of a task in the file: as in memory, across a restart, and gone with the task's day.

use gatehouse_model::{FailureKind, Status, TaskFailure};
use gatehouse_sample::{change, task, task_id};
use gatehouse_tasks::{Ending, StepKind, StepRecord, StepRow};

use super::*;

fn logged(change: Command, text: &str) -> Command {
    let step = StepRecord { at: START, took_ms: 1, what: StepKind::Decision { text: text.to_owned() } };
    Command::Logged { change: Box::new(change), steps: vec![step], at: START }
}

fn advance(revision: u64) -> Command {
    let change = Box::new(change(Status::Pending, 1));
    Command::Advance { id: task_id(1), revision, change, at: START }
}

fn finish(revision: u64) -> Command {
    let failure = TaskFailure { kind: FailureKind::Upstream, message: "m".to_owned() };
    Command::Finish { id: task_id(1), revision, ending: Ending::failed(failure), audit: None, at: START }
}

async fn apply_all(store: &Store, memory: &mut MemoryLedgerStorage, commands: Vec<Command>) {
    for command in commands {
        let expected = remember(memory, command.clone());
        assert_eq!(store.execute(command).await.unwrap(), expected);
    }
}

#[tokio::test]
async fn the_log_is_read_back_and_goes_with_its_day() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("core.redb");
    let store = Store::open(&path, &Config::default()).unwrap();
    let mut memory = MemoryLedgerStorage::default();
    apply_all(&store, &mut memory, first_commands().collect()).await;
    assert_eq!(store.steps(task_id(1)).await.unwrap(), [], "no table of that day yet");
    let mut all = vec![submit(task(1, 0, 0, 5, START))];
    all.extend((0..300).map(|revision| logged(advance(revision), "moved")));
    // One that lost a race.
    all.push(logged(advance(7), "stale"));
    all.push(logged(finish(300), "ended"));
    apply_all(&store, &mut memory, all).await;
    let expected: Vec<StepRow> = memory.steps(task_id(1)).into_iter().cloned().collect();
    assert_eq!(expected.last().map(|row| row.revision), Some(301));
    assert_eq!(store.steps(task_id(1)).await.unwrap(), expected);
    assert_eq!(store.steps(task_id(2)).await.unwrap(), []);
    store.close();

    let store = Store::open(&path, &Config::default()).unwrap();
    assert_eq!(store.steps(task_id(1)).await.unwrap(), expected, "after a restart");
    let day = task_id(1).timestamp().day();
    assert_eq!(store.drop_history(day).await, Ok(0));
    assert_eq!(store.steps(task_id(1)).await.unwrap().len(), expected.len());
    assert_eq!(store.drop_history(day + 1).await, Ok(1));
    assert_eq!(store.steps(task_id(1)).await.unwrap(), []);
}
