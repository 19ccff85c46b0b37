//! A gateway over a simulated provider, and a tab whose person has logged in.

use std::time::Duration;

use gatehouse_harness::{Caller, Gateway};
use gatehouse_sandbox::Sandbox;
use serde_json::{Value, json};

use crate::console::browser::Tab;
use crate::gateways::{sandbox, setup};

/// Everything a flow needs.
pub(crate) struct Scene {
    pub(crate) gateway: Gateway,
    pub(crate) tab: Tab,
    pub(crate) sandbox: Sandbox,
}

/// A running gateway, and an operator's tab.
pub(crate) async fn start() -> Scene {
    let sandbox = sandbox(Duration::from_millis(50)).await;
    let setup = setup(&sandbox).with("[providers.bfl]\nask_when_ambiguous = true\n\n");
    let gateway = Gateway::start(setup).await;
    let link = link(&gateway, "operator").await;
    let origin = link.split_once("/login").expect("a link").0.to_owned();
    let tab = Tab::open(&origin).await;
    tab.log_in(&link).await;
    Scene { gateway, tab, sandbox }
}

/// A login link under the name that browsers resolve by themselves.
pub(crate) async fn link(gateway: &Gateway, role: &str) -> String {
    let made = gateway.json(&["console", "link", "--role", role]).await;
    made["urls"][0].as_str().expect("a link").to_owned()
}

/// Asks for a picture with a key; the status and the receipt.
pub(crate) async fn ask_for_picture(key: &Caller) -> (u16, Value) {
    let body = json!({ "model": "ctx-pro", "prompt": "a lighthouse at dawn" });
    let answer = key.post("/v1/images/generations", &body).await;
    (answer.status, answer.json())
}
