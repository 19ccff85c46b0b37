//! The call of the `manifest` interface, and the manifest as the model's type.

use gatehouse_model::{About, ModelInfo, Offers, SelfTest, SurfaceInfo, Verdict};
use wasmtime::Store;

use super::contract::bindings::exports::gatehouse::family::manifest as wit;
use super::exports::Family;
use crate::exec::guest::Guest;

/// `manifest.describe`; the inner error names the part of the manifest that is not UTF-8.
pub(crate) fn describe(family: &Family, store: &mut Store<Guest>) -> wasmtime::Result<Result<About, String>> {
    Ok(about(family.call(store, family.exports.describe, ())?))
}

fn about(value: wit::About) -> Result<About, String> {
    Ok(About {
        family: value.family,
        version: value.version,
        offers: Offers {
            jobs: value.offers.contains(wit::Offers::JOBS),
            text: value.offers.contains(wit::Offers::TEXT),
        },
        models: value.models.into_iter().map(model).collect(),
        surfaces: value.surfaces.into_iter().map(surface).collect::<Result<_, _>>()?,
        providers: value.providers,
        price_keys: value.price_keys,
        state_version: value.state_version,
        reads_state: value.reads_state,
        self_tests: value.self_tests.into_iter().map(self_test).collect::<Result<_, _>>()?,
    })
}

fn model(value: wit::Model) -> ModelInfo {
    ModelInfo { id: value.id, aliases: value.aliases, surfaces: value.surfaces }
}

fn surface(value: wit::Surface) -> Result<SurfaceInfo, String> {
    let schema = text(value.schema, || format!("the schema of surface {:?}", value.name))?;
    Ok(SurfaceInfo { name: value.name, default_model: value.default_model, schema })
}

fn self_test(value: wit::SelfTest) -> Result<SelfTest, String> {
    let body = text(value.body, || format!("the body of a self-test on surface {:?}", value.surface))?;
    let expect = match value.expect {
        wit::Verdict::Accepted => Verdict::Accepted,
        wit::Verdict::Doomed => Verdict::Doomed,
        wit::Verdict::Refused => Verdict::Refused,
    };
    Ok(SelfTest { surface: value.surface, body, expect })
}

fn text(bytes: Vec<u8>, what: impl FnOnce() -> String) -> Result<String, String> {
    String::from_utf8(bytes).map_err(|_| format!("{} is not UTF-8", what()))
}
