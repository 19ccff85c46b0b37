//! The only constructor of wasmtime engines, and the ticker behind their deadlines.
//!
//! Two kinds share one base, so that code compiled by one loads in the other: the serving engine (pooled instances)
//! and a compiling engine, dropped after one compilation (wasmtime 48 keeps compiler contexts for an engine's life).

use std::num::NonZeroUsize;
use std::thread;
use std::time::Duration;

use wasmtime::{
    Config, Enabled, Engine, InstanceAllocationStrategy, PoolingAllocationConfig, WasmBacktraceDetails,
};

/// The interval between two checks of a deadline.
pub(crate) const TICK: Duration = Duration::from_millis(10);
/// Stack of every thread that runs plugins; the guest's own part is [`WASM_STACK`].
pub(crate) const THREAD_STACK: usize = 2 << 20;
const WASM_STACK: usize = 512 << 10;

/// Memories a component may have, all its modules together; one composed of many components has more.
pub(crate) const MEMORIES: u32 = 4;
/// Tables a component may have.
pub(crate) const TABLES: u32 = 8;
/// Elements a table may have; the C functions of an embedded interpreter fill about half.
pub(crate) const TABLE_ELEMENTS: usize = 20_000;
/// Shared libraries linked into one component are a core instance each.
const CORE_INSTANCES: u32 = 48;
const INSTANCE_BYTES: usize = 1 << 20;

fn base() -> Config {
    let mut config = Config::new();
    config
        // Every call is synchronous; concurrency support costs 15 to 20 % of a call.
        .concurrency_support(false)
        .epoch_interruption(true)
        .max_wasm_stack(WASM_STACK)
        // The same result on every machine: no NaN bits, relaxed SIMD or 64-bit memories.
        .cranelift_nan_canonicalization(true)
        .wasm_relaxed_simd(false)
        .wasm_memory64(false)
        // Interpreters keep what they load in a memory of its own.
        .wasm_multi_memory(true)
        .parallel_compilation(true)
        .wasm_backtrace_max_frames(NonZeroUsize::new(16))
        // Otherwise an environment variable would decide.
        .wasm_backtrace_details(WasmBacktraceDetails::Disable)
        .native_unwind_info(false);
    config
}

/// Memories kept resident between calls; those of a burst of streams are released when the streams end.
const WARM_MEMORIES: u32 = 64;

/// The engine that runs calls: at most `calls` instances at once, memories up to `memory` bytes.
pub(crate) fn serving(calls: usize, memory: usize) -> wasmtime::Result<Engine> {
    // Without pagemap_scan (Linux before 6.7) resident pages cost a memset of all of them at each call, two to seven
    // times slower than releasing them.
    pooled(calls, memory, Enabled::Yes, 4 << 20).or_else(|_| pooled(calls, memory, Enabled::No, 0))
}

/// A number of calls below `calls` that fits into the address space, which [`serving`] reserves for all of them at its
/// start; `None` where the number is not what hinders it.
pub(crate) fn fitting(calls: usize, memory: usize) -> Option<usize> {
    let fewer = std::iter::successors(Some(calls / 2), |calls| Some(calls / 2));
    fewer.take_while(|calls| *calls > 0).find(|calls| serving(*calls, memory).is_ok())
}

fn pooled(calls: usize, memory: usize, pagemap: Enabled, keep: usize) -> wasmtime::Result<Engine> {
    let calls = u32::try_from(calls).unwrap_or(u32::MAX);
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(calls)
        .total_core_instances(calls.saturating_mul(CORE_INSTANCES))
        .total_memories(calls.saturating_mul(MEMORIES))
        .total_tables(calls.saturating_mul(TABLES))
        .total_stacks(calls)
        .max_core_instances_per_component(CORE_INSTANCES)
        .max_memories_per_component(MEMORIES)
        .max_tables_per_component(TABLES)
        .max_component_instance_size(INSTANCE_BYTES)
        .max_core_instance_size(INSTANCE_BYTES)
        .table_elements(TABLE_ELEMENTS)
        .max_memory_size(memory)
        .linear_memory_keep_resident(keep)
        .table_keep_resident(keep.min(64 << 10))
        .max_unused_warm_slots(calls.saturating_mul(MEMORIES).min(WARM_MEMORIES))
        .decommit_batch_size(1)
        .pagemap_scan(pagemap);
    let mut config = base();
    config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
    Engine::new(&config)
}

/// An engine for one compilation.
pub(crate) fn compiling() -> wasmtime::Result<Engine> {
    let mut config = base();
    config.allocation_strategy(InstanceAllocationStrategy::OnDemand);
    Engine::new(&config)
}

/// An engine for one compilation whose code every processor of this architecture runs: it takes nothing that only some of them have.
pub(crate) fn packaging() -> wasmtime::Result<Engine> {
    let mut config = base();
    config.allocation_strategy(InstanceAllocationStrategy::OnDemand);
    config.target(&format!("{}-unknown-linux-gnu", std::env::consts::ARCH))?;
    Engine::new(&config)
}

/// Starts the thread that advances `engine`'s epoch every [`TICK`]; it ends with the engine. A separate thread,
/// because a timer of an async runtime is late exactly when a deadline matters.
pub(crate) fn start_ticker(engine: &Engine) -> std::io::Result<()> {
    let engine = engine.weak();
    let advance = move || {
        while let Some(engine) = engine.upgrade() {
            engine.increment_epoch();
            drop(engine);
            thread::sleep(TICK);
        }
    };
    thread::Builder::new().name("plugin-ticker".to_owned()).spawn(advance).map(drop)
}

/// The ticks that cover `span`, including the current one.
pub(crate) fn ticks(span: Duration) -> u64 {
    let whole = span.as_nanos().div_ceil(TICK.as_nanos());
    u64::try_from(whole).unwrap_or(u64::MAX).saturating_add(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_of_one_engine_loads_in_the_other() {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let hash = |engine: &Engine| {
            let mut hasher = DefaultHasher::new();
            engine.precompile_compatibility_hash().hash(&mut hasher);
            hasher.finish()
        };
        let serving = serving(2, 32 << 20).unwrap();
        assert_eq!(hash(&serving), hash(&compiling().unwrap()));
    }

    #[test]
    fn the_pool_is_also_built_without_pagemap_scan() {
        assert!(pooled(1, 1 << 20, Enabled::No, 0).is_ok());
    }

    #[test]
    fn of_too_many_calls_fewer_fit() {
        for calls in [1_000_000, usize::MAX] {
            assert!(serving(calls, 64 << 20).is_err(), "{calls}");
            let fewer = fitting(calls, 64 << 20).unwrap();
            assert!((1000..1_000_000).contains(&fewer), "{fewer}");
        }
        // A memory that is no memory is not the number's fault.
        assert_eq!(fitting(8, usize::MAX), None);
    }

    #[test]
    fn a_deadline_is_never_early() {
        let check = |ms, expected| assert_eq!(ticks(Duration::from_millis(ms)), expected, "{ms}");
        check(1, 2);
        check(10, 2);
        check(11, 3);
        check(100, 11);
    }
}
