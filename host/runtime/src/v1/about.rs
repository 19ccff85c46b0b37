//! What a plugin says of itself, from its words into ours.

use gatehouse_model::{About, ModelInfo, Offers, SelfTest, SurfaceInfo, Verdict};

use super::bindings::exports::gatehouse::family::manifest as wit;

/// The error names the part that is not UTF-8.
pub(super) fn about(said: wit::About) -> Result<About, String> {
    Ok(About {
        family: said.family,
        version: said.version,
        offers: Offers {
            jobs: said.offers.contains(wit::Offers::JOBS),
            text: said.offers.contains(wit::Offers::TEXT),
        },
        models: said.models.into_iter().map(model).collect(),
        surfaces: said.surfaces.into_iter().map(surface).collect::<Result<_, _>>()?,
        providers: said.providers,
        price_keys: said.price_keys,
        state_version: said.state_version,
        reads_state: said.reads_state,
        self_tests: said.self_tests.into_iter().map(self_test).collect::<Result<_, _>>()?,
    })
}

fn model(said: wit::Model) -> ModelInfo {
    ModelInfo { id: said.id, aliases: said.aliases, surfaces: said.surfaces }
}

fn surface(said: wit::Surface) -> Result<SurfaceInfo, String> {
    let schema = text(said.schema, || format!("the schema of surface {:?}", said.name))?;
    Ok(SurfaceInfo { name: said.name, default_model: said.default_model, schema })
}

fn self_test(said: wit::SelfTest) -> Result<SelfTest, String> {
    let body = text(said.body, || format!("the body of a self-test on surface {:?}", said.surface))?;
    let expect = match said.expect {
        wit::Verdict::Accepted => Verdict::Accepted,
        wit::Verdict::Doomed => Verdict::Doomed,
        wit::Verdict::Refused => Verdict::Refused,
    };
    Ok(SelfTest { surface: said.surface, body, expect })
}

fn text(bytes: Vec<u8>, what: impl FnOnce() -> String) -> Result<String, String> {
    String::from_utf8(bytes).map_err(|_| format!("{} is not UTF-8", what()))
}
