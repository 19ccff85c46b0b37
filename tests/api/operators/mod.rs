//! What operators ask the admin API of a running gateway.

mod history;
mod logs;
mod prices;
mod tags;

use serde_json::Value;

use crate::api::TestGateway;

fn bearer(gateway: &TestGateway) -> String {
    let text = std::fs::read(gateway.process.folder().join("data/admin.json")).expect("an endpoint file");
    let endpoint: Value = serde_json::from_slice(&text).expect("JSON");
    format!("Bearer {}", endpoint["token"].as_str().expect("a token"))
}
