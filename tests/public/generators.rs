//! Clients that public generators write of the document: each is generated, compiled, and used for a picture.

use std::process::Command;

use crate::clients::kit::{Set, Tool};
use crate::public::Scene;

const GENERATORS: Set = Set { tool: Tool::Python, name: "generators" };
const TYPESCRIPT: Set = Set { tool: Tool::Node, name: "generators-node" };

/// The lines that a script prints.
fn lines(mut command: Command) -> String {
    let output = command.output().expect("it runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    text
}

/// Generated clients compile and get a picture; one of the checks of `documents`. A document that lints clean may still be one of
/// which nobody gets a client.
pub(super) async fn get_a_picture(scene: &Scene) {
    let ((python, scripts), (node, packages)) =
        tokio::task::block_in_place(|| (GENERATORS.ready(), TYPESCRIPT.ready()));
    let document = scene.caller.get("/v1/openapi.json").await;
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("public.json");
    std::fs::write(&file, &document.body).expect("a file");
    let base = format!("http://{}", scene.gateway.public);
    let key = scene.caller.secret().to_owned();
    let command = |program: &std::path::Path, script: std::path::PathBuf| {
        let mut command = Command::new(program);
        command.arg(script).arg(&file).args([&base, &key]).arg(folder.path());
        command
    };
    let generated = command(&python, scripts.join("generators.py"));
    let typed = command(&node, packages.join("generated.mjs"));
    let (generated, typed) = tokio::task::block_in_place(|| (lines(generated), lines(typed)));
    assert_eq!(generated.matches("ok ").count(), 2, "{generated}");
    assert_eq!(typed.matches("ok ").count(), 2, "{typed}");
    scene.gateway.expect_sound_ledger().await;
}
