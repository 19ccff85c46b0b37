//! Disk errors: whichever write, sync or change of length fails, the store stops for good and fails every caller,
//! and a restart finds what was acknowledged.

use std::collections::BTreeMap;

use fastrand::Rng;
use gatehouse_model::TaskId;
use gatehouse_sample::audit;
use gatehouse_tasks::{Applied, Command};

use crate::config::Config;
use crate::error::{OpenError, StoreError};
use crate::store::Store;
use crate::tests::crash::{Checkpoint, recover};
use crate::tests::{Dump, audited, reopened, store_on_disk};
use crate::writer::Durability;
use gatehouse_fault_injection::{Access, Disk, DiskFault, each_cut};

const COMMANDS: usize = 10;
/// Disks looked at after each fault, for the case that the power goes as well.
const IMAGES: usize = 2;

/// The states a store goes through, one command a batch, and the commands between them.
fn scenario() -> (Vec<Checkpoint>, Vec<Command>) {
    let mut checkpoints = vec![Checkpoint::empty(1, 9_000)];
    let mut commands = checkpoints[0].next_batch(0).0;
    checkpoints.extend(commands.iter().scan(checkpoints[0].clone(), |checkpoint, command| {
        *checkpoint = checkpoint.after(command);
        Some(checkpoint.clone())
    }));
    for number in 0..COMMANDS {
        let before = &checkpoints[checkpoints.len() - 1];
        let (mut batch, mut checkpoint) = before.next_batch(1);
        if number == COMMANDS / 2 {
            // A row larger than the whole new file, so that it has to grow.
            batch = vec![audit("x".repeat(1_500_000))];
            checkpoint = before.after(&batch[0]);
        }
        checkpoints.push(checkpoint);
        commands.append(&mut batch);
    }
    (checkpoints, commands)
}

/// Every later call is refused with the same reason, although the disk works again.
async fn assert_latched(store: &Store, error: &StoreError) {
    assert!(matches!(error, StoreError::Failed { .. }), "{error}");
    assert!(store.has_failed());
    assert_eq!(store.failed().await, *error);
    assert_eq!(store.execute(audit("late")).await.as_ref(), Err(error));
    assert_eq!(store.execute_when_free(audit("later"), Durability::Immediate).await.as_ref(), Err(error));
    assert_eq!(store.count_customers().await.as_ref(), Err(error));
    assert_eq!(store.task(TaskId::from_bits(1)).await.as_ref(), Err(error));
    assert_eq!(store.examine().as_ref(), Err(error));
}

/// Breaks the change that many ahead; what it was, or none if the scenario ended first.
async fn break_change(number: usize, checkpoints: &[Checkpoint], commands: &[Command]) -> Option<Access> {
    let (disk, store) = store_on_disk();
    disk.acknowledge(0);
    disk.break_by(DiskFault::Change(number));
    let mut acknowledged = 0;
    for command in commands {
        match store.execute(command.clone()).await {
            Ok(_) => acknowledged += 1,
            Err(error) => {
                assert_latched(&store, &error).await;
                break;
            }
        }
        disk.acknowledge(acknowledged);
    }
    store.close();
    let Some(tripped) = disk.tripped() else {
        assert_eq!(acknowledged, commands.len());
        return None;
    };
    // The queue was idle between the commands, so the fault met one of them, or the clean end.
    let allowed = acknowledged..(acknowledged + 2).min(checkpoints.len());
    let found = recover(disk.bytes(), checkpoints, allowed.clone())
        .unwrap_or_else(|reason| panic!("change {number}, a {tripped:?}: {reason}"));
    let mut random = Rng::with_seed(number as u64);
    let log = disk.log();
    each_cut(vec![], &log, |cut| {
        let last = cut.at == log.len();
        let mut images = if last { cut.images(IMAGES, &mut random) } else { vec![] };
        images.drain(..).try_for_each(|image| recover(image, checkpoints, allowed.clone()).map(drop))
    })
    .unwrap_or_else(|reason| panic!("change {number}, a {tripped:?}, then a power cut: {reason}"));

    let (_, restarted) = reopened(&disk);
    for command in &commands[found..] {
        restarted.execute(command.clone()).await.unwrap().unwrap_or(Applied::Done);
    }
    assert_eq!(Dump::of_store(&restarted), checkpoints[checkpoints.len() - 1].dump);
    assert!(restarted.examine().unwrap().is_clean());
    Some(tripped)
}

#[tokio::test]
async fn any_failed_change_stops_the_store_and_a_restart_recovers() {
    let (checkpoints, commands) = scenario();
    let mut tripped: BTreeMap<Access, usize> = BTreeMap::new();
    for number in 0.. {
        match break_change(number, &checkpoints, &commands).await {
            Some(access) => *tripped.entry(access).or_default() += 1,
            None => break,
        }
    }
    println!("{tripped:?}");
    let kinds: Vec<Access> = tripped.keys().copied().collect();
    assert_eq!(kinds, [Access::SetLen, Access::Sync, Access::Write]);
    assert!(tripped[&Access::Write] > 50 && tripped[&Access::Sync] > COMMANDS, "{tripped:?}");
}

/// On a thread of a runtime, where a store that drops one of its own panics instead of answering the error.
#[tokio::test]
async fn a_failure_while_opening_is_recovered_by_the_next_start() {
    let (checkpoints, commands) = scenario();
    let (disk, store) = store_on_disk();
    for command in &commands {
        store.execute(command.clone()).await.unwrap().unwrap_or(Applied::Done);
    }
    // Never closed: the bytes are those a killed process leaves, and opening them repairs.
    let killed = disk.bytes();
    let last = checkpoints.len() - 1;
    for fault in [DiskFault::Change, DiskFault::Read] {
        let mut broken = 0;
        for number in 0.. {
            let disk = Disk::of(killed.clone());
            disk.break_by(fault(number));
            let opened = Store::with_backend(disk.clone(), &Config::default());
            disk.break_by(DiskFault::None);
            match opened {
                Err(error) => assert!(matches!(error, OpenError::Storage { .. }), "{error}"),
                Ok(store) => drop(store),
            }
            recover(disk.bytes(), &checkpoints, last..last + 1)
                .unwrap_or_else(|reason| panic!("{:?} {number}: {reason}", disk.tripped()));
            if disk.tripped().is_none() {
                break;
            }
            broken += 1;
        }
        assert!(broken > 3, "{:?}", fault(broken));
    }
}

#[tokio::test]
async fn a_read_that_fails_stops_the_store() {
    let disk = Disk::default();
    // No room for checkpoints in memory: every read goes to the disk.
    let store = Store::with_backend(disk.clone(), &Config { cache_mib: 0, ..Config::default() }).unwrap();
    store.execute(audit("early")).await.unwrap().unwrap();
    disk.break_by(DiskFault::Read(0));
    let error = audited(&store, None, 1).await.unwrap_err();
    assert_eq!(disk.tripped(), Some(Access::Read));
    assert!(error.to_string().contains("on fire"), "{error}");
    assert!(matches!(error, StoreError::Failed { .. }));
    assert_eq!(store.failed().await, error);
    assert_eq!(audited(&store, None, 1).await, Err(error.clone()));
    store.execute(audit("late")).await.unwrap_err();
    store.close();
    let (_, restarted) = reopened(&disk);
    assert_eq!(audited(&restarted, None, 9).await.unwrap().len(), 1);
}
