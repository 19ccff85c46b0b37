//! The recipes of `plugins/CLIENTS.md` and of the README's first minute, pasted: each block runs with nothing set but the lines
//! at the page's beginning, on a fresh gateway.

use crate::clients::claude_code;
use crate::clients::fresh::Fresh;
use crate::clients::kit::{Set, Tool};
use crate::clients::shell;

const PAGE: &str = "plugins/CLIENTS.md";

/// The packages of each heading.
const SETS: &[(&str, Tool, &str)] = &[
    ("OpenAI and Anthropic SDKs", Tool::Python, "python-current"),
    ("Vercel AI SDK", Tool::Node, "vercel"),
    ("LangChain", Tool::Python, "langchain"),
    ("LiteLLM", Tool::Python, "litellm"),
    ("pydantic-ai", Tool::Python, "pydantic-ai"),
    ("OpenAI Agents SDK", Tool::Python, "agents"),
    ("instructor", Tool::Python, "instructor"),
    ("Images, videos and completions", Tool::Python, "python-current"),
    ("Embeddings", Tool::Python, "python-current"),
    ("Log probabilities", Tool::Python, "python-current"),
];

/// Headings with lines for a shell.
const SHELLS: &[&str] = &["Claude Code", "llm", "Embeddings", "A stream once more"];

/// One block of code and its heading; the beginning of a page has none.
pub(super) struct Recipe<'a> {
    pub(super) heading: &'a str,
    pub(super) code: &'a str,
}

/// Every block of these languages.
pub(super) fn recipes<'a>(page: &'a str, languages: &[&str]) -> Vec<Recipe<'a>> {
    let mut found = Vec::new();
    for (at, section) in page.split("\n## ").enumerate() {
        let (heading, body) =
            if at == 0 { ("", section) } else { section.split_once('\n').unwrap_or_default() };
        for language in languages {
            let fence = format!("```{language}\n");
            let blocks = body.split(&*fence).skip(1).filter_map(|rest| rest.split_once("\n```"));
            found.extend(blocks.map(|(code, _)| Recipe { heading, code }));
        }
    }
    found
}

/// The lines at the page's beginning, which set what every recipe needs.
fn beginning<'a>(shells: &[Recipe<'a>]) -> &'a str {
    let beginning = shells.first().filter(|recipe| recipe.heading.is_empty());
    beginning.expect("lines at the page's beginning").code
}

async fn run(fresh: &Fresh, exports: &str, recipe: &Recipe<'_>) -> String {
    let known = SETS.iter().find(|(heading, ..)| *heading == recipe.heading);
    let (_, tool, name) =
        known.unwrap_or_else(|| panic!("no packages for the recipe of {:?}", recipe.heading));
    let (program, folder) = Set { tool: *tool, name }.ready();
    let program = program.display().to_string();
    let file = folder.join("recipe.mjs").display().to_string();
    let arguments = match tool {
        Tool::Python => vec![program.as_str(), "-c", recipe.code],
        Tool::Node => {
            std::fs::write(&file, recipe.code).expect("a script in its place");
            vec![program.as_str(), file.as_str()]
        }
    };
    fresh.shell(&format!("{exports}\nexec \"$@\""), &arguments, "").await
}

#[test]
fn every_recipe_of_the_page_runs_as_it_is() {
    gatehouse_harness::run(async {
        let fresh = Fresh::start().await;
        let page = fresh.page(PAGE);
        let (shells, recipes) = (recipes(&page, &["sh"]), recipes(&page, &["python", "js"]));
        for (heading, ..) in SETS {
            assert!(recipes.iter().any(|recipe| recipe.heading == *heading), "{heading} has no recipe");
        }
        for recipe in &recipes {
            // Every line that prints has something to print.
            let printed = run(&fresh, beginning(&shells), recipe).await;
            let wanted = recipe.code.matches("print(").count() + recipe.code.matches("console.log(").count();
            let lines = printed.lines().filter(|line| !line.trim().is_empty()).count();
            assert!(wanted > 0 && lines >= wanted, "{}: {printed}", recipe.heading);
        }
        fresh.gateway.expect_sound_ledger().await;
    });
}

#[test]
fn every_shell_recipe_of_the_page_runs_as_it_is() {
    let (_, folder) = claude_code::KIT.ready();
    let claude = claude_code::program(&folder).display().to_string();
    let (python, _) = Set { tool: Tool::Python, name: "llm" }.ready();
    gatehouse_harness::run(async {
        let fresh = Fresh::start().await;
        fresh.install("claude", &claude);
        fresh.install("llm", &format!("{} -m llm", python.display()));
        let page = fresh.page(PAGE);
        let shells = recipes(&page, &["sh"]);
        let headings: Vec<&str> = shells.iter().skip(1).map(|recipe| recipe.heading).collect();
        assert_eq!(headings, SHELLS);
        for recipe in &shells[1..] {
            let typed = if recipe.heading == "Claude Code" { "Say hello\n" } else { "" };
            let printed = fresh.shell(&format!("{}\n{}", beginning(&shells), recipe.code), &[], typed).await;
            let expected = match recipe.heading {
                "Embeddings" => "\"embedding\":[",
                "A stream once more" => "event: response.completed",
                _ => "you wrote: Say hello",
            };
            assert!(printed.contains(expected), "{}: {printed}", recipe.heading);
        }
        fresh.gateway.expect_sound_ledger().await;
    });
}

#[test]
fn the_first_minute_of_the_readme_goes_as_it_says() {
    gatehouse_harness::run(async {
        let fresh = Fresh::start().await;
        let page = fresh.page("README.md");
        let blocks = recipes(&page, &["sh"]);
        let blocks = blocks.iter().filter(|recipe| recipe.heading == "First minute");
        let lines: Vec<&str> = blocks.map(|recipe| recipe.code).collect();
        assert_eq!(lines.len(), 2, "a block of pictures and one of texts");
        let checked = shell::follow(&fresh, &lines.join("\n")).await;
        assert!(checked.run >= 8 && checked.compared >= 3, "{checked:?}");
        fresh.gateway.expect_sound_ledger().await;
    });
}
