//! What the process gets from its machine, and what it tells of itself.
//!
//! Owns the allocator, the only real clock and random source, the subscriber of logs, the recorder of metrics, and the exporter of
//! traces: what every request runs of the binary. A crate of its own, since the release build does not optimize the binary.
//! Never decides what is logged, counted or traced.

mod log_lines;
mod logs;
mod metrics;
mod registered;
mod system;
mod traces;

pub use log_lines::process_log;
pub use logs::{LogConfig, LogFormat, start_logs};
pub use metrics::start_metrics;
pub use metrics_exporter_prometheus::PrometheusHandle;
pub use system::{SystemClock, SystemSeed, check_clock};
pub use traces::{Exporter, TracesConfig};

/// Gives memory back after a peak, by threads of its own; the C library's keeps nearly all of it (tests/bench/README.md).
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;
