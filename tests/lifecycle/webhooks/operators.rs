//! What the operators' own webhooks are told by the real binary: of an account that cannot be used; what a customer's webhook is
//! told of a key's own quota, across a kill; and which events each may choose.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use gatehouse_harness::{run, serve_http, until};
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use serde_json::{Value, json};

use super::{Answer, Receiver, result, start_with, submit, webhook};

/// An answer of the provider that works again.
const WHOLE: &str = r#"{"id": "c", "object": "chat.completion", "created": 1, "model": "broken-chat", "choices": [{"index": 0,
    "message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}}"#;

fn bodies(receiver: &Receiver, path: &str) -> Vec<Value> {
    let all = receiver.all().into_iter().filter(|arrival| arrival.path == path);
    all.map(|arrival| serde_json::from_slice(&arrival.body).expect("JSON")).collect()
}

/// Without it an operator learns from customers that a provider has refused the account for hours.
#[test]
fn an_account_that_fails_for_longer_than_its_setting_is_told_to_the_operators_alone() {
    run(async {
        let (receiver, address) = Receiver::start(|_, _| Answer::Status(204)).await;
        let works = Arc::new(AtomicBool::new(false));
        let is_back = Arc::clone(&works);
        let broken = serve_http(move |_: Request<Incoming>| {
            let (status, body) = match is_back.load(Ordering::Relaxed) {
                true => (200_u16, WHOLE),
                false => (503, ""),
            };
            let answer = Response::builder().status(status).header("content-type", "application/json");
            let answer = answer.body(Full::new(Bytes::from_static(body.as_bytes()))).expect("a status");
            async move { answer }
        })
        .await;
        let more = format!(
            "[tasks]\naccount_down_s = 1\n\n[providers.broken]\nbase_url = \"http://{broken}\"\nauth = \"bearer\"\n\n\
             [providers.broken.accounts.main]\nsecret = {{ file = \"SECRET\" }}\n\n\
             [models.\"broken-chat\"]\nprovider = \"broken\"\nprotocol = \"chat\"\nprices = {{ input = \"1\", output = \"1\" }}\n\n"
        );
        let (mut gateway, caller) = start_with(address, &more).await;
        result(&gateway, &["create", &format!("http://{address}/operators"), "--operators"]).await;
        webhook(&gateway, &format!("http://{address}/customer")).await;
        let body = json!({"model": "broken-chat", "messages": [{"role": "user", "content": "hi"}]});
        until("the account is told to be down", async || {
            let answer = caller.post("/v1/chat/completions", &body).await;
            assert!(answer.status >= 500 || answer.status == 429, "{}", answer.text());
            !bodies(&receiver, "/operators").is_empty()
        })
        .await;
        let told = bodies(&receiver, "/operators");
        assert_eq!((told.len(), &told[0]["type"]), (1, &json!("account.down")), "{told:?}");
        let data = &told[0]["data"];
        assert_eq!((&data["provider"], &data["account"]), (&json!("broken"), &json!("main")), "{data}");
        assert!(data["reason"].as_str().is_some_and(|reason| reason.contains("503")), "{data}");
        assert_eq!(bodies(&receiver, "/customer"), Vec::<Value>::new());
        for arguments in [
            ["create", "http://127.0.0.1:1/x", "--operators", "--event", "task.failed"].as_slice(),
            &["create", "http://127.0.0.1:1/x", "--account", "acme", "--event", "account.down"],
        ] {
            gateway.refused(&[&["webhook"], arguments].concat()).await;
        }
        // What was told before a restart is not forgotten: one that answers by then is told to be up.
        gateway.crash().await;
        works.store(true, Ordering::Relaxed);
        let caller = caller.at(gateway.public);
        until("the account is told to be up", async || {
            caller.post("/v1/chat/completions", &body).await;
            bodies(&receiver, "/operators").len() > 1
        })
        .await;
        let up = &bodies(&receiver, "/operators")[1];
        assert_eq!((&up["type"], &up["data"]["since"]), (&json!("account.up"), &data["since"]), "{up}");
    });
}

/// Without it a key that is used up is found by its users' refusals; and a crash tells it twice, or never.
#[test]
fn a_keys_share_of_its_quota_is_told_once_also_through_a_kill() {
    run(async {
        // The first attempt hangs, and the process is killed meanwhile.
        let (receiver, address) = Receiver::start(|_, before| match before {
            0 => Answer::Hang,
            _ => Answer::Status(204),
        })
        .await;
        let (mut gateway, _) = start_with(address, "").await;
        result(
            &gateway,
            &["create", &format!("http://{address}/hook"), "--account", "acme", "--event", "quota.reached"],
        )
        .await;
        let key = gateway.make_key("acme", &["--quota", "20", "--quota-alert", "50"]).await;
        let task = submit(&key, "a kite").await;
        key.end_of(&task).await;
        assert_eq!(receiver.all().len(), 0, "a fifth of it is used");
        for number in 0..3 {
            let task = submit(&key, &format!("kite {number}")).await;
            key.end_of(&task).await;
        }
        until("it is told", async || !receiver.all().is_empty()).await;
        gateway.crash().await;
        until("it is told again", async || receiver.all().len() > 1).await;
        let all = receiver.all();
        assert!(all.iter().all(|one| one.id == all[0].id && one.body == all[0].body), "one event");
        let data = &bodies(&receiver, "/hook")[0]["data"];
        let expected = json!({"account": "acme", "key": key.id(), "used": 12, "limit": 20, "percent": 50, "resets_at": null});
        assert_eq!(data, &expected);
        gateway.expect_sound_ledger().await;
    });
}
