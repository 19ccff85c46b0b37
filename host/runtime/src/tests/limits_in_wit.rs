//! The limits that the contract states are those that the host enforces.

use crate::abi_v1::answers;
use crate::exec::answer_rules as rules;
use crate::stages::{describe, document};
use crate::{Limits, MAX_OUTPUT_TOKENS};

/// A number as the contract writes it: 1,048,576.
fn written(number: usize) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().map(|group| std::str::from_utf8(group).expect("digits")).collect();
    groups.join(",")
}

/// The contract without its line breaks and marks of comments.
fn text(file: &str) -> String {
    let path = format!("{}/../../wit/v1/{file}.wit", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).expect("a file of the contract");
    text.lines().map(|line| line.trim().trim_start_matches("/// ")).collect::<Vec<_>>().join(" ")
}

/// An author in another language has nothing but the contract: without this test a limit could change and its text not.
#[test]
fn the_contract_states_the_limits_that_are_enforced() {
    let limits = Limits::default();
    let kib = |bytes: usize| written(bytes >> 10);
    let items = written(gatehouse_contract::MAX_ITEMS);
    let line = written(rules::LINE_BYTES);
    let message = written(rules::MESSAGE_BYTES);
    let ms = |limit: std::num::NonZeroU32| written(limit.get() as usize);
    for (file, stated) in [
        ("types", format!("JSON object of at most {} bytes", written(answers::MAX_EXTRA_BYTES))),
        ("types", format!("opaque, of at most {} bytes", written(gatehouse_contract::NAME_BYTES))),
        ("types", format!("a client may read, of at most {message} bytes")),
        ("types", format!("A message of more than {message} bytes is cut")),
        ("types", format!("1 to {} problems", written(answers::MAX_PROBLEMS))),
        ("types", format!("most specific first, 1 to {}", written(rules::MAX_CHARGE_KEYS))),
        ("types", format!("at most {} bytes; empty where", written(answers::MAX_UNIT_BYTES))),
        ("types", format!("1 to {} lines, of which no two", written(gatehouse_contract::MAX_LINES))),
        ("jobs", format!("{} MiB of memory and {} ms", ms(limits.memory_mib), ms(limits.call_ms))),
        ("jobs", format!("({} ms in a self-test", ms(limits.load_ms))),
        ("jobs", format!("{} MiB may cross", ms(limits.crossing_mib))),
        ("jobs", format!("a state has at most {} KiB", kib(limits.state()))),
        ("jobs", format!("the input limit is {} KiB", kib(limits.input()))),
        ("jobs", format!("1 to {items}. probe(")),
        ("jobs", format!("at most {} hours from now", gatehouse_contract::MAX_WAIT.as_secs() / 3600)),
        ("jobs", format!("of 1 to {} visible ASCII", written(gatehouse_contract::NAME_BYTES))),
        ("jobs", format!("At most {items}. products:")),
        ("jobs", format!("At most {items}. claims:")),
        ("upstream", format!("At most {line} bytes each. Credentials")),
        ("upstream", format!("allowed origins; at most {line} bytes")),
        ("upstream", format!("A form has at most {items} parts")),
        ("upstream", format!("At most {line} bytes each. record shared")),
        ("upstream", format!("At most {items}. headers:")),
        (
            "upstream",
            format!("1 to {}. timeout-ms", written(gatehouse_contract::MAX_CALL.as_millis() as usize)),
        ),
        ("text", format!("a request has at most {} KiB", kib(limits.text()))),
        ("text", format!("At most {} counters", written(answers::MAX_COUNTERS))),
        ("text", format!("kebab-case of at most {} bytes", written(answers::MAX_UNIT_BYTES))),
        ("text", format!("at most {} KiB and twice the request", kib(limits.text_state(0)))),
        ("upstream", format!("Of more than {message} bytes")),
        ("world", format!("The first {} lines", ms(limits.log_lines))),
        ("world", format!("the first {} KiB", ms(limits.log_line_kib))),
        ("manifest", format!("Bounds: {} bytes", written(document::MAX_DOCUMENT_BYTES))),
        ("manifest", format!("a schema has at most {}", written(gatehouse_schema::MAX_BYTES))),
        ("manifest", format!("{} surfaces", written(describe::MAX_ENTRIES))),
        ("manifest", format!("at most {} bytes a name", written(describe::MAX_NAME_BYTES))),
        ("manifest", format!("{} self-tests", written(describe::MAX_SELF_TESTS))),
        ("manifest", format!("{} features", written(document::MAX_REQUIRED))),
        ("manifest", format!("{} places of names", written(describe::MAX_NAMES_AT))),
    ] {
        assert!(text(file).contains(&stated), "{file}.wit must state: {stated}");
    }
    assert_eq!(MAX_OUTPUT_TOKENS, 10_000_000, "text.wit states ten million");
    assert!(text("text").contains("the host holds money for at most ten million"));
}
