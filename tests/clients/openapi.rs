//! The admin API's document, as a running gateway serves it, read by a public linter and by a program that makes requests of it.

use gatehouse_harness::{run, send};
use serde_json::{Value, json};

use crate::clients::fuzzer::{FUZZER, compared};
use crate::clients::linter::{LINTER, problems};
use crate::clients::scene::Scene;

/// The credential of an endpoint file.
fn bearer(scene: &Scene, file: &str) -> String {
    let file = scene.gateway.folder().join("data").join(file);
    let endpoint: Value =
        serde_json::from_slice(&std::fs::read(file).expect("an endpoint file")).expect("JSON");
    format!("Bearer {}", endpoint["token"].as_str().expect("a token"))
}

#[test]
fn the_admin_api_describes_itself_without_a_problem() {
    let (_, folder) = LINTER.ready();
    run(async move {
        let scene = Scene::start("").await;
        let bearer = bearer(&scene, "admin-viewer.json");
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

#[test]
fn thousands_of_admin_requests_are_answered_as_the_document_says() {
    FUZZER.ready();
    run(async {
        let scene = Scene::start("").await;
        let bearer = bearer(&scene, "admin.json");
        let headers = [("authorization", bearer.as_str())];
        let mut document =
            send(scene.gateway.admin(), "GET", "/admin/v1/openapi.json", &headers, "").await.json();
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("admin.json");
        let write = |document: &Value| std::fs::write(&file, document.to_string()).expect("a file");
        write(&document);
        let base = format!("http://{}/admin/v1", scene.gateway.admin());
        // A log's tail has no end, and a backup would be written wherever a made up path leads. A client without a credential gets 401 ten times a minute, then 429.
        let but = [
            "--exclude-operation-id",
            "tailLogs",
            "--exclude-operation-id",
            "createBackup",
            "--exclude-checks",
            "ignored_auth",
        ];
        let whole = compared(&file, &base, &bearer, &but);
        assert!(whole.status.success(), "{}", String::from_utf8_lossy(&whole.stdout));
        scene.gateway.expect_sound_ledger().await;
        // It is at work: it finds an answer that is not as the document says.
        document["components"]["schemas"]["Customer"]["properties"]["spent_micro"] =
            json!({"type": "string"});
        write(&document);
        let only = ["--include-operation-id", "listCustomers"];
        let broken = compared(&file, &base, &bearer, &only);
        let found = String::from_utf8_lossy(&broken.stdout);
        assert!(!broken.status.success() && found.contains("is not of type \"string\""), "{found}");
    });
}
