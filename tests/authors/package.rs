//! What a registry would get of the SDK, the build crate and the test kit: every file that a build needs.

use std::path::Path;
use std::process::Command;

use crate::authors::scene::REPOSITORY;

fn listed(package: &str) -> Vec<String> {
    let words = ["package", "--package", package, "--list", "--allow-dirty", "--offline", "--no-verify"];
    let output = Command::new(env!("CARGO")).args(words).current_dir(REPOSITORY).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{package}: {}", String::from_utf8_lossy(&output.stderr));
    text.lines().map(str::to_owned).collect()
}

/// Every file below `folder` of the package's crate is in the list.
fn has_all(package: &str, root: &str, folder: &str, files: &[String]) {
    let mut folders = vec![Path::new(REPOSITORY).join(root).join(folder)];
    let mut found = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.strip_prefix(Path::new(REPOSITORY).join(root)).unwrap().display().to_string();
            assert!(files.contains(&name), "{package} lacks {name}: {files:?}");
            found += 1;
        }
    }
    assert!(found > 0, "{root}/{folder}");
}

#[test]
fn packages_have_every_file_that_a_build_needs() {
    for (package, root) in
        [("gatehouse-sdk", "sdk"), ("gatehouse-build", "sdk/build"), ("gatehouse-testkit", "sdk/testkit")]
    {
        let files = listed(package);
        has_all(package, root, "src", &files);
        if package == "gatehouse-sdk" {
            // The contract, through a link.
            has_all(package, root, "wit", &files);
            assert!(
                files.contains(&"build.rs".to_owned()) && files.contains(&"README.md".to_owned()),
                "{files:?}"
            );
            assert!(!files.iter().any(|file| file.starts_with("templates/")), "{files:?}");
        }
    }
}

#[test]
fn the_native_test_kit_has_no_engine() {
    let tree = |more: &[&str]| {
        let words =
            ["tree", "--package", "gatehouse-testkit", "--edges", "normal", "--offline", "--prefix", "none"];
        let output =
            Command::new(env!("CARGO")).args(words).args(more).current_dir(REPOSITORY).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let has = |tree: &str, name: &str| tree.lines().any(|line| line.split(' ').next() == Some(name));
    let native = tree(&[]);
    assert!(
        has(&native, "gatehouse-sdk") && !has(&native, "wasmtime") && !has(&native, "gatehouse-runtime"),
        "{native}"
    );
    assert!(has(&tree(&["--features", "component"]), "wasmtime"));
}
