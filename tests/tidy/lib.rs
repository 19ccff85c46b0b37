//! The rules of the tree, checked like any other behaviour: arrows between crates and between files, owners of dangerous
//! libraries, the glossary, how files open and how long they may be, and READMEs that name what exists.
//!
//! A failure here names the file and the rule. Changing a rule means changing its table here and the
//! picture in README.md together.

#![cfg(test)]

mod arrows;
mod circles;
mod features;
mod files;
mod impls;
mod readme;
mod tuples;
mod words;

use std::path::{Path, PathBuf};

use cargo_metadata::{MetadataCommand, Package};

/// The top of the tree.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace folder")
}

/// Every file below `dir` with that extension, build output left out, in a steady order.
fn files_below(dir: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a readable folder") {
            let path = entry.expect("a readable entry").path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if path.is_dir() {
                if name != "target" && name != "gatehouse-data" && !name.starts_with('.') {
                    folders.push(path);
                }
            } else if path.extension().is_some_and(|found| found == extension) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// A path as people write it.
fn shown(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}

/// Fails with every broken rule at once.
fn assert_none(rule: &str, broken: &[String]) {
    assert!(broken.is_empty(), "{rule}:\n  {}", broken.join("\n  "));
}

/// The crates of the workspace.
fn packages() -> Vec<Package> {
    let metadata = MetadataCommand::new()
        .manifest_path(root().join("Cargo.toml"))
        .no_deps()
        .other_options(["--offline".to_owned()])
        .exec()
        .expect("cargo metadata");
    metadata.workspace_packages().into_iter().cloned().collect()
}
