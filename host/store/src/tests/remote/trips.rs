//! No text waits for the server but a customer's first one.

use std::time::Duration;

use gatehouse_model::RequestId;
use gatehouse_sample::{START, settle};
use gatehouse_tasks::Command;

use super::behind_relay;
use crate::tests::begin;

fn id(number: u128) -> RequestId {
    RequestId::from_bits((u128::from(START.0) << 80) | number)
}

fn hold(number: u128) -> Command {
    gatehouse_sample::hold(id(number), (0, "model"), 1, (START, Duration::from_secs(60)))
}

/// Each text would take as long as the network, and none would be answered while the server is slow.
#[tokio::test(flavor = "multi_thread")]
async fn a_text_of_a_customer_at_work_is_answered_without_the_server() {
    let (store, relay, _) = behind_relay();
    begin(&store).await;
    store.execute(hold(1)).await.unwrap().unwrap();
    // Nothing arrives any more: what is answered now was known.
    relay.be_silent(true);
    store.execute_deferred(hold(2)).await.unwrap().unwrap();
    store.post(settle(id(1), 1, START)).unwrap();
    relay.be_silent(false);
    relay.cut_all();
    store.execute_when_free(settle(id(2), 1, START), crate::Durability::Immediate).await.unwrap().unwrap();
    assert!(store.examine().unwrap().is_clean());
}
