//! WASI 0.2 as plugins get it: all there, all locked.
//!
//! wasmtime-wasi brings the interfaces; this file takes the world out of them. No files, no sockets, no
//! environment, no arguments, empty input; the clocks stand still and randomness is a constant, so that a
//! plugin cannot be anything but a pure function. Nothing can be waited for: a wait would hold a plugin
//! thread where no deadline reaches it, so it is a trap instead.

use std::future::{Future, pending};
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use wasmtime::component::{HasData, Linker, Resource, ResourceTable};
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::bindings::clocks::monotonic_clock;
use wasmtime_wasi::p2::bindings::io::poll as awaited;
use wasmtime_wasi::p2::bindings::random::insecure_seed;
use wasmtime_wasi::p2::bindings::sync::io::poll;
use wasmtime_wasi::p2::{DynPollable, OutputStream, Pollable, StreamResult, subscribe};
use wasmtime_wasi::{Deterministic, HostMonotonicClock, HostWallClock, WasiCtx, async_trait};

use crate::guest::{Guest, SharedNotes};
use crate::notes::Level;

/// Enough for any seed, small enough to be nothing.
const MOST_RANDOM: u64 = 64 << 10;
/// Written to at once; more takes another call.
const PRINT_AT_ONCE: usize = 64 << 10;

/// Adds every interface of `wasi:cli/imports` to `linker`.
pub(crate) fn link(linker: &mut Linker<Guest>) -> wasmtime::Result<()> {
    wasmtime_wasi::p2::add_to_linker_sync(linker)?;
    linker.allow_shadowing(true);
    poll::add_to_linker::<Guest, Frozen>(linker, |guest| World { table: &mut guest.table })?;
    monotonic_clock::add_to_linker::<Guest, Frozen>(linker, |guest| World { table: &mut guest.table })?;
    // Every hash map asks for this one; answering here keeps the rest of WASI unbuilt in most calls.
    insecure_seed::add_to_linker::<Guest, Frozen>(linker, |guest| World { table: &mut guest.table })?;
    linker.allow_shadowing(false);
    Ok(())
}

/// A context that leads nowhere; what is printed goes to `notes`.
pub(crate) fn locked(notes: &SharedNotes) -> WasiCtx {
    WasiCtx::builder()
        .stdout(Printer { notes: notes.clone(), level: Level::Info })
        .stderr(Printer { notes: notes.clone(), level: Level::Error })
        .secure_random(Deterministic::new(b"gatehouse".to_vec()))
        .insecure_random(Deterministic::new(b"gatehouse".to_vec()))
        .max_random_size(MOST_RANDOM)
        .wall_clock(Midnight)
        .monotonic_clock(Midnight)
        .allow_tcp(false)
        .allow_udp(false)
        .allow_ip_name_lookup(false)
        .allow_blocking_current_thread(true)
        .build()
}

/// The only time there is: the host hands the real one over as an argument.
struct Midnight;

impl HostWallClock for Midnight {
    fn resolution(&self) -> Duration {
        Duration::from_secs(1)
    }

    fn now(&self) -> Duration {
        Duration::ZERO
    }
}

impl HostMonotonicClock for Midnight {
    fn resolution(&self) -> u64 {
        1
    }

    fn now(&self) -> u64 {
        0
    }
}

struct Frozen;

impl HasData for Frozen {
    type Data<'a> = World<'a>;
}

struct World<'a> {
    table: &'a mut ResourceTable,
}

impl insecure_seed::Host for World<'_> {
    fn insecure_seed(&mut self) -> wasmtime::Result<(u64, u64)> {
        Ok((0x6761_7465_686f_7573, 0x6520_7365_6564_2030))
    }
}

/// A timer in a world where time stands still: due already, or never.
struct Timer {
    due: bool,
}

#[async_trait]
impl Pollable for Timer {
    async fn ready(&mut self) {
        if !self.due {
            pending::<()>().await;
        }
    }
}

impl World<'_> {
    fn timer(&mut self, nanoseconds: u64) -> wasmtime::Result<Resource<DynPollable>> {
        let timer = self.table.push(Timer { due: nanoseconds == 0 })?;
        subscribe(self.table, timer)
    }
}

impl monotonic_clock::Host for World<'_> {
    fn now(&mut self) -> wasmtime::Result<u64> {
        Ok(HostMonotonicClock::now(&Midnight))
    }

    fn resolution(&mut self) -> wasmtime::Result<u64> {
        Ok(HostMonotonicClock::resolution(&Midnight))
    }

    fn subscribe_instant(&mut self, when: u64) -> wasmtime::Result<Resource<DynPollable>> {
        self.timer(when)
    }

    fn subscribe_duration(&mut self, when: u64) -> wasmtime::Result<Resource<DynPollable>> {
        self.timer(when)
    }
}

/// The guest wanted to wait.
#[derive(Debug, thiserror::Error)]
#[error("it tried to wait or sleep; a plugin asks the host to wake it instead (`wait until`)")]
pub(crate) struct Waited;

/// What is ready now. Two looks, because some of WASI's own pollables yield once for politeness.
fn now_or_never<T>(future: impl Future<Output = wasmtime::Result<T>>) -> wasmtime::Result<T> {
    let mut future = pin!(future);
    let mut quiet = Context::from_waker(Waker::noop());
    for _ in 0..2 {
        if let Poll::Ready(ready) = future.as_mut().poll(&mut quiet) {
            return ready;
        }
    }
    Err(wasmtime::Error::new(Waited))
}

impl poll::Host for World<'_> {
    fn poll(&mut self, pollables: Vec<Resource<DynPollable>>) -> wasmtime::Result<Vec<u32>> {
        now_or_never(awaited::Host::poll(self.table, pollables))
    }
}

impl poll::HostPollable for World<'_> {
    fn ready(&mut self, pollable: Resource<DynPollable>) -> wasmtime::Result<bool> {
        now_or_never(awaited::HostPollable::ready(self.table, pollable))
    }

    fn block(&mut self, pollable: Resource<DynPollable>) -> wasmtime::Result<()> {
        now_or_never(awaited::HostPollable::block(self.table, pollable))
    }

    fn drop(&mut self, pollable: Resource<DynPollable>) -> wasmtime::Result<()> {
        awaited::HostPollable::drop(self.table, pollable)
    }
}

/// Standard output or error.
#[derive(Clone)]
struct Printer {
    notes: SharedNotes,
    level: Level,
}

impl IsTerminal for Printer {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for Printer {
    fn async_stream(&self) -> Box<dyn tokio::io::AsyncWrite + Send + Sync> {
        // Only WASI 0.3 asks for this one, and it is not linked.
        Box::new(tokio::io::sink())
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }
}

#[async_trait]
impl Pollable for Printer {
    async fn ready(&mut self) {}
}

impl OutputStream for Printer {
    fn write(&mut self, bytes: bytes::Bytes) -> StreamResult<()> {
        self.notes.lock().print(self.level, &bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(PRINT_AT_ONCE)
    }
}
