//! A family that uses up its time with every call delays other families by the running call, and no more.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use gatehouse_harness::run_load;
use serde_json::json;

use crate::hostile::scene::gateway::{IMAGES, Scene};
use crate::hostile::scene::honest;

const HOSTILE: usize = 120;
const HONEST: usize = 10;
/// Tasks that each use up the whole time of a step.
const SLOW: usize = 60;

#[test]
fn endless_loops_do_not_starve_other_requests() {
    run_load(async {
        let scene = Scene::start("[plugins.limits_by_family.puppet]\ncall_ms = 30\n").await;
        let answered = Arc::new(AtomicUsize::new(0));
        let crowd: Vec<_> = (0..HOSTILE)
            .map(|_| {
                let (caller, answered) = (scene.caller.clone(), Arc::clone(&answered));
                tokio::spawn(async move {
                    let script = json!({"submit": {"attack": "loop"}});
                    let body = json!({"model": "puppet-1", "prompt": "", "script": script});
                    let answer = caller.post(IMAGES, &body).await;
                    answered.fetch_add(1, Ordering::SeqCst);
                    answer.status
                })
            })
            .collect();
        // The first answer shows that the threads are taken and the queue stands behind them.
        while answered.load(Ordering::SeqCst) == 0 {
            scene.caller.get("/v1/models").await;
        }
        for _ in 0..HONEST {
            honest::serve(&scene.caller).await;
        }
        let before = answered.load(Ordering::SeqCst);
        assert!(before < HOSTILE, "the honest ones were served only after the whole crowd");
        for one in crowd {
            assert_eq!(one.await.expect("an answer"), 500);
        }
        let funds = scene.gateway.account("acme").await;
        assert_eq!(funds["spent"], 10 * 4_000_000, "{funds}");
        scene.gateway.expect_sound_ledger().await;
    });
}

#[test]
fn slow_steps_do_not_starve_other_tasks() {
    run_load(async {
        let scene = Scene::start("[tasks]\nconcurrency = 8\n").await;
        let first = scene.finish(&json!({})).await;
        let together = first["created"].as_u64().expect("a moment") * 1000 + 4000;
        let script = json!({"steps": [{"wait-at": together}, {"attack": "loop"}]});
        let crowd = (0..SLOW).map(|_| scene.submit(&script));
        let crowd = futures_util::future::join_all(crowd).await;
        let tasks: Vec<String> = crowd.into_iter().map(|answer| answer.task_id()).collect();
        let failed = async || {
            let list = scene.caller.get("/v1/tasks?limit=100&status=failed").await.json();
            list["data"].as_array().map_or(0, Vec::len)
        };
        // By then all of them are due, and steps are taken in the order in which they fall due.
        while failed().await < SLOW / 4 {}
        honest::serve(&scene.caller).await;
        let over = failed().await;
        assert!(over < SLOW - 10, "the honest one came after the whole crowd: {over}");
        for task in &tasks {
            assert_eq!(scene.caller.end_of(task).await["status"], "failed");
        }
        scene.gateway.expect_sound_ledger().await;
    });
}
