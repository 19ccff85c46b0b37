//! The READMEs against the tree: the code map names every crate, and every path in backquotes exists.

use std::collections::BTreeSet;

use crate::{assert_none, root};

/// Files of the host that the path of a request may name.
const MOST_FILES: usize = 30;

#[test]
fn the_code_map_names_every_crate() {
    let readme = std::fs::read_to_string(root().join("README.md")).expect("README.md");
    let mut missing = Vec::new();
    for parent in ["host", "plugins"] {
        for entry in std::fs::read_dir(root().join(parent)).expect("a readable folder") {
            let entry = entry.expect("a readable entry");
            let folder = format!("{parent}/{}", entry.file_name().display());
            if entry.path().is_dir() && !readme.contains(&folder) {
                missing.push(folder);
            }
        }
    }
    for folder in ["wit/v1", "sdk/testkit", "sdk/build", "sdk/templates", "tests/"] {
        if !readme.contains(folder) {
            missing.push(folder.to_owned());
        }
    }
    assert_none("crates README's code map does not name", &missing);
}

#[test]
fn every_path_in_a_readme_exists() {
    let mut missing = Vec::new();
    for readme in ["README.md", "host/README.md", "host/admin/README.md", "sdk/README.md"] {
        let text = std::fs::read_to_string(root().join(readme)).expect(readme);
        for (at, line) in text.lines().enumerate() {
            // Every second piece stands between backquotes.
            for path in line.split('`').skip(1).step_by(2).filter(|word| is_path(word)) {
                if !root().join(path).exists() {
                    missing.push(format!("{readme}:{}: {path}", at + 1));
                }
            }
        }
    }
    assert_none("paths that do not exist", &missing);
}

/// A newcomer reads them in one go; what only some requests need is named behind `Off this path`.
#[test]
fn the_path_of_a_request_is_short() {
    let text = std::fs::read_to_string(root().join("host/README.md")).expect("host/README.md");
    let mut long = Vec::new();
    for walk in text.split("\n## The path of ").skip(1) {
        let name = walk.lines().next().unwrap_or_default();
        let walk = walk.split("\n## ").next().and_then(|walk| walk.split("\nOff this path").next());
        let words = walk.unwrap_or_default().split('`').skip(1).step_by(2);
        let files: BTreeSet<&str> =
            words.filter(|word| word.starts_with("host/") && word.ends_with(".rs")).collect();
        if files.len() > MOST_FILES {
            long.push(format!("{name}: {} files", files.len()));
        }
    }
    assert_none("paths of requests through more than 30 files", &long);
}

/// Whether a word in backquotes is a path below the top; patterns such as `plugins/<family>` are not.
fn is_path(word: &str) -> bool {
    let below = ["host/", "plugins/", "sdk/", "tests/", "wit/"].iter().any(|folder| word.starts_with(folder));
    below && word.chars().all(|letter| letter.is_ascii_alphanumeric() || "/._-".contains(letter))
}

#[test]
fn the_top_level_stays_small() {
    let expected = [
        "Cargo.lock",
        "Cargo.toml",
        "LICENSE-APACHE",
        "LICENSE-MIT",
        "README.md",
        "clippy.toml",
        "deny.toml",
        "gatehouse.example.toml",
        "host",
        "plugins",
        "rust-toolchain.toml",
        "rustfmt.toml",
        "sdk",
        "tests",
        "wit",
    ];
    let built = ["target", "gatehouse-data"];
    let extra: Vec<String> = std::fs::read_dir(root())
        .expect("a readable folder")
        .map(|entry| entry.expect("a readable entry").file_name().display().to_string())
        .filter(|name| {
            !name.starts_with('.') && !built.contains(&name.as_str()) && !expected.contains(&name.as_str())
        })
        .collect();
    assert_none("new at the top level", &extra);
}
