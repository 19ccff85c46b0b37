//! Models whose provider has no account: refused before anything is written, listed for nobody.

use std::collections::BTreeMap;
use std::sync::Arc;

use gatehouse_harness::{TestClock, component};
use gatehouse_model::{Clock as _, Credits, Key};
use gatehouse_runtime::Inventory;
use serde_json::{Value, json};

use crate::models::table::ModelConfig;
use crate::tests::support::{Process, completion, customer, image_prices, submission};
use crate::{CompletionRequest, Config, SubmitError, SubmitRequest, TextError};

async fn submit(process: &Process, key: &Arc<Key>, body: &Value) -> Result<(), SubmitError> {
    let request = submission(key, body);
    if request.body.is_dry_run() {
        let request = SubmitRequest { body: request.body.for_price(), ..request };
        return process.driver.intake.dry_run(request).await.map(drop);
    }
    process.driver.intake.submit(request).await.map(drop)
}

/// One text model, whose provider has no account.
fn texts() -> BTreeMap<String, ModelConfig> {
    let models =
        json!({"texts": {"provider": "gone", "protocol": "chat", "prices": {"input": "1", "output": "2"}}});
    serde_json::from_value(models).expect("a table")
}

fn text(key: &Arc<Key>) -> CompletionRequest {
    let body = json!({"model": "texts", "messages": [{"role": "user", "content": "hi"}]});
    completion(key, "chat.completions", &body)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_without_an_account_is_neither_listed_nor_accepted() {
    let data = tempfile::tempdir().expect("a folder");
    let config = Config { models: texts(), ..image_prices() };
    let clock = TestClock::real(&[]);
    let process = Process::start(data.path(), json!({}), config, clock.clone()).await;
    for family in ["plugins/context-image", "plugins/chat"] {
        process.plugins.install(&component(family)).expect("the plugin");
    }
    let known = gatehouse_runtime::Config {
        inventory: Some(Inventory::default()),
        ..(*process.plugins.config()).clone()
    };
    process.plugins.configure(known);
    let key = customer(&process.store, clock.now()).await;
    let driver = &process.driver;
    assert!(driver.models.models(&key).await.expect("models").is_empty());
    assert!(driver.models.families(Some(&key)).is_empty());
    let loaded: Vec<String> =
        driver.models.loaded_families().into_iter().map(|family| family.family).collect();
    assert_eq!(loaded, ["chat", "context-image"], "the price book has them all the same");
    assert_eq!(driver.models.model_id("ctx-pro").as_deref(), Some("ctx-pro"), "a key may be limited to it");

    let body = json!({"model": "ctx-pro", "prompt": "a kite"});
    let refused = submit(&process, &key, &body).await;
    assert!(
        matches!(&refused, Err(SubmitError::NotServed { model, .. }) if model == "ctx-pro"),
        "{refused:?}"
    );
    let price = json!({"model": "ctx-pro", "prompt": "a kite", "dry_run": true});
    submit(&process, &key, &price).await.expect("an operator may ask for the price");
    let refused = driver.texts.complete(text(&key)).await.map(|_| ());
    let refused = refused.expect_err("it has no provider");
    assert!(matches!(refused, TextError::Refused(SubmitError::NotServed { .. })), "{refused:?}");
    let account = process.store.customer(&key.customer).await.expect("readable").expect("a customer");
    assert_eq!((account.reserved, account.spent), (Credits::ZERO, Credits::ZERO));
}

/// Its plugin may as well be broken, or not installed: a client that is told of an operator's wish asks the wrong question.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_text_model_without_a_plugin_is_not_said_to_be_switched_off() {
    let data = tempfile::tempdir().expect("a folder");
    let config = Config { models: texts(), ..Config::default() };
    let clock = TestClock::real(&[]);
    let process = Process::start(data.path(), json!({}), config, clock.clone()).await;
    let key = customer(&process.store, clock.now()).await;
    let refused = process.driver.texts.complete(text(&key)).await.map(|_| ()).expect_err("no plugin");
    let TextError::Refused(SubmitError::NotServed { reason, .. }) = refused else { panic!("{refused:?}") };
    assert_eq!(reason, "no plugin serves it");
}
