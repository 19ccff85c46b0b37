//! Which crate may use which, and which crate owns which library. The same table as the picture in README.md.

use std::collections::BTreeSet;

use cargo_metadata::{DependencyKind, Package};

use crate::{assert_none, packages};

/// Crate, and the workspace crates it may build on. Anything not listed is refused.
const ARROWS: &[(&str, &[&str])] = &[
    ("gatehouse-model", &["gatehouse-contract"]),
    ("gatehouse-tasks", &["gatehouse-model"]),
    ("gatehouse-store", &["gatehouse-model", "gatehouse-tasks"]),
    ("gatehouse-files", &[]),
    ("gatehouse-schema", &[]),
    ("gatehouse-docs", &["gatehouse-model", "gatehouse-schema"]),
    ("gatehouse-guest", &["gatehouse-model"]),
    (
        "gatehouse-runtime",
        &["gatehouse-contract", "gatehouse-files", "gatehouse-guest", "gatehouse-model", "gatehouse-schema"],
    ),
    ("gatehouse-fair", &[]),
    ("gatehouse-upstream", &["gatehouse-contract", "gatehouse-fair", "gatehouse-model"]),
    ("gatehouse-media", &["gatehouse-contract", "gatehouse-files", "gatehouse-model", "gatehouse-upstream"]),
    (
        "gatehouse-driver",
        &[
            "gatehouse-runtime",
            "gatehouse-media",
            "gatehouse-model",
            "gatehouse-store",
            "gatehouse-tasks",
            "gatehouse-upstream",
        ],
    ),
    ("gatehouse-net", &["gatehouse-fair", "gatehouse-model"]),
    (
        "gatehouse-edge",
        &[
            "gatehouse-docs",
            "gatehouse-driver",
            "gatehouse-fair",
            "gatehouse-model",
            "gatehouse-net",
            "gatehouse-schema",
        ],
    ),
    (
        "gatehouse-admin",
        &[
            "gatehouse-driver",
            "gatehouse-files",
            "gatehouse-model",
            "gatehouse-net",
            "gatehouse-runtime",
            "gatehouse-store",
            "gatehouse-tasks",
            "gatehouse-upstream",
        ],
    ),
    ("gatehouse-process", &["gatehouse-model", "gatehouse-upstream"]),
    ("gatehouse-console", &["gatehouse-admin", "gatehouse-docs", "gatehouse-model", "gatehouse-schema"]),
    ("gatehouse-sandbox", &["gatehouse-sandbox-files"]),
    ("gatehouse-sandbox-files", &[]),
    (
        "gatehouse",
        &[
            "gatehouse-admin",
            "gatehouse-build",
            "gatehouse-console",
            "gatehouse-driver",
            "gatehouse-edge",
            "gatehouse-files",
            "gatehouse-runtime",
            "gatehouse-media",
            "gatehouse-model",
            "gatehouse-play",
            "gatehouse-process",
            "gatehouse-sandbox",
            "gatehouse-store",
            "gatehouse-tasks",
            "gatehouse-testkit",
            "gatehouse-upstream",
        ],
    ),
    ("gatehouse-sdk", &["gatehouse-contract"]),
    ("gatehouse-text-protocols", &["gatehouse-sdk"]),
    ("gatehouse-build", &[]),
    ("gatehouse-contract", &[]),
    ("gatehouse-testkit", &["gatehouse-contract", "gatehouse-sdk"]),
    (
        "gatehouse-play",
        &["gatehouse-build", "gatehouse-model", "gatehouse-runtime", "gatehouse-sdk", "gatehouse-testkit"],
    ),
    ("gatehouse-harness", &["gatehouse-build", "gatehouse-fault-injection", "gatehouse-model"]),
    ("gatehouse-fault-injection", &[]),
    ("gatehouse-plugin-tests", &[]),
    ("gatehouse-sample", &["gatehouse-model", "gatehouse-tasks"]),
    ("gatehouse-simulation", &[]),
    ("gatehouse-tidy", &[]),
    ("gatehouse-workspace-hack", &[]),
    (
        "gatehouse-bench",
        &["gatehouse-runtime", "gatehouse-model", "gatehouse-harness", "gatehouse-store", "gatehouse-tasks"],
    ),
];

/// Libraries with one owner: nobody else may name them as a dependency.
const OWNERS: &[(&str, &[&str])] = &[
    ("redb", &["gatehouse-fault-injection", "gatehouse-store"]),
    ("tokio-postgres", &["gatehouse-store"]),
    ("wasmtime", &["gatehouse-guest", "gatehouse-runtime"]),
    ("wasmtime-wasi", &["gatehouse-guest", "gatehouse-runtime"]),
    ("wit-bindgen", &["gatehouse-sdk", "gatehouse-fixture-puppet"]),
    ("object_store", &["gatehouse-media"]),
    ("clap", &["gatehouse", "gatehouse-bench"]),
    ("tracing-subscriber", &["gatehouse-process"]),
    ("metrics-exporter-prometheus", &["gatehouse-process"]),
    ("opentelemetry-proto", &["gatehouse-process"]),
    ("instant-acme", &["gatehouse"]),
    ("moka", &["gatehouse-edge"]),
];

#[test]
fn every_arrow_is_in_the_picture() {
    let mut broken = Vec::new();
    for package in packages() {
        let Some(allowed) = allowed(&package) else {
            broken.push(format!("{} has no row in the table of arrows", package.name));
            continue;
        };
        for dependency in &package.dependencies {
            let ours = dependency.name.starts_with("gatehouse");
            let built = dependency.kind != DependencyKind::Development;
            if ours && built && !allowed.contains(&dependency.name.as_str()) {
                broken.push(format!("{} -> {}", package.name, dependency.name));
            }
        }
    }
    assert_none("arrows that are not in the picture", &broken);
}

/// A registry refuses a package that depends on one it does not have.
#[test]
fn what_is_published_builds_on_what_is_published() {
    let is_published = |package: &Package| package.publish.as_ref().is_none_or(|to| !to.is_empty());
    let published: BTreeSet<String> =
        packages().into_iter().filter(is_published).map(|package| package.name.to_string()).collect();
    assert!(published.contains("gatehouse-sdk"), "{published:?}");
    let mut broken = Vec::new();
    for package in packages().iter().filter(|package| published.contains(package.name.as_str())) {
        let ours = package.dependencies.iter().filter(|it| it.name.starts_with("gatehouse"));
        let built = ours.filter(|it| it.kind != DependencyKind::Development);
        broken.extend(
            built
                .filter(|it| !published.contains(&it.name))
                .map(|it| format!("{} -> {}", package.name, it.name)),
        );
    }
    assert_none("dependencies that no registry has", &broken);
}

#[test]
fn every_dangerous_library_has_one_owner() {
    let mut broken = Vec::new();
    for package in packages() {
        for dependency in package.dependencies.iter().filter(|it| it.kind != DependencyKind::Development) {
            let owners = OWNERS.iter().find(|(library, _)| *library == dependency.name);
            if owners.is_some_and(|(_, owners)| !owners.contains(&package.name.as_str())) {
                broken.push(format!("{} uses {}", package.name, dependency.name));
            }
        }
    }
    assert_none("libraries outside the crate that owns them", &broken);
}

#[test]
fn the_simulated_providers_share_no_code_with_any_plugin() {
    let named = |name: &str| {
        let package = packages().into_iter().find(|package| package.name == name).expect("the crate stands");
        package.dependencies.iter().map(|it| it.name.clone()).collect::<BTreeSet<_>>()
    };
    const APART: [&str; 3] = ["gatehouse-harness", "gatehouse-sandbox-files", "gatehouse-workspace-hack"];
    let ours = |name: &&String| name.starts_with("gatehouse") && !APART.contains(&name.as_str());
    assert_eq!(named("gatehouse-sandbox").iter().find(ours), None);
    assert_eq!(named("gatehouse-sandbox-files").iter().find(ours), None);
}

/// What a crate may build on: its row, or for plugins and their fixtures the SDK and the text families' library.
fn allowed(package: &Package) -> Option<&'static [&'static str]> {
    let row = ARROWS.iter().find(|(name, _)| *name == package.name.as_str()).map(|(_, allowed)| *allowed);
    let folder = package.manifest_path.as_str();
    let is_plugin =
        folder.contains("/plugins/") || folder.contains("/fixtures/") || folder.contains("/sdk/templates/");
    row.or_else(|| is_plugin.then_some(&["gatehouse-sdk", "gatehouse-text-protocols"] as &[&str]))
}
