//! What people and their tools are told of this tree and its files: `cargo deny` of the dependencies, hadolint of the Dockerfile, and
//! Helm with Kubernetes' schemas of the chart. The programs are packages of the tests' clients.

use std::fs;
use std::path::{Path, PathBuf};

use super::{packaging, passes};
use crate::clients::kit::{Set, Tool};

const PROGRAMS: Set = Set { tool: Tool::Python, name: "packaging" };

/// A program of the set.
fn program(name: &str) -> String {
    let (python, _) = PROGRAMS.ready();
    python.with_file_name(name).display().to_string()
}

fn tree() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Without it a dependency comes in whose licence nobody may ship, a second TLS stack, or one version more of what is there.
#[test]
fn dependencies_have_licences_sources_and_versions_that_are_meant() {
    let told = passes(&program("cargo-deny"), &["--locked", "check", "licenses", "bans", "sources"], &tree());
    assert!(told.contains("bans ok, licenses ok, sources ok"), "{told}");
    // What is excused and not there any more would excuse the next one.
    assert!(!told.contains("unmatched-skip") && !told.contains("license-not-encountered"), "{told}");
}

/// Without it one of package and image has no list of its crates, and nobody can tell which of them a new warning is about.
#[test]
fn package_and_image_are_built_with_the_list_of_their_crates() {
    for file in ["README.md", "docker/Dockerfile"] {
        let text = fs::read_to_string(packaging().join(file)).expect("a file");
        let command = "cargo auditable build --locked --profile dist --package gatehouse";
        assert!(text.contains(command) && !text.contains("cargo build"), "{file}");
    }
}

#[test]
fn hadolint_takes_the_dockerfile() {
    let told =
        passes(&program("hadolint"), &["--failure-threshold", "style", "docker/Dockerfile"], &packaging());
    assert_eq!(told, "");
}

/// Without it a chart is refused by the cluster that it is for, or a misspelt value changes nothing.
#[test]
fn helm_and_kubernetes_take_the_chart() {
    let (python, scripts) = PROGRAMS.ready();
    let script = scripts.join("chart_judged.py").display().to_string();
    let told = passes(&python.display().to_string(), &[&script, "helm/gatehouse"], &packaging());
    for kind in ["ConfigMap", "Ingress", "Service", "ServiceMonitor", "StatefulSet"] {
        assert!(told.lines().any(|line| line.split(' ').next() == Some(kind)), "{kind}: {told}");
    }
    let databases = told.lines().filter(|line| *line == "StatefulSet gw DATABASE_URL=db/address");
    assert_eq!(databases.count(), 1, "{told}");
}
