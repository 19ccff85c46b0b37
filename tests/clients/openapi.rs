//! The admin API's document, as a running gateway serves it, read by a public linter and by a program that makes requests of it.
//! The tests of the public document use both programs, too.

use std::path::Path;
use std::process::{Command, Output};

use gatehouse_harness::run;
use serde_json::{Value, json};

use crate::clients::kit::{Set, Tool};
use crate::clients::scene::Scene;

/// A public linter of OpenAPI documents, with its recommended rules.
pub(crate) const LINTER: Set = Set { tool: Tool::Node, name: "redocly" };
/// Schemathesis, a public program that makes requests of a document and compares the answers with it.
pub(crate) const FUZZER: Set = Set { tool: Tool::Python, name: "schemathesis" };
/// What every answer is compared with: its status, its type, its headers and its body are those of the document, nothing
/// fails, a path has exactly its methods, and nothing is answered without a credential that needs one.
const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,\
    response_headers_conformance,response_schema_conformance,unsupported_method,allow_header_conformance,\
    ignored_auth";

/// What the linter finds in a document: a line for each problem, warnings too.
pub(crate) fn problems(folder: &Path, document: &Path) -> Vec<String> {
    let mut linter = Command::new("node");
    linter.arg(folder.join("node_modules/@redocly/cli/bin/cli.js"));
    linter.args(["lint", "--extends=recommended", "--format=json"]).arg(document);
    // It does not see that forms are apart whose models differ, where one of them may leave the model out.
    linter.arg("--skip-rule=no-illogical-composition-keywords");
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

/// Makes requests of a document, of the API at the address `base`, with the credential `bearer`; the same ones in every run.
pub(crate) fn compared(document: &Path, base: &str, bearer: &str, more: &[&str]) -> Output {
    let (python, _) = FUZZER.ready();
    let mut command = Command::new(python.with_file_name("schemathesis"));
    command.arg("run").arg(document);
    command.args(["--url", base]);
    command.args(["--header", &format!("Authorization: {bearer}")]);
    command.args(["--checks", CHECKS, "--phases", "examples,coverage,fuzzing", "--max-examples", "3"]);
    command.args(["--seed", "1", "--generation-database", "none", "--no-shrink", "--no-color"]);
    command.args(["--continue-on-failure", "--request-timeout", "60", "--workers", "1"]);
    // No settings of the developer count.
    command.args(more).current_dir(document.parent().expect("a folder"));
    command.output().expect("schemathesis runs")
}

#[test]
fn the_admin_api_describes_itself_without_a_problem() {
    let (_, folder) = LINTER.ready();
    run(async move {
        let scene = Scene::start("").await;
        let answer = scene.gateway.viewer().get("/admin/v1/openapi.json").await;
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

#[test]
fn thousands_of_admin_requests_are_answered_as_the_document_says() {
    FUZZER.ready();
    run(async {
        let scene = Scene::start("").await;
        let operator = scene.gateway.operator();
        let mut document = operator.get("/admin/v1/openapi.json").await.json();
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("admin.json");
        let write = |document: &Value| std::fs::write(&file, document.to_string()).expect("a file");
        write(&document);
        let base = format!("http://{}/admin/v1", scene.gateway.admin());
        // A log's tail has no end, and a backup would be written wherever a made up path leads. A client
        // without a credential gets 401 ten times a minute, then 429.
        let but = [
            "--exclude-operation-id",
            "tailLogs",
            "--exclude-operation-id",
            "createBackup",
            "--exclude-checks",
            "ignored_auth",
        ];
        let whole = compared(&file, &base, &operator.bearer(), &but);
        assert!(whole.status.success(), "{}", String::from_utf8_lossy(&whole.stdout));
        scene.gateway.expect_sound_ledger().await;
        // It is at work: it finds an answer that is not as the document says.
        document["components"]["schemas"]["Customer"]["properties"]["spent_micro"] =
            json!({"type": "string"});
        write(&document);
        let only = ["--include-operation-id", "listCustomers"];
        let broken = compared(&file, &base, &operator.bearer(), &only);
        let found = String::from_utf8_lossy(&broken.stdout);
        assert!(!broken.status.success() && found.contains("is not of type \"string\""), "{found}");
    });
}
