//! Version 1 of the contract: its bindings, and the conversions between them and the house's own words.
//!
//! Nothing behind this module sees a generated type. Another major version gets a module of its own beside
//! this one.

mod about;
mod answer;
mod exports;
mod given;
mod log;
pub(crate) mod text;

use std::str::FromStr;

use gatehouse_model::{About, Accepted, Context, Event, Refusal, Step, Submission};
use wasmtime::Store;

use self::bindings::exports::gatehouse::family::jobs as wit;
use self::bindings::gatehouse::family::types;
use crate::guest::Guest;

pub(crate) use exports::{Family, FamilyPre};

#[allow(missing_docs, unreachable_pub, unsafe_code, unused_qualifications, reason = "generated")]
#[allow(clippy::all, reason = "generated")]
mod bindings {
    wasmtime::component::bindgen!({ path: "../../wit/v1", world: "family" });
}

/// The contract's package and the version spoken here.
pub(crate) const PACKAGE: &str = "gatehouse:family";
/// The exports that make a component a family.
pub(crate) const EXPORTS: [&str; 3] = ["manifest", "jobs", "text"];

/// The newest version of the contract this host knows.
pub(crate) fn spoken() -> semver::Version {
    semver::Version::from_str("1.0.0").expect("a literal version")
}

/// Adds what a plugin may import of the contract itself.
pub(crate) fn link(linker: &mut wasmtime::component::Linker<Guest>) -> wasmtime::Result<()> {
    bindings::Family::add_to_linker::<_, wasmtime::component::HasSelf<_>>(linker, |guest| guest)
}

/// `manifest.describe`; the inner error is a manifest that is no text.
pub(crate) fn describe(family: &Family, store: &mut Store<Guest>) -> wasmtime::Result<Result<About, String>> {
    Ok(about::about(family.call(store, family.exports.describe, ())?))
}

/// `jobs.submit`.
pub(crate) fn submit(
    family: &Family,
    store: &mut Store<Guest>,
    cx: &Context,
    submission: Submission,
) -> wasmtime::Result<Result<Accepted, Refusal>> {
    let cx = given::context(cx);
    let request = given::Submission {
        surface: &submission.surface,
        body: &submission.body,
        parent: submission.parent.map(given::parent),
        blobs: submission.blobs.into_iter().map(given::facts).collect(),
    };
    let judged: Result<wit::Accepted, types::Refusal> =
        family.call(store, family.exports.submit, (&cx, &request))?;
    Ok(judged.map(answer::accepted).map_err(answer::refusal))
}

/// `jobs.advance`.
pub(crate) fn advance(
    family: &Family,
    store: &mut Store<Guest>,
    cx: &Context,
    state: &[u8],
    event: Event,
) -> wasmtime::Result<Step> {
    let (cx, event) = (given::context(cx), given::event(event));
    Ok(answer::step(family.call(store, family.exports.advance, (&cx, state, &event))?))
}

/// `jobs.migrate`.
pub(crate) fn migrate(
    family: &Family,
    store: &mut Store<Guest>,
    from: u32,
    state: &[u8],
) -> wasmtime::Result<Result<Vec<u8>, String>> {
    family.call(store, family.exports.migrate, (from, state))
}
