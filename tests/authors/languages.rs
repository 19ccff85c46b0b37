//! A new family of each language: written by the binary, built by its own script, played against its own scripts.

use std::fs::{OpenOptions, Permissions};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use crate::authors::package::unpacked;
use crate::authors::running::draws_a_picture;
use crate::authors::scene::{REPOSITORY, done, kept, refused, run};

/// As this workspace compiles packages that a plugin needs: what its own plugins are made of is found then. Where these settings
/// differ, the test is slower, and nothing fails. Nobody debugs the family.
const AS_HERE: &[u8] = b"
[profile.dev]
debug = false

[profile.plugin]
overflow-checks = true

[profile.plugin.package.serde_json]
codegen-units = 1
";

/// The whole way; the component's size in bytes. `prepare` changes the new folder before its build.
fn author(language: &[&str], tools: &[(&str, &Path)], prepare: impl Fn(&Path)) -> u64 {
    let folder = tempfile::tempdir().unwrap();
    let words = [&["plugin", "new", "red-kite"][..], language].concat();
    let said = done(folder.path(), &words);
    assert!(said.contains("gatehouse plugin play play family.wasm"), "{said}");
    let family = folder.path().join("red-kite");
    prepare(&family);
    run("sh", &["build.sh"], &family, tools);
    let played = done(&family, &["plugin", "play", "play", "family.wasm"]);
    assert!(played.contains("red-kite 0.1.0: loaded, its self-tests hold"), "{played}");
    for script in ["draws", "fails", "refuses", "retries"] {
        assert!(played.contains(&format!("ok  play/{script}.play")), "{played}");
    }
    // The scripts are not empty words: a changed one fails, and says where.
    let changed = std::fs::read_to_string(family.join("play/draws.play"))
        .unwrap()
        .replace("a kite\", \"detail", "a boat\", \"detail");
    std::fs::write(family.join("changed.play"), changed).unwrap();
    let problem = refused(&family, &["plugin", "play", "changed.play", "family.wasm"], 1);
    assert!(problem.contains("changed.play:5"), "{problem}");
    assert!(problem.contains("call.json.text: expected \"a boat\"\n  came: \"a kite\""), "{problem}");
    // Its build has just run; what follows is about the gateway.
    std::fs::write(family.join("build.sh"), "test -f family.wasm\n").unwrap();
    draws_a_picture(&family, "");
    std::fs::metadata(family.join("family.wasm")).unwrap().len()
}

/// As an author anywhere has it: the packages of a registry, and nothing of this repository. Without it a crate of the host could
/// slip into what is published, and nobody outside could build.
#[test]
fn a_rust_family_from_the_published_packages() {
    let (target, plugins) = (kept("rust"), Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("plugins"));
    let bytes = author(&[], &[("CARGO_TARGET_DIR", &plugins)], |family| {
        let outside = family.parent().unwrap();
        unpacked(outside);
        let mut config = OpenOptions::new().append(true).open(outside.join(".cargo/config.toml")).unwrap();
        config.write_all(AS_HERE).unwrap();
        // The versions that this machine has.
        std::fs::copy(format!("{REPOSITORY}/Cargo.lock"), family.join("Cargo.lock")).unwrap();
        run("cargo", &["test", "--offline", "--quiet"], family, &[("CARGO_TARGET_DIR", &target)]);
        let lock = std::fs::read_to_string(family.join("Cargo.lock")).unwrap();
        let (used, _) = lock.split_once("[[patch.unused]]").unwrap();
        let ours: Vec<&str> = used.lines().filter(|line| line.starts_with("name = \"gatehouse")).collect();
        let expected = ["contract", "sdk", "testkit"].map(|name| format!("name = \"gatehouse-{name}\""));
        assert_eq!(ours, expected, "what a family and its tests are built of");
        run("cargo", &["check", "--offline", "--quiet"], &outside.join("gatehouse-build"), &[]);
    });
    assert!(bytes < 2 << 20, "{bytes}");
}

#[test]
fn a_python_family() {
    let tools = kept("python");
    let bytes = author(&["--lang", "python"], &[("GATEHOUSE_PYTHON_TOOLS", &tools)], |_| ());
    assert!(bytes < 24 << 20, "{bytes}");
}

#[test]
fn a_javascript_family() {
    let tools = kept("javascript");
    run_npm(&tools);
    let bytes = author(&["--lang", "js"], &[("GATEHOUSE_JS_TOOLS", &tools.join("node_modules"))], |_| ());
    assert!(bytes < 4 << 20, "{bytes}");
}

/// Installs the template's tools into the folder that stays.
fn run_npm(tools: &Path) {
    let wanted = include_str!("../../sdk/templates/javascript/package.json");
    let manifest = tools.join("package.json");
    let has = std::fs::read_to_string(&manifest).is_ok_and(|text| text == wanted);
    if has && tools.join("node_modules/.bin/componentize-qjs").exists() {
        return;
    }
    std::fs::write(&manifest, wanted).unwrap();
    run("npm", &["install", "--no-audit", "--no-fund", "--ignore-scripts"], tools, &[]);
}

/// A build that kept to the packages of its first run would ignore a changed list of them. Stand-ins for `python3` and
/// `npm` say what was asked of them.
#[test]
fn a_build_installs_packages_again_when_their_list_has_changed() {
    let folder = tempfile::tempdir().unwrap();
    let tools = folder.path().join("tools");
    std::fs::create_dir(&tools).unwrap();
    let installs = folder.path().join("installs");
    let count = format!("echo one >> '{}'\n", installs.display());
    let ends = "chmod +x \"$t\"\n";
    let python = format!(
        "#!/bin/sh\nmkdir -p \"$3/bin\"\nfor t in \"$3/bin/pip\" \"$3/bin/componentize-py\"; do printf '#!/bin/sh\\n' > \"$t\"; {ends}done\n\
         {count}"
    );
    let npm = format!(
        "#!/bin/sh\nmkdir -p node_modules/.bin\nt=node_modules/.bin/componentize-qjs\nprintf '#!/bin/sh\\n' > \"$t\"\n{ends}\
         echo '{{}}' > package-lock.json\n{count}"
    );
    for (name, text) in [("python3", python), ("npm", npm)] {
        std::fs::write(tools.join(name), text).unwrap();
        std::fs::set_permissions(tools.join(name), Permissions::from_mode(0o755)).unwrap();
    }
    let tools = tools.display().to_string();
    let installed = |family: &Path| {
        run("sh", &["-c", "PATH=\"$0:$PATH\" exec sh build.sh", &tools], family, &[]);
        std::fs::read_to_string(&installs).unwrap().lines().count()
    };
    for (language, lists) in
        [("python", vec!["requirements.txt"]), ("js", vec!["package.json", "package-lock.json"])]
    {
        std::fs::write(&installs, "").unwrap();
        done(folder.path(), &["plugin", "new", language, "--lang", language]);
        let family = folder.path().join(language);
        assert_eq!((installed(&family), installed(&family)), (1, 1), "{language}");
        for (at, list) in lists.into_iter().enumerate() {
            let text = std::fs::read_to_string(family.join(list)).unwrap();
            std::fs::write(family.join(list), text + "\n").unwrap();
            assert_eq!((installed(&family), installed(&family)), (at + 2, at + 2), "{list}");
        }
    }
}

#[test]
fn a_folder_is_never_written_over() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("kite")).unwrap();
    let problem = refused(folder.path(), &["plugin", "new", "kite"], 1);
    assert!(problem.contains("kite: expected a folder that does not exist yet"), "{problem}");
    let problem = refused(folder.path(), &["plugin", "new", "other", "--sdk", "kite"], 1);
    assert!(problem.contains("--sdk kite: expected the SDK's folder"), "{problem}");
    assert!(!folder.path().join("other").exists());
}

#[test]
fn a_registry_a_git_repository_or_a_folder_can_bring_the_sdk() {
    let folder = tempfile::tempdir().unwrap();
    let sdk = Path::new(REPOSITORY).join("sdk").canonicalize().unwrap().display().to_string();
    for (name, more, expected) in [
        ("one", vec![], format!("gatehouse-sdk = {:?}", env!("CARGO_PKG_VERSION"))),
        (
            "two",
            vec!["--git", "https://git.example/g"],
            "gatehouse-sdk = { git = \"https://git.example/g\" }".to_owned(),
        ),
        ("three", vec!["--sdk", &sdk], format!("gatehouse-sdk = {{ path = \"{sdk}/\" }}")),
    ] {
        done(folder.path(), &[&["plugin", "new", name][..], &more].concat());
        let manifest = std::fs::read_to_string(folder.path().join(name).join("Cargo.toml")).unwrap();
        assert!(manifest.contains(&expected), "{manifest}");
        assert!(manifest.contains("[workspace]") && manifest.contains("[profile.plugin]"), "{manifest}");
    }
}
