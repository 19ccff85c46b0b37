//! Stage four: does every import of the component exist, with the type it expects?

use gatehouse_guest::Guest;
use wasmtime::Engine;
use wasmtime::component::{Component, Linker};

use crate::abi_v1::contract;
use crate::abi_v1::exports::FamilyPre;
use crate::deploy::error::{StageError, causes};

/// A linker with everything that a plugin may import.
pub(crate) fn linker(engine: &Engine) -> wasmtime::Result<Linker<Guest>> {
    let mut linker = Linker::new(engine);
    gatehouse_guest::link(&mut linker)?;
    contract::link(&mut linker)?;
    if cfg!(test) {
        // What a later host may offer besides.
        linker.instance("gatehouse:family/later@1.0.0")?;
    }
    Ok(linker)
}

/// The component with its imports linked and its exports looked up.
pub(crate) fn link(linker: &Linker<Guest>, component: &Component) -> Result<FamilyPre, StageError> {
    let linked = linker.instantiate_pre(component).and_then(FamilyPre::new);
    linked.map_err(|error| StageError::Link(causes(&error)))
}
