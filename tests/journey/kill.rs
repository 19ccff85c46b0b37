//! SIGKILL at every step of the modal flow. Afterwards the task is there, the proxy was asked once, and the customer
//! pays once or not at all.

use gatehouse_harness::{pause, run, until};
use gatehouse_sandbox::Sandbox;
use gatehouse_sandbox::midjourney::TaskRecord;
use serde_json::{Value, json};

use crate::journey::scene::{Scene, path};

/// Where the process is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kill {
    /// Right after the receipt of the inpaint.
    Accepted,
    /// The proxy has the press, its answer never comes.
    Pressing,
    /// The proxy has the press.
    Pressed,
    /// The task waits for its modal.
    Waiting,
    /// Right after the receipt of the modal.
    Joined,
    /// The proxy has the modal, its answer never comes.
    Confirming,
    /// The proxy has the modal.
    Confirmed,
    /// The proxy works.
    Working,
    /// The result is being copied, or just was.
    Finishing,
}

use Kill::{Accepted, Confirmed, Confirming, Finishing, Joined, Pressed, Pressing, Waiting, Working};

/// How the task may end: whether it may be completed, and whether it may fail.
fn ends(kill: Kill) -> (bool, bool) {
    match kill {
        // An answer was under way: the task is in doubt and ends with a refund.
        Pressing | Confirming => (false, true),
        // The kill may come while an answer is under way, or not.
        Accepted | Pressed | Joined | Confirmed => (true, true),
        Waiting | Working | Finishing => (true, false),
    }
}

#[test]
fn at_every_step() {
    run(async {
        let mut scene = Scene::start().await;
        let mut paid = scene.gateway.account_without_holds("acme").await["spent"].as_u64().expect("a number");
        for (round, kill) in
            [Accepted, Pressing, Pressed, Waiting, Joined, Confirming, Confirmed, Working, Finishing]
                .into_iter()
                .cycle()
                .take(18)
                .enumerate()
        {
            let hang = if kill == Pressing { "[[later:2]] [[submit-hang]]" } else { "" };
            let up = scene.single(&format!("kite {round} --v 7 {hang}"), 1).await;
            paid += 8_000_000;
            let task = through(&mut scene, kill, round, &up).await;
            let shown = format!("{kill:?} in round {round}: {task}");
            let (may_succeed, may_fail) = ends(kill);
            match task["status"].as_str() {
                Some("completed") => {
                    assert!(may_succeed && task["cost"] == 4.0, "{shown}");
                    paid += 4_000_000;
                }
                Some("failed") => assert!(may_fail && task["cost"] == 0.0, "{shown}"),
                _ => panic!("{shown}"),
            }
            let made = of_inpaint(&scene.sandbox, round);
            assert!(made.iter().all(|made| made.modals <= 1) && made.len() <= 1, "{shown}: {made:?}");
            if task["status"] == "completed" {
                assert_eq!(made[0].modals, 1, "{shown}");
            }
            let account = scene.gateway.account_without_holds("acme").await;
            assert_eq!(account["spent"].as_u64(), Some(paid), "{shown}: {account}");
        }
        scene.gateway.expect_sound_ledger().await;
    });
}

/// Takes an inpaint through its modal with one kill on the way; the task at its end.
async fn through(scene: &mut Scene, kill: Kill, round: usize, up: &str) -> Value {
    let id = scene.submit("inpaint", &json!({"task_id": up})).await;
    let kill_now = |reached: Kill| reached == kill;
    if kill_now(Accepted) {
        restart(scene).await;
    }
    if kill_now(Pressing) || kill_now(Pressed) {
        let sandbox = &scene.sandbox;
        until("the proxy has the press", async || !of_inpaint(sandbox, round).is_empty()).await;
        restart(scene).await;
    }
    // It waits, or it has ended: the answer to the press was lost.
    loop {
        let view = scene.view(&id).await;
        if view["status"] == "FAILURE" {
            return scene.caller.end_of(&id).await;
        }
        if view["status"] == "MODAL" {
            break;
        }
        pause().await;
    }
    if kill_now(Waiting) {
        restart(scene).await;
        assert_eq!(scene.until_status(&id, "MODAL").await["action"], "INPAINT");
    }
    let marker = match kill {
        Confirming => "[[submit-hang]]",
        Working => "[[slow:1500]]",
        _ => "",
    };
    let modal = json!({"task_id": id, "prompt": format!("door {round} {marker}")});
    let token = format!("modal-{round}");
    let headers = [("idempotency-key", token.as_str())];
    let answer = scene.caller.post_with(&headers, &path("modal"), &modal).await;
    assert_eq!(answer.task_id(), id, "{}", answer.text());
    if kill_now(Joined) {
        restart(scene).await;
    }
    let sandbox = &scene.sandbox;
    if kill_now(Confirming) || kill_now(Confirmed) {
        until("the proxy has the modal", async || of_inpaint(sandbox, round)[0].modals == 1).await;
        restart(scene).await;
    } else if kill_now(Working) {
        scene.until_status(&id, "IN_PROGRESS").await;
        restart(scene).await;
    } else if kill_now(Finishing) {
        until("a file was fetched", async || of_inpaint(sandbox, round)[0].deliveries > 0).await;
        restart(scene).await;
    }
    // A client that repeats its request gets the same receipt, whatever was lost.
    let again = scene.caller.post_with(&headers, &path("modal"), &modal).await;
    assert_eq!(again.task_id(), id, "{}", again.text());
    scene.caller.end_of(&id).await
}

async fn restart(scene: &mut Scene) {
    scene.gateway.crash().await;
    scene.caller = scene.caller.at(scene.gateway.public);
}

/// The proxy's tasks of the inpaint of that round: those whose parent is the round's single.
fn of_inpaint(sandbox: &Sandbox, round: usize) -> Vec<TaskRecord> {
    let tasks = sandbox.midjourney_record().tasks;
    let single = tasks
        .iter()
        .find(|task| task.parent.is_some() && task.prompt.starts_with(&format!("kite {round} ")))
        .expect("the round's single")
        .id
        .clone();
    tasks.into_iter().filter(|task| task.parent.as_deref() == Some(single.as_str())).collect()
}
