//! How files open, how long and how short they are, and words only their owners may write.

use std::collections::BTreeSet;

use crate::{assert_none, files_below, root, shown};

/// Most lines of a file.
const MOST_LINES: usize = 600;
/// A file with fewer lines needs a reason to be one: what it holds may be found sooner beside what uses it.
const FEW_LINES: usize = 40;
/// The files with fewer, by path, each with its reason behind a colon.
const SMALL_FILES: &str = include_str!("small_files.txt");

/// A word, and the places (path prefixes) that may write it.
const WORDS: &[(&str, &[&str])] = &[
    // Outgoing sockets: `upstream` alone, but for the operator's own command line talking to its gateway.
    (
        "TcpStream::connect",
        &["host/upstream/src/client/dial.rs", "host/admin/src/client/remote.rs", "tests/"],
    ),
    ("hyper_util::client", &["host/upstream/", "tests/"]),
    ("hyper::client", &["host/upstream/", "host/admin/src/client/remote.rs", "tests/"]),
    ("UdpSocket", &["tests/fixtures/"]),
    // `expect` says when it is no longer needed; only generated code may be let off for good.
    ("#[allow(", &["host/runtime/src/abi_v1/", "sdk/src/", "tests/fixtures/"]),
    ("#[ignore", &[]),
    ("deserialize_file", &["host/runtime/"]),
    // A copy that is not whole is thrown away, so only its last commit has to last.
    (
        "Durability::None",
        &[
            "host/store/tests/",
            "host/store/src/tests",
            "host/store/src/copy.rs",
            "host/store/src/postgres/copy/to_file.rs",
        ],
    ),
];

#[test]
fn every_file_says_what_it_owns() {
    let broken: Vec<String> =
        sources().into_iter().filter(|(_, text)| !text.starts_with("//! ")).map(|(path, _)| path).collect();
    assert_none("files that do not open with `//! `", &broken);
}

#[test]
fn no_file_is_too_long() {
    let long = sources().into_iter().filter(|(_, text)| text.lines().count() > MOST_LINES);
    let broken: Vec<String> =
        long.map(|(path, text)| format!("{path}: {} lines", text.lines().count())).collect();
    assert_none("files over the limit", &broken);
}

#[test]
fn a_small_file_has_a_reason() {
    // What opens a crate or a folder may be short.
    let is_whole = |path: &str| {
        let name = path.rsplit('/').next().unwrap_or_default();
        let is_face = root().join(path.trim_end_matches(".rs")).is_dir();
        is_face || ["build.rs", "lib.rs", "main.rs", "mod.rs"].contains(&name)
    };
    let small: BTreeSet<String> = sources()
        .into_iter()
        .filter(|(path, text)| !is_whole(path) && text.lines().count() < FEW_LINES)
        .map(|(path, _)| path)
        .collect();
    let rows = SMALL_FILES.lines().filter(|line| !line.starts_with('#'));
    let path = |row: &str| row.split_once(": ").expect("a path and a reason").0.to_owned();
    let known: BTreeSet<String> = rows.map(path).collect();
    let paths =
        |paths: std::collections::btree_set::Difference<'_, String>| paths.cloned().collect::<Vec<_>>();
    assert_none("files under 40 lines without a reason in small_files.txt", &paths(small.difference(&known)));
    assert_none("files that are gone or have grown; mend small_files.txt", &paths(known.difference(&small)));
}

#[test]
fn examples_in_documentation_are_run() {
    let mut broken = Vec::new();
    for package in crate::packages() {
        let folder = package.manifest_path.parent().expect("a folder").as_str().to_owned();
        let without = package.targets.iter().any(|target| target.is_lib() && !target.doctest);
        for path in files_below(folder.as_ref(), "rs").into_iter().filter(|_| without) {
            let text = std::fs::read_to_string(&path).expect("a readable file");
            let fences = text.lines().filter_map(|line| {
                let line = line.trim_start();
                line.strip_prefix("/// ```").or_else(|| line.strip_prefix("//! ```"))
            });
            // Every second one closes.
            if fences.step_by(2).any(|language| ["", "rust", "should_panic"].contains(&language.trim())) {
                broken.push(shown(&path));
            }
        }
    }
    assert_none("examples in crates with `doctest = false`", &broken);
}

#[test]
fn restricted_words_stay_with_their_owners() {
    let mut broken = Vec::new();
    for (path, text) in sources().into_iter().filter(|(path, _)| path != "tests/tidy/files.rs") {
        // What stands below a file's tests may connect to what the test itself started.
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let is_test = path.contains("/tests/") || path.ends_with("tests.rs");
        for (word, owners) in WORDS.iter().filter(|_| !is_test) {
            if code.contains(word) && !owners.iter().any(|owner| path.starts_with(owner)) {
                broken.push(format!("{path}: {word}"));
            }
        }
    }
    assert_none("words outside the place that owns them", &broken);
}

#[test]
fn unsafe_stands_in_one_place() {
    let places: Vec<String> = sources()
        .into_iter()
        .filter(|(path, _)| path != "tests/tidy/files.rs")
        .filter(|(_, text)| text.lines().any(|line| line.contains("unsafe {") || line.contains("unsafe fn")))
        .map(|(path, _)| path)
        .collect();
    assert_eq!(places.len(), 1, "one documented unsafe block, in families: {places:?}");
    assert!(places[0].starts_with("host/runtime/src/"), "{places:?}");
}

fn sources() -> Vec<(String, String)> {
    files_below(&root(), "rs")
        .into_iter()
        .map(|path| (shown(&path), std::fs::read_to_string(&path).expect("a readable file")))
        .collect()
}
