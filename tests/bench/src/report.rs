//! The output: one line for each figure.

use std::time::Duration;

use crate::load::Load;
use crate::process::Cpu;

/// Prints a figure and its name.
#[expect(clippy::print_stdout, reason = "this program's output")]
pub(crate) fn line(what: &str, figure: impl std::fmt::Display) {
    println!("{what:<40} {figure}");
}

/// Prints a row of a table of paths.
#[expect(clippy::print_stdout, reason = "this program's output")]
pub(crate) fn row([what, status, middle, slowest, size, memory]: [&str; 6]) {
    println!("{what:<64} {status:>6} {middle:>11} {slowest:>11} {size:>12} {memory:>10}");
}

/// CPU of a process for each of `count` things, whole and by the names of its threads.
pub(crate) fn cpu(what: &str, cpu: &Cpu, count: usize) {
    line(&format!("CPU, {what}"), micros(each(cpu.whole(), count)));
    for (name, span) in cpu.threads() {
        line(&format!("  of it {name}"), micros(each(span, count)));
    }
}

/// How fast requests were answered, and how long each took.
pub(crate) fn load(what: &str, answer: &str, load: &Load) {
    line(what, load.rate());
    for (name, share) in [("p50", 0.5), ("p99", 0.99)] {
        line(&format!("{answer} {name}"), millis(load.quantile(share)));
    }
}

/// A span as microseconds.
pub(crate) fn micros(span: Duration) -> String {
    format!("{:.1} us", span.as_secs_f64() * 1e6)
}

/// A span as milliseconds.
pub(crate) fn millis(span: Duration) -> String {
    format!("{:.2} ms", span.as_secs_f64() * 1e3)
}

/// Bytes as MiB.
#[expect(clippy::cast_precision_loss, reason = "two digits are shown")]
pub(crate) fn mebibytes(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
}

/// Bytes as KiB.
#[expect(clippy::cast_precision_loss, reason = "two digits are shown")]
pub(crate) fn kibibytes(bytes: u64) -> String {
    format!("{:.1} KiB", bytes as f64 / f64::from(1 << 10))
}

/// One thing's share of a span.
#[expect(clippy::cast_precision_loss, reason = "a count of things done one by one is far below 2^53")]
pub(crate) fn each(span: Duration, count: usize) -> Duration {
    span.div_f64(count.max(1) as f64)
}
