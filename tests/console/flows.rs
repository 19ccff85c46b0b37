//! What people do with keys and money, and with an account of a provider.

use gatehouse_harness::{Caller, run, until};

use crate::console::scene::{Scene, ask_for_picture, link, start};

/// Creates a key on its page; `models` one a line.
async fn create_key(scene: &Scene, name: &str, customer: &str, models: &str) -> Caller {
    let tab = &scene.tab;
    tab.goto("/keys/new").await;
    tab.fill("#f-name", name).await;
    tab.fill("#f-customer", customer).await;
    tab.fill("#f-models", models).await;
    tab.press("Create key").await;
    tab.find("#new-key").await;
    let secret = tab.run("return document.getElementById('new-key').textContent").await;
    let secret = secret.as_str().expect("a key").to_owned();
    tab.press("I have stored it").await;
    tab.see(name).await;
    scene.gateway.caller(&secret)
}

#[test]
fn a_key_is_created_and_used() {
    run(async {
        let scene = start().await;
        let tab = &scene.tab;
        tab.goto("/customers/new").await;
        tab.fill("#f-id", "acme").await;
        tab.press("Create customer").await;
        tab.see("The customer was created.").await;
        tab.see("402 for all its keys").await;

        let key = create_key(&scene, "first", "acme", "").await;
        let (status, _) = ask_for_picture(&key).await;
        assert_eq!(status, 402);

        tab.goto("/customers/acme").await;
        tab.press("Top up").await;
        tab.fill("#f-deposit_amount", "100").await;
        tab.click("form[action$='/deposit'] button.primary").await;
        tab.see("The amount was paid in.").await;
        let (status, receipt) = ask_for_picture(&key).await;
        assert_eq!(status, 200, "{receipt}");

        let limited = create_key(&scene, "limited", "acme", "ctx-max").await;
        assert_eq!(ask_for_picture(&limited).await.0, 403);

        tab.goto(&format!("/keys/{}", key.id())).await;
        tab.press("Revoke key").await;
        tab.confirm("Revoke key").await;
        tab.see("The key was revoked.").await;
        assert_eq!(ask_for_picture(&key).await.0, 401);
        tab.expect_no_problems().await;
        scene.tab.close().await;
    });
}

#[test]
fn a_statement_is_read_from_its_customers_page() {
    run(async {
        let scene = start().await;
        let tab = &scene.tab;
        let key = scene.gateway.open_account("acme", "100").await;
        let (_, receipt) = ask_for_picture(&key).await;
        key.end_of(receipt["data"][0]["task_id"].as_str().expect("a task")).await;
        tab.goto("/customers/acme").await;
        tab.press("Its statement").await;
        for kind in ["deposit", "hold", "settle"] {
            tab.see(kind).await;
        }
        let figures = tab.run("return document.querySelector('dl.figures').textContent").await;
        assert!(figures.as_str().is_some_and(|figures| figures.ends_with("Rows3")), "{figures}");
        // The file has the same rows.
        let file = tab
            .run_async(
                "const done = arguments[arguments.length - 1];
                 fetch(document.querySelector('a[download]').href).then((answer) => answer.text()).then(done);",
            )
            .await;
        assert_eq!(file.as_str().expect("a file").lines().count(), 4, "{file}");
        tab.click("nav.tabs a[href*='of=usage']").await;
        tab.see("ctx-pro").await;
        tab.fill("#model", "other").await;
        tab.press("Show").await;
        tab.see("No row of usage fits").await;
        tab.expect_no_problems().await;
        scene.tab.close().await;
    });
}

#[test]
fn a_link_logs_in_once_and_a_viewer_reads_only() {
    run(async {
        let scene = start().await;
        let tab = &scene.tab;
        tab.press("Log out").await;
        tab.see("Login link or token").await;
        let viewer = link(&scene.gateway, "viewer").await;
        tab.log_in(&viewer).await;
        let address = tab.run("return location.href").await;
        assert!(!address.as_str().expect("text").contains('#'), "{address}");
        tab.goto("/keys").await;
        assert!(!tab.text().await.contains("New key"));
        tab.press("Log out").await;
        tab.see("Login link or token").await;
        // The same link a second time, from a page that is already open on the login.
        tab.goto_raw(&viewer).await;
        tab.see("used already").await;
        let log = scene.gateway.log_text();
        let token = viewer.split_once('#').expect("a token").1;
        assert!(!log.contains(token), "the token is in the log");
        scene.tab.close().await;
    });
}

#[test]
fn the_keyboard_reaches_pages_and_rows() {
    run(async {
        let scene = start().await;
        let tab = &scene.tab;
        for customer in ["one", "two"] {
            scene.gateway.command(&["account", "open", customer]).await;
        }
        tab.type_keys("gc").await;
        tab.see("Balance").await;
        tab.type_keys("jj").await;
        let focused = tab.run("return document.activeElement.textContent").await;
        assert_eq!(focused, "two");
        tab.type_keys("?").await;
        tab.see("next row, row before").await;
        tab.confirm("Close").await;
        tab.type_keys("/").await;
        assert_eq!(tab.run("return document.activeElement.id").await, "q");
        // In a field the same keys are letters.
        tab.type_keys("gk").await;
        assert_eq!(tab.run("return document.activeElement.value").await, "gk");
        tab.expect_no_problems().await;
        scene.tab.close().await;
    });
}

/// An untouched "Run" would spend the money of the customer whose key comes first.
#[test]
fn the_playground_spends_nobodys_money_unasked() {
    run(async {
        let scene = start().await;
        let tab = &scene.tab;
        let key = scene.gateway.open_account("acme", "100").await;
        tab.goto("/playground/context-image").await;
        assert_eq!(tab.run("return document.getElementById('key').value").await, "");
        tab.click("[data-runs]").await;
        tab.see("Choose the key that it is sent as").await;
        tab.goto(&format!("/playground/context-image?key={}", key.id())).await;
        let button = tab.run("return document.querySelector('[data-runs]').textContent").await;
        assert!(button.as_str().is_some_and(|text| text.starts_with("Run for ")), "{button}");
        tab.expect_no_problems().await;
        scene.tab.close().await;
    });
}

/// On its page, while requests are served.
#[test]
fn an_account_is_drained_and_resumed() {
    run(async {
        let scene = start().await;
        let tab = &scene.tab;
        let key = scene.gateway.open_account("acme", "1000").await;
        tab.goto("/providers").await;
        tab.see("healthy").await;
        tab.click("button[commandfor='drain-bfl-main']").await;
        tab.see("gets no new task").await;
        tab.confirm("Drain").await;
        tab.see("The account gets no new work.").await;
        tab.see("drained").await;

        let (status, receipt) = ask_for_picture(&key).await;
        assert_eq!(status, 200, "{receipt}");
        let task = receipt["data"][0]["task_id"].as_str().expect("a task");
        let waiting = async || scene.gateway.command(&["providers", "--json"]).await;
        until("the task waits", async || waiting().await.contains("\"waiting\": 1")).await;
        tab.goto("/providers").await;
        tab.see("wait for a permit").await;

        tab.press("Resume").await;
        tab.see("The account gets new work again.").await;
        assert_eq!(key.end_of(task).await["status"], "completed");
        tab.expect_no_problems().await;
        scene.tab.close().await;
    });
}
