//! The data of a wasmtime store: WASI context, guest log, memory limit. Made new for every instance, within its limits.

use std::sync::{Arc, Mutex, MutexGuard};

use wasmtime::ResourceLimiter;
use wasmtime::component::ResourceTable;
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

use crate::guest_log::{GuestLog, LogSource, SharedGuestLog, lock};
use crate::wasi;

/// What an instance may hold and print; `runtime` reads it from the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GuestLimits {
    /// Bytes of its memories, together.
    pub memory: usize,
    /// Elements of each of its tables.
    pub table_elements: usize,
    /// WASI resources at once.
    pub handles: usize,
    /// Log lines of its life.
    pub log_lines: u32,
    /// Bytes of a log line.
    pub log_line: usize,
}

/// The data of a wasmtime store.
pub struct Guest {
    pub(crate) table: ResourceTable,
    /// Built at the guest's first use of WASI; most calls never use it.
    wasi: Option<WasiCtx>,
    log: SharedGuestLog,
    /// Bytes that its memories may still grow by, together.
    memory_left: usize,
    table_elements: usize,
}

/// The memory limit was reached; the explanation of a trap looks for it.
#[derive(Debug, thiserror::Error)]
#[error("memory limit reached")]
pub struct OutOfMemory;

impl Guest {
    /// The data of an instance that has not begun; its log lines carry `source`.
    #[must_use]
    pub fn new(source: LogSource, limits: &GuestLimits) -> Self {
        let mut table = ResourceTable::new();
        table.set_max_capacity(limits.handles);
        let (memory_left, table_elements) = (limits.memory, limits.table_elements);
        let log = Arc::new(Mutex::new(GuestLog::new(source, limits)));
        Self { table, wasi: None, log, memory_left, table_elements }
    }

    /// The log, until the guard is dropped.
    pub fn log(&self) -> MutexGuard<'_, GuestLog> {
        lock(&self.log)
    }
}

impl WasiView for Guest {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        let ctx = self.wasi.get_or_insert_with(|| wasi::locked(&self.log));
        WasiCtxView { ctx, table: &mut self.table }
    }
}

impl ResourceLimiter for Guest {
    fn memory_growing(&mut self, now: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        // A trap rather than a failed growth: the guest's own panic message would hide the cause.
        let left = self.memory_left.checked_sub(desired.saturating_sub(now));
        self.memory_left = left.ok_or_else(|| wasmtime::Error::new(OutOfMemory))?;
        Ok(true)
    }

    /// A growth that was allowed and then failed is not given back: the instance is near its end.
    fn memory_grow_failed(&mut self, _: wasmtime::Error) -> wasmtime::Result<()> {
        Ok(())
    }

    fn table_growing(&mut self, _: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        Ok(desired <= self.table_elements)
    }
}
