//! The admin listener over real sockets: pages, token, a request and its answer, and the stop.

use std::sync::atomic::Ordering;

use gatehouse_harness::{Connection, Response, send};
use gatehouse_model::Digest;

use super::support::{GRACE, Listener, start};
use super::token;
use crate::{
    AdminClient, AdminEndpoint, ApiAnswer, ApiRequest, ClientError, Component, FamilyDefaultsFile,
    PluginOffer, RemoteApi, Revealed,
};

async fn ask(endpoint: &AdminEndpoint, request: ApiRequest) -> Result<ApiAnswer, ClientError> {
    RemoteApi::new(endpoint.clone(), AdminClient::default()).send(request).await
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
        ("POST", "/admin/v1/doctor", 401),
        ("GET", "/v1/models", 404),
        ("POST", "/admin/operations", 404),
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
        let answer = send(endpoint.address, "GET", "/admin/v1/customers/known", &headers, "").await;
        assert_eq!(answer.status, expected, "{authorization:?}");
    }
    server.stop(GRACE).await;
}

#[tokio::test]
async fn a_reload_answers_with_its_changes_or_its_errors() {
    let Listener { server, endpoint, folder, .. } = start().await;
    let reload = ApiRequest::post(&["config", "reload"]);
    let changed = ask(&endpoint, reload.clone()).await.unwrap();
    assert_eq!(changed.body["changed"], serde_json::json!(["prices.a"]));
    std::fs::write(folder.path().join("wrong"), "").unwrap();
    let wrong = ask(&endpoint, reload).await;
    assert!(
        matches!(&wrong, Err(ClientError::Api(refused)) if refused.status == 422
            && refused.reason == "invalid_configuration" && refused.message.contains(":1:1: ")),
        "{wrong:?}"
    );
    server.stop(GRACE).await;
}

#[tokio::test]
async fn a_large_component_arrives_whole() {
    let Listener { server, endpoint, folder: _folder, .. } = start().await;
    let bytes = vec![0xff; 3 << 20];
    let (digest, other) = (Digest::of(&bytes), Digest::of(b"other"));
    let offer = PluginOffer { sha256: Some(other), ..PluginOffer::of(Component(bytes.clone())) };
    for install in [
        ApiRequest::post(&["plugins"]).json(&offer),
        ApiRequest::post(&["plugins"]).query("sha256", other).bytes(bytes),
    ] {
        let refused = ask(&endpoint, install).await.unwrap_err().to_string();
        assert!(refused.contains(&format!("sha256 is {digest}")), "{refused}");
    }
    server.stop(GRACE).await;
}

#[tokio::test]
async fn a_stopped_listener_and_a_wrong_token_are_told_apart() {
    let Listener { server, endpoint, folder: _folder, .. } = start().await;
    let wrong = AdminEndpoint { token: token(1), ..endpoint.clone() };
    assert!(matches!(ask(&wrong, ApiRequest::get(&["doctor"])).await, Err(ClientError::Foreign { .. })));
    server.stop(GRACE).await;
    assert!(matches!(
        ask(&endpoint, ApiRequest::get(&["doctor"])).await,
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

#[test]
fn an_offer_reads_back_and_a_misspelt_field_is_refused() {
    let offer = PluginOffer {
        signature: Some("s".to_owned()),
        defaults: Some(FamilyDefaultsFile { name: "f.toml".to_owned(), text: "[prices]".to_owned() }),
        ..PluginOffer::of(Component(vec![0, 255]))
    };
    let text = serde_json::to_string(&offer).unwrap();
    assert_eq!(serde_json::from_str::<PluginOffer>(&text).unwrap(), offer, "{text}");
    assert!(serde_json::from_str::<PluginOffer>(r#"{"component":"AA==","defualts":null}"#).is_err());
}

#[test]
fn a_revealed_secret_does_not_print() {
    assert_eq!(format!("{:?}", Revealed("sk-secret".to_owned())), "(secret)");
}
