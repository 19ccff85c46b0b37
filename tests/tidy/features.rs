//! One feature set: whatever crates cargo is asked for, each dependency is compiled once.
//!
//! Cargo unites the features that the selected crates ask for. Where a selection lacks one, it compiles that dependency and
//! all that stand on it again. `tests/workspace-hack` adds what is missing to every selection, as a development dependency.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use crate::{assert_none, root};

/// The features with which a package is compiled, by name and version; several where build scripts and macros have others.
type Features = BTreeMap<String, BTreeSet<String>>;

#[test]
fn every_selection_compiles_what_the_workspace_compiles() {
    let workspace = tree(&["--workspace", "--edges", "normal,build,dev"], is_foreign);
    // One set each: a selection could otherwise have one of them where it needs the other.
    let several = workspace.iter().filter(|(_, sets)| sets.len() > 1);
    let mut broken: Vec<String> = several.map(|(name, sets)| format!("{name}: {sets:?}")).collect();
    for package in crate::packages() {
        let selection = tree(&["--package", &package.name, "--edges", "normal,build,dev"], is_foreign);
        for (dependency, sets) in selection {
            let expected = &workspace[&dependency];
            let others = sets.difference(expected);
            broken.extend(
                others.map(|set| format!("-p {}: {dependency} [{set}], not {expected:?}", package.name)),
            );
        }
    }
    assert_none("features that a selection lacks; add them to tests/workspace-hack/Cargo.toml", &broken);
}

#[test]
fn the_gateway_under_test_has_the_crates_that_ship() {
    let is_ours = |line: &str| !is_foreign(line);
    let shipped = tree(&["--package", "gatehouse", "--edges", "normal"], is_ours);
    let tested = tree(&["--workspace", "--edges", "normal,build,dev"], is_ours);
    let mut broken = Vec::new();
    for (name, sets) in shipped {
        if tested[&name] != sets {
            broken.push(format!("{name}: {sets:?} ships, {:?} is tested", tested[&name]));
        }
    }
    assert_none("features of our own that tests switch on", &broken);
}

/// Whether a line of `cargo tree` is about a package of a registry: those of the workspace have their folder.
fn is_foreign(line: &str) -> bool {
    !line.contains("(/")
}

/// What `cargo tree` prints, of the lines that are asked for.
fn tree(arguments: &[&str], is_asked_for: impl Fn(&str) -> bool) -> Features {
    let mut command = Command::new(env!("CARGO"));
    command.args(["tree", "--offline", "--locked", "--prefix", "none", "--format", "{p}|{f}"]);
    let output = command.args(arguments).current_dir(root()).output().expect("cargo runs");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    let mut features = Features::new();
    for line in String::from_utf8_lossy(&output.stdout).lines().filter(|line| is_asked_for(line)) {
        let Some((package, set)) = line.split_once('|') else { continue };
        // Behind name and version stands what kind of crate it is, behind the features that it was printed before.
        let name = package.split(" (").next().unwrap_or_default();
        let set = set.trim_end_matches(" (*)");
        features.entry(name.to_owned()).or_default().insert(set.to_owned());
    }
    features
}
