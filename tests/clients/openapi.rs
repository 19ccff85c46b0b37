//! The documents that a running gateway serves, read by a public linter. Its rules are its recommended ones.

use std::path::Path;
use std::process::Command;

use gatehouse_harness::{run, send};
use serde_json::Value;

use crate::kit::{Set, Tool};
use crate::scene::Scene;

const LINTER: Set = Set { tool: Tool::Node, name: "redocly" };

/// What the linter finds in a document: a line for each problem, warnings too.
fn problems(folder: &Path, document: &Path) -> Vec<String> {
    let mut linter = Command::new("node");
    linter.arg(folder.join("node_modules/@redocly/cli/bin/cli.js"));
    linter.args(["lint", "--extends=recommended", "--format=json"]).arg(document);
    // Nothing leaves the machine, and no settings of the developer count.
    linter.current_dir(document.parent().expect("a folder")).env("CI", "true");
    linter.env("REDOCLY_TELEMETRY", "off").env("REDOCLY_SUPPRESS_UPDATE_NOTICE", "true");
    let output = linter.output().expect("the linter runs");
    let text = String::from_utf8_lossy(&output.stdout);
    let report: Value =
        serde_json::from_str(text.get(text.find('{').unwrap_or_default()..).unwrap_or_default())
            .unwrap_or_else(|error| panic!("{error}: {text}{}", String::from_utf8_lossy(&output.stderr)));
    let found = report["problems"].as_array().expect("a list of problems");
    let line = |problem: &Value| {
        format!("{} {} at {}", problem["ruleId"], problem["message"], problem["location"][0]["pointer"])
    };
    found.iter().map(line).collect()
}

#[test]
fn the_admin_api_describes_itself_without_a_problem() {
    let (_, folder) = LINTER.ready();
    run(async move {
        let scene = Scene::start("").await;
        let file = scene.gateway.folder().join("data/admin-viewer.json");
        let endpoint: Value =
            serde_json::from_slice(&std::fs::read(file).expect("the viewer's file")).expect("JSON");
        let bearer = format!("Bearer {}", endpoint["token"].as_str().expect("a token"));
        let headers = [("authorization", bearer.as_str())];
        let answer = send(scene.gateway.admin(), "GET", "/admin/v1/openapi.json", &headers, "").await;
        assert_eq!(answer.status, 200, "{}", answer.text());

        let folder_of_documents = tempfile::tempdir().expect("a folder");
        let document = folder_of_documents.path().join("admin.json");
        std::fs::write(&document, &answer.body).expect("a file");
        assert_eq!(problems(&folder, &document), Vec::<String>::new());

        // The linter is at work: it finds what is not there.
        let broken = answer.text().replacen("#/components/schemas/", "#/components/schemas/Not", 1);
        std::fs::write(&document, broken).expect("a file");
        let found = problems(&folder, &document);
        assert!(found.iter().any(|line| line.contains("no-unresolved-refs")), "{found:?}");
    });
}
