//! Metrics of a gateway to which nothing has happened: an alert on the growth of a counter sees the first event only where
//! the counter was there before.

use std::collections::BTreeSet;
use std::time::Duration;

use gatehouse_harness::{Gateway, Provider, reply, run};
use serde_json::json;

use crate::lifecycle::{sandbox, setup};

#[test]
fn counters_begin_at_zero_and_every_metric_is_described() {
    run(async {
        let sandbox = sandbox(Duration::ZERO).await;
        let gateway = Gateway::start(setup(&sandbox)).await;
        let text = gateway.metrics().await;
        for line in [
            "gatehouse_upstream_account_errors_total{provider=\"bfl\",account=\"main\"} 0",
            "gatehouse_upstream_calls_total{provider=\"bfl\",account=\"main\",outcome=\"server_error\"} 0",
            "gatehouse_upstream_reclaimed_permits_total{provider=\"bfl\"} 0",
            "gatehouse_plugin_rolled_back_total{family=\"context-image\"} 0",
            "gatehouse_plugin_calls_total{family=\"context-image\",function=\"advance\",outcome=\"trap\"} 0",
            "gatehouse_tasks_ended_total{model=\"ctx-pro\",outcome=\"failed\"} 0",
            "gatehouse_tasks_too_late_total{model=\"ctx-pro\"} 0",
            "gatehouse_money_micro_credits_total{model=\"ctx-pro\",movement=\"held\",cause=\"task\"} 0",
            "gatehouse_money_micro_credits_total{model=\"ctx-pro\",movement=\"settled\",cause=\"task\"} 0",
            "gatehouse_ambiguous_calls_total{policy=\"refund\"} 0",
            "gatehouse_ambiguous_rulings_total{ruling=\"fail\"} 0",
            "gatehouse_media_bytes_total 0",
            "gatehouse_media_bucket_errors_total 0",
            "gatehouse_webhook_attempts_total{outcome=\"failed\"} 0",
            "gatehouse_webhook_deliveries_waiting 0",
            "gatehouse_oldest_hold_seconds{of=\"task\"} 0",
            "gatehouse_customers_without_credit 0",
            "gatehouse_http_requests_total{surface=\"images.generate\",status=\"500\"} 0",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is missing in\n{text}");
        }
        let caller = gateway.open_account("acme", "100").await;
        caller.finish("/v1/images/generations", &json!({"model": "ctx-pro", "prompt": "x"})).await;
        let text = gateway.metrics().await;
        let named = |word: &str| -> BTreeSet<String> {
            let lines =
                text.lines().filter_map(|line| line.strip_prefix(&format!("# {word} "))?.split_once(' '));
            lines.map(|(name, _)| name.to_owned()).collect()
        };
        assert_eq!(named("TYPE"), named("HELP"), "every metric says what it is");
    });
}

/// The status says it, and the plugin's translation says it again: one refusal, counted once.
#[test]
fn a_refused_account_is_counted_once_for_a_call() {
    run(async {
        let sandbox = sandbox(Duration::ZERO).await;
        let refuse = json!({"error": {"message": "Incorrect API key", "type": "invalid_request_error", "code": "invalid_api_key"}});
        let provider =
            Provider::start(move |_| reply(401, &[("content-type", "application/json")], refuse.to_string()))
                .await;
        let setup = setup(&sandbox)
            .with_provider("texts", &provider.url(), "\"bearer\"", 8, &["only"])
            .with_model("refused", "texts", "chat", "refused", "");
        let gateway = Gateway::start(setup).await;
        let caller = gateway.open_account("acme", "100").await;
        let body = json!({"model": "refused", "messages": [{"role": "user", "content": "hello"}]});
        for calls in 1..=2 {
            assert!(caller.post("/v1/chat/completions", &body).await.status >= 500);
            assert_eq!(provider.received().len(), calls);
            let text = gateway.metrics().await;
            let line = format!(
                "gatehouse_upstream_account_errors_total{{provider=\"texts\",account=\"only\"}} {calls}"
            );
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
    });
}
