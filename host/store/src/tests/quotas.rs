//! Quotas that reset, under many requests at once, across losses of power and jumps of the clock.

use std::time::Duration;

use gatehouse_model::{Credits, CustomerPolicy, KeyPolicy, RequestId, UnixMs};
use gatehouse_sample::{START, customer_id, key_id};
use gatehouse_tasks::{Applied, Command, QuotaExceeded, QuotaOwner, Rejection};
use tokio::task::JoinSet;

use super::{begun_on_disk, reopened};
use crate::store::Store;
use gatehouse_fault_injection::Disk;

/// An hour after the beginning.
const MIDNIGHT: UnixMs = UnixMs(START.0 + 3_600_000);
const HOUR: Duration = Duration::from_secs(3600);
const PRICE: i64 = 3;

fn hold(request: u128, key: u8, at: UnixMs) -> Command {
    gatehouse_sample::hold(RequestId::from_bits(request), (key, "model-0"), PRICE, (at, 48 * HOUR))
}

/// Key 1 may spend 100 a day, its customer 130.
async fn limit(store: &Store) {
    let daily = |most| (Some(Credits(most)), Some("day".parse().unwrap()));
    let row = store.key(&key_id(1)).await.unwrap().unwrap();
    let (quota, quota_period) = daily(100);
    let policy = Box::new(KeyPolicy { quota, quota_period, ..row.policy() });
    let of_key = Command::EditKey { id: key_id(1), revision: row.revision, policy, at: START };
    let (quota, quota_period) = daily(130);
    let policy = CustomerPolicy { quota, quota_period, ..CustomerPolicy::default() };
    let of_customer = Command::EditCustomer { id: customer_id(0), revision: 0, policy, at: START };
    for command in [of_key, of_customer] {
        store.execute(command).await.unwrap().unwrap();
    }
}

/// So many requests at once through a key; how many were taken. All others are told of the quota.
async fn at_once(store: &Store, first: u128, key: u8, at: UnixMs) -> usize {
    let mut requests = JoinSet::new();
    for number in 0..200 {
        let store = store.clone();
        requests.spawn(async move { store.execute(hold(first + number, key, at)).await.unwrap() });
    }
    let mut taken = 0;
    for outcome in requests.join_all().await {
        match outcome {
            Ok(Applied::Done) => taken += 1,
            Err(Rejection::QuotaExceeded(QuotaExceeded { resets: Some(_), .. })) => {}
            other => panic!("{other:?}"),
        }
    }
    taken
}

fn used(store: &Store, at: UnixMs) -> (i64, i64) {
    let key = gatehouse_sample::at_once(store.key(&key_id(1))).unwrap().unwrap();
    let customer = gatehouse_sample::at_once(store.customer(&customer_id(0))).unwrap().unwrap();
    (key.quota_use(at).unwrap().used.0, customer.quota_use(at).unwrap().used.0)
}

/// The store after the power went and came back.
fn after_a_cut(disk: &Disk) -> (Disk, Store) {
    let (disk, store) = reopened(disk);
    assert!(store.examine().unwrap().is_clean(), "{:?}", store.examine());
    (disk, store)
}

#[tokio::test]
async fn a_quota_is_exact_for_many_at_once_across_crashes_and_jumps_of_the_clock() {
    let (disk, store) = begun_on_disk().await;
    limit(&store).await;
    // 33 times 3 of 100; then the other key gets what the customer has left: 10 times 3 of 31.
    assert_eq!(at_once(&store, 0, 1, START).await, 33);
    assert_eq!(at_once(&store, 1_000, 0, START).await, 10);
    assert_eq!(used(&store, START), (99, 129));

    let (disk, store) = after_a_cut(&disk);
    assert_eq!((at_once(&store, 2_000, 1, START).await, used(&store, START)), (0, (99, 129)));
    // What is given back at the end of the day is there again, once.
    let last = UnixMs(MIDNIGHT.0 - 1);
    for number in 0..200 {
        let release = Command::Release { id: RequestId::from_bits(number), at: last };
        let outcome = store.execute(release).await.unwrap();
        assert!(matches!(outcome, Ok(_) | Err(Rejection::NoHold(_))), "{outcome:?}");
    }
    assert_eq!((at_once(&store, 3_000, 1, last).await, used(&store, last)), (33, (99, 129)));

    // The next day; the clock is a day ahead; it is set back, twice over a restart: nothing is given twice.
    assert_eq!((at_once(&store, 4_000, 1, MIDNIGHT).await, used(&store, MIDNIGHT)), (33, (99, 99)));
    let (disk, store) = after_a_cut(&disk);
    for at in [last, START, MIDNIGHT, UnixMs(MIDNIGHT.0 + 1)] {
        assert_eq!(at_once(&store, 5_000, 1, at).await, 0, "{at}");
    }
    // What was held before midnight gives the new day nothing.
    for number in 3_000..3_200 {
        let release = Command::Release { id: RequestId::from_bits(number), at: MIDNIGHT };
        drop(store.execute(release).await.unwrap());
    }
    let (_disk, store) = after_a_cut(&disk);
    assert_eq!((at_once(&store, 6_000, 1, MIDNIGHT).await, used(&store, MIDNIGHT)), (0, (99, 99)));
    let refused = store.execute(hold(9_000, 1, MIDNIGHT)).await.unwrap();
    let Err(Rejection::QuotaExceeded(short)) = refused else { panic!("{refused:?}") };
    assert_eq!((short.owner, short.resets), (QuotaOwner::Key, Some(MIDNIGHT.plus(24 * HOUR))));
    let all = store.examine().unwrap();
    assert!(all.is_clean(), "{all:?}");
}
