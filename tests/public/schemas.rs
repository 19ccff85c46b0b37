//! The document of the API, read by foreign programs: a public linter, and Schemathesis, which makes requests of it and
//! compares the answers with it.

use std::path::Path;
use std::time::Duration;

use gatehouse_harness::{run, send};
use serde_json::{Value, json};

use crate::clients::openapi::{FUZZER, LINTER, compared, problems};
use crate::public::Scene;

/// A linter finds no problem in the document; one of the checks of `documents`.
pub(super) async fn lints_clean(scene: &Scene) {
    let (_, packages) = tokio::task::block_in_place(|| LINTER.ready());
    let narrow = scene.gateway.make_key("acme", &["--unlimited", "--model", "ctx-pro"]).await;
    let whole = send(scene.gateway.public, "GET", "/v1/openapi.json", &[], "").await;
    let own = narrow.get("/v1/openapi.json").await;
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
}

#[test]
fn thousands_of_requests_are_answered_as_the_document_says() {
    FUZZER.ready();
    run(async {
        let scene = Scene::start(Duration::ZERO).await;
        let compare = |more: &[&str], file: &Path| {
            compared(file, &format!("http://{}", scene.gateway.public), &scene.caller.bearer(), more)
        };
        let mut document = scene.caller.get("/v1/openapi.json").await.json();
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("public.json");
        let write = |document: &Value| std::fs::write(&file, document.to_string()).expect("a file");
        write(&document);
        let whole = compare(&[], &file);
        assert!(whole.status.success(), "{}", String::from_utf8_lossy(&whole.stdout));
        scene.gateway.expect_sound_ledger().await;
        // It is at work: it finds an answer that is not as the document says.
        document["components"]["schemas"]["TaskPage"]["properties"]["has_more"] = json!({"type": "string"});
        write(&document);
        let broken = compare(&["--include-operation-id", "tasks.list"], &file);
        let found = String::from_utf8_lossy(&broken.stdout);
        assert!(!broken.status.success() && found.contains("is not of type \"string\""), "{found}");
    });
}
