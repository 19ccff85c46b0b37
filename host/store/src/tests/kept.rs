//! What commands of customers at work read from the file: what is new, and nothing else.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use gatehouse_model::{RequestId, Task};
use gatehouse_sample::{START, hold, settle, task};

use super::{begin, memory_store, minute, submit};
use crate::wait::Access;

/// A busy customer's rows would be read and decoded for every batch.
#[tokio::test(flavor = "multi_thread")]
async fn a_customer_at_work_reads_what_is_new_alone() {
    let store = memory_store();
    begin(&store).await;
    let fetched = Arc::<AtomicUsize>::default();
    let counted = Arc::clone(&fetched);
    store.ask_engine(move |access| {
        counted.fetch_add(usize::from(access == Access::Fetch), Ordering::SeqCst);
        true
    });
    let text = async |number: u128| {
        let id = RequestId::from_bits((u128::from(START.0) << 80) | number);
        let hold = hold(id, (0, "model"), 1, (START, Duration::from_secs(60)));
        store.execute_deferred(hold).await.unwrap().unwrap();
        store.flush().await.unwrap();
        store.execute(settle(id, 1, START)).await.unwrap().unwrap();
    };
    // Customer, key and the end of the ledger are known since they were made.
    for number in 1..4 {
        let task = Task { id: minute(0, number), ..task(1, 0, 0, 1, START) };
        store.execute(submit(task)).await.unwrap().unwrap();
        assert_eq!(fetched.swap(0, Ordering::SeqCst), 2, "whether the new task and its hold are there");
        text(number).await;
        assert_eq!(fetched.swap(0, Ordering::SeqCst), 1, "whether the request's hold is there");
    }
    assert!(store.examine().unwrap().is_clean());
}
