//! Names: claimed with a task's end, owned by one customer, for good.

use gatehouse_model::{Claim, Credits, Status};

use super::{finish, funded, last, malformed, refused, run, submit, task_of, with_task};
use gatehouse_sample::{START, claim, completed, customer_id, failed, name, task_id};
use gatehouse_tasks::{Ending, EntryKind, Rejection};

fn claiming(mut ending: Ending, claimed: Vec<Claim>) -> Ending {
    match &mut ending {
        Ending::Completed { claims, .. } | Ending::Failed { claims, .. } => *claims = claimed,
    }
    ending
}

#[test]
fn a_name_belongs_to_the_customer_that_claimed_it_first() {
    let mut storage = funded();
    for (number, key) in [(1, 0), (2, 1), (3, 2)] {
        run(&mut storage, submit(number, key, 10)).unwrap();
    }
    let both = claiming(completed(10), vec![claim(1, 1), claim(2, 1)]);
    run(&mut storage, finish(1, 0, both)).unwrap();
    // Another customer gets none of what it claims, and the end does not happen.
    for ending in [completed(1), failed()] {
        let mixed = claiming(ending, vec![claim(3, 3), claim(2, 3)]);
        assert_eq!(refused(&mut storage, finish(3, 0, mixed)), Rejection::NameTaken(name(2)));
    }
    // The same customer replaces the record, through any key and any task, a failed one too.
    run(&mut storage, finish(2, 0, claiming(failed(), vec![claim(2, 2)]))).unwrap();
    run(&mut storage, finish(3, 0, claiming(failed(), vec![claim(3, 3)]))).unwrap();

    let owned = |customer, asked: &[u8]| {
        let asked: Vec<String> = asked.iter().copied().map(name).collect();
        storage.owned_names(&customer_id(customer), &asked)
    };
    assert_eq!(owned(0, &[2, 9, 3, 1]), [claim(2, 2), claim(1, 1)]);
    assert_eq!(owned(1, &[2, 9, 3, 1]), [claim(3, 3)]);
    assert_eq!(owned(7, &[1, 2, 3]), []);
    let tasks: Vec<_> = storage.names().map(|row| row.task).collect();
    assert_eq!(tasks, [1, 2, 3].map(task_id));
    assert_eq!(storage.examine().names, 3);
    assert!(storage.examine().is_clean());
}

#[test]
fn names_survive_the_history_of_their_task() {
    let mut storage = with_task(0, 10);
    run(&mut storage, finish(1, 0, claiming(completed(10), vec![claim(1, 1)]))).unwrap();
    assert_eq!(storage.drop_history(START.day() + 9), 1);
    assert_eq!(storage.finished_tasks().count(), 0);
    assert_eq!(storage.owned_names(&customer_id(0), &[name(1)]), [claim(1, 1)]);
    assert!(storage.examine().is_clean());
}

#[test]
fn claims_are_checked_before_anything_is_written() {
    let mut storage = with_task(0, 10);
    let named = |name: &str| Claim { name: name.into(), ..claim(1, 1) };
    let many = |count: u8| (0..count).map(|number| claim(number, 1)).collect::<Vec<_>>();
    let long = "n".repeat(257);
    let twice = vec![claim(1, 1), claim(2, 1), claim(1, 2)];
    let table = [
        (many(65), "expected at most 64 names, not 65"),
        (vec![claim(1, 1), named("")], "name 1: expected 1 to 256 bytes, not 0"),
        (vec![named(&long)], "name 0: expected 1 to 256 bytes, not 257"),
        (vec![named("a b")], "name 0: expected printable ASCII without spaces, not ' '"),
        (vec![named("a\nb")], "name 0: expected printable ASCII without spaces, not '\\n'"),
        (vec![named("caf\u{e9}")], "name 0: expected printable ASCII without spaces, not '\u{e9}'"),
        (twice, "name 2: expected each name once, not \"asset://sample/1\" again"),
    ];
    for (claims, problem) in table {
        for ending in [completed(10), failed()] {
            let wrong = finish(1, 0, claiming(ending, claims.clone()));
            assert_eq!(refused(&mut storage, wrong), malformed("ending.claims", problem));
        }
    }
    let mut most = many(63);
    most.push(named(&long[1..]));
    let task = task_of(run(&mut storage, finish(1, 0, claiming(completed(4), most))));
    assert_eq!((task.status, task.cost), (Status::Completed, Some(Credits(4))));
    assert_eq!(last(&storage).kind, EntryKind::Settle);
    assert_eq!(storage.names().count(), 64);
}

#[test]
fn an_end_that_is_refused_claims_nothing() {
    let mut storage = with_task(0, 10);
    let dear = claiming(completed(11), vec![claim(1, 1)]);
    let over = Rejection::OverHold { cost: Credits(11), held: Credits(10) };
    assert_eq!(refused(&mut storage, finish(1, 0, dear)), over);
    let stale = finish(1, 5, claiming(failed(), vec![claim(1, 1)]));
    assert_eq!(refused(&mut storage, stale), Rejection::Stale { current: 0 });
    assert_eq!(storage.names().count(), 0);
}
