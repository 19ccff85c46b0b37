//! Doctored versions of the fixture.

pub(crate) use gatehouse_harness::{puppet, puppet_claiming};

/// The fixture with an import or export of another name, as long as the old one, wherever it is.
pub(crate) fn renamed(old: &str, new: &str) -> Vec<u8> {
    assert_eq!(old.len(), new.len());
    let mut wasm = puppet().to_vec();
    let found: Vec<usize> =
        (0..wasm.len() - old.len()).filter(|at| wasm[*at..].starts_with(old.as_bytes())).collect();
    assert!(!found.is_empty(), "no {old} in the component");
    for at in found {
        wasm[at..at + new.len()].copy_from_slice(new.as_bytes());
    }
    wasm
}
