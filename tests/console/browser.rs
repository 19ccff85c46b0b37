//! One tab of a browser in the test's hands. Collects what a page must never do: break its policy, throw, fail to load.

use std::time::{Duration, Instant};

use gatehouse_harness::pause;
use serde_json::{Value, json};

use crate::console::chromium::Driver;
use crate::console::webdriver::{Element, Refusal, WebDriver};

/// A browser that does not answer by then never will.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs before every document: problems are kept across pages of one origin.
const PROBE: &str = r#"
const note = (text) => {
  const found = JSON.parse(sessionStorage.getItem("found") ?? "[]");
  sessionStorage.setItem("found", JSON.stringify([...found, `${location.pathname}: ${text}`]));
};
document.addEventListener("securitypolicyviolation", (event) => note(`policy ${event.effectiveDirective} ${event.blockedURI}`));
window.addEventListener("error", (event) => note(`error ${event.message ?? event.target?.src}`), true);
window.addEventListener("unhandledrejection", (event) => note(`rejection ${event.reason}`));
"#;

/// A tab; its browser ends with it.
pub(crate) struct Tab {
    driver: WebDriver,
    /// What paths stand behind.
    pub(crate) origin: String,
    _process: Driver,
}

impl Tab {
    /// A fresh browser with one tab.
    pub(crate) async fn open(origin: &str) -> Self {
        let process = Driver::start().await;
        let arguments =
            ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--window-size=1280,900"];
        let capabilities = json!({
            "browserName": "chrome",
            "goog:chromeOptions": { "args": arguments },
            "goog:loggingPrefs": { "browser": "ALL" },
        });
        let driver = WebDriver::open(process.address, capabilities).await;
        driver.cdp("Page.addScriptToEvaluateOnNewDocument", json!({ "source": PROBE })).await;
        Self { driver, origin: origin.to_owned(), _process: process }
    }

    /// Opens a path and waits until the page is complete.
    pub(crate) async fn goto(&self, path: &str) {
        self.driver.goto(&format!("{}{path}", self.origin)).await;
        self.ready().await;
    }

    /// Opens an address as it stands, in a fresh document.
    pub(crate) async fn goto_raw(&self, url: &str) {
        self.driver.goto("about:blank").await;
        self.driver.goto(url).await;
    }

    /// Opens a login link and waits for what follows the login.
    pub(crate) async fn log_in(&self, link: &str) {
        self.driver.goto(link).await;
        self.see("Log out").await;
        self.ready().await;
    }

    /// Waits until the page says that it is complete.
    async fn ready(&self) {
        self.find("body[data-ready]").await;
    }

    /// The element of a selector, once there is one.
    pub(crate) async fn find(&self, css: &str) -> Element {
        self.wait_for("css selector", css).await
    }

    /// Waits until some element has that text.
    pub(crate) async fn see(&self, text: &str) -> Element {
        self.wait_for("xpath", &format!("//body//*[text()[contains(normalize-space(.), \"{text}\")]]")).await
    }

    /// Clicks what a selector names.
    pub(crate) async fn click(&self, css: &str) {
        self.click_on("css selector", css).await;
    }

    /// Clicks a button or link by its text; one in an open dialog is `confirm`'s.
    pub(crate) async fn press(&self, text: &str) {
        let path = format!(
            "//*[self::a or self::button or self::summary][normalize-space(.)=\"{text}\"][not(ancestor::dialog)]"
        );
        self.click_on("xpath", &path).await;
    }

    /// Presses a button of the open dialog.
    pub(crate) async fn confirm(&self, text: &str) {
        self.click_on("xpath", &format!("//dialog[@open]//button[normalize-space(.)=\"{text}\"]")).await;
    }

    /// Types into a field, in place of what stands there.
    pub(crate) async fn fill(&self, css: &str, text: &str) {
        let field = self.find(css).await;
        self.driver.clear(&field).await.unwrap_or_else(|error| panic!("{css}: {error:?}"));
        self.driver.type_into(&field, text).await.unwrap_or_else(|error| panic!("{css}: {error:?}"));
    }

    /// What a file field holds.
    pub(crate) async fn choose(&self, css: &str, file: &std::path::Path) {
        let field = self.find(css).await;
        self.driver.type_into(&field, &file.display().to_string()).await.expect("a file");
    }

    /// Types into whatever has the focus.
    pub(crate) async fn type_keys(&self, keys: &str) {
        let focused = self.driver.focused().await;
        self.driver.type_into(&focused, keys).await.expect("keys");
    }

    async fn wait_for(&self, using: &str, value: &str) -> Element {
        let start = Instant::now();
        loop {
            if let Some(element) = self.driver.find(using, value).await {
                return element;
            }
            assert!(start.elapsed() < PATIENCE, "no {value} on {}", self.text().await);
            pause().await;
        }
    }

    /// A page may be about to change under the click, and a dialog about to open: both are tried again.
    async fn click_on(&self, using: &str, value: &str) {
        let start = Instant::now();
        loop {
            let element = self.wait_for(using, value).await;
            let passing = |refusal: &Refusal| {
                ["stale element reference", "element not interactable", "element click intercepted"]
                    .contains(&refusal.0.as_str())
            };
            match self.driver.click(&element).await {
                Ok(()) => return,
                Err(refusal) if passing(&refusal) && start.elapsed() < PATIENCE => pause().await,
                Err(refusal) => panic!("{value}: {refusal:?}"),
            }
        }
    }

    /// The text of the page as people see it.
    pub(crate) async fn text(&self) -> String {
        let text = self.run("return document.body.innerText").await;
        text.as_str().unwrap_or_default().to_owned()
    }

    /// Runs a script in the page.
    pub(crate) async fn run(&self, script: &str) -> Value {
        self.driver.run(script).await.unwrap_or_else(|error| panic!("{script:.200}: {error:?}"))
    }

    /// Runs a script that calls its last argument back.
    pub(crate) async fn run_async(&self, script: &str) -> Value {
        self.driver.run_async(script).await.expect("a script's result")
    }

    /// From the next page on, scripts of pages do not run; the test's own do.
    pub(crate) async fn stop_scripts(&self) {
        self.driver.cdp("Emulation.setScriptExecutionDisabled", json!({ "value": true })).await;
    }

    /// A window of that size, a phone's when narrow, in a theme.
    pub(crate) async fn show_as(&self, width: u32, theme: &str) {
        let phone = width < 600;
        let (height, scale) = if phone { (740, 2) } else { (900, 1) };
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": scale, "mobile": phone });
        self.driver.cdp("Emulation.setDeviceMetricsOverride", size).await;
        let features = json!([
            { "name": "prefers-color-scheme", "value": theme },
            { "name": "prefers-reduced-motion", "value": "reduce" },
        ]);
        self.driver.cdp("Emulation.setEmulatedMedia", json!({ "features": features })).await;
    }

    /// The whole page as a picture, base64.
    pub(crate) async fn picture(&self) -> String {
        let shown = json!({ "format": "png", "captureBeyondViewport": true });
        let result = self.driver.cdp("Page.captureScreenshot", shown).await;
        result["data"].as_str().expect("a picture").to_owned()
    }

    /// Fails the test where any page since the last time did what no page may.
    pub(crate) async fn expect_no_problems(&self) {
        let found = self.run("const found = sessionStorage.getItem('found'); sessionStorage.removeItem('found'); return found ?? '[]'").await;
        assert_eq!(found, json!("[]"), "problems of pages");
        let lines = self.driver.post("/se/log", json!({ "type": "browser" })).await.expect("the console");
        let lines: Vec<Value> = serde_json::from_value(lines).expect("lines");
        // A form that is refused and a page that does not exist answer with 4xx, which Chromium notes as well.
        let expected = |line: &Value| {
            let text = line["message"].as_str().unwrap_or_default();
            ["404", "409", "412", "422"].iter().any(|status| text.contains(&format!("status of {status}")))
        };
        let wrong: Vec<&Value> =
            lines.iter().filter(|line| line["level"] == "SEVERE" && !expected(line)).collect();
        assert!(wrong.is_empty(), "the browser's console: {wrong:?}");
    }

    /// Ends the browser.
    pub(crate) async fn close(self) {
        self.driver.close().await;
    }
}
