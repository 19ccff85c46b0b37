//! The official SDKs of `OpenAI` and Anthropic as clients: Python and Node, a current and an older major version
//! of each; the Vercel AI SDK; Python's frameworks in a current version each; and Claude Code. Against the real binary and
//! strict simulated providers.
//!
//! [`rows::ROWS`] lists what must hold. A script prints a line for every check with the number of its row. A failed check fails
//! the test, and so does a missing row. The packages are installed once under the target folder (`kit.rs`); after that
//! nothing leaves the machine.

pub(crate) mod bucket;
mod claude_code;
mod family_lines;
pub(crate) mod fresh;
pub(crate) mod kit;
pub(crate) mod openapi;
mod providers;
mod recipes;
mod rows;
pub(crate) mod scene;
mod script;
mod shell;
mod webhooks;
mod wire;

use kit::{Set, Tool};
use rows::{ROWS, Side};
use script::Script;

pub(crate) const CURRENT_PYTHON: Set = Set { tool: Tool::Python, name: "python-current" };
pub(crate) const OLDER_PYTHON: Set = Set { tool: Tool::Python, name: "python-older" };
pub(crate) const CURRENT_NODE: Set = Set { tool: Tool::Node, name: "node-current" };
pub(crate) const MIDDLE_NODE: Set = Set { tool: Tool::Node, name: "node-middle" };
pub(crate) const OLDER_NODE: Set = Set { tool: Tool::Node, name: "node-older" };
const VERCEL: Set = Set { tool: Tool::Node, name: "vercel" };

/// A framework of Python, its packages below `pins/<set>.txt`. `limits` are the rows that it cannot have, and why.
fn framework(
    set: &'static str,
    package: &'static str,
    version: &'static str,
    file: &'static str,
    limits: &'static [(u8, &'static str)],
) -> Script {
    Script {
        set: Set { tool: Tool::Python, name: set },
        package,
        version,
        file,
        side: Side::Framework,
        limits,
    }
}

fn openai(set: Set, version: &'static str) -> Script {
    Script { set, package: "openai", version, file: "openai_sdk", side: Side::Openai, limits: &[] }
}

fn responses(set: Set, version: &'static str) -> Script {
    Script { set, package: "openai", version, file: "openai_responses", side: Side::Responses, limits: &[] }
}

fn anthropic(set: Set, version: &'static str) -> Script {
    Script { set, package: "anthropic", version, file: "anthropic_sdk", side: Side::Anthropic, limits: &[] }
}

/// One test for each script, so that each is reported by its name.
macro_rules! scripts {
    ($($name:ident: $script:expr,)+) => {$(
        #[test]
        fn $name() {
            $script.run();
        }
    )+};
}

scripts! {
    openai_python_current: openai(CURRENT_PYTHON, "3.52.0"),
    openai_python_older: openai(OLDER_PYTHON, "1.109.1"),
    openai_node_current: openai(CURRENT_NODE, "7.55.0"),
    openai_node_middle: openai(MIDDLE_NODE, "6.49.0"),
    openai_node_older: openai(OLDER_NODE, "4.104.0"),
    responses_python_current: responses(CURRENT_PYTHON, "3.52.0"),
    responses_python_older: responses(OLDER_PYTHON, "1.109.1"),
    responses_node_current: responses(CURRENT_NODE, "7.55.0"),
    responses_node_middle: responses(MIDDLE_NODE, "6.49.0"),
    responses_node_older: responses(OLDER_NODE, "4.104.0"),
    anthropic_python_current: anthropic(CURRENT_PYTHON, "2.11.0"),
    anthropic_python_older: anthropic(OLDER_PYTHON, "0.125.0"),
    anthropic_node_current: anthropic(CURRENT_NODE, "1.11.0"),
    anthropic_node_older: anthropic(OLDER_NODE, "0.71.2"),
}

/// Their scripts ask the scene nothing, so they share one. A framework may swallow a refusal and go another way: no request of
/// theirs may be refused.
#[test]
fn frameworks_and_the_vercel_sdk() {
    Script::run_side_by_side(&[
        Script {
            set: VERCEL,
            package: "ai",
            version: "7.0.173",
            file: "vercel_ai",
            side: Side::Vercel,
            limits: &[],
        },
        framework("langchain", "langchain-openai", "1.7.3", "langchain_client", &[]),
        framework("litellm", "litellm", "1.106.2", "litellm_client", &[]),
        framework("pydantic-ai", "pydantic-ai-slim", "2.68.0", "pydantic_ai_client", &[]),
        framework(
            "instructor",
            "instructor",
            "1.17.0",
            "instructor_client",
            &[
                (25, "all its answers have a structure: row 29"),
                (27, "it runs no tools: a structure is one call of one"),
                (28, "it runs no tools"),
                (32, "it has no embeddings"),
            ],
        ),
        framework("agents", "openai-agents", "0.24.0", "agents_client", &[(32, "it has no embeddings")]),
        framework(
            "llm",
            "llm",
            "0.36",
            "llm_client",
            &[(32, "its embeddings of OpenAI's have one fixed address")],
        ),
    ]);
}

#[test]
fn every_row_has_its_number() {
    let numbers: Vec<u8> = ROWS.iter().map(|(row, ..)| *row).collect();
    assert_eq!(numbers, (1..=33).collect::<Vec<u8>>());
}
