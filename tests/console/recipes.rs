//! The lines that the console shows to paste, pasted: those of its first page, and those of the page of a new key.

use gatehouse_harness::run;

use crate::clients::fresh::Fresh;
use crate::clients::kit::{Set, Tool};
use crate::console::browser::Tab;
use crate::console::scene::link;

/// `OpenAI`'s and Anthropic's packages.
const PYTHON: Set = Set { tool: Tool::Python, name: "python-current" };

/// What a recipe prints when it works.
fn expected(recipe: &str) -> &'static str {
    if recipe == "recipe-task" { "\"status\":\"completed\"" } else { "you wrote: Say hello" }
}

/// Runs every recipe of the page; how many there are.
async fn paste_all(fresh: &Fresh, tab: &Tab) -> usize {
    let (python, _) = tokio::task::block_in_place(|| PYTHON.ready());
    let python = python.display().to_string();
    let script =
        "return [...document.querySelectorAll('code[id^=recipe-]')].map((one) => [one.id, one.textContent])";
    let recipes = tab.run(script).await;
    let recipes: Vec<(String, String)> = serde_json::from_value(recipes).expect("pairs");
    for (id, text) in &recipes {
        let is_python = text.starts_with("from ");
        let printed = if is_python {
            fresh.shell("exec \"$@\"", &[&python, "-c", text], "").await
        } else {
            fresh.shell(text, &[], "").await
        };
        assert!(printed.contains(expected(id)), "{id} prints {printed}");
    }
    recipes.len()
}

/// Runs the command that a page without rows names; `before` sets what stands in it.
async fn follow_hint(fresh: &Fresh, tab: &Tab, path: &str, before: &str) -> String {
    tab.goto(path).await;
    let hint = tab.run("return document.querySelector('.empty code').textContent").await;
    let hint = hint.as_str().expect("a command");
    fresh.shell(&format!("{before}\n{hint}"), &[], "").await
}

#[test]
fn every_recipe_runs_as_it_is_shown() {
    run(async {
        let fresh = Fresh::start().await;
        let link = link(&fresh.gateway, "operator").await;
        let tab = Tab::open(link.split_once("/login").expect("a link").0).await;
        tab.log_in(&link).await;
        let operator = fresh.gateway.operator();
        let admin = format!("TOKEN={} ADMIN=http://{}", operator.secret(), fresh.gateway.admin());
        let said = follow_hint(&fresh, &tab, "/usage", &admin).await;
        assert!(said.starts_with('{') && !said.contains("\"error\""), "{said}");
        let key = fresh.gateway.make_key("sandbox", &["--unlimited"]).await;
        let set = "echo '{\"model\":\"ctx-pro\",\"prompt\":\"a kite\"}' > picture.json";
        let before = format!("{set}\nKEY={}", key.secret());
        let said = follow_hint(&fresh, &tab, "/tasks", &before).await;
        assert!(said.contains("\"task_id\":\"task_"), "{said}");
        tab.goto("/").await;
        let first = paste_all(&fresh, &tab).await;

        // A key of the usual kind, and one whose completions come as SDKs expect them.
        for format in ["wrapped", "bare"] {
            tab.goto("/keys/new").await;
            tab.fill("#f-name", format).await;
            tab.fill("#f-customer", "sandbox").await;
            let choose = format!("document.querySelector('[name=chat_format]').value = '{format}'");
            tab.run(&choose).await;
            tab.press("Create key").await;
            tab.find("#new-key").await;
            assert_eq!(paste_all(&fresh, &tab).await, first, "{format}");
            tab.press("I have stored it").await;
        }
        assert_eq!(first, 4);
        tab.expect_no_problems().await;
        tab.close().await;
        fresh.gateway.expect_sound_ledger().await;
    });
}
