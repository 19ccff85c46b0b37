//! The official SDKs of `OpenAI` and Anthropic as clients: Python and Node, a current and an older major version
//! of each, against the real binary and strict simulated providers.
//!
//! [`ROWS`] lists what must hold. A script prints a line for every check with the number of its row. A failed check fails
//! the test, and so does a missing row. The packages are installed once under the target folder (`kit.rs`); after that
//! nothing leaves the machine.

mod kit;
mod scene;
mod script;
mod wire;

use kit::{Set, Tool};
use script::Script;

const CURRENT_PYTHON: Set = Set { tool: Tool::Python, name: "python-current" };
const OLDER_PYTHON: Set = Set { tool: Tool::Python, name: "python-older" };
const CURRENT_NODE: Set = Set { tool: Tool::Node, name: "node-current" };
const MIDDLE_NODE: Set = Set { tool: Tool::Node, name: "node-middle" };
const OLDER_NODE: Set = Set { tool: Tool::Node, name: "node-older" };

/// The SDK a row is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Openai,
    Anthropic,
    Both,
    /// Not visible through an SDK: `wire.rs` checks it.
    Wire,
}

/// The rows, by number.
const ROWS: &[(u8, Side, &str)] = &[
    (1, Side::Openai, "bare completions: create, stream, stream helper, tools, usage"),
    (2, Side::Openai, "a body both wrapped and bare is not offered, and refused by name"),
    (3, Side::Openai, "wrapped completions are the default, and a key may change that"),
    (4, Side::Anthropic, "messages: create, stream, helper, tools, thinking over several turns"),
    (5, Side::Anthropic, "either header carries the key; of two, x-api-key counts"),
    (6, Side::Both, "the class of an error follows its status, and the request id is in it"),
    (7, Side::Both, "429 is tried three times, 402 and 400 once"),
    (8, Side::Both, "an overloaded provider is hidden, and paid once"),
    (9, Side::Both, "a stream that is cut raises, and costs what it delivered"),
    (10, Side::Both, "a client that leaves pays for what the provider counts, and nothing stays held"),
    (11, Side::Both, "a slow provider: keep-alives, and no parse error"),
    (12, Side::Both, "a mistaken base URL is told the right one"),
    (13, Side::Anthropic, "counting tokens is not offered"),
    (14, Side::Anthropic, "what a model does not take is refused in the messages shape"),
    (15, Side::Anthropic, "the newer version header changes nothing"),
    (16, Side::Wire, "the order of a stream's events on the wire"),
    (17, Side::Both, "clients of one protocol with models of the other"),
    (18, Side::Both, "two hundred calls on one client"),
    (19, Side::Anthropic, "a refused key is told so in the messages shape"),
];

fn openai(set: Set, version: &'static str) -> Script {
    Script { set, package: "openai", version, file: "openai_sdk", side: Side::Openai }
}

fn anthropic(set: Set, version: &'static str) -> Script {
    Script { set, package: "anthropic", version, file: "anthropic_sdk", side: Side::Anthropic }
}

#[test]
fn openai_python_current() {
    openai(CURRENT_PYTHON, "3.52.0").run();
}

#[test]
fn openai_python_older() {
    openai(OLDER_PYTHON, "1.109.1").run();
}

#[test]
fn openai_node_current() {
    openai(CURRENT_NODE, "7.55.0").run();
}

#[test]
fn openai_node_middle() {
    openai(MIDDLE_NODE, "6.49.0").run();
}

#[test]
fn openai_node_older() {
    openai(OLDER_NODE, "4.104.0").run();
}

#[test]
fn anthropic_python_current() {
    anthropic(CURRENT_PYTHON, "2.11.0").run();
}

#[test]
fn anthropic_python_older() {
    anthropic(OLDER_PYTHON, "0.125.0").run();
}

#[test]
fn anthropic_node_current() {
    anthropic(CURRENT_NODE, "1.11.0").run();
}

#[test]
fn anthropic_node_older() {
    anthropic(OLDER_NODE, "0.71.2").run();
}

#[test]
fn every_row_has_its_number() {
    let numbers: Vec<u8> = ROWS.iter().map(|(row, ..)| *row).collect();
    assert_eq!(numbers, (1..=19).collect::<Vec<u8>>());
}
