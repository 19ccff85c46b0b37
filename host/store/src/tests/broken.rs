//! Disk errors: whichever write, sync or change of length fails, the store stops for good and fails every caller,
//! and a restart finds what was acknowledged.

use std::collections::BTreeMap;

use gatehouse_model::TaskId;
use gatehouse_tasks::sample::START;
use gatehouse_tasks::{Applied, Command};

use super::crash::{Page, recover};
use crate::config::Config;
use crate::durability::Durability;
use crate::error::{OpenError, StoreError};
use crate::fault_injection::{Access, Disk, DiskFault, Xorshift, each_cut};
use crate::store::Store;

const COMMANDS: usize = 10;
/// Disks looked at after each fault, for the case that the power goes as well.
const IMAGES: usize = 2;

fn audit(text: &str) -> Command {
    Command::Audit { task: None, text: text.into(), at: START }
}

/// The states a store goes through, one command a batch, and the commands between them.
fn story() -> (Vec<Page>, Vec<Command>) {
    let mut pages = vec![Page::blank(1, 9_000)];
    let mut commands = pages[0].turn(0).0;
    pages.extend(commands.iter().scan(pages[0].clone(), |page, command| {
        *page = page.after(command);
        Some(page.clone())
    }));
    for number in 0..COMMANDS {
        let before = &pages[pages.len() - 1];
        let (mut batch, mut page) = before.turn(1);
        if number == COMMANDS / 2 {
            // A row larger than the whole new file, so that it has to grow.
            batch = vec![audit(&"x".repeat(1_500_000))];
            page = before.after(&batch[0]);
        }
        pages.push(page);
        commands.append(&mut batch);
    }
    (pages, commands)
}

/// Every later call is refused with the same reason, although the disk works again.
async fn assert_latched(store: &Store, error: &StoreError) {
    assert!(matches!(error, StoreError::Failed { .. }), "{error}");
    assert!(store.has_failed());
    assert_eq!(store.failed().await, *error);
    assert_eq!(store.execute(audit("late")).await.as_ref(), Err(error));
    assert_eq!(store.execute_when_free(audit("later"), Durability::Immediate).await.as_ref(), Err(error));
    assert_eq!(store.customers().as_ref(), Err(error));
    assert_eq!(store.task(TaskId::from_bits(1)).as_ref(), Err(error));
    assert_eq!(store.examine().as_ref(), Err(error));
}

/// Breaks the change that many ahead; what it was, or none if the story ended first.
async fn break_change(number: usize, pages: &[Page], commands: &[Command]) -> Option<Access> {
    let disk = Disk::default();
    let store = Store::with_backend(disk.clone(), &Config::default()).unwrap();
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
    let allowed = acknowledged..(acknowledged + 2).min(pages.len());
    let found = recover(disk.bytes(), pages, allowed.clone())
        .unwrap_or_else(|reason| panic!("change {number}, a {tripped:?}: {reason}"));
    let mut words = Xorshift::new(number as u64);
    let log = disk.log();
    each_cut(vec![], &log, |cut| {
        let last = cut.at == log.len();
        let mut images = if last { cut.images(IMAGES, &mut words) } else { vec![] };
        images.drain(..).try_for_each(|image| recover(image, pages, allowed.clone()).map(drop))
    })
    .unwrap_or_else(|reason| panic!("change {number}, a {tripped:?}, then a power cut: {reason}"));

    let restarted = Store::with_backend(Disk::of(disk.bytes()), &Config::default()).unwrap();
    for command in &commands[found..] {
        restarted.execute(command.clone()).await.unwrap().unwrap_or(Applied::Done);
    }
    assert_eq!(super::Dump::of_store(&restarted), pages[pages.len() - 1].dump);
    assert!(restarted.examine().unwrap().is_clean());
    Some(tripped)
}

#[tokio::test]
async fn whichever_change_fails_the_store_stops_and_a_restart_goes_on() {
    let (pages, commands) = story();
    let mut tripped: BTreeMap<Access, usize> = BTreeMap::new();
    for number in 0.. {
        match break_change(number, &pages, &commands).await {
            Some(access) => *tripped.entry(access).or_default() += 1,
            None => break,
        }
    }
    println!("{tripped:?}");
    let kinds: Vec<Access> = tripped.keys().copied().collect();
    assert_eq!(kinds, [Access::SetLen, Access::Sync, Access::Write]);
    assert!(tripped[&Access::Write] > 50 && tripped[&Access::Sync] > COMMANDS, "{tripped:?}");
}

#[tokio::test]
async fn whatever_fails_while_opening_the_next_start_recovers() {
    let (pages, commands) = story();
    let disk = Disk::default();
    let store = Store::with_backend(disk.clone(), &Config::default()).unwrap();
    for command in &commands {
        store.execute(command.clone()).await.unwrap().unwrap_or(Applied::Done);
    }
    // Never closed: the bytes are those a killed process leaves, and opening them repairs.
    let killed = disk.bytes();
    let last = pages.len() - 1;
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
            recover(disk.bytes(), &pages, last..last + 1)
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
    // No room for pages in memory: every read goes to the disk.
    let store = Store::with_backend(disk.clone(), &Config { cache_mib: 0, ..Config::default() }).unwrap();
    store.execute(audit("early")).await.unwrap().unwrap();
    disk.break_by(DiskFault::Read(0));
    let error = store.audit(None, 1).unwrap_err();
    assert_eq!(disk.tripped(), Some(Access::Read));
    assert!(error.to_string().contains("on fire"), "{error}");
    assert!(matches!(error, StoreError::Failed { .. }));
    assert_eq!(store.failed().await, error);
    assert_eq!(store.audit(None, 1), Err(error.clone()));
    store.execute(audit("late")).await.unwrap_err();
    store.close();
    let restarted = Store::with_backend(Disk::of(disk.bytes()), &Config::default()).unwrap();
    assert_eq!(restarted.audit(None, 9).unwrap().len(), 1);
}
