//! The contract as this host links it: its name and version, generated bindings, imports, and the exports of a component.
//!
//! Exports are looked up once. The generated code would look up and type-check every function of the contract in every
//! instance, which costs as much as the call itself.

use std::str::FromStr;

use bindings::exports::gatehouse::family::{bulk, dialect, direct, jobs, manifest, text, views};
use bindings::gatehouse::family::{log, parents, types, upstream};
use gatehouse_guest::Guest;
use gatehouse_model::{Offers, Refusal, TextFailure};
use tracing::Level;
use wasmtime::component::{
    Component, ComponentExportIndex, ComponentNamedList, HasSelf, Instance, InstancePre, Lift, Linker, Lower,
};
use wasmtime::{Engine, Store};

use super::answers::Read;

/// A linked component, and the functions of the contract it exports.
#[derive(Clone)]
pub(crate) struct FamilyPre {
    instance: InstancePre<Guest>,
    exports: Exports,
}

/// The index of each exported function.
#[derive(Clone, Copy)]
struct Exports {
    describe: ComponentExportIndex,
    jobs: Option<JobsExports>,
    text: Option<TextExports>,
    view: Option<ComponentExportIndex>,
    bulk: Option<BulkExports>,
    dialect: Option<TextExports>,
    direct: Option<DirectExports>,
}

/// The functions of `direct`.
#[derive(Clone, Copy)]
pub(super) struct DirectExports {
    pub(super) prepare: ComponentExportIndex,
    pub(super) answer: ComponentExportIndex,
}

/// The functions of `jobs`.
#[derive(Clone, Copy)]
pub(super) struct JobsExports {
    pub(super) submit: ComponentExportIndex,
    pub(super) advance: ComponentExportIndex,
    pub(super) migrate: ComponentExportIndex,
}

/// Which half of a family translates a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Half {
    /// For the client: `text`.
    Text,
    /// From its provider: `dialect`; of its chunks only the events are known.
    Dialect,
}

/// The functions of `text`, or of `dialect`.
#[derive(Clone, Copy)]
pub(super) struct TextExports {
    pub(super) prepare: ComponentExportIndex,
    pub(super) answer: ComponentExportIndex,
    pub(super) open: ComponentExportIndex,
    pub(super) push: ComponentExportIndex,
    pub(super) end: ComponentExportIndex,
}

/// The functions of `bulk`.
#[derive(Clone, Copy)]
pub(super) struct BulkExports {
    pub(super) merge: ComponentExportIndex,
    pub(super) split: ComponentExportIndex,
}

/// One instance.
pub(crate) struct Family {
    instance: Instance,
    exports: Exports,
}

/// An instance with its store, for one call.
pub(crate) struct Callee<'a> {
    pub(crate) family: &'a Family,
    pub(crate) store: &'a mut Store<Guest>,
}

/// What a plugin says of a request: its answer, or a refusal.
pub(crate) type Judged<T> = wasmtime::Result<Result<T, Refusal>>;
/// What a plugin makes of a provider's answer to a text request.
pub(crate) type Translated<T> = wasmtime::Result<Result<T, TextFailure>>;

impl FamilyPre {
    /// # Errors
    /// A function is missing in an interface that the component exports; or it exports no `manifest`.
    pub(crate) fn new(instance: InstancePre<Guest>) -> wasmtime::Result<Self> {
        let of = |half: [ComponentExportIndex; 5]| {
            let [prepare, answer, open, push, end] = half;
            TextExports { prepare, answer, open, push, end }
        };
        let component = instance.component();
        let relay = ["prepare", "answer", "[constructor]relay", "[method]relay.push", "[method]relay.end"];
        let reader = [
            "prepare",
            "answer",
            "[constructor]frame-reader",
            "[method]frame-reader.push",
            "[method]frame-reader.end",
        ];
        let exports = Exports {
            describe: functions(component, MANIFEST, ["describe"])?.ok_or_else(|| missing(MANIFEST))?[0],
            jobs: functions(component, "jobs", ["submit", "advance", "migrate"])?
                .map(|[submit, advance, migrate]| JobsExports { submit, advance, migrate }),
            text: functions(component, "text", relay)?.map(of),
            view: functions(component, "views", ["view"])?.map(|[view]| view),
            bulk: functions(component, "bulk", ["merge", "split"])?
                .map(|[merge, split]| BulkExports { merge, split }),
            dialect: functions(component, "dialect", reader)?.map(of),
            direct: functions(component, "direct", ["prepare", "answer"])?
                .map(|[prepare, answer]| DirectExports { prepare, answer }),
        };
        Ok(Self { instance, exports })
    }

    pub(crate) fn engine(&self) -> &Engine {
        self.instance.engine()
    }

    /// The interfaces it exports beside `manifest`.
    pub(crate) fn offers(&self) -> Offers {
        let Exports { describe: _, jobs, text, view, bulk, dialect, direct } = &self.exports;
        Offers {
            jobs: jobs.is_some(),
            text: text.is_some(),
            views: view.is_some(),
            bulk: bulk.is_some(),
            direct: direct.is_some(),
            dialect: dialect.is_some(),
        }
    }

    pub(crate) fn instantiate(&self, store: &mut Store<Guest>) -> wasmtime::Result<Family> {
        Ok(Family { instance: self.instance.instantiate(store)?, exports: self.exports })
    }

    /// Compares the types of all exported functions with the contract, once for a version.
    pub(crate) fn check_types(&self, Callee { family, store }: &mut Callee<'_>) -> wasmtime::Result<()> {
        let (pre, instance) = (&self.instance, &family.instance);
        let Offers { jobs, text, views, bulk, dialect, direct } = self.offers();
        manifest::GuestIndices::new(pre)?.load(&mut **store, instance)?;
        if jobs {
            jobs::GuestIndices::new(pre)?.load(&mut **store, instance)?;
        }
        if text {
            text::GuestIndices::new(pre)?.load(&mut **store, instance)?;
        }
        if views {
            views::GuestIndices::new(pre)?.load(&mut **store, instance)?;
        }
        if bulk {
            bulk::GuestIndices::new(pre)?.load(&mut **store, instance)?;
        }
        if dialect {
            dialect::GuestIndices::new(pre)?.load(&mut **store, instance)?;
        }
        if direct {
            direct::GuestIndices::new(pre)?.load(&mut **store, instance)?;
        }
        Ok(())
    }
}

/// The functions of an interface, where the component exports it.
fn functions<const N: usize>(
    component: &Component,
    interface: &str,
    names: [&str; N],
) -> wasmtime::Result<Option<[ComponentExportIndex; N]>> {
    let path = format!("{PACKAGE}/{interface}@{}", supported_version());
    let Some(inside) = component.get_export_index(None, &path) else { return Ok(None) };
    let mut found = Vec::with_capacity(N);
    for name in names {
        let index = component.get_export_index(Some(&inside), name);
        found.push(index.ok_or_else(|| wasmtime::Error::msg(format!("no function {name} in {path}")))?);
    }
    Ok(<[ComponentExportIndex; N]>::try_from(found).ok())
}

/// The error of a call into an interface that the component does not export. The registry asks for none.
fn missing(interface: &str) -> wasmtime::Error {
    wasmtime::Error::msg(format!("the component does not export {PACKAGE}/{interface}"))
}

impl Callee<'_> {
    /// Calls one function of this instance.
    pub(super) fn call<P, R>(&mut self, function: ComponentExportIndex, parameters: P) -> wasmtime::Result<R>
    where
        P: ComponentNamedList + Lower,
        (R,): ComponentNamedList + Lift,
    {
        let function = self.family.instance.get_typed_func::<P, (R,)>(&mut *self.store, function)?;
        Ok(function.call(&mut *self.store, parameters)?.0)
    }

    /// The same, with what it returns as the model's type.
    pub(super) fn ask<P, R: Read<U>, U>(
        &mut self,
        function: ComponentExportIndex,
        parameters: P,
    ) -> wasmtime::Result<U>
    where
        P: ComponentNamedList + Lower,
        (R,): ComponentNamedList + Lift,
    {
        Ok(self.call::<P, R>(function, parameters)?.read()?)
    }

    /// `manifest.describe`: the document.
    pub(crate) fn describe(&mut self) -> wasmtime::Result<String> {
        self.call(self.family.exports.describe, ())
    }

    pub(super) fn jobs(&self) -> wasmtime::Result<JobsExports> {
        self.family.exports.jobs.ok_or_else(|| missing("jobs"))
    }

    pub(super) fn direct(&self) -> wasmtime::Result<DirectExports> {
        self.family.exports.direct.ok_or_else(|| missing("direct"))
    }

    pub(super) fn half(&self, half: Half) -> wasmtime::Result<TextExports> {
        match half {
            Half::Text => self.family.exports.text.ok_or_else(|| missing("text")),
            Half::Dialect => self.family.exports.dialect.ok_or_else(|| missing("dialect")),
        }
    }

    pub(super) fn views(&self) -> wasmtime::Result<ComponentExportIndex> {
        self.family.exports.view.ok_or_else(|| missing("views"))
    }

    pub(super) fn bulk(&self) -> wasmtime::Result<BulkExports> {
        self.family.exports.bulk.ok_or_else(|| missing("bulk"))
    }
}

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
            log::Level::Error => Level::ERROR,
            log::Level::Warn => Level::WARN,
            log::Level::Info => Level::INFO,
            log::Level::Debug => Level::DEBUG,
        };
        self.log().line(level, &message, &fields);
    }
}

// Interfaces with types only; the linker requires the traits.
impl types::Host for Guest {}
impl upstream::Host for Guest {}
impl parents::Host for Guest {}
