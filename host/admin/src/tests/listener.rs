//! The admin listener over real sockets: pages, token, an operation and its result, and the stop.

use std::sync::atomic::Ordering;

use gatehouse_harness::{Connection, Response, send};
use gatehouse_model::{CustomerId, Digest};

use super::support::{GRACE, Listener, start};
use super::token;
use crate::{
    AdminClient, AdminEndpoint, ClientError, Component, Operation, OperationError, OperationResult,
    PluginOffer, perform,
};

fn show(customer: &str) -> Operation {
    Operation::CustomerShow { customer: CustomerId::from(customer) }
}

/// Sends a request without a token.
async fn page(endpoint: &AdminEndpoint, method: &str, path: &str) -> Response {
    send(endpoint.address, method, path, &[], "").await
}

#[tokio::test]
async fn every_page_has_its_status() {
    let Listener { server, endpoint, ready, folder: _folder, .. } = start().await;
    for (method, path, expected) in [
        ("GET", "/livez", 200),
        ("HEAD", "/livez", 200),
        ("GET", "/readyz", 503),
        ("GET", "/metrics", 200),
        ("POST", "/metrics", 405),
        ("GET", "/admin/operations", 405),
        ("GET", "/v1/models", 404),
        ("POST", "/admin/operations", 401),
    ] {
        assert_eq!(page(&endpoint, method, path).await.status, expected, "{method} {path}");
    }
    ready.store(true, Ordering::Relaxed);
    assert_eq!(page(&endpoint, "GET", "/readyz").await.status, 200);
    assert_eq!(page(&endpoint, "GET", "/metrics").await.text(), "gatehouse_up 1\n");
    server.stop(GRACE).await;
}

#[tokio::test]
async fn an_operation_needs_the_token() {
    let Listener { server, endpoint, folder: _folder, .. } = start().await;
    let right = endpoint.token.reveal().to_owned();
    let wrong = format!("{}{}", if right.starts_with('x') { 'y' } else { 'x' }, &right[1..]);
    let body = r#"{"operation":"account-show","account":"known"}"#;
    for (authorization, expected) in [
        (format!("Bearer {right}"), 200),
        (format!("bearer {right}"), 200),
        (format!("Basic {right}"), 401),
        (format!("Bearer {wrong}"), 401),
        (format!("Bearer {}", &right[1..]), 401),
        ("Bearer ".to_owned(), 401),
        (right.clone(), 401),
    ] {
        let headers = [("authorization", authorization.as_str())];
        let answer = send(endpoint.address, "POST", "/admin/operations", &headers, body).await;
        assert_eq!(answer.status, expected, "{authorization:?}");
    }
    server.stop(GRACE).await;
}

#[tokio::test]
async fn the_client_gets_the_result_or_the_refusal() {
    let Listener { server, endpoint, folder: _folder, .. } = start().await;
    let shown = perform(&endpoint, &AdminClient::default(), &show("known")).await.unwrap();
    assert!(
        matches!(&shown, OperationResult::Customer(customer) if customer.id == CustomerId::from("known")),
        "{shown:?}"
    );
    let missing = perform(&endpoint, &AdminClient::default(), &show("nobody")).await;
    assert!(
        matches!(&missing, Err(ClientError::Refused(OperationError::NotFound(text))) if text == "no account nobody"),
        "{missing:?}"
    );
    server.stop(GRACE).await;
}

#[tokio::test]
async fn a_reload_answers_with_its_changes_or_its_errors() {
    let Listener { server, endpoint, folder, .. } = start().await;
    let changed = perform(&endpoint, &AdminClient::default(), &Operation::Reload).await.unwrap();
    assert!(
        matches!(&changed, OperationResult::Reloaded(view) if view.changed == ["prices.a"]),
        "{changed:?}"
    );
    std::fs::write(folder.path().join("wrong"), "").unwrap();
    let wrong = perform(&endpoint, &AdminClient::default(), &Operation::Reload).await;
    assert!(
        matches!(&wrong, Err(ClientError::Refused(OperationError::Misconfigured(text))) if text.contains(":1:1: ")),
        "{wrong:?}"
    );
    let body = r#"{"operation":"reload"}"#;
    let authorization = format!("Bearer {}", endpoint.token.reveal());
    let headers = [("authorization", authorization.as_str())];
    let answer = send(endpoint.address, "POST", "/admin/operations", &headers, body).await;
    assert_eq!(answer.status, 422);
    server.stop(GRACE).await;
}

#[tokio::test]
async fn a_large_component_arrives_whole() {
    let Listener { server, endpoint, folder: _folder, .. } = start().await;
    let bytes = vec![0xff; 3 << 20];
    let (digest, other) = (Digest::of(&bytes), Digest::of(b"other"));
    let offer = PluginOffer { sha256: Some(other), ..PluginOffer::of(Component(bytes)) };
    let install = Operation::PluginInstall(offer);
    let refused = perform(&endpoint, &AdminClient::default(), &install).await.unwrap_err().to_string();
    assert!(refused.contains(&format!("sha256 is {digest}")), "{refused}");
    server.stop(GRACE).await;
}

#[tokio::test]
async fn a_stopped_listener_and_a_wrong_token_are_told_apart() {
    let Listener { server, endpoint, folder: _folder, .. } = start().await;
    let wrong = AdminEndpoint { token: token(1), ..endpoint.clone() };
    assert!(matches!(
        perform(&wrong, &AdminClient::default(), &Operation::Doctor).await,
        Err(ClientError::Foreign { .. })
    ));
    server.stop(GRACE).await;
    assert!(matches!(
        perform(&endpoint, &AdminClient::default(), &Operation::Doctor).await,
        Err(ClientError::Unreachable { .. })
    ));
}

#[tokio::test]
async fn stop_does_not_wait_for_an_idle_connection() {
    let Listener { server, endpoint, folder: _folder, .. } = start().await;
    let mut idle = Connection::open(endpoint.address).await;
    idle.request("GET", "/livez", &[], b"").await;
    assert_eq!(idle.read().await.expect("an answer").status, 200);
    server.stop(GRACE).await;
}
