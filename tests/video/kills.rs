//! A gateway that is killed (SIGKILL) while it has a video made: nothing is made twice, lost, or charged twice.

use futures_util::future::join_all;
use gatehouse_harness::{run, until};
use serde_json::{Value, json};

use crate::video::{TestGateway, film_of};

/// What a provider knows of its only job.
struct Job {
    taken: usize,
    polls: u32,
}

/// A family, the cost of its video in credits, and what its provider knows.
struct Family {
    model: &'static str,
    cost: f64,
    job: fn(&TestGateway) -> Job,
}

const MOTION: Family = Family {
    model: "motion-2.7",
    cost: 75.0,
    job: |gateway| {
        let tasks = gateway.sandbox.dashscope_record().tasks;
        Job { taken: tasks.len(), polls: tasks.first().map_or(0, |task| task.polls) }
    },
};
const CLIP: Family = Family {
    model: "clip-2.0",
    cost: 40.0,
    job: |gateway| {
        let submits = gateway.sandbox.ark_record().submits;
        Job { taken: submits.len(), polls: submits.first().map_or(0, |submit| submit.polls) }
    },
};
const SCENE: Family = Family {
    model: "scene-3.1-fast-official",
    cost: 80.0,
    job: |gateway| {
        let operations = gateway.sandbox.veo_record().operations;
        Job { taken: operations.len(), polls: operations.first().map_or(0, |operation| operation.polls) }
    },
};

/// Kills the gateway once that has happened and starts it again; the gateway, and the task at its end.
async fn killed_when(family: &Family, prompt: &str, happened: fn(&Job) -> bool) -> (TestGateway, Value) {
    let mut gateway = TestGateway::start().await;
    let body = json!({"model": family.model, "prompt": format!("a red kite {prompt}")});
    let id = gateway.submit(&body).await.task_id();
    until("the moment of the kill", async || happened(&(family.job)(&gateway))).await;
    gateway.process.crash().await;
    gateway.caller = gateway.caller.at(gateway.process.public);
    let task = gateway.caller.end_of(&id).await;
    gateway.process.expect_sound_ledger().await;
    assert_eq!((family.job)(&gateway).taken, 1, "{}: {task}", family.model);
    (gateway, task)
}

/// The task is completed with its film, and paid once.
async fn expect_completed(family: &Family, (gateway, task): (TestGateway, Value)) {
    assert_eq!(task["status"], "completed", "{task}");
    assert_eq!(task["cost"], family.cost, "{task}");
    film_of(&task).await;
    let spent = &gateway.process.account_without_holds("acme").await["spent"];
    assert_eq!(spent.as_f64(), Some(family.cost * 1e6), "{task}");
}

#[test]
fn before_the_reply_the_task_fails_and_is_never_repeated() {
    run(async {
        join_all([MOTION, CLIP, SCENE].map(async |family| {
            let (gateway, task) = killed_when(&family, "[[submit-hang]]", |job| job.taken == 1).await;
            assert!(task["status"] == "failed" && task["cost"] == 0.0, "{task}");
            assert_eq!(gateway.process.account_without_holds("acme").await["spent"], 0);
        }))
        .await;
    });
}

#[test]
fn during_polls_nothing_is_lost() {
    run(async {
        join_all([MOTION, CLIP, SCENE].map(async |family| {
            let ended = killed_when(&family, "[[slow:3000]]", |job| job.polls > 0).await;
            expect_completed(&family, ended).await;
        }))
        .await;
    });
}

/// The first downloads fail, so that the task is about to copy for a while.
#[test]
fn during_the_copy_nothing_is_lost() {
    run(async {
        join_all([MOTION, CLIP, SCENE].map(async |family| {
            let ended = killed_when(&family, "[[delivery-503:2]]", |job| job.polls > 0).await;
            expect_completed(&family, ended).await;
        }))
        .await;
    });
}
