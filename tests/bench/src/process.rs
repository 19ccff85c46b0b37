//! A process's own accounting, as Linux keeps it: processor time (user and system), whole and by thread, and
//! resident memory.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// `USER_HZ`, the unit of `/proc/<pid>/stat`: 100 on every architecture the gateway is built for.
const TICK: Duration = Duration::from_millis(10);
/// Threads with less than this have done nothing worth a line.
const SLIGHT: Duration = Duration::from_millis(50);

/// A process that is looked at.
pub(crate) struct Process {
    folder: PathBuf,
}

/// Processor time used so far, or between two looks.
pub(crate) struct Cpu {
    whole: Duration,
    threads: BTreeMap<String, Duration>,
}

impl Process {
    /// The process with that number.
    pub(crate) fn of(pid: u32) -> Self {
        Self { folder: Path::new("/proc").join(pid.to_string()) }
    }

    /// Processor time until now. Threads that have ended count in the whole alone.
    pub(crate) fn cpu(&self) -> Cpu {
        let (_, whole) = times(&self.folder).expect("a running process");
        let mut threads = BTreeMap::new();
        for entry in fs::read_dir(self.folder.join("task")).expect("a running process").flatten() {
            // One that ends while it is read is one that has ended.
            if let Some((name, span)) = times(&entry.path()) {
                let name = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '-').to_owned();
                *threads.entry(name).or_default() += span;
            }
        }
        Cpu { whole, threads }
    }

    /// The same of this process and of all that it began, ended ones with them.
    pub(crate) fn cpu_with_children(&self) -> Duration {
        let ended = fs::read_to_string(self.folder.join("stat")).ok();
        let ended = ended.as_deref().and_then(|stat| spans(stat.rsplit_once(") ")?.1, 4)).unwrap_or_default();
        let tasks = fs::read_dir(self.folder.join("task")).into_iter().flatten().flatten();
        let children = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
        let children: Vec<PathBuf> = children
            .flat_map(|pids| {
                pids.split_whitespace().map(|pid| Path::new("/proc").join(pid)).collect::<Vec<_>>()
            })
            .collect();
        children
            .iter()
            .filter_map(|child| times(child))
            .map(|(_, span)| span)
            .fold(ended, |all, one| all + one)
    }

    /// Bytes resident now.
    pub(crate) fn resident(&self) -> u64 {
        self.status("VmRSS:")
    }

    /// Those of them that are no pages of files, which the kernel can drop: memory images and the binary are files.
    pub(crate) fn own(&self) -> u64 {
        self.status("RssAnon:")
    }

    /// The most bytes that were ever resident.
    pub(crate) fn peak(&self) -> u64 {
        self.status("VmHWM:")
    }

    fn status(&self, key: &str) -> u64 {
        let status = fs::read_to_string(self.folder.join("status")).expect("a running process");
        let line = status.lines().find_map(|line| line.strip_prefix(key)).expect("a line of /proc");
        let kib: u64 = line.trim().trim_end_matches(" kB").parse().expect("a number of KiB");
        kib << 10
    }
}

impl Cpu {
    /// What was used since `before`.
    pub(crate) fn since(&self, before: &Self) -> Self {
        let spent = |(name, span): (&String, &Duration)| {
            let earlier = before.threads.get(name).copied().unwrap_or_default();
            (name.clone(), span.saturating_sub(earlier))
        };
        Self {
            whole: self.whole.saturating_sub(before.whole),
            threads: self.threads.iter().map(spent).collect(),
        }
    }

    /// All of it.
    pub(crate) fn whole(&self) -> Duration {
        self.whole
    }

    /// By name of thread, numbers cut off; those that matter.
    pub(crate) fn threads(&self) -> impl Iterator<Item = (&str, Duration)> {
        self.threads.iter().filter(|(_, span)| **span >= SLIGHT).map(|(name, span)| (name.as_str(), *span))
    }
}

/// The name and the user and system time in a `stat` file.
fn times(folder: &Path) -> Option<(String, Duration)> {
    parse(&fs::read_to_string(folder.join("stat")).ok()?)
}

fn parse(stat: &str) -> Option<(String, Duration)> {
    // A name may hold anything, a parenthesis too; what follows the last one is numbers.
    let (head, rest) = stat.rsplit_once(") ")?;
    let name = head.split_once('(')?.1.to_owned();
    Some((name, spans(rest, 2)?))
}

/// The sum of the first spans: those of the process, then those of its children that have ended, each as user and system.
fn spans(fields: &str, count: usize) -> Option<Duration> {
    let fields = fields.split(' ').skip(11).take(count);
    fields
        .map(|field| field.parse::<u32>().ok())
        .try_fold(Duration::ZERO, |sum, ticks| Some(sum + TICK * ticks?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stat_line_is_read_whatever_the_name() {
        let line = "71 (odd) name) S 1 71 71 0 -1 4194560 100 0 0 0 150 25 0 0 20 0 9 0 1 2 3";
        assert_eq!(parse(line), Some(("odd) name".to_owned(), Duration::from_millis(1750))));
        assert_eq!(parse("71 (cut"), None);
    }

    #[test]
    fn a_process_reads_its_own_figures() {
        let process = Process::of(std::process::id());
        // The peak is read last: it only grows.
        let resident = process.resident();
        assert!(resident > 0 && process.peak() >= resident);
        assert!(!process.cpu().threads.is_empty());
    }
}
