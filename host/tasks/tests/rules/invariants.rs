//! The invariants, over random command sequences with stale revisions, double ends and repeated ids.

use std::collections::{BTreeMap, BTreeSet};

use gatehouse_model::{Credits, Event, Phase, QuotaUse, Status, TaskId, UnixMs};
use proptest::prelude::*;

use super::oracle::{BalanceState, CallState, Oracle, QuotaState};
use super::{play, run};
use gatehouse_sample::{START, STEP, command_sequences};
use gatehouse_tasks::{Applied, Command, Ending, JournalEntry, MemoryLedgerStorage};

fn balances(storage: &MemoryLedgerStorage) -> BTreeMap<gatehouse_model::CustomerId, BalanceState> {
    let balance = |customer: &gatehouse_model::Customer| BalanceState {
        free: customer.available.0,
        held: customer.reserved.0,
        spent: customer.spent.0,
        paid_in: customer.deposited.0,
    };
    storage.customers().map(|customer| (customer.id.clone(), balance(customer))).collect()
}

/// What is used of a quota is what the oracle has in that period, and no more than is allowed.
fn check_quota(quota: QuotaUse, expected: &QuotaState, ever: Credits, at: UnixMs, command: &Command) {
    assert_eq!(quota.used.0, expected.used(ever.0, at), "{command:?}");
    assert!(expected.most(at).is_none_or(|most| quota.used.0 <= most), "{command:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    /// I1 to I4, I7, I10 and I24: both opinions agree on every answer, balance, use, status, progress, result and
    /// cost, on what waits for a task, and on who owns which name; and what is refused changes nothing.
    #[test]
    fn the_ledger_agrees_with_the_reference_model(templates in command_sequences(60)) {
        let (mut oracle, mut at) = (Oracle::default(), START);
        play(&templates, |storage, command| {
            at = at.plus(STEP);
            let before = storage.clone();
            let expected = oracle.accept(&command);
            let verdict = run(storage, command.clone());
            assert_eq!(verdict.is_ok(), expected, "{command:?}: {verdict:?}");
            if verdict.is_err() {
                assert_eq!(&before, storage, "{command:?}");
            }
            assert_eq!(balances(storage), oracle.balances, "{command:?}");
            for key in storage.keys() {
                assert_eq!(key.used.0, oracle.keys[&key.id].used, "{command:?}");
                if let Some(quota) = key.quota_use(at).filter(|_| key.rotated_to.is_none()) {
                    check_quota(quota, &oracle.keys[&key.id].quota, key.used, at, &command);
                }
                for model in ["model-0", "model-1"] {
                    let open = key.open.get(model).copied().unwrap_or(0) as usize;
                    assert_eq!(open, oracle.open(&key.id, |of| of == model), "{command:?}");
                }
            }
            for customer in storage.customers() {
                if let Some(quota) = customer.quota_use(at) {
                    let ever = Credits(customer.reserved.0 + customer.spent.0);
                    check_quota(quota, &oracle.customers[&customer.id].quota, ever, at, &command);
                }
            }
            let mut seen = 0;
            for task in storage.live_tasks().chain(storage.finished_tasks()) {
                let task_state = &oracle.tasks[&task.id];
                let mine = (task.revision, task.status, task.progress, task.cost.map_or(0, |cost| cost.0));
                assert_eq!(mine, (task_state.revision, task_state.status, task_state.progress, task_state.cost), "{command:?}");
                assert_eq!((&task.public, task.brief.as_ref()), (&task_state.public, task_state.brief.as_slice()), "{command:?}");
                let is_lost = task.phase.ambiguous_call().is_some();
                assert_eq!(is_lost, task_state.call == CallState::Lost, "{command:?}");
                assert_eq!(task.joined_held.0, task_state.joined, "{command:?}");
                assert!(task.joined.iter().map(|request| request.brief.as_ref()).eq(task_state.waiting.iter()), "{command:?}");
                seen += 1;
            }
            assert_eq!(seen, oracle.tasks.len());
            let names = storage.names().map(|row| (row.claim.name.clone(), (row.customer.clone(), row.task)));
            assert_eq!(names.collect::<BTreeMap<_, _>>(), oracle.names, "{command:?}");
            assert_eq!(storage.names().count(), oracle.names.len());
        });
    }

    /// I1, I2, I3, I4, I6 and I8 as the doctor sees them, after every single command.
    #[test]
    fn the_doctor_finds_nothing(templates in command_sequences(60)) {
        let mut submitted = BTreeSet::new();
        play(&templates, |storage, command| {
            // Ids are used once; the pool of the sample is small.
            let reused = matches!(&command, Command::Submit { task, .. } if submitted.contains(&task.id));
            if !reused && run(storage, command.clone()).is_ok()
                && let Command::Submit { task, .. } = &command
            {
                submitted.insert(task.id);
            }
            let report = storage.examine();
            assert!(report.is_clean(), "{command:?}: {report:?}");
        });
    }

    /// I6: what is in the ledger stays as it is.
    #[test]
    fn the_ledger_only_grows(templates in command_sequences(60)) {
        let mut written: Vec<JournalEntry> = Vec::new();
        play(&templates, |storage, command| {
            let _ = run(storage, command);
            let ledger: Vec<_> = storage.ledger().into_iter().cloned().collect();
            assert_eq!(&ledger[..written.len()], written.as_slice());
            written = ledger;
        });
    }

    /// I10 and I14: status, progress and revision never go back; what has ended stays exactly as it ended.
    #[test]
    fn tasks_never_go_back(templates in command_sequences(60)) {
        let mut known: BTreeMap<TaskId, gatehouse_model::Task> = BTreeMap::new();
        play(&templates, |storage, command| {
            let _ = run(storage, command);
            let now: BTreeMap<_, _> =
                storage.live_tasks().chain(storage.finished_tasks()).map(|task| (task.id, task.clone())).collect();
            for (id, old) in &known {
                let new = &now[id];
                if old.status.is_final() {
                    assert_eq!(old, new);
                }
                assert!(new.status >= old.status || new.status == Status::Failed);
                assert!(new.progress >= old.progress && new.progress <= 100 && new.revision >= old.revision);
            }
            known = now;
        });
    }

    /// A step under way never loses its commit to a request that joins, each request that joined is handed over
    /// exactly once or given back with the task, and a completed task pays for every one of them.
    #[test]
    fn what_joins_is_delivered_once(templates in command_sequences(60)) {
        let mut joined: BTreeMap<TaskId, Vec<bytes::Bytes>> = BTreeMap::new();
        let mut delivered: BTreeMap<TaskId, Vec<bytes::Bytes>> = BTreeMap::new();
        play(&templates, |storage, command| {
            let before: BTreeMap<_, _> = storage.live_tasks().map(|task| (task.id, task.revision)).collect();
            match (command.clone(), run(storage, command)) {
                (Command::Submit { .. }, Ok(Applied::Submitted(id))) => {
                    joined.remove(&id);
                    delivered.remove(&id);
                }
                (Command::Join { parent, request, .. }, Ok(Applied::Joined(id))) => {
                    assert_eq!(id, parent);
                    joined.entry(id).or_default().push(request.brief);
                    let now = storage.live_tasks().find(|task| task.id == id).unwrap();
                    assert_eq!(now.revision, before[&id]);
                }
                (Command::Advance { change, .. }, Ok(Applied::Task(task))) => {
                    let is_delivered = matches!(task.phase, Phase::Run(Event::Joined(_)));
                    assert_eq!(is_delivered, change.deliver);
                    if is_delivered {
                        delivered.entry(task.id).or_default().push(task.brief);
                    }
                }
                (Command::Finish { ending: Ending::Completed { .. }, .. }, Ok(Applied::Task(task))) => {
                    assert_eq!(joined.get(&task.id), delivered.get(&task.id));
                    assert!(task.cost.unwrap() >= task.joined_held);
                }
                _ => {}
            }
            for task in storage.live_tasks() {
                let mut all = delivered.get(&task.id).cloned().unwrap_or_default();
                all.extend(task.joined.iter().map(|request| request.brief.clone()));
                assert_eq!(all, joined.get(&task.id).cloned().unwrap_or_default());
            }
        });
    }

    /// I5: a command that comes again, at once or at the end of everything, moves no money. Deposits are the
    /// stated exception, and ids of requests are used once.
    #[test]
    fn repeated_commands_move_no_money(templates in command_sequences(50), order in any::<u64>()) {
        let (mut done, mut requests) = (Vec::new(), BTreeSet::new());
        let mut storage = play(&templates, |storage, command| {
            let reused = matches!(&command, Command::Hold { id, .. } if !requests.insert(*id));
            if reused {
                return;
            }
            let excepted = match run(storage, command.clone()) {
                // Its receipt is another task's, and is remembered for a time only.
                Ok(Applied::Repeated(_)) | Err(_) => true,
                // Two requests without an idempotency key are two requests.
                Ok(_) => matches!(
                    command,
                    Command::Deposit { .. } | Command::Join { idempotency: None, .. }
                ),
            };
            if !excepted {
                let before = balances(storage);
                let _ = run(storage, command.clone());
                assert_eq!(before, balances(storage), "{command:?}");
                // An idempotency key is forgotten in the end.
                if !matches!(command, Command::Hold { .. } | Command::Join { .. }) {
                    done.push(command);
                }
            }
        });
        let before = balances(&storage);
        let middle = usize::try_from(order).unwrap_or(0) % done.len().max(1);
        done.rotate_left(middle);
        for command in done {
            let _ = run(&mut storage, command.clone());
            prop_assert_eq!(&before, &balances(&storage), "{:?}", command);
        }
        prop_assert!(storage.examine().is_clean());
    }
}
