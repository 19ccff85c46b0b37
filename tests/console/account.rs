//! The page for customers in a real browser: what a person with a key sees and does, and what the page never does.

use gatehouse_harness::{Gateway, Provider, Setup, binary, reply, run, send, until};
use serde_json::json;

use crate::console::accessibility::Axe;
use crate::console::browser::Tab;
use crate::console::screens::check;

/// Without it a page could look right and do nothing, or leave a key behind.
#[test]
fn a_customer_sees_its_account_and_keeps_its_webhooks() {
    run(async {
        let receiver = Provider::start(|_| reply(204, &[], "")).await;
        let address = receiver.address;
        let setup = Setup::sandbox_mode(&binary(env!("CARGO_BIN_EXE_gatehouse")));
        let gateway =
            Gateway::start(setup.with(&format!("[webhooks]\nallow_private = [\"{address}\"]\n"))).await;
        let caller = gateway.open_account("acme", "1000").await;
        let rival = gateway.open_account("rival", "10").await;
        for (who, prompt) in [(&caller, "a kite"), (&rival, "a rival's kite")] {
            let body = json!({"model": "ctx-pro", "prompt": prompt});
            who.end_of(&who.post("/v1/images/generations", &body).await.task_id()).await;
        }
        let secret = caller.secret().to_owned();
        let origin = format!("http://{}", gateway.public);
        let tab = Tab::open(&origin).await;
        let (axe, mut wrong) = (Axe::ready(), Vec::new());

        tab.goto("/account").await;
        tab.see("It stays in this tab").await;
        check(&tab, "account-login", &axe, &mut wrong).await;
        tab.fill("#key", "sk-of-nobody").await;
        tab.press("Log in").await;
        tab.find("#entry-problem .problems").await;
        tab.fill("#key", &secret).await;
        tab.press("Log in").await;
        tab.find("#tasks table").await;
        tab.find("#usage table").await;
        tab.find("#chart canvas").await;
        let text = tab.text().await;
        for part in ["Available", "ctx-pro", "completed", "Nothing is posted anywhere."] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert_eq!(
            tab.run("return document.querySelectorAll('#tasks tbody tr').length").await,
            1,
            "its own alone"
        );
        until("the picture is shown", async || {
            tab.run("return document.querySelector('.pictures img').naturalWidth > 0").await == true
        })
        .await;

        tab.fill("#hook-url", &format!("http://{address}/own")).await;
        tab.press("Create webhook").await;
        tab.see("whsec_").await;
        tab.press("I have stored it").await;
        tab.press("Test").await;
        tab.see("A test event is on its way.").await;
        until("it came", async || !receiver.received().is_empty()).await;
        tab.press("Deliveries").await;
        tab.see("webhook.test").await;
        check(&tab, "account", &axe, &mut wrong).await;
        tab.press("New secret").await;
        tab.see("whsec_").await;
        tab.press("Disable").await;
        tab.see("its owner disabled it").await;
        tab.run("window.confirm = () => true").await;
        tab.press("Remove").await;
        tab.see("The webhook was removed.").await;
        tab.fill("#hook-url", "https://10.0.0.1/").await;
        tab.press("Create webhook").await;
        tab.see("not a public address").await;

        // The key is kept while the tab is, and nowhere else.
        tab.goto("/account").await;
        tab.find("#tasks table").await;
        let kept = tab.run("return [document.cookie, localStorage.length, sessionStorage.getItem('gatehouse-account-key')]").await;
        assert_eq!(kept, json!(["", 0, secret]));
        tab.press("Log out").await;
        tab.see("It stays in this tab").await;
        assert_eq!(tab.run("return sessionStorage.getItem('gatehouse-account-key')").await, json!(null));
        let page = send(gateway.public, "GET", "/account", &[], "").await;
        let policy = page.header("content-security-policy");
        assert!(
            policy.starts_with("default-src 'none'; script-src 'self'") && !policy.contains("unsafe"),
            "{policy}"
        );
        assert_eq!(page.header("set-cookie"), "");
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        assert!(!gateway.log_text().contains(&secret));
        tab.close().await;
    });
}

/// An operator who sells through a site of its own wants no second one beside it.
#[test]
fn the_page_is_off_where_the_operator_says_so() {
    run(async {
        let setup = Setup::sandbox_mode(&binary(env!("CARGO_BIN_EXE_gatehouse")));
        let gateway = Gateway::start(setup.with("[server]\naccount_page = false\n")).await;
        for path in ["/account", "/account/account.js", "/account/none"] {
            let answer = send(gateway.public, "GET", path, &[], "").await;
            assert_eq!(answer.status, 404, "{path}");
        }
    });
}
