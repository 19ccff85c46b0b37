//! The contract itself: generated bindings, its name and version, and its imports with their linker entries.

use std::str::FromStr;

use bindings::gatehouse::family::{log, parents, types, upstream};
use gatehouse_guest::{Guest, Level};
use wasmtime::component::{HasSelf, Linker};

#[allow(missing_docs, unreachable_pub, unsafe_code, unused_qualifications, reason = "generated")]
#[allow(clippy::all, reason = "generated")]
pub(super) mod bindings {
    wasmtime::component::bindgen!({ path: "../../wit/v1", world: "family" });
}

/// The contract's package.
pub(crate) const PACKAGE: &str = "gatehouse:family";
/// The interface that every family exports.
pub(crate) const MANIFEST: &str = "manifest";
/// The interfaces of which a family exports at least one of the first three.
pub(crate) const OPTIONAL: [&str; 6] = ["jobs", "text", "dialect", "direct", "views", "bulk"];

/// The version of the contract that this host was made for; it takes every version with the same first number.
pub(crate) fn supported_version() -> semver::Version {
    semver::Version::from_str("1.0.0").expect("a literal version")
}

/// Adds the contract's imports to `linker`.
pub(crate) fn link(linker: &mut Linker<Guest>) -> wasmtime::Result<()> {
    bindings::Family::add_to_linker::<_, HasSelf<_>>(linker, |guest| guest)
}

impl log::Host for Guest {
    fn write(&mut self, level: log::Level, message: String, fields: Vec<(String, String)>) {
        let level = match level {
            log::Level::Error => Level::Error,
            log::Level::Warn => Level::Warn,
            log::Level::Info => Level::Info,
            log::Level::Debug => Level::Debug,
        };
        self.log().line(level, &message, &fields);
    }
}

// Interfaces with types only; the linker requires the traits.
impl types::Host for Guest {}
impl upstream::Host for Guest {}
impl parents::Host for Guest {}
