//! The WASI 0.2 context of every instance: no files, no sockets, no environment, no arguments, empty input; clocks
//! that stand still and constant randomness. So a plugin can be nothing but a pure function.
//!
//! Printed text goes to the guest log.

use std::sync::Arc;
use std::time::Duration;

use tracing::Level;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamResult};
use wasmtime_wasi::{Deterministic, HostMonotonicClock, HostWallClock, WasiCtx, async_trait};

use crate::guest_log::{SharedGuestLog, lock};

/// Enough for any seed.
const MAX_RANDOM_BYTES: u64 = 64 << 10;
/// Bytes taken in one write; a guest writes more in several.
const MAX_WRITE_BYTES: usize = 64 << 10;
/// The bytes of both sources of randomness, repeated.
const RANDOM_PATTERN: &[u8] = b"gatehouse";

/// A context without access to anything; printed text goes to `log`.
pub(super) fn locked(log: &SharedGuestLog) -> WasiCtx {
    WasiCtx::builder()
        .stdout(Printer { log: Arc::clone(log), level: Level::INFO })
        .stderr(Printer { log: Arc::clone(log), level: Level::ERROR })
        .secure_random(Deterministic::new(RANDOM_PATTERN.to_vec()))
        .insecure_random(Deterministic::new(RANDOM_PATTERN.to_vec()))
        .max_random_size(MAX_RANDOM_BYTES)
        .wall_clock(FrozenClock)
        .monotonic_clock(FrozenClock)
        .allow_tcp(false)
        .allow_udp(false)
        .allow_ip_name_lookup(false)
        .allow_blocking_current_thread(true)
        .build()
}

/// Always zero: a plugin gets the time as an argument.
pub(super) struct FrozenClock;

impl HostWallClock for FrozenClock {
    fn resolution(&self) -> Duration {
        Duration::from_secs(1)
    }

    fn now(&self) -> Duration {
        Duration::ZERO
    }
}

impl HostMonotonicClock for FrozenClock {
    fn resolution(&self) -> u64 {
        1
    }

    fn now(&self) -> u64 {
        0
    }
}

/// Standard output or error.
#[derive(Clone)]
struct Printer {
    log: SharedGuestLog,
    level: Level,
}

impl IsTerminal for Printer {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for Printer {
    fn async_stream(&self) -> Box<dyn tokio::io::AsyncWrite + Send + Sync> {
        // Only WASI 0.3 uses this one, and it is not linked.
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
        lock(&self.log).print(self.level, &bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(MAX_WRITE_BYTES)
    }
}
