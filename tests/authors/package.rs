//! What a registry would get of the SDK, the build crate and the test kit: every file that a build needs.

use std::path::Path;
use std::process::Command;

use crate::authors::scene::{REPOSITORY, kept, run};

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

/// The packages, with the folders of their crates.
const PACKAGES: [(&str, &str); 4] = [
    ("gatehouse-build", "sdk/build"),
    ("gatehouse-contract", "sdk/contract"),
    ("gatehouse-sdk", "sdk"),
    ("gatehouse-testkit", "sdk/testkit"),
];

/// Packs all of them, unpacks them into `folder` under their names, and has every crate below it take them in place of a
/// registry's.
pub(crate) fn unpacked(folder: &Path) {
    let target = kept("package");
    let target_dir = target.display().to_string();
    let mut words = vec!["package", "--allow-dirty", "--no-verify", "--offline", "--target-dir", &target_dir];
    words.extend(PACKAGES.iter().flat_map(|(name, _)| ["--package", *name]));
    run(env!("CARGO"), &words, Path::new(REPOSITORY), &[]);
    let mut patch = String::from("[patch.crates-io]\n");
    for (name, _) in PACKAGES {
        let packed = format!("{name}-{}", env!("CARGO_PKG_VERSION"));
        let archive = target.join("package").join(format!("{packed}.crate")).display().to_string();
        run("tar", &["-xzf", &archive], folder, &[]);
        std::fs::rename(folder.join(packed), folder.join(name)).unwrap();
        let path = folder.join(name);
        patch.push_str(&format!("{name} = {{ path = {path:?} }}\n"));
    }
    std::fs::create_dir(folder.join(".cargo")).unwrap();
    std::fs::write(folder.join(".cargo/config.toml"), patch).unwrap();
}

#[test]
fn packages_have_every_file_that_a_build_needs() {
    for (package, root) in PACKAGES {
        let files = listed(package);
        has_all(package, root, "src", &files);
        for licence in ["LICENSE-APACHE", "LICENSE-MIT"] {
            assert!(files.iter().any(|file| file == licence), "{package}: {files:?}");
        }
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
