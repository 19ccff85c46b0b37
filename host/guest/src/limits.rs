//! The limits that an instance itself meets; `runtime` reads them from the configuration.

/// What an instance may hold and print.
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
