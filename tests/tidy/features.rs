//! One feature set: whatever crates cargo is asked for, each dependency is compiled once.
//!
//! Cargo unites the features that the selected crates ask for. Where a selection lacks one, it compiles that dependency and
//! all that stand on it again. `tests/workspace-hack` adds what is missing to every selection, as a development dependency.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use cargo_metadata::{CrateType, Package};

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

/// A plugin that a test builds would have its packages compiled once more for other features, or for lack of an rlib: cargo
/// compiles them for link-time optimization alone then.
#[test]
fn plugins_of_tests_are_built_of_the_packages_of_the_gateways_plugins() {
    let is =
        |package: &Package, kind| package.targets.iter().any(|target| target.crate_types.contains(&kind));
    let plugins = crate::packages().into_iter().filter(|package| is(package, CrateType::CDyLib));
    let (ours, others): (Vec<_>, Vec<_>) =
        plugins.partition(|package| package.manifest_path.as_std_path().starts_with(root().join("plugins")));
    let built = |names: &[&str]| {
        let packages = names.iter().flat_map(|name| ["--package", name]);
        let of_wasm = ["--target", "wasm32-wasip2", "--edges", "normal,build"];
        tree(&of_wasm.into_iter().chain(packages).collect::<Vec<_>>(), is_foreign)
    };
    let expected = built(&ours.iter().map(|package| package.name.as_str()).collect::<Vec<_>>());
    let mut broken = Vec::new();
    for package in others {
        if !is(&package, CrateType::RLib) {
            broken.push(format!("{}: a cdylib without an rlib", package.name));
        }
        // As `component_file` of the harness builds it.
        for (dependency, sets) in built(&[&package.name, "gatehouse-family-template"]) {
            if !expected.get(&dependency).is_some_and(|known| sets.is_subset(known)) {
                broken.push(format!(
                    "{}: {dependency} {sets:?}, not {:?}",
                    package.name,
                    expected.get(&dependency)
                ));
            }
        }
    }
    assert_none("plugins whose packages are compiled once more", &broken);
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
