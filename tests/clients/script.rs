//! Runs a script as a client's program: a process with the packages of its set and nothing of ours. Reads its lines,
//! answers its questions, and checks that it covers its rows.

use std::collections::BTreeSet;
use std::process::Stdio;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::Command;

use crate::clients::kit::{Set, Tool};
use crate::clients::rows::{ROWS, Side};
use crate::clients::scene::Scene;

/// One SDK in one version.
pub(crate) struct Script {
    pub(crate) set: Set,
    pub(crate) package: &'static str,
    pub(crate) version: &'static str,
    /// The script's name without its ending.
    pub(crate) file: &'static str,
    pub(crate) side: Side,
    /// Rows that this client cannot have by itself, each with its reason.
    pub(crate) limits: &'static [(u8, &'static str)],
}

impl Script {
    /// Runs it; fails the test unless every check of each of its rows passes.
    pub(crate) fn run(&self) {
        let command = self.command();
        let output = gatehouse_harness::run(async move {
            let scene = Scene::start("").await;
            let output = perform(&scene, command, self.set.name).await;
            scene.gateway.expect_sound_ledger().await;
            output
        });
        self.check(&output);
    }

    /// The process of the script.
    fn command(&self) -> Command {
        let (program, folder) = self.set.ready();
        let ending = if self.set.tool == Tool::Python { "py" } else { "mjs" };
        let mut command = Command::new(program);
        command.arg(folder.join(format!("{}.{ending}", self.file)));
        command
    }

    /// Runs scripts that ask the scene nothing, all at once on one scene; none of their requests may be refused. Each one
    /// that fails is named, below what it printed.
    pub(crate) fn run_side_by_side(scripts: &[Self]) {
        let runs: Vec<_> = scripts.iter().map(|script| (script.command(), script.set.name)).collect();
        let outputs = gatehouse_harness::run(async move {
            let scene = Scene::start("").await;
            let runs = runs.into_iter().map(|(command, set)| perform(&scene, command, set));
            let outputs = futures_util::future::join_all(runs).await;
            scene.gateway.expect_sound_ledger().await;
            scene.expect_no_refusals("one of the frameworks");
            outputs
        });
        let failed: Vec<&str> = std::iter::zip(scripts, &outputs)
            .filter(|(script, output)| std::panic::catch_unwind(|| script.check(output)).is_err())
            .map(|(script, _)| script.package)
            .collect();
        assert!(failed.is_empty(), "failed: {}", failed.join(", "));
    }

    fn check(&self, output: &[String]) {
        let name = format!("{} {} ({})", self.package, self.version, self.set.name);
        let text = output.join("\n");
        assert!(output.contains(&format!("sdk {}", self.version)), "{name}: another version runs\n{text}");
        let end = output.last().map(String::as_str);
        assert_eq!(end, Some("exit Some(0)"), "{name}: checks failed\n{text}");
        let covered: BTreeSet<u8> = output
            .iter()
            .filter_map(|line| line.strip_prefix("ok ")?.split(' ').next()?.parse().ok())
            .collect();
        let owed: BTreeSet<u8> = ROWS
            .iter()
            .filter(|(_, side, _)| {
                let is_plain = matches!(self.side, Side::Openai | Side::Anthropic);
                *side == self.side || (*side == Side::Both && is_plain)
            })
            .map(|(row, ..)| *row)
            .filter(|row| self.limits.iter().all(|(limited, _)| limited != row))
            .collect();
        assert_eq!(covered, owed, "{name}: rows with a check, and rows that need one\n{text}");
    }
}

/// The lines of the script, and last its exit code.
async fn perform(scene: &Scene, mut command: Command, set: &str) -> Vec<String> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit()).kill_on_drop(true);
    // The developer's own proxies, keys and addresses are not part of the test.
    for name in ["OPENAI", "ANTHROPIC"] {
        for part in ["API_KEY", "BASE_URL", "AUTH_TOKEN", "ORG_ID", "PROJECT_ID", "LOG"] {
            command.env_remove(format!("{name}_{part}"));
        }
    }
    for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"] {
        command.env_remove(name);
    }
    command.env("GATEHOUSE_SCENE", scene.parameters(set).to_string());
    let mut child = command.spawn().expect("the script starts");
    let mut questions = child.stdin.take().expect("piped");
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    let mut output = Vec::new();
    while let Some(line) = lines.next_line().await.expect("readable output") {
        let Some(question) = line.strip_prefix("? ") else {
            output.push(line);
            continue;
        };
        let question: Value = serde_json::from_str(question).expect("a question in JSON");
        let answer = format!("{}\n", scene.answer(&question).await);
        // The exit code of a script that is gone says why.
        let _ = questions.write_all(answer.as_bytes()).await;
    }
    let status = child.wait().await.expect("an exit");
    output.push(format!("exit {:?}", status.code()));
    output
}
