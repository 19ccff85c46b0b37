//! An engine that cannot be reached for a while: what is applied is late and not lost, what can be refused is refused, and all
//! goes on by itself.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use gatehouse_sample::audit;

use super::{Dump, audited, begun, close, patient};
use crate::error::StoreError;
use crate::store::Store;
use crate::wait::Access::{self, Commit, Fetch, Read};

/// A store, and the accesses of its engine that fail.
async fn store() -> (Store, Arc<Mutex<Vec<Access>>>) {
    let (store, failing) = (begun().await, Arc::<Mutex<Vec<_>>>::default());
    let asked = Arc::clone(&failing);
    store.ask_engine(move |access| !asked.lock().unwrap().contains(&access));
    (store, failing)
}

/// Without it a restart of the engine would lose what was acknowledged or posted, or end the process.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_applied_is_late_and_what_can_be_refused_is() {
    for failing in [&[Fetch, Commit, Read][..], &[Commit, Read]] {
        let (store, fails) = store().await;
        let before = Dump::of_store(&store).audit_records.len();
        fails.lock().unwrap().extend(failing);
        let waiting = patient(&store, audit("a"));
        assert_eq!(store.until_waiting().await, StoreError::Unavailable);
        assert!(store.is_unavailable() && !store.waits_for_room() && !store.has_failed());
        assert_eq!(store.execute(audit("b")).await, Err(StoreError::Unavailable));
        assert_eq!(store.execute_deferred(audit("b")).await, Err(StoreError::Unavailable));
        assert_eq!(store.flush().await, Err(StoreError::Unavailable));
        assert_eq!(store.count_customers().await, Err(StoreError::Unavailable));
        assert_eq!(audited(&store, None, 9).await.unwrap_err(), StoreError::Unavailable);
        store.post(audit("c")).unwrap();
        let next = patient(&store, audit("d"));
        assert!(!waiting.is_finished() && !next.is_finished());

        fails.lock().unwrap().clear();
        waiting.await.unwrap().unwrap();
        next.await.unwrap().unwrap();
        store.flush().await.unwrap();
        assert!(!store.is_unavailable());
        let rows = Dump::of_store(&store).audit_records;
        let texts: BTreeSet<_> = rows[before..].iter().map(|row| format!("{row:?}")).collect();
        assert_eq!((rows.len() - before, texts.len()), (3, 3), "each once, and nothing of what was refused");
        assert!(store.examine().unwrap().is_clean());
    }
}

/// Readiness would stay as it was for a gateway that only reads, or never come back.
#[tokio::test(flavor = "multi_thread")]
async fn a_read_that_fails_is_noticed_and_so_is_the_return() {
    let (store, failing) = store().await;
    failing.lock().unwrap().extend([Read, Commit]);
    assert_eq!(store.count_customers().await, Err(StoreError::Unavailable));
    store.until_waiting().await;
    failing.lock().unwrap().clear();
    // Nothing but the writer's own look ends it.
    patient(&store, audit("a")).await.unwrap().unwrap();
    assert!(!store.is_unavailable() && store.count_customers().await.is_ok());
}

/// A stop would otherwise take as long as the engine is away.
#[tokio::test(flavor = "multi_thread")]
async fn a_store_closes_while_its_engine_is_away() {
    for access in [Fetch, Commit] {
        let (store, failing) = store().await;
        failing.lock().unwrap().push(access);
        let waiting = patient(&store, audit("a"));
        store.until_waiting().await;
        close(store).await;
        assert_eq!(waiting.await.unwrap(), Err(StoreError::Unavailable), "it was never acknowledged");
    }
}
