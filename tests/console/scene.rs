//! A gateway over a simulated provider, and a tab whose person has logged in.

use std::time::Duration;

use gatehouse_harness::{Caller, Gateway, Setup};
use gatehouse_sandbox::{Sandbox, Settings};
use serde_json::{Value, json};

use crate::console::browser::Tab;

/// Everything a flow needs.
pub(crate) struct Scene {
    pub(crate) gateway: Gateway,
    pub(crate) tab: Tab,
    pub(crate) sandbox: Sandbox,
}

/// A running gateway, and an operator's tab.
pub(crate) async fn start() -> Scene {
    let settings = Settings { job_time: Duration::from_millis(50), retry_after_s: 0, ..Settings::default() };
    let sandbox = Sandbox::start(settings).await.expect("a sandbox");
    let addresses = serde_json::to_value(sandbox.context()).expect("addresses");
    let setup = Setup::new(env!("CARGO_BIN_EXE_gatehouse"), &addresses);
    let setup = setup.with("[providers.bfl]\nask_when_ambiguous = true\n\n");
    let gateway = Gateway::start(setup).await;
    let link = link(&gateway, "operator").await;
    let origin = link.split_once("/login").expect("a link").0.to_owned();
    let tab = Tab::open(&origin).await;
    tab.log_in(&link).await;
    Scene { gateway, tab, sandbox }
}

/// A login link under the name that browsers resolve by themselves.
pub(crate) async fn link(gateway: &Gateway, role: &str) -> String {
    let text = gateway.command(&["console", "link", "--role", role, "--json"]).await;
    let made: Value = serde_json::from_str(&text).expect("JSON");
    made["urls"][0].as_str().expect("a link").to_owned()
}

/// Asks for a picture with a key; the status and the receipt.
pub(crate) async fn ask_for_picture(key: &Caller) -> (u16, Value) {
    let body = json!({ "model": "ctx-pro", "prompt": "a lighthouse at dawn" });
    let answer = key.post("/v1/images/generations", &body).await;
    (answer.status, answer.json())
}
