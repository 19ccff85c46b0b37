//! README's code map against the tree: a room that is not in the map does not exist for a newcomer.

use crate::{assert_none, root};

#[test]
fn the_code_map_names_every_room() {
    let readme = std::fs::read_to_string(root().join("README.md")).expect("README.md");
    let mut missing = Vec::new();
    for parent in ["host", "plugins"] {
        for entry in std::fs::read_dir(root().join(parent)).expect("a readable folder") {
            let entry = entry.expect("a readable entry");
            let room = format!("{parent}/{}", entry.file_name().display());
            if entry.path().is_dir() && !readme.contains(&room) {
                missing.push(room);
            }
        }
    }
    for room in ["wit/v1", "sdk/testkit", "sdk/build", "sdk/template", "tests/"] {
        if !readme.contains(room) {
            missing.push(room.to_owned());
        }
    }
    assert_none("rooms README's code map does not name", &missing);
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
