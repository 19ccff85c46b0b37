//! The exports of a linked component, looked up once.
//!
//! The generated code would look up and type-check every function of the contract in every instance, which costs as
//! much as the call itself.

use gatehouse_guest::Guest;
use gatehouse_model::Offers;
use wasmtime::component::{ComponentExportIndex, ComponentNamedList, Instance, InstancePre, Lift, Lower};
use wasmtime::{Engine, Store};

use super::contract::bindings::exports::gatehouse::family::{
    bulk, dialect, direct, jobs, manifest, text, views,
};
use super::contract::{MANIFEST, PACKAGE, supported_version};

/// A linked component, and the functions of the contract it exports.
#[derive(Clone)]
pub(crate) struct FamilyPre {
    instance: InstancePre<Guest>,
    exports: Exports,
}

/// The index of each exported function.
#[derive(Clone, Copy)]
pub(super) struct Exports {
    pub(super) describe: ComponentExportIndex,
    pub(super) jobs: Option<JobsExports>,
    pub(super) text: Option<TextExports>,
    pub(super) view: Option<ComponentExportIndex>,
    pub(super) bulk: Option<BulkExports>,
    pub(super) dialect: Option<DialectExports>,
    pub(super) direct: Option<DirectExports>,
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

/// The functions of `text`.
#[derive(Clone, Copy)]
pub(super) struct TextExports {
    pub(super) prepare: ComponentExportIndex,
    pub(super) answer: ComponentExportIndex,
    pub(super) relay: ComponentExportIndex,
    pub(super) push: ComponentExportIndex,
    pub(super) end: ComponentExportIndex,
}

/// The functions of `dialect`.
#[derive(Clone, Copy)]
pub(super) struct DialectExports {
    pub(super) prepare: ComponentExportIndex,
    pub(super) answer: ComponentExportIndex,
    pub(super) reader: ComponentExportIndex,
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
    pub(super) exports: Exports,
}

impl FamilyPre {
    /// # Errors
    /// A function is missing in an interface that the component exports; or it exports no `manifest`.
    pub(crate) fn new(instance: InstancePre<Guest>) -> wasmtime::Result<Self> {
        let component = instance.component();
        let path = |interface: &str| format!("{PACKAGE}/{interface}@{}", supported_version());
        let inside = |interface: &str| component.get_export_index(None, path(interface));
        let find = |interface: &str, name: &str| {
            inside(interface)
                .and_then(|inside| component.get_export_index(Some(&inside), name))
                .ok_or_else(|| wasmtime::Error::msg(format!("no function {name} in {}", path(interface))))
        };
        let exports = Exports {
            describe: find(MANIFEST, "describe")?,
            jobs: match inside("jobs") {
                None => None,
                Some(_) => Some(JobsExports {
                    submit: find("jobs", "submit")?,
                    advance: find("jobs", "advance")?,
                    migrate: find("jobs", "migrate")?,
                }),
            },
            text: match inside("text") {
                None => None,
                Some(_) => Some(TextExports {
                    prepare: find("text", "prepare")?,
                    answer: find("text", "answer")?,
                    relay: find("text", "[constructor]relay")?,
                    push: find("text", "[method]relay.push")?,
                    end: find("text", "[method]relay.end")?,
                }),
            },
            view: inside("views").map(|_| find("views", "view")).transpose()?,
            bulk: match inside("bulk") {
                None => None,
                Some(_) => Some(BulkExports { merge: find("bulk", "merge")?, split: find("bulk", "split")? }),
            },
            dialect: match inside("dialect") {
                None => None,
                Some(_) => Some(DialectExports {
                    prepare: find("dialect", "prepare")?,
                    answer: find("dialect", "answer")?,
                    reader: find("dialect", "[constructor]frame-reader")?,
                    push: find("dialect", "[method]frame-reader.push")?,
                    end: find("dialect", "[method]frame-reader.end")?,
                }),
            },
            direct: match inside("direct") {
                None => None,
                Some(_) => Some(DirectExports {
                    prepare: find("direct", "prepare")?,
                    answer: find("direct", "answer")?,
                }),
            },
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
    pub(crate) fn check_types(&self, family: &Family, store: &mut Store<Guest>) -> wasmtime::Result<()> {
        let (pre, instance) = (&self.instance, &family.instance);
        let Offers { jobs, text, views, bulk, dialect, direct } = self.offers();
        manifest::GuestIndices::new(pre)?.load(&mut *store, instance)?;
        if jobs {
            jobs::GuestIndices::new(pre)?.load(&mut *store, instance)?;
        }
        if text {
            text::GuestIndices::new(pre)?.load(&mut *store, instance)?;
        }
        if views {
            views::GuestIndices::new(pre)?.load(&mut *store, instance)?;
        }
        if bulk {
            bulk::GuestIndices::new(pre)?.load(&mut *store, instance)?;
        }
        if dialect {
            dialect::GuestIndices::new(pre)?.load(&mut *store, instance)?;
        }
        if direct {
            direct::GuestIndices::new(pre)?.load(&mut *store, instance)?;
        }
        Ok(())
    }
}

/// The error of a call into an interface that the component does not export. The registry asks for none.
pub(super) fn missing(interface: &str) -> wasmtime::Error {
    wasmtime::Error::msg(format!("the component does not export {PACKAGE}/{interface}"))
}

impl Family {
    /// Calls one function of this instance.
    pub(super) fn call<P, R>(
        &self,
        store: &mut Store<Guest>,
        function: ComponentExportIndex,
        parameters: P,
    ) -> wasmtime::Result<R>
    where
        P: ComponentNamedList + Lower,
        (R,): ComponentNamedList + Lift,
    {
        let function = self.instance.get_typed_func::<P, (R,)>(&mut *store, function)?;
        Ok(function.call(store, parameters)?.0)
    }

    /// `manifest.describe`: the document.
    pub(crate) fn describe(&self, store: &mut Store<Guest>) -> wasmtime::Result<String> {
        self.call(store, self.exports.describe, ())
    }

    pub(super) fn jobs(&self) -> wasmtime::Result<JobsExports> {
        self.exports.jobs.ok_or_else(|| missing("jobs"))
    }

    pub(super) fn direct(&self) -> wasmtime::Result<DirectExports> {
        self.exports.direct.ok_or_else(|| missing("direct"))
    }

    pub(super) fn text(&self) -> wasmtime::Result<TextExports> {
        self.exports.text.ok_or_else(|| missing("text"))
    }

    pub(super) fn dialect(&self) -> wasmtime::Result<DialectExports> {
        self.exports.dialect.ok_or_else(|| missing("dialect"))
    }
}
