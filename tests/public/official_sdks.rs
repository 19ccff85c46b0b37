//! `OpenAI`'s official SDKs make pictures, videos and completions, unmodified: with a key that asks for the bare shape, nothing
//! but the base URL is set. Every family is there, on strict simulated providers.
//!
//! The scripts share one gateway, each with a customer of its own. None of them looks at what another did.

use std::process::Output;
use std::time::Duration;

use gatehouse_harness::{Caller, run};
use serde_json::{Value, json};
use tokio::process::Command;

use crate::clients::kit::{Set, Tool};
use crate::clients::{CURRENT_NODE, CURRENT_PYTHON, MIDDLE_NODE, OLDER_NODE, OLDER_PYTHON};
use crate::public::Scene;

/// Packages, and the number of jobs that their script does: versions from before videos have fewer.
const SETS: [(Set, usize); 5] =
    [(CURRENT_PYTHON, 14), (OLDER_PYTHON, 9), (CURRENT_NODE, 9), (MIDDLE_NODE, 9), (OLDER_NODE, 6)];

/// One script, with nothing of the developer's around it.
async fn perform(set: Set, scene: &Value) -> Output {
    let (program, folder) = tokio::task::block_in_place(|| set.ready());
    let mut command = Command::new(program);
    let script = match set.tool {
        Tool::Python => "openai_media.py",
        Tool::Node => "openai_media.mjs",
    };
    command.arg(folder.join(script)).arg(scene.to_string()).kill_on_drop(true);
    let home = tempfile::tempdir().expect("a home");
    command.env_clear().env("HOME", home.path()).env("PATH", "/usr/local/bin:/usr/bin:/bin");
    command.current_dir(home.path());
    command.output().await.expect("the script runs")
}

/// What is wrong with a run, if anything is.
fn fault(set: Set, jobs: usize, output: &Output) -> Option<String> {
    let (said, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let done = said.lines().filter(|line| line.starts_with("ok ")).count();
    let is_good = output.status.success() && done == jobs;
    (!is_good).then(|| format!("{}: {}, {done} of {jobs} jobs\n{said}{error}", set.name, output.status))
}

fn secret(caller: &Caller) -> String {
    caller.secret().to_owned()
}

#[test]
fn official_sdks_make_pictures_videos_and_completions() {
    run(async {
        let scene = Scene::start(Duration::ZERO).await;
        let base_url = format!("http://{}/v1", scene.gateway.public);
        let mut runs = Vec::new();
        for (set, _) in SETS {
            let wrapped = scene.gateway.open_account(set.name, "10000").await;
            let bare = scene.gateway.make_key(set.name, &["--unlimited", "--chat-format", "bare"]).await;
            runs.push(json!({
                "base_url": base_url,
                "key": secret(&bare),
                "wrapped": secret(&wrapped),
                "sample": scene.sample("1280x720.png"),
            }));
        }
        let outputs = SETS.iter().zip(&runs).map(|((set, _), parameters)| perform(*set, parameters));
        let outputs = futures_util::future::join_all(outputs).await;
        let faults: Vec<String> = SETS
            .iter()
            .zip(&outputs)
            .filter_map(|((set, jobs), output)| fault(*set, *jobs, output))
            .collect();
        assert!(faults.is_empty(), "{}", faults.join("\n"));
        scene.gateway.expect_sound_ledger().await;
    });
}

/// Without it a picture whose client has gone, or waits no longer, would be paid and lost.
#[test]
fn a_task_goes_on_without_the_client_that_waits_for_it() {
    run(async {
        let limit = "[server.limits]\ntask_wait_seconds = 1\n";
        let scene = Scene::start_with(Duration::from_secs(3), limit).await;
        let headers = [("x-response-format", "bare"), ("content-type", "application/json")];
        let body = json!({"model": "ctx-pro", "prompt": "a kite"}).to_string();
        let late = scene.caller.send("POST", "/v1/images/generations", &headers, body).await;
        let task = late.header("x-gateway-task-id").to_owned();
        assert_eq!((late.status, late.header("x-should-retry")), (504, "false"), "{}", late.text());
        assert_eq!(late.json()["error"]["code"], "task_running");
        assert!(late.message().contains(&task) && task.starts_with("task_"), "{}", late.text());
        let wait = [("prefer", "wait=30")];
        let read = scene.caller.send("GET", &format!("/v1/tasks/{task}"), &wait, "").await.json();
        assert_eq!(read["data"]["status"], "completed", "{read}");
        scene.gateway.expect_sound_ledger().await;
    });
}
