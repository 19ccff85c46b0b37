//! The log of a task: kept with its change or not at all, bounded, and gone with the task's day.

use gatehouse_model::{Phase, Status, TaskFailure};

use super::*;
use gatehouse_sample::change;
use gatehouse_tasks::{
    ExchangeRecord, MAX_EXCERPTS_OF_A_ROW, MAX_STEP_ROWS, MAX_STEP_ROWS_OF_A_DAY, MAX_STEPS_OF_A_ROW,
    StepKind, StepRecord, StepRow,
};

fn step(text: &str) -> StepRecord {
    StepRecord { at: START, took_ms: 1, what: StepKind::Decision { text: text.to_owned() } }
}

fn exchange(bytes: usize) -> StepRecord {
    let record = ExchangeRecord {
        provider: "p".to_owned(),
        account: "a".to_owned(),
        method: "GET".to_owned(),
        url: "/x".to_owned(),
        status: Some(200),
        outage: None,
        sent_bytes: 0,
        received_bytes: bytes as u64,
        request: String::new(),
        reply: "x".repeat(bytes),
    };
    StepRecord { at: START, took_ms: 1, what: StepKind::Exchange(Box::new(record)) }
}

fn logged(change: Command, steps: Vec<StepRecord>) -> Command {
    Command::Logged { change: Box::new(change), steps, at: START }
}

fn failed() -> gatehouse_tasks::Ending {
    let kind = gatehouse_model::FailureKind::Upstream;
    gatehouse_tasks::Ending::failed(TaskFailure { kind, message: "m".to_owned() })
}

fn rows(storage: &MemoryLedgerStorage) -> Vec<(u64, usize)> {
    storage.steps(task_id(1)).iter().map(|row| (row.revision, row.steps.len())).collect()
}

#[test]
fn steps_are_kept_with_the_change_they_led_to() {
    let mut storage = with_task(0, 5);
    let moved = || advance(1, 0, change(Status::Pending, 1));
    let answer = run(&mut storage, logged(moved(), vec![step("a"), step("b")]));
    assert_eq!(task_of(answer).revision, 1, "the answer is the change's");
    run(&mut storage, advance(1, 1, change(Status::Pending, 2))).unwrap();
    run(&mut storage, logged(finish(1, 2, failed()), vec![step("c")])).unwrap();
    assert_eq!(rows(&storage), [(1, 2), (3, 1)], "a change without steps has no row");
}

#[test]
fn a_refused_change_keeps_no_step() {
    let mut storage = with_task(0, 5);
    let stale = logged(advance(1, 7, change(Status::Pending, 1)), vec![step("a")]);
    assert_eq!(refused(&mut storage, stale), Rejection::Stale { current: 0 });
    let over = Change { phase: Phase::Over, ..change(Status::Pending, 0) };
    refused(&mut storage, logged(advance(1, 0, over), vec![step("a")]));
    for other in [submit(2, 0, 5), logged(advance(1, 0, change(Status::Pending, 1)), vec![])] {
        refused_field(&mut storage, logged(other, vec![step("a")]));
    }
    assert_eq!(rows(&storage), []);
}

#[test]
fn a_task_has_at_most_so_many_rows_and_the_first_and_last_of_them() {
    let mut storage = with_task(0, 5);
    let commits = 3 * MAX_STEP_ROWS;
    for revision in 0..commits {
        let moved = advance(1, revision, change(Status::Pending, 1));
        run(&mut storage, logged(moved, vec![step("a")])).unwrap();
    }
    let kept: Vec<u64> = rows(&storage).into_iter().map(|(revision, _)| revision).collect();
    let half = MAX_STEP_ROWS / 2;
    assert_eq!(kept, (1..half).chain(commits + 1 - half..=commits).collect::<Vec<_>>());
}

#[test]
fn a_day_has_at_most_so_many_rows() {
    let mut storage = with_task(0, 5);
    storage.count_step_rows(task_id(1).timestamp().day(), MAX_STEP_ROWS_OF_A_DAY - 1);
    for revision in 0..2 {
        let moved = advance(1, revision, change(Status::Pending, 1));
        let answer = run(&mut storage, logged(moved, vec![step("a")]));
        assert_eq!(task_of(answer).revision, revision + 1, "the change is made all the same");
    }
    assert_eq!(rows(&storage), [(1, 1)]);
}

#[test]
fn a_change_with_steps_is_about_its_task() {
    let moved = logged(advance(1, 0, change(Status::Pending, 1)), vec![step("a")]);
    assert_eq!(moved.task(), Some(task_id(1)), "those that follow the task are woken by it");
}

#[test]
fn a_row_is_bounded_in_steps_and_bytes() {
    let many = (0..MAX_STEPS_OF_A_ROW + 3).map(|number| step(&number.to_string())).collect();
    let row = StepRow::bounded(task_id(1), 1, START, many);
    assert_eq!((row.steps.len(), row.left_out), (MAX_STEPS_OF_A_ROW, 3));
    assert_eq!(row.steps[0], step("3"), "the newest are kept");
    let half = MAX_EXCERPTS_OF_A_ROW / 2;
    let row = StepRow::bounded(task_id(1), 1, START, vec![exchange(half), exchange(half), exchange(half)]);
    let excerpts: Vec<usize> = row
        .steps
        .iter()
        .map(|step| match &step.what {
            StepKind::Exchange(exchange) => exchange.reply.len(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(excerpts, [0, half, half]);
}

#[test]
fn the_log_goes_with_the_day_of_its_task() {
    let mut storage = with_task(0, 5);
    run(&mut storage, logged(finish(1, 0, failed()), vec![step("a")])).unwrap();
    let day = task_id(1).timestamp().day();
    assert_eq!(storage.drop_history(day), 0);
    assert_eq!(rows(&storage), [(1, 1)]);
    assert_eq!(storage.drop_history(day + 1), 1);
    assert_eq!(rows(&storage), []);
}
