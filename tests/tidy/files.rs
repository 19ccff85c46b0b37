//! How files open, how long they are, and words only their owners may write.

use crate::{assert_none, files_below, root, shown};

/// Lines of a source file, and of a file of tests.
const LIMIT: usize = 400;
const TEST_LIMIT: usize = 600;
/// Source files in one folder, `lib.rs`, `main.rs` and `mod.rs` not counted.
const FLAT: usize = 12;

/// A word, and the places (path prefixes) that may write it.
const WORDS: &[(&str, &[&str])] = &[
    // Outgoing sockets: `upstream` alone, but for the operator's own command line talking to its gateway.
    ("TcpStream::connect", &["host/upstream/src/client/dial.rs", "host/admin/src/client.rs", "tests/"]),
    ("hyper_util::client", &["host/upstream/", "tests/"]),
    ("hyper::client", &["host/upstream/", "host/admin/src/client.rs", "tests/"]),
    ("UdpSocket", &["tests/fixtures/"]),
    // `expect` says when it is no longer needed; only generated code may be let off for good.
    ("#[allow(", &["host/runtime/src/abi_v1/", "sdk/src/", "tests/fixtures/"]),
    ("#[ignore", &[]),
    ("deserialize_file", &["host/runtime/"]),
    ("Durability::None", &["host/store/tests/", "host/store/src/tests"]),
];

#[test]
fn every_file_says_what_it_owns() {
    let broken: Vec<String> =
        sources().into_iter().filter(|(_, text)| !text.starts_with("//! ")).map(|(path, _)| path).collect();
    assert_none("files that do not open with `//! `", &broken);
}

#[test]
fn no_file_is_too_long() {
    let mut broken = Vec::new();
    for (path, text) in sources() {
        let is_test = path.contains("/tests/") || path.starts_with("tests/") || path.ends_with("tests.rs");
        let (lines, limit) = (text.lines().count(), if is_test { TEST_LIMIT } else { LIMIT });
        if lines > limit {
            broken.push(format!("{path}: {lines} lines, at most {limit}"));
        }
    }
    assert_none("files over the limit", &broken);
}

#[test]
fn folders_stay_small_enough_to_read() {
    let mut flat: std::collections::BTreeMap<String, usize> = std::collections::BTreeMap::new();
    for (path, _) in sources() {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", &path));
        if !["lib.rs", "main.rs", "mod.rs"].contains(&name) {
            *flat.entry(folder.to_owned()).or_default() += 1;
        }
    }
    let broken: Vec<String> = flat
        .into_iter()
        .filter(|(_, files)| *files > FLAT)
        .map(|(folder, files)| format!("{folder}: {files} files, at most {FLAT}"))
        .collect();
    assert_none("folders with too many flat files", &broken);
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
