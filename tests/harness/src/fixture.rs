//! Plugin components for tests: built once a process, and doctored versions of the fixture.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use gatehouse_build::{build_plugins, plugins_target_dir};
use serde_json::Value;

/// Before the space in the fixture's component that takes claims; see its `manifest.rs`.
const MARK: &[u8] = b"claims of the puppet:";
/// The mark and the space behind it, bytes.
const SPACE: usize = 2048;

/// The component of the plugin in that folder of the workspace.
#[must_use]
pub fn component(folder: &str) -> Vec<u8> {
    std::fs::read(component_file(folder)).expect("a component")
}

/// Its file, below the target folder.
#[must_use]
pub fn component_file(folder: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let target = plugins_target_dir(&std::env::current_exe().expect("a running test"));
    // The template has all that the SDK needs: beside it the puppet, which does without, is built of the same packages.
    let folders = [root.join(folder), root.join("sdk/templates/rust")];
    let built = build_plugins(&root, &folders, &target).unwrap_or_else(|error| panic!("{error}"));
    built.into_iter().next().expect("a file for each folder")
}

/// The fixture plugin `tests/fixtures/puppet`, with a true manifest.
#[must_use]
pub fn puppet() -> &'static [u8] {
    static BUILT: OnceLock<Vec<u8>> = OnceLock::new();
    BUILT.get_or_init(|| component("tests/fixtures/puppet"))
}

/// The fixture with other claims in its manifest.
#[must_use]
pub fn puppet_claiming(claims: &Value) -> Vec<u8> {
    let claims = claims.to_string();
    assert!(claims.len() <= SPACE - MARK.len(), "the claims are too long");
    let mut wasm = puppet().to_vec();
    // The code that compares with the mark may hold another, without space behind it.
    let has_space = |at: &usize| {
        let behind = &wasm[at + MARK.len()..];
        wasm[*at..].starts_with(MARK) && behind.iter().take(SPACE / 2).all(|byte| *byte == b' ')
    };
    let found: Vec<usize> = (0..wasm.len() - MARK.len()).filter(has_space).collect();
    assert_eq!(found.len(), 1, "the mark with its space must be there once");
    let at = found[0] + MARK.len();
    wasm[at..at + claims.len()].copy_from_slice(claims.as_bytes());
    wasm
}
