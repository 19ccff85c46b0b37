//! The admin API's document, as a running gateway serves it, read by a public linter.

use gatehouse_harness::{run, send};
use serde_json::Value;

use crate::linter::{LINTER, problems};
use crate::scene::Scene;

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
