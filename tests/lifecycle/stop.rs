//! Graceful ends: SIGTERM finishes what is under way, a restart goes on with the rest.

use std::time::Duration;

use gatehouse_tests::{House, run};

use crate::{request, sandbox, setup, submits};

#[test]
fn a_restart_goes_on_where_the_last_process_stopped() {
    run(async {
        let sandbox = sandbox(Duration::from_millis(300)).await;
        let mut house = House::start(setup(&sandbox)).await;
        let caller = house.open_account("acme", "1000").await;
        let mut tasks = Vec::new();
        for n in 0..12 {
            let answer = caller.post("/v1/images/generations", &request(&format!("kite {n}"))).await;
            tasks.push(answer.json()["data"][0]["task_id"].as_str().expect("a receipt").to_owned());
        }
        let code = house.terminate().await;
        assert_eq!(code, Some(0), "a drained process ends well");
        house.restart().await;
        let caller = caller.at(house.public);
        for task in &tasks {
            let answer = caller.send("GET", &format!("/v1/tasks/{task}"), &[("prefer", "wait=30")], "").await;
            assert_eq!(answer.json()["data"]["status"], "completed", "{}", answer.json());
        }
        assert!(submits(&sandbox).values().all(|count| *count == 1));
        house.expect_clean_books().await;
    });
}

#[test]
fn operators_commands_work_with_and_without_a_running_gateway() {
    run(async {
        let sandbox = sandbox(Duration::ZERO).await;
        let mut house = House::start(setup(&sandbox)).await;
        house.open_account("acme", "12.5").await;
        let running = house.account("acme").await;
        house.terminate().await;
        assert_eq!(house.account("acme").await, running);
        assert_eq!(running["available"], 12_500_000);
        house.expect_clean_books().await;
        let plugins = house.gatehouse(&["plugin", "list"]).await;
        assert!(plugins.contains("context-image"), "{plugins}");
    });
}

#[test]
fn a_second_process_on_the_same_data_says_so() {
    run(async {
        let sandbox = sandbox(Duration::ZERO).await;
        let house = House::start(setup(&sandbox)).await;
        let refused = house.try_gatehouse(&["serve"]).await;
        assert!(!refused.status.success());
        let text = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(text.contains("another gatehouse process has this store open"), "{text}");
    });
}
