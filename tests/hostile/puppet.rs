//! The fixture, built once, and doctored builds of it.

use std::path::Path;
use std::sync::OnceLock;

use gatehouse_build::{build_plugin, plugins_target_dir};
use serde_json::Value;

const MARK: &[u8] = b"what the puppet says:";
const ROOM: usize = 2048;

/// The puppet that says nothing wrong of itself.
pub(crate) fn truthful() -> Vec<u8> {
    built().to_vec()
}

/// The same with other claims in its manifest; see the fixture's `manifest.rs`.
pub(crate) fn saying(claims: &Value) -> Vec<u8> {
    let claims = claims.to_string();
    assert!(claims.len() <= ROOM - MARK.len(), "too long a claim");
    let mut wasm = truthful();
    let at = only_place(&wasm, MARK) + MARK.len();
    wasm[at..at + claims.len()].copy_from_slice(claims.as_bytes());
    wasm
}

/// The same with an import or export of another name, as long as the old one, wherever it stands.
pub(crate) fn renamed(old: &str, new: &str) -> Vec<u8> {
    assert_eq!(old.len(), new.len());
    let mut wasm = truthful();
    let found = places(&wasm, old.as_bytes());
    assert!(!found.is_empty(), "no {old} in the component");
    for at in found {
        wasm[at..at + new.len()].copy_from_slice(new.as_bytes());
    }
    wasm
}

fn built() -> &'static [u8] {
    static BUILT: OnceLock<Vec<u8>> = OnceLock::new();
    BUILT.get_or_init(|| {
        let crate_dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/puppet");
        let target = plugins_target_dir(&std::env::current_exe().expect("a running test"));
        let wasm = build_plugin(&crate_dir, &target).unwrap_or_else(|error| panic!("{error}"));
        std::fs::read(wasm).expect("a component")
    })
}

fn places(wasm: &[u8], text: &[u8]) -> Vec<usize> {
    (0..wasm.len() - text.len()).filter(|at| wasm[*at..].starts_with(text)).collect()
}

/// The mark stands once before its room; the code that compares with it may hold another.
fn only_place(wasm: &[u8], text: &[u8]) -> usize {
    let roomy = |at: &usize| wasm[at + text.len()..].iter().take(ROOM / 2).all(|byte| *byte == b' ');
    let found: Vec<usize> = places(wasm, text).into_iter().filter(roomy).collect();
    assert_eq!(found.len(), 1, "the mark with its room must be there once");
    found[0]
}
