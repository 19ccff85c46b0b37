//! The sample's sequences meet every case the invariants are about; otherwise their tests would show nothing.

use std::collections::BTreeMap;

use gatehouse_model::{KeyId, Status};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;

use super::{play, run};
use gatehouse_sample::command_sequences;
use gatehouse_tasks::{Applied, Command, Ending, MemoryLedgerStorage, QuotaOwner, Reconciliation, Rejection};

/// What a command met, if it is one of the rarer cases.
fn case(
    before: &MemoryLedgerStorage,
    command: &Command,
    verdict: &Result<Applied, Rejection>,
) -> &'static str {
    let live = |id| before.live_tasks().find(|task| task.id == id);
    match (command, verdict) {
        (Command::Join { parent, request, .. }, Ok(Applied::Joined(_))) => {
            let own = live(*parent).is_some_and(|task| task.key == request.key);
            if own { "joined" } else { "joined through another key" }
        }
        (_, Err(Rejection::TooManyOpen { model: None, .. })) => "too many open",
        (_, Err(Rejection::TooManyOpen { .. })) => "too many of a model open",
        (Command::EditKey { policy, .. }, Ok(Applied::Key(key))) => {
            let exceeded = policy.quota.is_some_and(|quota| quota < key.used);
            if exceeded { "quota set below what is used" } else { "edited" }
        }
        (_, Err(Rejection::QuotaExceeded(short))) => match (short.owner, short.resets) {
            (QuotaOwner::Key, None) => "over a key's quota",
            (QuotaOwner::Key, Some(_)) => "over a key's quota of a period",
            (QuotaOwner::Customer, None) => "over a customer's quota",
            (QuotaOwner::Customer, Some(_)) => "over a customer's quota of a period",
        },
        (Command::EditKey { .. }, Err(Rejection::KeyChanged { .. })) => "edited too late",
        (Command::RotateKey { .. }, Ok(_)) => "rotated",
        (Command::Hold { key, .. }, Ok(_)) if is_rotated(before, key) => "held through a rotated key",
        (Command::Submit { task, .. }, Ok(Applied::Submitted(_))) if is_rotated(before, &task.key) => {
            "submitted through a rotated key"
        }
        (Command::Reconcile { ruling, .. }, Ok(_)) => match ruling {
            Reconciliation::Resend => "ruled to resend",
            Reconciliation::Fail => "ruled to fail",
            Reconciliation::Adopt { .. } => "ruled to adopt",
        },
        (Command::Reconcile { .. }, Err(Rejection::RulingTooLate(_))) => "ruled too late",
        (Command::Reconcile { .. }, Err(Rejection::Stale { .. })) => "ruled on what has moved on",
        (Command::Reconcile { .. }, Err(Rejection::NotAmbiguous(_))) => "ruled on what is not ambiguous",
        (_, Err(Rejection::Ambiguous(_))) => "went on without a ruling",
        (Command::Join { .. }, Ok(Applied::Repeated(_))) => "joined again",
        (Command::Join { .. }, Err(Rejection::Final(_))) => "joined too late",
        (Command::Advance { change, .. }, Ok(_)) if change.deliver => "delivered",
        (Command::Advance { change, .. }, Ok(_)) if change.view.is_some() => "showed a view",
        (Command::Finish { .. }, Err(Rejection::JoinsPending(_))) => "completed too early",
        (Command::Finish { .. }, Err(Rejection::UnderJoined { .. })) => "paid too little for what joined",
        (Command::Finish { .. }, Err(Rejection::NameTaken(_))) => "claimed another's name",
        (Command::Finish { id, ending, .. }, Ok(Applied::Task(task))) => {
            let shares = before
                .holds()
                .any(|hold| hold.id == gatehouse_tasks::HoldId::Task(*id) && !hold.shares.is_empty());
            let replaced = ending
                .claims()
                .iter()
                .any(|claim| before.names().any(|row| row.claim.name == claim.name && row.task != *id));
            match (ending, task.status) {
                (Ending::Completed { .. }, _) if shares => "completed for several keys",
                (Ending::Failed { .. }, _) if shares => "failed for several keys",
                (Ending::Failed { .. }, _) if live(*id).is_some_and(|task| !task.joined.is_empty()) => {
                    "failed over what joined"
                }
                _ if replaced => "claimed its own name again",
                (Ending::Failed { result: Some(_), .. }, Status::Failed) => "failed with a result",
                _ => "other",
            }
        }
        _ => "other",
    }
}

fn is_rotated(storage: &MemoryLedgerStorage, id: &KeyId) -> bool {
    storage.keys().any(|key| key.id == *id && key.rotated_to.is_some())
}

#[test]
fn the_sequences_meet_every_case() {
    let (mut runner, sequences) = (TestRunner::deterministic(), command_sequences(60));
    let mut met: BTreeMap<&str, usize> = BTreeMap::new();
    for _ in 0..4_000 {
        play(&sequences.new_tree(&mut runner).unwrap().current(), |storage, command| {
            let before = storage.clone();
            let verdict = run(storage, command.clone());
            *met.entry(case(&before, &command, &verdict)).or_default() += 1;
        });
    }
    println!("{met:?}");
    let cases = [
        "joined",
        "joined through another key",
        "joined again",
        "joined too late",
        "delivered",
        "showed a view",
        "completed too early",
        "paid too little for what joined",
        "completed for several keys",
        "failed for several keys",
        "failed over what joined",
        "claimed another's name",
        "claimed its own name again",
        "failed with a result",
        "over a key's quota",
        "over a key's quota of a period",
        "over a customer's quota",
        "over a customer's quota of a period",
        "too many open",
        "too many of a model open",
        "quota set below what is used",
        "edited",
        "edited too late",
        "ruled to resend",
        "ruled to fail",
        "ruled to adopt",
        "ruled too late",
        "ruled on what has moved on",
        "ruled on what is not ambiguous",
        "went on without a ruling",
        "rotated",
        "held through a rotated key",
        "submitted through a rotated key",
    ];
    for case in cases {
        assert!(met.get(case).is_some_and(|times| *times >= 3), "{case}: {met:?}");
    }
}
