//! The exports of a linked component, looked up once.
//!
//! The generated code would look up and type-check every function of the contract in every instance, which costs as
//! much as the call itself.

use wasmtime::component::{ComponentExportIndex, ComponentNamedList, Instance, InstancePre, Lift, Lower};
use wasmtime::{Engine, Store};

use super::contract::{PACKAGE, bindings, supported_version};
use crate::exec::guest::Guest;

/// A linked component with all exports, of the right types.
#[derive(Clone)]
pub(crate) struct FamilyPre {
    instance: InstancePre<Guest>,
    exports: Exports,
}

/// The index of each function of the contract.
#[derive(Clone, Copy)]
pub(super) struct Exports {
    pub(super) describe: ComponentExportIndex,
    pub(super) submit: ComponentExportIndex,
    pub(super) advance: ComponentExportIndex,
    pub(super) migrate: ComponentExportIndex,
    pub(super) prepare: ComponentExportIndex,
    pub(super) answer: ComponentExportIndex,
    pub(super) relay: ComponentExportIndex,
    pub(super) push: ComponentExportIndex,
    pub(super) end: ComponentExportIndex,
}

/// One instance.
pub(crate) struct Family {
    instance: Instance,
    pub(super) exports: Exports,
}

impl FamilyPre {
    /// # Errors
    /// An export is missing or of another type.
    pub(crate) fn new(instance: InstancePre<Guest>) -> wasmtime::Result<Self> {
        // Checks every name and type; its error names the wrong one.
        bindings::FamilyPre::new(instance.clone())?;
        let component = instance.component();
        let find = |interface: &str, name: &str| {
            let path = format!("{PACKAGE}/{interface}@{}", supported_version());
            component
                .get_export_index(None, &path)
                .and_then(|inside| component.get_export_index(Some(&inside), name))
                .ok_or_else(|| wasmtime::Error::msg(format!("no function {name} in {path}")))
        };
        let exports = Exports {
            describe: find("manifest", "describe")?,
            submit: find("jobs", "submit")?,
            advance: find("jobs", "advance")?,
            migrate: find("jobs", "migrate")?,
            prepare: find("text", "prepare")?,
            answer: find("text", "answer")?,
            relay: find("text", "[constructor]relay")?,
            push: find("text", "[method]relay.push")?,
            end: find("text", "[method]relay.end")?,
        };
        Ok(Self { instance, exports })
    }

    pub(crate) fn engine(&self) -> &Engine {
        self.instance.engine()
    }

    pub(crate) fn instantiate(&self, store: &mut Store<Guest>) -> wasmtime::Result<Family> {
        Ok(Family { instance: self.instance.instantiate(store)?, exports: self.exports })
    }
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
}
