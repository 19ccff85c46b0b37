//! The document of the API, read by foreign programs: a public linter.

use std::time::Duration;

use gatehouse_harness::{run, send};

use crate::Scene;
use crate::linter::{LINTER, problems};

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
