//! Claude Code as a client: the published program with all its tools and nothing set but the base URL, the key and the
//! model. Its models are those of operators, whose tables say nothing of its hints.

use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use serde_json::Value;
use tokio::process::Command;

use crate::clients::kit::{Set, Tool};
use crate::clients::scene::Scene;

pub(crate) const KIT: Set = Set { tool: Tool::Node, name: "claude-code" };
/// Three generations of Messages models, and a model of a provider that speaks chat completions only.
const MODELS: [&str; 4] = ["lm-opus-4-8", "lm-sonnet-4-6", "lm-opus-4-5-20251101", "gpt-agent"];

/// The program for this platform; the package has one for each.
pub(crate) fn program(folder: &Path) -> PathBuf {
    let packages = folder.join("node_modules/@anthropic-ai");
    let entries =
        std::fs::read_dir(&packages).unwrap_or_else(|error| panic!("{}: {error}", packages.display()));
    let names = ["claude", "claude.exe"];
    let programs = entries.filter_map(Result::ok).flat_map(|entry| names.map(|name| entry.path().join(name)));
    programs.into_iter().find(|path| path.is_file()).expect("a program for this platform")
}

/// One run of it: a question, and all that it does about it.
async fn ask(scene: &Scene, program: &Path, model: &str, question: &str) -> Output {
    let home = tempfile::tempdir().expect("a home");
    let mut command = Command::new(program);
    command.args(["-p", question, "--output-format", "json", "--allowedTools", "Bash"]);
    command.current_dir(home.path()).stdin(Stdio::null()).kill_on_drop(true);
    // The developer's own settings are not part of the test.
    command.env_clear().env("HOME", home.path()).env("PATH", "/usr/local/bin:/usr/bin:/bin");
    command.env("ANTHROPIC_BASE_URL", format!("http://{}", scene.gateway.public));
    command.env("ANTHROPIC_API_KEY", scene.key("main")).env("ANTHROPIC_MODEL", model);
    command.output().await.expect("the program runs")
}

/// What it prints at its end.
fn result(output: &Output) -> Value {
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}{err}"))
}

#[test]
fn claude_code_answers_and_uses_a_tool_on_every_model() {
    let (_, folder) = KIT.ready();
    let program = program(&folder);
    gatehouse_harness::run(async move {
        let scene = Scene::start("").await;
        let asked = MODELS.map(|model| ask(&scene, &program, model, "use bash, once"));
        for (model, output) in MODELS.iter().zip(futures_util::future::join_all(asked).await) {
            let result = result(&output);
            assert_eq!(
                (&result["is_error"], &result["subtype"]),
                (&false.into(), &"success".into()),
                "{model}: {result}"
            );
            let said = result["result"].as_str().unwrap_or_default();
            assert!(said.contains("the tool said: hello"), "{model}: {result}");
            assert_eq!(result["num_turns"], 2, "{model}: {result}");
        }
        let records = ["messages", "chat"].map(|wire| scene.record(wire).requests);
        for request in records.iter().flatten() {
            assert_eq!(
                request.status,
                Some(200),
                "{}",
                String::from_utf8_lossy(request.body.as_deref().unwrap_or_default())
            );
        }
        scene.expect_no_refusals("Claude Code");
        scene.gateway.expect_sound_ledger().await;
    });
}

#[test]
fn claude_code_gives_up_at_once_where_the_operators_account_is_refused() {
    let (_, folder) = KIT.ready();
    let program = program(&folder);
    gatehouse_harness::run(async move {
        let scene = Scene::start("").await;
        let output = ask(&scene, &program, "lm-lone", "[[402]] hello").await;
        let result = result(&output);
        assert_eq!(result["is_error"], true, "{result}");
        let calls = scene.record("messages").requests.len();
        assert_eq!(calls, 1, "the provider was asked again: {result}");
    });
}
