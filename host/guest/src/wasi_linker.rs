//! The WASI 0.2 imports, linked: wasmtime-wasi's interfaces, and our own versions of those that could wait.
//!
//! A wait would hold a plugin thread beyond the reach of its deadline, so it is a trap. Timers, polls and the hash
//! seed therefore have implementations here; everything else is wasmtime-wasi over the locked context of `wasi`.

use std::future::{Future, pending};
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use wasmtime::component::{HasSelf, Linker, Resource};
use wasmtime_wasi::p2::bindings::clocks::monotonic_clock;
use wasmtime_wasi::p2::bindings::io::poll as awaited;
use wasmtime_wasi::p2::bindings::random::insecure_seed;
use wasmtime_wasi::p2::bindings::sync::io::poll;
use wasmtime_wasi::p2::{DynPollable, Pollable, subscribe};
use wasmtime_wasi::{HostMonotonicClock, async_trait};

use crate::guest::Guest;
use crate::wasi::FrozenClock;

/// Adds every interface of `wasi:cli/imports` to `linker`.
pub fn link(linker: &mut Linker<Guest>) -> wasmtime::Result<()> {
    wasmtime_wasi::p2::add_to_linker_sync(linker)?;
    linker.allow_shadowing(true);
    poll::add_to_linker::<Guest, HasSelf<Guest>>(linker, |guest| guest)?;
    monotonic_clock::add_to_linker::<Guest, HasSelf<Guest>>(linker, |guest| guest)?;
    // Every hash map asks for the seed. An answer here spares most calls the WASI context.
    insecure_seed::add_to_linker::<Guest, HasSelf<Guest>>(linker, |guest| guest)?;
    linker.allow_shadowing(false);
    Ok(())
}

impl insecure_seed::Host for Guest {
    fn insecure_seed(&mut self) -> wasmtime::Result<(u64, u64)> {
        Ok((0x6761_7465_686f_7573, 0x6520_7365_6564_2030))
    }
}

/// A timer under a frozen clock: due at once, or never.
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

fn timer(guest: &mut Guest, nanoseconds: u64) -> wasmtime::Result<Resource<DynPollable>> {
    let timer = guest.table.push(Timer { due: nanoseconds == 0 })?;
    subscribe(&mut guest.table, timer)
}

impl monotonic_clock::Host for Guest {
    fn now(&mut self) -> wasmtime::Result<u64> {
        Ok(HostMonotonicClock::now(&FrozenClock))
    }

    fn resolution(&mut self) -> wasmtime::Result<u64> {
        Ok(HostMonotonicClock::resolution(&FrozenClock))
    }

    fn subscribe_instant(&mut self, when: u64) -> wasmtime::Result<Resource<DynPollable>> {
        timer(self, when)
    }

    fn subscribe_duration(&mut self, when: u64) -> wasmtime::Result<Resource<DynPollable>> {
        timer(self, when)
    }
}

/// The guest tried to wait.
#[derive(Debug, thiserror::Error)]
#[error("it tried to wait or sleep; a plugin asks the host to wake it instead (`wait until`)")]
pub struct BlockedWait;

/// The result of a future that is ready now. Polled twice, because some of WASI's own pollables yield once.
fn now_or_never<T>(future: impl Future<Output = wasmtime::Result<T>>) -> wasmtime::Result<T> {
    let mut future = pin!(future);
    let mut quiet = Context::from_waker(Waker::noop());
    for _ in 0..2 {
        if let Poll::Ready(ready) = future.as_mut().poll(&mut quiet) {
            return ready;
        }
    }
    Err(wasmtime::Error::new(BlockedWait))
}

impl poll::Host for Guest {
    fn poll(&mut self, pollables: Vec<Resource<DynPollable>>) -> wasmtime::Result<Vec<u32>> {
        now_or_never(awaited::Host::poll(&mut self.table, pollables))
    }
}

impl poll::HostPollable for Guest {
    fn ready(&mut self, pollable: Resource<DynPollable>) -> wasmtime::Result<bool> {
        now_or_never(awaited::HostPollable::ready(&mut self.table, pollable))
    }

    fn block(&mut self, pollable: Resource<DynPollable>) -> wasmtime::Result<()> {
        now_or_never(awaited::HostPollable::block(&mut self.table, pollable))
    }

    fn drop(&mut self, pollable: Resource<DynPollable>) -> wasmtime::Result<()> {
        awaited::HostPollable::drop(&mut self.table, pollable)
    }
}
