//! The doctor finds the same as in a file, and each thing that is not as its rows say.

use redb::ReadableDatabase as _;

use super::Pair;
use crate::examine::Progress;
use crate::postgres::examine::{examine, examine_in};

#[tokio::test]
async fn it_reports_what_it_does_of_a_file() {
    let mut pair = Pair::filled().await;
    let txn = pair.store.database().unwrap().begin_read().unwrap();
    let expected = crate::examine::examine(&txn, &Progress::default()).unwrap();
    let progress = Progress::default();
    assert_eq!(examine(&mut pair.client, &progress).await.unwrap(), expected);
    let (checked, of) = progress.so_far();
    assert!(checked == of && checked > 100, "{checked} of {of}");
}

/// A column that finds another row than it should, or a wrong sum, would stay for ever.
#[tokio::test]
async fn it_finds_whatever_contradicts_its_row() {
    let mut pair = Pair::filled().await;
    let healthy = examine(&mut pair.client, &Progress::default()).await.unwrap();
    for (change, words) in [
        ("update customer set without_credit = not without_credit", "customer "),
        ("update api_key set rotated_to = 'nobody' where id = (select min(id) from api_key)", "key "),
        ("update api_key set digest = '\\x00' where id = (select min(id) from api_key)", "key "),
        ("update hold set expires = expires + 1", "hold "),
        ("update task set status = 'pending' where not live", "task "),
        ("update task set ambiguous = not ambiguous", "task "),
        ("update task set key = 'nobody'", "task "),
        ("update name set customer = 'nobody'", "the look-up gives it to nobody"),
        ("update response set kept = kept + 1", "response "),
        ("update response set previous = 'other'", "response "),
        ("update response_item set item = item || '?'", "? of a response"),
        ("update response_item set id = 'nobody'", " has no such item"),
        ("update response_total set count = count + 1", "responses of "),
        ("update response_total set bytes = bytes + 1", "responses of "),
        ("delete from response_total", "responses of "),
        (
            "insert into step_count (day, rows) values (20000, 1)",
            "logs of day 20000: they have 0 rows, and 1 are counted",
        ),
        (
            "select make_days(array[20000]); insert into step values (first_id(20000), 1, '')",
            "logs of day 20000: they have 1 rows, and 0 are counted",
        ),
        ("update webhook set troubled = not troubled", "webhook "),
        ("update delivery set due = 1", "delivery "),
        (
            "update ledger set available_after = available_after + 1 where position = 3",
            "statement of customer",
        ),
        ("update ledger set used_after = used_after + 1 where used_after is not null", "statement of key"),
        ("update ledger set memo = 'other' where position = 0", "chain"),
        ("update ledger set available = available - 1, external = external + 1 where position = 1", "chain"),
        ("delete from ledger where position = 2", ""),
        ("update deposit_day set paid = paid + 1", "deposits of all customers on day"),
        ("delete from deposit_day where customer = ''", "deposits of all customers on day"),
        ("update usage_day set requests = requests + 1 where key = ''", "it is not the sum of all keys"),
        (
            "update usage_hour set settled = settled + 1 where key <> ''",
            "its hours are not the sums of the day",
        ),
        ("update list_length set rows = rows + 1", "list of customers: it has"),
        ("delete from list_length", "list of customers: it has"),
    ] {
        let txn = pair.client.transaction().await.unwrap();
        txn.batch_execute(change).await.unwrap();
        let changed = examine_in(&txn, &Progress::default()).await.unwrap();
        txn.rollback().await.unwrap();
        let new: Vec<_> = changed.findings.iter().filter(|found| !healthy.findings.contains(found)).collect();
        assert!(new.iter().any(|found| found.contains(words)), "{change}: {new:?}");
    }
}
