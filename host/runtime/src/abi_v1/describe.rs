//! The call of the `manifest` interface, and the manifest as the model's type.

use gatehouse_model::{About, ModelInfo, NameAt, Offers, ParentAt, SelfTest, SurfaceInfo, Verdict};
use wasmtime::Store;

use super::contract::bindings::exports::gatehouse::family::manifest as wit;
use super::exports::Family;
use super::lift;
use crate::exec::guest::Guest;

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
        models: value.models.into_iter().map(model).collect(),
        surfaces: value.surfaces.into_iter().map(surface).collect(),
        providers: value.providers,
        price_keys: value.price_keys,
        state_version: value.state_version,
        reads_state: value.reads_state,
        self_tests: self_tests.map(self_test).collect::<Result<_, _>>()?,
    })
}

fn model(value: wit::Model) -> ModelInfo {
    ModelInfo { id: value.id, aliases: value.aliases, surfaces: value.surfaces }
}

fn surface(value: wit::Surface) -> SurfaceInfo {
    let place = |place| match place {
        wit::NameAt::Scheme(scheme) => NameAt::Scheme(scheme),
        wit::NameAt::Field(field) => NameAt::Field(field),
    };
    SurfaceInfo {
        name: value.name,
        default_model: value.default_model,
        schema: value.schema,
        parent: match value.parent {
            wit::ParentAt::Nowhere => ParentAt::Nowhere,
            wit::ParentAt::Path => ParentAt::Path,
            wit::ParentAt::Field(field) => ParentAt::Field(field),
        },
        joins: value.joins,
        names: value.names.into_iter().map(place).collect(),
    }
}

fn self_test((number, value): (usize, wit::SelfTest)) -> Result<SelfTest, String> {
    let parents = value.parents.into_iter().map(lift::parent).collect::<Result<_, _>>();
    Ok(SelfTest {
        surface: value.surface,
        body: value.body,
        parents: parents.map_err(|why| format!("self-tests[{number}].parents: {why}"))?,
        expect: match value.expect {
            wit::Verdict::Accepted => Verdict::Accepted,
            wit::Verdict::Doomed => Verdict::Doomed,
            wit::Verdict::Refused => Verdict::Refused,
        },
    })
}
