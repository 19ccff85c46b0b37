//! The call of the `manifest` interface.

use gatehouse_guest::Guest;
use wasmtime::Store;

use super::exports::Family;

/// `manifest.describe`: the document.
pub(crate) fn describe(family: &Family, store: &mut Store<Guest>) -> wasmtime::Result<String> {
    family.call(store, family.exports.describe, ())
}
