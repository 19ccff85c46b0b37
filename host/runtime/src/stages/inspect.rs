//! Stage two: the imports and exports of a component, read from its bytes, and later what it needs.
//!
//! Runs before anything is compiled, which may take long, and before linking, so that a refusal names interfaces and
//! remedies instead of linker internals.

use semver::Version;
use wasmparser::{Parser, Payload};
use wasmtime::component::Component;

use crate::abi_v1::exports::{MANIFEST, OPTIONAL, PACKAGE, supported_version};
use crate::exec::engine::{MEMORIES, TABLE_ELEMENTS, TABLES};
use crate::exec::limits::Limits;
use crate::package::{Package, PackageError};

/// Why a component's interfaces or needs are not acceptable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InspectError {
    /// An import outside the allow-list.
    #[error("it imports {name}: {why}")]
    Import {
        /// The import.
        name: String,
        /// Why it is refused, and what to do instead.
        why: &'static str,
    },
    /// It does not export the manifest, or nothing beside it.
    #[error(
        "it does not export {PACKAGE}/{name}; a family exports manifest, and jobs, text, dialect or direct"
    )]
    NoExport {
        /// The interface.
        name: &'static str,
    },
    /// It was made for a version of the contract that this host does not support.
    #[error(
        "it is made for {PACKAGE} {asked}, this gateway speaks {}; build it against that version",
        supported_version()
    )]
    OtherContract {
        /// The version it is made for.
        asked: String,
    },
    /// What it carries beside its code is not acceptable.
    #[error(transparent)]
    Package(#[from] PackageError),
    /// It needs more than any call may use.
    #[error("it needs {needed} {what}, {limit} are allowed")]
    TooMuch {
        /// Of what.
        what: &'static str,
        /// How much it needs.
        needed: u64,
        /// The limit.
        limit: u64,
    },
}

/// The packages of `wasi:cli/imports`, of WASI 0.2: all of WASI that a component may import.
pub const WASI_PACKAGES: [&str; 6] =
    ["wasi:cli", "wasi:clocks", "wasi:filesystem", "wasi:io", "wasi:random", "wasi:sockets"];
const NO_HTTP: &str = "a plugin has no network; it returns a `call` and the host makes it";
const OTHER_WASI: &str = "only WASI 0.2 is linked, and of it only the interfaces of wasi:cli/imports";
/// Its interfaces are asynchronous. An engine that runs such calls is a sixth slower in every one, and the makers of wasmtime 48
/// call what runs them incomplete and give it no releases for faults of security.
const WASI_3: &str = "only WASI 0.2 is linked: WASI 0.3 is asynchronous, and a plugin's calls are not; build it for WASI 0.2, in \
     Rust with the target wasm32-wasip2, in other languages with a world that includes wasi:cli/imports of 0.2";
const UNKNOWN: &str =
    "the host has nothing of that name; a plugin may import the contract's `log` and WASI 0.2";

/// Judges what a component imports and exports. Bytes that cannot be read are left to the compiler, which says why.
pub(crate) fn inspect(wasm: &[u8]) -> Result<Package, InspectError> {
    let Ok((imports, exports)) = names(wasm) else { return Ok(Package::default()) };
    imports.iter().try_for_each(|name| import(name))?;
    check_exports(&exports)?;
    Ok(Package::read(wasm)?)
}

/// The names of the imports and of the exports of a component, for a person who reads them.
pub fn interfaces(wasm: &[u8]) -> Result<(Vec<String>, Vec<String>), String> {
    let owned = |names: Vec<&str>| names.into_iter().map(str::to_owned).collect();
    let (imports, exports) = names(wasm).map_err(|error| error.to_string())?;
    Ok((owned(imports), owned(exports)))
}

/// The names of the imports and of the exports of the outermost component.
fn names(wasm: &[u8]) -> wasmparser::Result<(Vec<&str>, Vec<&str>)> {
    let (mut depth, mut imports, mut exports) = (0_u32, vec![], vec![]);
    for payload in Parser::new(0).parse_all(wasm) {
        match payload? {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::ComponentImportSection(section) if depth == 0 => {
                for one in section {
                    imports.push(one?.name.name);
                }
            }
            Payload::ComponentExportSection(section) if depth == 0 => {
                for one in section {
                    exports.push(one?.name.name);
                }
            }
            _ => {}
        }
    }
    Ok((imports, exports))
}

/// `package/interface@version` in parts.
fn parse(name: &str) -> Option<(&str, &str, Version)> {
    let (path, version) = name.rsplit_once('@')?;
    let (package, interface) = path.split_once('/')?;
    Some((package, interface, Version::parse(version).ok()?))
}

fn import(name: &str) -> Result<(), InspectError> {
    let refuse = |why| Err(InspectError::Import { name: name.to_owned(), why });
    let Some((package, _, version)) = parse(name) else { return refuse(UNKNOWN) };
    if package == PACKAGE {
        return contract(&version);
    }
    if WASI_PACKAGES.contains(&package) {
        return match (version.major, version.minor) {
            (0, 2) => Ok(()),
            (0, 3) => refuse(WASI_3),
            _ => refuse(OTHER_WASI),
        };
    }
    refuse(match package {
        "wasi:http" | "wasi:tls" => NO_HTTP,
        _ if package.starts_with("wasi:") => OTHER_WASI,
        _ => UNKNOWN,
    })
}

fn contract(asked: &Version) -> Result<(), InspectError> {
    // A later 1.x has no other interfaces of these names: growth goes into new ones.
    if asked.major == supported_version().major {
        return Ok(());
    }
    Err(InspectError::OtherContract { asked: asked.to_string() })
}

/// Every interface of the contract among the exports has a version that this host supports, and enough are there. Those that
/// this host does not know stay unused.
fn check_exports(exports: &[&str]) -> Result<(), InspectError> {
    let mut found = vec![];
    for (package, interface, version) in exports.iter().filter_map(|name| parse(name)) {
        if package == PACKAGE {
            contract(&version)?;
            found.push(interface);
        }
    }
    let lacks = |name| Err(InspectError::NoExport { name });
    if !found.contains(&MANIFEST) {
        return lacks(MANIFEST);
    }
    let [jobs, text, dialect, direct, needs_jobs @ ..] = OPTIONAL;
    let serves = [text, dialect, direct].iter().any(|name| found.contains(name));
    if !found.contains(&jobs) && (!serves || needs_jobs.iter().any(|name| found.contains(name))) {
        return lacks(jobs);
    }
    Ok(())
}

const WASM_PAGE: u64 = 64 << 10;

/// Judges what an instance of a compiled component needs.
pub(crate) fn resources(component: &Component, limits: &Limits) -> Result<(), InspectError> {
    let fits = |what, needed: u64, limit: u64| {
        if needed > limit { Err(InspectError::TooMuch { what, needed, limit }) } else { Ok(()) }
    };
    // `None` only for components that import core modules; the allow-list has refused those.
    let Some(needs) = component.resources_required() else { return Ok(()) };
    fits("memories", needs.num_memories.into(), MEMORIES.into())?;
    fits("tables", needs.num_tables.into(), TABLES.into())?;
    fits("table elements", needs.max_initial_table_size.unwrap_or(0), TABLE_ELEMENTS as u64)?;
    let memory = needs.max_initial_memory_size.unwrap_or(0).saturating_mul(WASM_PAGE);
    fits("bytes of memory at its start (`memory_mib`)", memory, limits.memory() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names are read before anything is compiled, of the outermost component alone.
    #[test]
    fn names_are_read_from_bytes() {
        let wasm = crate::tests::stages::importing("acme:secrets/vault@1.0.0");
        assert_eq!(names(&wasm).unwrap(), (vec!["acme:secrets/vault@1.0.0"], vec![]));
        assert!(matches!(inspect(&wasm), Err(InspectError::Import { .. })));
        let unruly = crate::tests::common::unruly();
        assert!(inspect(unruly).is_ok());
        assert!(names(unruly).unwrap().1.iter().any(|name| name.starts_with("gatehouse:family/manifest@")));
        // The compiler says what is wrong with it.
        assert_eq!(inspect(&unruly[..unruly.len() / 2]), Ok(Package::default()));
    }

    #[test]
    fn each_wrong_import_has_its_reason() {
        let check = |name: &str, expected: Result<(), &str>| match (import(name), expected) {
            (Ok(()), Ok(())) => {}
            (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{error}"),
            (other, _) => panic!("{name}: {other:?}"),
        };
        check("gatehouse:family/log@1.0.0", Ok(()));
        check("gatehouse:family/types@1.0.0", Ok(()));
        check(
            "gatehouse:family/log@2.0.0",
            Err("made for gatehouse:family 2.0.0, this gateway speaks 1.0.0"),
        );
        check("gatehouse:family/log@1.1.0", Ok(()));
        check("wasi:cli/environment@0.2.3", Ok(()));
        check("wasi:sockets/tcp@0.2.0", Ok(()));
        check("wasi:cli/environment@0.3.0", Err("in Rust with the target wasm32-wasip2"));
        check("wasi:clocks/monotonic-clock@0.3.0-rc-2026-01-01", Err("WASI 0.3 is asynchronous"));
        check("wasi:cli/environment@0.1.0", Err("only the interfaces of wasi:cli/imports"));
        check("wasi:nn/graph@0.2.0", Err("only WASI 0.2 is linked"));
        check(
            "wasi:http/outgoing-handler@0.2.0",
            Err("wasi:http/outgoing-handler@0.2.0: a plugin has no network"),
        );
        check("acme:secrets/vault@1.0.0", Err("nothing of that name"));
        check("naked", Err("it imports naked"));
    }

    #[test]
    fn a_family_exports_the_manifest_and_one_half_at_least() {
        let check = |names: &[&str], expected: Result<(), InspectError>| {
            let exports: Vec<String> = names.iter().map(|name| format!("gatehouse:family/{name}")).collect();
            let exports: Vec<&str> =
                exports.iter().map(String::as_str).chain(["run", "a:b/jobs@1.0.0"]).collect();
            assert_eq!(check_exports(&exports), expected, "{names:?}");
        };
        let lacks = |name| Err(InspectError::NoExport { name });
        check(&["text@1.0.0", "manifest@1.0.0"], Ok(()));
        check(&["dialect@1.0.0", "manifest@1.0.0"], Ok(()));
        check(&["manifest@1.0.0", "jobs@1.0.0", "views@1.0.0", "bulk@1.0.0"], Ok(()));
        check(&["jobs@1.0.0", "text@1.0.0"], lacks("manifest"));
        check(&["manifest@1.0.0"], lacks("jobs"));
        check(&["manifest@1.0.0", "text@1.0.0", "views@1.0.0"], lacks("jobs"));
        let newer = InspectError::OtherContract { asked: "2.1.0".to_owned() };
        check(&["manifest@1.0.0", "jobs@2.1.0"], Err(newer));
    }
}
