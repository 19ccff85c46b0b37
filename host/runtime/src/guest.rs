//! What stands behind one instance: its WASI, its log, its memory gauge. Made new for every call.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use wasmtime::ResourceLimiter;
use wasmtime::component::ResourceTable;
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

use crate::config::Limits;
use crate::engine::TABLE_ELEMENTS;
use crate::notes::{Notes, Speaker};
use crate::wasi;

/// The store's data.
pub(crate) struct Guest {
    pub(crate) table: ResourceTable,
    /// Built when the guest first asks for something of WASI; most calls never do.
    wasi: Option<WasiCtx>,
    notes: SharedNotes,
    memory: usize,
}

/// The log is shared with the output streams, which live in the resource table.
#[derive(Clone)]
pub(crate) struct SharedNotes(Arc<Mutex<Notes>>);

impl SharedNotes {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Notes> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The memory limit was hit; looked for when a trap is explained.
#[derive(Debug, thiserror::Error)]
#[error("memory limit reached")]
pub(crate) struct OutOfMemory;

impl Guest {
    pub(crate) fn new(speaker: Speaker, limits: &Limits) -> Self {
        let mut table = ResourceTable::new();
        table.set_max_capacity(usize::try_from(limits.handles.get()).unwrap_or(usize::MAX));
        Self {
            table,
            wasi: None,
            notes: SharedNotes(Arc::new(Mutex::new(Notes::new(speaker, limits)))),
            memory: limits.memory(),
        }
    }

    pub(crate) fn notes(&self) -> MutexGuard<'_, Notes> {
        self.notes.lock()
    }
}

impl WasiView for Guest {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        let ctx = self.wasi.get_or_insert_with(|| wasi::locked(&self.notes));
        WasiCtxView { ctx, table: &mut self.table }
    }
}

impl ResourceLimiter for Guest {
    fn memory_growing(&mut self, _: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        // A trap rather than a failed growth: the guest's own complaint would hide the cause.
        if desired > self.memory { Err(wasmtime::Error::new(OutOfMemory)) } else { Ok(true) }
    }

    fn table_growing(&mut self, _: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        Ok(desired <= TABLE_ELEMENTS)
    }
}
