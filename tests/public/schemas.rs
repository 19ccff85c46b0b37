//! The document of the API, read by foreign programs: a public linter, and Schemathesis, which makes requests of it and
//! compares the answers with it.

use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use gatehouse_harness::{run, send};
use serde_json::{Value, json};

use crate::Scene;
use crate::kit::{Set, Tool};
use crate::linter::{LINTER, problems};

const SCHEMATHESIS: Set = Set { tool: Tool::Python, name: "schemathesis" };
/// What every answer is compared with: its status, its type, its headers and its body are those of the document, nothing
/// fails, a path has exactly its methods, and nothing is answered without a key that needs one.
const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,\
    response_headers_conformance,response_schema_conformance,unsupported_method,allow_header_conformance,\
    ignored_auth";

/// Requests made of a document; the same ones in every run.
fn compared(program: &Path, document: &Path, scene: &Scene, more: &[&str]) -> Output {
    let mut command = Command::new(program);
    command.arg("run").arg(document);
    command.args(["--url", &format!("http://{}", scene.gateway.public)]);
    command.args(["--header", &format!("Authorization: {}", scene.caller.bearer())]);
    command.args(["--checks", CHECKS, "--phases", "examples,coverage,fuzzing", "--max-examples", "3"]);
    command.args(["--seed", "1", "--generation-database", "none", "--no-shrink", "--no-color"]);
    command.args(["--continue-on-failure", "--request-timeout", "60", "--workers", "1"]);
    // No settings of the developer count.
    command.args(more).current_dir(document.parent().expect("a folder"));
    command.output().expect("schemathesis runs")
}

#[test]
fn a_linter_finds_no_problem_in_the_document() {
    let (_, packages) = LINTER.ready();
    run(async move {
        let scene = Scene::start(Duration::ZERO).await;
        let narrow = scene.gateway.make_key("acme", &["--unlimited", "--model", "ctx-pro"]).await;
        let whole = send(scene.gateway.public, "GET", "/v1/openapi.json", &[], "").await;
        let own = narrow.send("GET", "/v1/openapi.json", &[], "").await;
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("public.json");
        for answer in [&whole, &own] {
            assert_eq!(answer.status, 200, "{}", answer.text());
            std::fs::write(&file, &answer.body).expect("a file");
            assert_eq!(problems(&packages, &file), Vec::<String>::new());
        }
        // The linter is at work: it finds what is not there.
        let broken = whole.text().replacen("#/components/schemas/", "#/components/schemas/Not", 1);
        std::fs::write(&file, broken).expect("a file");
        let found = problems(&packages, &file);
        assert!(found.iter().any(|line| line.contains("no-unresolved-refs")), "{found:?}");
    });
}

#[test]
fn thousands_of_requests_are_answered_as_the_document_says() {
    let (python, _) = SCHEMATHESIS.ready();
    let program = python.with_file_name("schemathesis");
    run(async move {
        let scene = Scene::start(Duration::ZERO).await;
        let mut document = scene.caller.send("GET", "/v1/openapi.json", &[], "").await.json();
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("public.json");
        let write = |document: &Value| std::fs::write(&file, document.to_string()).expect("a file");
        write(&document);
        let whole = compared(&program, &file, &scene, &[]);
        assert!(whole.status.success(), "{}", String::from_utf8_lossy(&whole.stdout));
        scene.gateway.expect_sound_ledger().await;
        // It is at work: it finds an answer that is not as the document says.
        document["components"]["schemas"]["TaskPage"]["properties"]["has_more"] = json!({"type": "string"});
        write(&document);
        let broken = compared(&program, &file, &scene, &["--include-operation-id", "tasks.list"]);
        let found = String::from_utf8_lossy(&broken.stdout);
        assert!(!broken.status.success() && found.contains("is not of type \"string\""), "{found}");
    });
}
