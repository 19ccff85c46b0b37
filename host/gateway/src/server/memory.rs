//! The memory this process may use, what of it request bodies get where the operator did not say, and how many compilers fit
//! into it.
//!
//! The limit is the least of its control group's (version 2 or 1, its parents' included) and of the machine's memory. What
//! bodies take is counted as memory, not as bytes on the wire (`edge/src/http/body/budget.rs`), so half of the limit for them
//! leaves the other half to everything else.

use std::fs;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::thread;

use gatehouse_edge::Limits;

const MIB: u64 = 1024 * 1024;
/// What the compilation of one built-in component may take, and the most of them at once.
const COMPILER: u64 = 1024 * MIB;
const MOST_COMPILERS: usize = 4;
/// The part of the memory that bodies get, as its divisor, and the most.
const PART: u64 = 2;
const MOST_MIB: u64 = 2048;
/// The same of files that wait for the media store.
const WAITING_PART: u64 = 8;
const MOST_WAITING_MIB: u64 = 256;

/// Fills in `server.limits.bodies_mib` where it is absent, and says so.
pub(super) fn settle_bodies(limits: &mut Limits) {
    let memory = memory_limit(Path::new("/"));
    let memory_mib = memory.map(|bytes| bytes / MIB);
    if let Some(configured) = limits.bodies_mib {
        let usual = bodies_mib(memory);
        if configured > usual {
            tracing::warn!(
                bodies_mib = configured,
                memory_mib,
                "server.limits.bodies_mib is more than half of the memory, expected at most {usual}"
            );
        }
        return;
    }
    let bodies_mib = bodies_mib(memory);
    limits.bodies_mib = Some(bodies_mib);
    tracing::info!(bodies_mib, memory_mib, "request bodies share half of the memory, 2048 MiB at most");
}

/// MiB of files of replies that may wait in memory for a media store that is away.
pub(super) fn waiting_files_mib() -> NonZeroU32 {
    part_of(memory_limit(Path::new("/")), WAITING_PART, MOST_WAITING_MIB)
}

/// How many components may be compiled at once: as many as there are processors, and as fit into the memory.
pub(super) fn compilers() -> usize {
    let processors = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    compilers_for(memory_limit(Path::new("/")), processors)
}

fn compilers_for(memory: Option<u64>, processors: usize) -> usize {
    let fit = memory.map_or(1, |bytes| usize::try_from(bytes / COMPILER).unwrap_or(usize::MAX));
    fit.min(processors).clamp(1, MOST_COMPILERS)
}

/// MiB of bodies where the process may use that much memory.
fn bodies_mib(memory: Option<u64>) -> NonZeroU32 {
    part_of(memory, PART, MOST_MIB)
}

fn part_of(memory: Option<u64>, part: u64, most_mib: u64) -> NonZeroU32 {
    let mib = memory.map_or(most_mib, |bytes| bytes / MIB / part).clamp(1, most_mib);
    u32::try_from(mib).ok().and_then(NonZeroU32::new).unwrap_or(NonZeroU32::MIN)
}

/// The bytes this process may use; `None` where no file says it. `root` is the folder of `proc` and `sys`.
fn memory_limit(root: &Path) -> Option<u64> {
    let own = fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    let groups = root.join("sys/fs/cgroup");
    let of_groups = own.lines().flat_map(|line| limit_files(line, &groups)).filter_map(|file| {
        // "max" in version 2; in version 1 a number larger than any memory.
        fs::read_to_string(file).ok()?.trim().parse::<u64>().ok()
    });
    let machine = fs::read_to_string(root.join("proc/meminfo")).ok().and_then(|text| total(&text));
    of_groups.chain(machine).min()
}

/// The files that limit the group of a line of `/proc/self/cgroup`, those of its parents included.
fn limit_files(line: &str, groups: &Path) -> Vec<PathBuf> {
    let mut fields = line.splitn(3, ':').skip(1);
    let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else { return Vec::new() };
    let (top, name) = if controllers.is_empty() {
        (groups.to_owned(), "memory.max")
    } else if controllers.split(',').any(|controller| controller == "memory") {
        (groups.join("memory"), "memory.limit_in_bytes")
    } else {
        return Vec::new();
    };
    // A container sees its own group at the top, whatever path the line has.
    Path::new(path.trim_start_matches('/')).ancestors().map(|group| top.join(group).join(name)).collect()
}

/// The memory of the machine, from `/proc/meminfo`.
fn total(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine of 8 GiB with these files.
    fn limit(files: &[(&str, &str)]) -> Option<u64> {
        let root = tempfile::tempdir().unwrap();
        let machine = ("proc/meminfo", "MemTotal:        8388608 kB\nMemFree:  1 kB\n");
        for (file, text) in files.iter().chain([&machine]) {
            let file = root.path().join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        memory_limit(root.path()).map(|bytes| bytes / MIB)
    }

    #[test]
    fn the_least_limit_counts() {
        let own = "proc/self/cgroup";
        let half = "536870912\n";
        for (files, expected) in [
            (&[][..], 8192),
            (&[(own, "0::/\n"), ("sys/fs/cgroup/memory.max", half)], 512),
            (&[(own, "0::/\n"), ("sys/fs/cgroup/memory.max", "max\n")], 8192),
            (
                &[
                    (own, "0::/a.slice/b.service\n"),
                    ("sys/fs/cgroup/a.slice/b.service/memory.max", "max\n"),
                    ("sys/fs/cgroup/a.slice/memory.max", half),
                ],
                512,
            ),
            // Seen from within a container whose path is that of the host.
            (&[(own, "0::/docker/x\n"), ("sys/fs/cgroup/memory.max", half)], 512),
            (
                &[
                    (own, "5:cpu:/\n3:memory:/docker/x\n"),
                    ("sys/fs/cgroup/memory/memory.limit_in_bytes", half),
                ],
                512,
            ),
            (
                &[
                    (own, "3:memory:/\n"),
                    ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
                ],
                8192,
            ),
        ] {
            assert_eq!(limit(files), Some(expected), "{files:?}");
        }
    }

    /// Without this a container of 512 MiB has 2 GiB of bodies, and one customer ends it.
    #[test]
    fn bodies_get_half_of_the_memory_and_no_more_than_ever() {
        for (memory_mib, expected) in [(512, 256), (8192, 2048), (2048, 1024), (2, 1), (1 << 20, 2048)] {
            assert_eq!(bodies_mib(Some(memory_mib * MIB)).get(), expected, "{memory_mib}");
        }
        assert_eq!(bodies_mib(None).get(), 2048);
    }

    #[test]
    fn compilers_fit_into_the_memory() {
        for (memory_mib, processors, expected) in
            [(512, 8, 1), (2048, 8, 2), (65_536, 2, 2), (65_536, 64, 4), (0, 0, 1)]
        {
            assert_eq!(
                compilers_for(Some(memory_mib * MIB), processors),
                expected,
                "{memory_mib} {processors}"
            );
        }
        assert_eq!(compilers_for(None, 8), 1);
    }

    #[test]
    fn what_the_operator_says_counts() {
        let said = NonZeroU32::new(77);
        let mut limits = Limits { bodies_mib: said, ..Limits::default() };
        settle_bodies(&mut limits);
        assert_eq!(limits.bodies_mib, said);
        limits.bodies_mib = None;
        settle_bodies(&mut limits);
        assert!(limits.bodies_mib.is_some());
    }
}
