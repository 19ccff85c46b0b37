//! What a hand has changed in the ledger is found by the doctor: in an entry, at the end of a chain, in a customer's row.

use gatehouse_model::{Credits, Customer};
use gatehouse_sample::{START, customer_id};
use gatehouse_tasks::{Command, JournalEntry};
use redb::WriteTransaction;

use crate::layout::{CUSTOMERS, DEPOSIT_DAYS, LEDGER, LEDGER_INDEX};
use crate::store::Store;
use crate::tests::{altered, begun, begun_on_disk, reopened};

async fn deposit(store: &Store) {
    let (customer, memo) = (customer_id(0), "later".to_owned());
    let deposit = Command::Deposit { customer, amount: Credits(5), memo, at: START };
    store.execute(deposit).await.unwrap().unwrap();
}

#[tokio::test]
async fn the_first_break_is_named() {
    let store = begun().await;
    deposit(&store).await;
    let found = altered(&store, |txn| {
        let mut ledger = LEDGER.open_to_write(txn).unwrap();
        let entry = ledger.get(2).unwrap().unwrap();
        ledger.insert(2, &JournalEntry { memo: "sooner".to_owned(), ..entry }).unwrap();
    });
    assert_eq!(found, ["customer customer-0, ledger entry 1: the hash chain is broken"]);
}

/// Everything as it was before the deposit, the customer's row and all look-up rows with it: nothing but the mark tells.
#[tokio::test]
async fn an_end_that_was_put_back_is_found_by_the_mark() {
    let (disk, store) = begun_on_disk().await;
    let before = store.customer(&customer_id(0)).await.unwrap().unwrap();
    let put_back = |txn: &WriteTransaction, row: &Customer| {
        assert!(LEDGER.open_to_write(txn).unwrap().remove(2).unwrap());
        let mut index = LEDGER_INDEX.open_to_write(txn).unwrap();
        assert!(index.remove(("customer", &row.id.0, 2)).unwrap());
        let mut days = DEPOSIT_DAYS.open_to_write(txn).unwrap();
        for (owner, paid) in [(row.id.0.as_str(), 300), ("", 360)] {
            days.insert((owner, START.day()), &(paid, 0)).unwrap();
        }
        CUSTOMERS.open_to_write(txn).unwrap().insert(&row.id.0, row).unwrap();
    };
    deposit(&store).await;
    assert_eq!(altered(&store, |txn| put_back(txn, &before)), Vec::<String>::new());

    // Rows of customers at work are known to the writer.
    store.close();
    let (_, store) = reopened(&disk);
    deposit(&store).await;
    let mark = store.ledger_mark().await.unwrap();
    assert_eq!((mark.entries, mark.customers), (3, 2));
    store.execute(Command::MarkLedger { mark, at: START }).await.unwrap().unwrap();
    assert!(store.examine().unwrap().is_clean());
    let found = altered(&store, |txn| put_back(txn, &before));
    assert_eq!(found, [format!("the ledger had 3 entries at {START} by the audit record, and has 2 now")]);
}
