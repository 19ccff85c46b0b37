//! The WebDriver protocol (W3C) as far as these tests need it: JSON over the tests' own HTTP client. A crate for it would
//! bring other features of the libraries that the host is built from, and with them another build of all of it.

use std::net::SocketAddr;

use gatehouse_harness::send;
use serde_json::{Value, json};

/// The key of an element's reference, fixed by the protocol.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// A session of a driver.
pub(crate) struct WebDriver {
    driver: SocketAddr,
    path: String,
}

/// An element of the present document.
#[derive(Clone, Debug)]
pub(crate) struct Element(String);

/// What the driver says in place of a value: its kind and its words.
pub(crate) type Refusal = (String, String);

impl WebDriver {
    /// Opens a browser.
    pub(crate) async fn open(driver: SocketAddr, capabilities: Value) -> Self {
        let session = Self { driver, path: "/session".to_owned() };
        let body = json!({ "capabilities": { "alwaysMatch": capabilities } });
        let opened = session.post("", body).await.expect("a browser");
        let id = opened["sessionId"].as_str().expect("a session");
        Self { path: format!("/session/{id}"), ..session }
    }

    /// Sends a command of the session.
    pub(crate) async fn post(&self, path: &str, body: Value) -> Result<Value, Refusal> {
        self.command("POST", path, body.to_string()).await
    }

    /// Opens an address and waits until its document is loaded.
    pub(crate) async fn goto(&self, url: &str) {
        self.post("/url", json!({ "url": url })).await.unwrap_or_else(|error| panic!("{url}: {error:?}"));
    }

    /// The first element that fits, if there is one now.
    pub(crate) async fn find(&self, using: &str, value: &str) -> Option<Element> {
        let found = self.post("/element", json!({ "using": using, "value": value })).await.ok()?;
        Some(Element(found[ELEMENT].as_str()?.to_owned()))
    }

    /// The element that has the focus.
    pub(crate) async fn focused(&self) -> Element {
        let found = self.command("GET", "/element/active", String::new()).await.expect("a focused element");
        Element(found[ELEMENT].as_str().expect("an element").to_owned())
    }

    /// Clicks an element as a person does: it must be there to be seen.
    pub(crate) async fn click(&self, element: &Element) -> Result<(), Refusal> {
        self.post(&format!("/element/{}/click", element.0), json!({})).await.map(drop)
    }

    /// Empties a field.
    pub(crate) async fn clear(&self, element: &Element) -> Result<(), Refusal> {
        self.post(&format!("/element/{}/clear", element.0), json!({})).await.map(drop)
    }

    /// Types into an element.
    pub(crate) async fn type_into(&self, element: &Element, text: &str) -> Result<(), Refusal> {
        self.post(&format!("/element/{}/value", element.0), json!({ "text": text })).await.map(drop)
    }

    /// Runs a script; what it returns.
    pub(crate) async fn run(&self, script: &str) -> Result<Value, Refusal> {
        self.post("/execute/sync", json!({ "script": script, "args": [] })).await
    }

    /// Runs a script that calls its last argument with its result.
    pub(crate) async fn run_async(&self, script: &str) -> Result<Value, Refusal> {
        self.post("/execute/async", json!({ "script": script, "args": [] })).await
    }

    /// A command of Chromium's own protocol.
    pub(crate) async fn cdp(&self, command: &str, parameters: Value) -> Value {
        let sent = self.post("/goog/cdp/execute", json!({ "cmd": command, "params": parameters })).await;
        sent.unwrap_or_else(|error| panic!("{command}: {error:?}"))
    }

    /// Ends the browser.
    pub(crate) async fn close(&self) {
        self.command("DELETE", "", String::new()).await.expect("the end of the browser");
    }

    async fn command(&self, method: &str, path: &str, body: String) -> Result<Value, Refusal> {
        let path = format!("{}{path}", self.path);
        let headers = [("content-type", "application/json; charset=utf-8")];
        let answer = send(self.driver, method, &path, &headers, body).await;
        let mut value = answer.json()["value"].take();
        if answer.status == 200 {
            return Ok(value);
        }
        let mut text = |name: &str| value[name].take().as_str().unwrap_or_default().to_owned();
        Err((text("error"), text("message")))
    }
}
