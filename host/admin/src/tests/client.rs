//! The client's two ways, to a running gateway and in this process: the same answers, the same refusals, and whose name the
//! audit record has.

use std::sync::Arc;

use gatehouse_harness::TestSeed;
use http::HeaderName;
use serde_json::json;

use super::support::{Listener, start};
use super::{parts, service, show};
use crate::{
    AdminClient, AdminParts, AdminService, ApiAnswer, ApiRefusal, ApiRequest, ClientError, LocalApi,
    RemoteApi,
};

/// A new customer, a key of it, and what is wrong with each; the last one reads whose lines there are.
fn requests() -> Vec<ApiRequest> {
    let post = |path: &[&str], body| {
        ApiRequest::post(path).json(&body).header(HeaderName::from_static("idempotency-key"), "once")
    };
    vec![
        post(&["customers"], json!({"id": "acme"})),
        post(&["customers"], json!({"id": "acme"})),
        show("acme"),
        show("no/body"),
        post(&["customers", "acme", "deposits"], json!({"amount_micro": 5})),
        post(&["customers", "acme", "deposits"], json!({"amount_micro": "5"})),
        post(&["keys"], json!({"customer": "nobody", "name": "n"})),
        ApiRequest::patch(&["keys", "gone"]).header(http::header::IF_MATCH, "*").json(&json!({})),
        ApiRequest::delete(&["webhooks", "none"]),
        ApiRequest::get(&["doctor"]),
        ApiRequest::get(&["nothing"]),
        ApiRequest::get(&["audit"]).query("decisions", true),
        ApiRequest::get(&["customers"]).query("limit", 1),
    ]
}

fn told(answer: Result<ApiAnswer, ApiRefusal>) -> (u16, String) {
    match answer {
        Ok(answer) => (answer.status, answer.body["id"].as_str().unwrap_or_default().to_owned()),
        Err(refused) => (refused.status, refused.message),
    }
}

/// Without it a command without a gateway could do other things than one with it.
#[tokio::test]
async fn both_ways_answer_alike() {
    let Listener { endpoint, server: _server, folder: _folder, .. } = &start().await;
    let remote = RemoteApi::new(endpoint.clone(), AdminClient::default());
    let (alone, _own) = parts();
    let alone = AdminParts { seed: Arc::new(TestSeed::counting_from(5)), ..alone };
    let local = LocalApi::new(AdminService::new(alone), "somebody");
    let mut refused = 0;
    for request in requests() {
        let here = told(local.send(request.clone()).await);
        let there = told(remote.send(request.clone()).await.map_err(|error| match error {
            ClientError::Api(refusal) => refusal,
            other => panic!("{other}"),
        }));
        refused += u32::from(here.0 >= 400);
        assert_eq!(here, there, "{request:?}");
    }
    assert_eq!(refused, 7);
    let shown = remote.send(show("known")).await.unwrap();
    assert!(shown.etag.is_some() && !format!("{shown:?}").contains("known"), "{shown:?}");
    assert_eq!(remote.send(show("nobody")).await.unwrap_err().to_string(), "no customer nobody");
    // Each leaves its lines under its own name.
    let audit = ApiRequest::get(&["audit"]).query("object", "customers");
    for (body, who) in [
        (local.send(audit.clone()).await.unwrap().body, "somebody"),
        (remote.send(audit).await.unwrap().body, "command line"),
    ] {
        let lines = body["data"].as_array().unwrap();
        assert_eq!(lines.len(), 4, "{body}");
        assert!(lines.iter().all(|line| line["request"]["who"] == who), "{body}");
    }
}

#[tokio::test]
async fn a_login_link_is_a_listeners_own() {
    let link = ApiRequest::post(&["console", "links"]).json(&json!({"role": "viewer"}));
    let Listener { endpoint, server: _server, folder: _folder, .. } = &start().await;
    let remote = RemoteApi::new(endpoint.clone(), AdminClient::default());
    let early = remote.send(link.clone()).await.unwrap_err().to_string();
    assert_eq!(early, "the console is not ready yet");
    let (alone, _own) = service();
    let refused = LocalApi::new(alone, "somebody").send(link).await.unwrap_err();
    assert_eq!((refused.status, refused.reason.as_str()), (409, "conflict"));
}
