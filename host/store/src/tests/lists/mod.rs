//! Lists of tasks, and the index behind them.

mod all_tasks;
mod customer_tasks;
mod task_index;

use gatehouse_model::{Task, TaskId};
use gatehouse_sample::{completed, failed};
use gatehouse_tasks::Applied;

use crate::store::Store;
use crate::tests::{finish, minute, submit};
use crate::transaction::open::commit;

/// More than is read in one piece, five minutes apart, over several days.
const MANY: u64 = 1300;

fn id(number: u64) -> TaskId {
    minute(number * 5, u128::from(number))
}

/// Every fourth task is live, the others have completed or failed in turn.
fn fill(store: &Store, made: impl Fn(u64) -> Task) {
    let submits = (0..MANY).map(|number| submit(made(number)));
    let outcomes = commit(&store.database().unwrap(), submits.collect()).unwrap();
    assert!(outcomes.iter().all(|outcome| matches!(outcome, Ok(Applied::Submitted(_)))));
    let ended = (0..MANY).filter(|number| number % 4 != 0);
    let ends = ended.map(|number| finish(id(number), if number % 2 == 0 { completed(0) } else { failed() }));
    commit(&store.database().unwrap(), ends.collect()).unwrap();
}

fn numbers(tasks: &[Task]) -> Vec<u64> {
    tasks.iter().map(|task| u64::try_from(task.id.bits() & 0xffff).unwrap()).collect()
}

fn expected(which: impl Fn(u64) -> bool) -> Vec<u64> {
    (0..MANY).rev().filter(|number| which(*number)).collect()
}
