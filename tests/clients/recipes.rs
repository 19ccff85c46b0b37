//! The recipes of `plugins/CLIENTS.md`, pasted: each block of Python or JavaScript runs in its client's packages with
//! nothing set but the four variables of the page's beginning.

use std::path::Path;
use std::process::Stdio;

use tokio::process::Command;

use crate::kit::{Set, Tool};
use crate::scene::Scene;

/// The packages of each heading.
const SETS: &[(&str, Tool, &str)] = &[
    ("OpenAI and Anthropic SDKs", Tool::Python, "python-current"),
    ("Vercel AI SDK", Tool::Node, "vercel"),
    ("LangChain", Tool::Python, "langchain"),
    ("LiteLLM", Tool::Python, "litellm"),
    ("pydantic-ai", Tool::Python, "pydantic-ai"),
    ("OpenAI Agents SDK", Tool::Python, "agents"),
    ("instructor", Tool::Python, "instructor"),
    ("Embeddings", Tool::Python, "python-current"),
];

/// One block of code and its heading.
struct Recipe<'a> {
    heading: &'a str,
    code: &'a str,
}

/// Every block of a language that a client runs.
fn recipes(page: &str) -> Vec<Recipe<'_>> {
    let sections = page.split("\n## ").skip(1).filter_map(|section| section.split_once('\n'));
    let mut found = Vec::new();
    for (heading, body) in sections {
        for fence in ["```python\n", "```js\n"] {
            let blocks = body.split(fence).skip(1).filter_map(|rest| rest.split_once("\n```"));
            found.extend(blocks.map(|(code, _)| Recipe { heading, code }));
        }
    }
    found
}

async fn run(scene: &Scene, recipe: &Recipe<'_>) -> String {
    let known = SETS.iter().find(|(heading, ..)| *heading == recipe.heading);
    let (_, tool, name) =
        known.unwrap_or_else(|| panic!("no packages for the recipe of {:?}", recipe.heading));
    let (program, folder) = Set { tool: *tool, name }.ready();
    let mut command = Command::new(program);
    match tool {
        Tool::Python => command.args(["-c", recipe.code]),
        Tool::Node => {
            let file = folder.join("recipe.mjs");
            std::fs::write(&file, recipe.code).expect("a script in its place");
            command.arg(file)
        }
    };
    let home = tempfile::tempdir().expect("a home");
    let base = format!("http://{}", scene.gateway.public);
    // The developer's own settings are not part of the test.
    command.env_clear().env("HOME", home.path()).env("PATH", "/usr/local/bin:/usr/bin:/bin");
    command.env("ANTHROPIC_BASE_URL", &base).env("ANTHROPIC_API_KEY", scene.key("main"));
    command.env("OPENAI_BASE_URL", format!("{base}/v1")).env("OPENAI_API_KEY", scene.key("bare"));
    command.current_dir(home.path()).stdin(Stdio::null()).kill_on_drop(true);
    let output = command.output().await.expect("the recipe runs");
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{}: {}\n{out}{err}", recipe.heading, output.status);
    out.into_owned()
}

#[test]
fn every_recipe_of_the_page_runs_as_it_is() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugins/CLIENTS.md");
    let page = std::fs::read_to_string(page).expect("the page");
    let recipes = recipes(&page);
    for (heading, ..) in SETS {
        assert!(recipes.iter().any(|recipe| recipe.heading == *heading), "{heading} has no recipe");
    }
    gatehouse_harness::run(async {
        let scene = Scene::start("").await;
        for recipe in &recipes {
            // Every line that prints has something to print.
            let printed = run(&scene, recipe).await;
            let wanted = recipe.code.matches("print(").count() + recipe.code.matches("console.log(").count();
            let lines = printed.lines().filter(|line| !line.trim().is_empty()).count();
            assert!(wanted > 0 && lines >= wanted, "{}: {printed}", recipe.heading);
        }
        scene.gateway.expect_sound_ledger().await;
    });
}
