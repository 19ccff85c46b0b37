//! What the gateway's process holds, from `/proc`.

use std::fs;

/// Its threads that run plugins, by name.
pub(crate) fn plugin_threads(pid: u32) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(format!("/proc/{pid}/task"))
        .expect("a running process")
        .filter_map(|thread| fs::read_to_string(thread.ok()?.path().join("comm")).ok())
        .map(|name| name.trim().to_owned())
        .filter(|name| name.starts_with("plugin"))
        .collect();
    names.sort();
    names
}

/// Memory it has in use, MiB.
pub(crate) fn memory_mib(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("a running process");
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("a figure");
    let kib: u64 = line.split_whitespace().nth(1).and_then(|kib| kib.parse().ok()).expect("a number");
    kib / 1024
}
