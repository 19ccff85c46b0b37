//! Runs the binary and other programs, in folders outside of the repository.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use gatehouse_harness::user_cache;

pub(crate) const REPOSITORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

pub(crate) fn gatehouse(folder: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gatehouse"));
    // Code that one test had compiled is found by the next, and by the gateways of tests.
    let cache = user_cache().expect("a test is in a target folder");
    command.current_dir(folder).args(words).stdin(Stdio::null()).env("XDG_CACHE_HOME", cache);
    command.output().unwrap()
}

/// Standard output of a command that must succeed.
pub(crate) fn done(folder: &Path, words: &[&str]) -> String {
    let output = gatehouse(folder, words);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{words:?}: {text}{}", String::from_utf8_lossy(&output.stderr));
    text
}

/// Standard error of a command that must end with `code`.
pub(crate) fn refused(folder: &Path, words: &[&str], code: i32) -> String {
    let output = gatehouse(folder, words);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{words:?}: {error}");
    error
}

/// A folder below the target folder that stays between runs: what was downloaded and built is used again.
pub(crate) fn kept(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join("authors").join(name);
    std::fs::create_dir_all(&folder).unwrap();
    folder.canonicalize().unwrap()
}

/// Runs a program as an author would: nothing of the cargo that runs this test reaches it.
pub(crate) fn run(program: &str, words: &[&str], folder: &Path, environment: &[(&str, &Path)]) {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy().into_owned();
        let kept =
            ["CARGO_HOME", "CARGO_HTTP", "CARGO_NET", "CARGO_REGISTR"].iter().any(|it| text.starts_with(it));
        if ["CARGO", "RUSTC", "RUSTFLAGS", "CLIPPY"].iter().any(|it| text.starts_with(it)) && !kept {
            command.env_remove(&name);
        }
    }
    command.args(words).current_dir(folder).envs(environment.iter().copied()).stdin(Stdio::null());
    let output = command.output().unwrap_or_else(|error| {
        panic!("{program}: {error}; this test needs python3 with venv, node with npm, sh and cargo")
    });
    assert!(
        output.status.success(),
        "{program} {words:?} in {}: {}{}",
        folder.display(),
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}
