//! `gatehouse plugin surfaces`: what a plugin may serve, and within which limits. sdk/README.md has the same text.

use std::fmt::Write as _;

use gatehouse_edge::surfaces;
use gatehouse_runtime::{Limits, WASI_PACKAGES};

use crate::terminal::{Exit, print};

pub(super) fn run() -> Exit {
    print(&text())
}

/// Both tables and the rules of WASI, in Markdown.
fn text() -> String {
    let mut out = String::from(
        "| Surface | Interface | Route | Parent in the path | Model of the path |\n|---|---|---|---|---|\n",
    );
    for row in surfaces() {
        let parent = if row.parent_in_path { "yes" } else { "" };
        let model = row.model.map(|model| format!("`{model}`")).unwrap_or_default();
        let (surface, interface, method, path) = (row.surface, row.interface, row.method, row.path);
        // A String takes every write.
        let _ = writeln!(out, "| `{surface}` | {interface} | `{method} {path}` | {parent} | {model} |");
    }
    out += "\nA surface that joins is one whose manifest says so; the receipt then names the parent.\n";
    out += "\n| Limit | Default | Key |\n|---|---|---|\n";
    for (what, value, key) in limits(&Limits::default()) {
        let _ = writeln!(out, "| {what} | {value} | `{key}` |");
    }
    let packages = WASI_PACKAGES.map(|name| format!("`{name}`")).join(", ");
    out + &format!(
        "\nA component may import `gatehouse:family/log` and WASI 0.2 of these packages: {packages}. There are no files, no \
             sockets, no environment and no arguments; clocks stand at zero; randomness is a fixed sequence; a wait \
             is a trap; printed text goes to the log.\n"
    )
}

fn limits(limits: &Limits) -> Vec<(&'static str, String, &'static str)> {
    vec![
        ("component file", format!("{} MiB", limits.component_mib), "component_mib"),
        (
            "memory of an instance; more for a text of several MiB",
            format!("{} MiB", limits.memory_mib),
            "memory_mib",
        ),
        ("processor time of one call; more for a large text", format!("{} ms", limits.call_ms), "call_ms"),
        ("processor time of describe, migrate or a self-test", format!("{} ms", limits.load_ms), "load_ms"),
        ("JSON of a task's request, without its blobs", format!("{} KiB", limits.input_kib), "input_kib"),
        ("JSON of a text request, without its blobs", format!("{} KiB", limits.text_kib), "text_kib"),
        ("state of a task", format!("{} KiB", limits.state_kib), "state_kib"),
        (
            "provider's reply, and bytes one call returns",
            format!("{} MiB", limits.crossing_mib),
            "crossing_mib",
        ),
        ("log lines of one call", limits.log_lines.to_string(), "log_lines"),
        ("one log line", format!("{} KiB", limits.log_line_kib), "log_line_kib"),
        ("handles an instance holds at once", limits.handles.to_string(), "handles"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guide_of_the_sdk_has_the_same_lists() {
        let guide = include_str!("../../../../../sdk/README.md");
        let missing: Vec<String> =
            text().lines().filter(|line| !guide.contains(line)).map(str::to_owned).collect();
        assert!(
            missing.is_empty(),
            "sdk/README.md lacks these lines of `gatehouse plugin surfaces`:\n{}",
            missing.join("\n")
        );
        let listed =
            guide.lines().filter(|line| line.starts_with("| `") && line.contains("` | jobs |")).count();
        let served = surfaces().filter(|row| row.interface == "jobs").count();
        assert_eq!(listed, served, "surfaces in sdk/README.md that no route serves");
    }

    #[test]
    fn every_limit_is_listed() {
        let keys = serde_json::to_value(Limits::default()).expect("limits are JSON");
        let listed: Vec<&str> = limits(&Limits::default()).into_iter().map(|(_, _, key)| key).collect();
        let keys: Vec<&String> = keys.as_object().expect("a table").keys().collect();
        assert_eq!(keys.len(), listed.len());
        assert!(keys.iter().all(|key| listed.contains(&key.as_str())), "{keys:?} and {listed:?}");
    }
}
