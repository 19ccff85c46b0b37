//! The call of the `manifest` interface, and the manifest as the model's type.

use gatehouse_guest::Guest;
use gatehouse_model::{About, Offers, SelfTest};
use wasmtime::Store;

use super::contract::bindings::exports::gatehouse::family::manifest as wit;
use super::convert::Convert as _;
use super::exports::Family;
use super::types;

/// `manifest.describe`; the inner error names the part of the manifest that is not well-formed. `offers` are the
/// component's exports.
pub(crate) fn describe(
    family: &Family,
    store: &mut Store<Guest>,
    offers: Offers,
) -> wasmtime::Result<Result<About, String>> {
    Ok(about(family.call(store, family.exports.describe, ())?, offers))
}

fn about(value: wit::About, offers: Offers) -> Result<About, String> {
    let self_tests = value.self_tests.into_iter().enumerate();
    Ok(About {
        family: value.family,
        version: value.version,
        offers,
        models: value.models.convert(),
        surfaces: value.surfaces.convert(),
        routes: vec![],
        providers: value.providers,
        price_keys: value.price_keys,
        state_version: value.state_version,
        reads_state: value.reads_state,
        self_tests: self_tests.map(self_test).collect::<Result<_, _>>()?,
    })
}

fn self_test((number, value): (usize, wit::SelfTest)) -> Result<SelfTest, String> {
    let parents = value.parents.into_iter().map(types::parent).collect::<Result<_, _>>();
    Ok(SelfTest {
        surface: value.surface,
        body: value.body,
        parents: parents.map_err(|why| format!("self-tests[{number}].parents: {why}"))?,
        expect: value.expect.convert(),
    })
}
