//! Lines of a page for a shell, one command after another, and what the page says that they print.
//!
//! ```text
//! KEY=sk-...                       kept for the commands that follow
//! curl ... \                       a command, over several lines
//!   -d '...'
//! # {"code":200,"data":"task_..."  what it prints; `...` stands for anything
//! ```
//! `task_...` in a command is the task that the command before it made.

use crate::clients::fresh::Fresh;

/// How many commands were run, and how many outputs the page describes.
#[derive(Debug, Default)]
pub(crate) struct Checked {
    pub(crate) run: usize,
    pub(crate) compared: usize,
}

/// A command and what it is said to print.
#[derive(Debug, Default, PartialEq, Eq)]
struct Step {
    command: String,
    printed: String,
}

/// The commands of a block.
fn steps(block: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut is_open = false;
    for line in block.lines() {
        if let Some(comment) = line.strip_prefix('#') {
            let step = steps.last_mut().expect("a command before what it prints");
            step.printed.push_str(comment.trim());
            continue;
        }
        if !is_open {
            steps.push(Step::default());
        }
        let step = steps.last_mut().expect("a command");
        step.command.push_str(line);
        step.command.push('\n');
        is_open = line.ends_with('\\');
    }
    steps
}

/// Whether `printed` has the parts of `expected` in their order, from its beginning on; parts are divided by `...`.
fn is_as_said(printed: &str, expected: &str) -> bool {
    let mut rest = printed;
    expected.split("...").enumerate().all(|(at, part)| match rest.find(part) {
        Some(found) if at > 0 || found == 0 => {
            rest = &rest[found + part.len()..];
            true
        }
        _ => false,
    })
}

/// The task of a receipt.
fn task(printed: &str) -> Option<&str> {
    printed.split_once("\"task_id\":\"")?.1.split('"').next()
}

/// Runs the commands one after the other.
pub(crate) async fn follow(fresh: &Fresh, block: &str) -> Checked {
    let (mut set, mut before) = (String::new(), String::new());
    let mut checked = Checked::default();
    for Step { command, printed: expected } in steps(block) {
        if command
            .split('=')
            .next()
            .is_some_and(|name| name.chars().all(|letter| letter.is_ascii_uppercase()))
        {
            set.push_str(&command);
            continue;
        }
        let command = command.replace("task_...", task(&before).unwrap_or("task_..."));
        let printed = fresh.shell(&format!("{set}{command}"), &[], "").await;
        checked.run += 1;
        assert!(!printed.trim().is_empty() && !printed.contains("\"error\":{"), "{command}{printed}");
        if !expected.is_empty() {
            checked.compared += 1;
            assert!(is_as_said(&printed, &expected), "{command}prints  {printed}\nand not {expected}");
        }
        before = printed;
    }
    checked
}

#[test]
fn a_page_is_read_as_a_reader_reads_it() {
    let block = "KEY=a\ncurl x \\\n  -d y\n# {\"a\":\"task_...\",\n#   \"b\":1}\ncurl task_...";
    let step =
        |command: &str, printed: &str| Step { command: command.to_owned(), printed: printed.to_owned() };
    let expected = [
        step("KEY=a\n", ""),
        step("curl x \\\n  -d y\n", "{\"a\":\"task_...\",\"b\":1}"),
        step("curl task_...\n", ""),
    ];
    assert_eq!(steps(block), expected);
    for (printed, expected, is) in [
        ("{\"id\":\"task_1a\",\"b\":1}", "{\"id\":\"task_...\",\"b\":1}", true),
        ("{\"id\":\"task_1a\",\"b\":2}", "{\"id\":\"task_...\",\"b\":1}", false),
        ("x{\"id\"", "{\"id\"", false),
        ("{\"id\":1}", "{\"id\":...", true),
    ] {
        assert_eq!(is_as_said(printed, expected), is, "{printed} {expected}");
    }
    assert_eq!(task("{\"task_id\":\"task_1a\"}"), Some("task_1a"));
}
