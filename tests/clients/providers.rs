//! The providers' own SDKs as clients of the simulated providers: what a plugin does there, the SDK does whole. A simulation that
//! refuses what an official client sends, or accepts what it never would, proves nothing about the plugins.
//!
//! All scripts share one sandbox. None of them looks at what another did, so they run at the same time.

use std::path::Path;
use std::process::Output;
use std::time::Duration;

use gatehouse_harness::run;
use gatehouse_sandbox::veo::KEY_FILES;
use gatehouse_sandbox::{Sandbox, Settings};
use serde_json::{Value, json};
use tokio::process::Command;

use crate::clients::kit::{Set, Tool};

const CURRENT: Set = Set { tool: Tool::Python, name: "providers" };
const VERCEL_BFL: Set = Set { tool: Tool::Node, name: "providers-node" };

/// A script, its packages, and the number of jobs that it does.
const SCRIPTS: [(&str, Set, usize); 5] = [
    ("provider_dashscope.py", CURRENT, 10),
    ("provider_ark.py", CURRENT, 10),
    ("provider_vertex.py", CURRENT, 9),
    ("provider_xai.py", CURRENT, 6),
    ("provider_bfl.mjs", VERCEL_BFL, 5),
];

/// One script, with nothing of the developer's around it.
async fn perform(script: &str, set: Set, scene: &Value) -> Output {
    let (program, folder) = tokio::task::block_in_place(|| set.ready());
    let mut command = Command::new(program);
    command.arg(folder.join(script)).arg(scene.to_string()).kill_on_drop(true);
    let home = tempfile::tempdir().expect("a home");
    command.env_clear().env("HOME", home.path()).env("PATH", "/usr/local/bin:/usr/bin:/bin");
    command.current_dir(home.path());
    command.output().await.expect("the script runs")
}

/// What is wrong with a run, if anything is.
fn fault(script: &str, jobs: usize, output: &Output) -> Option<String> {
    let (said, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let done = said.lines().filter(|line| line.starts_with("ok ")).count();
    let is_good = output.status.success() && done == jobs;
    (!is_good).then(|| format!("{script}: {}, {done} of {jobs} jobs\n{said}{error}", output.status))
}

#[test]
fn the_providers_own_sdks_do_every_job_of_a_plugin() {
    run(async {
        // Three polls of the slowest SDK, which waits a second between them, are too many.
        let settings = Settings { job_time: Duration::ZERO, max_in_flight: 1000, ..Settings::default() };
        let sandbox = Sandbox::start(settings).await.expect("a sandbox");
        let mut scene = serde_json::to_value(sandbox.addresses()).expect("addresses");
        (scene["key"], scene["key_file"]) = (json!("sandbox-key"), json!(KEY_FILES[0]));
        let runs = SCRIPTS.map(|(script, set, _)| perform(script, set, &scene));
        let outputs = futures_util::future::join_all(runs).await;
        let faults: Vec<String> = SCRIPTS
            .iter()
            .zip(&outputs)
            .filter_map(|((script, _, jobs), output)| fault(script, *jobs, output))
            .collect();
        assert!(faults.is_empty(), "{}", faults.join("\n"));
    });
}

/// A script that nobody runs tests nothing.
#[test]
fn every_script_of_a_provider_is_run() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/clients");
    let mut found: Vec<String> = ["python", "node"]
        .iter()
        .flat_map(|folder| std::fs::read_dir(here.join(folder)).expect("a folder").flatten())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| name.starts_with("provider_"))
        .collect();
    let mut known: Vec<String> = SCRIPTS.iter().map(|(script, ..)| (*script).to_owned()).collect();
    found.sort();
    known.sort();
    assert_eq!(found, known);
}
