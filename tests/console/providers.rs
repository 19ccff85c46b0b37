//! An account is drained and resumed on its page, while requests are served.

use gatehouse_harness::run;

use crate::console::scene::{ask_for_picture, start};

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
        gatehouse_harness::until("the task waits", async || waiting().await.contains("\"waiting\": 1")).await;
        tab.goto("/providers").await;
        tab.see("wait for a permit").await;

        tab.press("Resume").await;
        tab.see("The account gets new work again.").await;
        assert_eq!(key.end_of(task).await["status"], "completed");
        tab.expect_no_problems().await;
        scene.tab.close().await;
    });
}
