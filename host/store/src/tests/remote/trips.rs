//! No text waits for the server but a customer's first one.

use std::time::Duration;

use gatehouse_model::{Credits, RequestId, Tags, Usage};
use gatehouse_sample::{START, key_id};
use gatehouse_tasks::Command;

use super::behind_relay;
use crate::tests::begin;

fn hold(number: u128) -> Command {
    let id = RequestId::from_bits((u128::from(START.0) << 80) | number);
    let (key, model, amount) = (key_id(0), "model".to_owned(), Credits(1));
    Command::Hold { id, key, model, amount, expires: START.plus(Duration::from_secs(60)), at: START }
}

fn settle(number: u128) -> Command {
    let id = RequestId::from_bits((u128::from(START.0) << 80) | number);
    let (memo, tokens) = (String::new(), Usage::default());
    Command::Settle { id, amount: Credits(1), memo, tokens, tags: Tags::default(), at: START }
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
    store.post(settle(1)).unwrap();
    relay.be_silent(false);
    relay.cut_all();
    store.execute_when_free(settle(2), crate::Durability::Immediate).await.unwrap().unwrap();
    assert!(store.examine().unwrap().is_clean());
}
