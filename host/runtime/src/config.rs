//! What an operator may set: where versions are kept, how many threads, and the limits.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::Arc;

use gatehouse_model::Digest;
use serde::{Deserialize, Serialize};

use crate::load::Supplies;
use crate::trust::Trust;
use crate::watch::CanaryConfig;

/// Streams open at once unless an operator says otherwise.
pub const STREAMS: usize = 1024;

/// Settings of the whole room.
#[derive(Clone, Debug)]
pub struct Config {
    /// The gateway's data folder; versions are kept in `plugins` below it.
    pub data_dir: PathBuf,
    /// Plugin threads; 0 means one for each processor.
    pub threads: usize,
    /// Text streams open at once; each holds an instance.
    pub streams: usize,
    /// Limits of every family not named in `limits_by_family`.
    pub limits: Limits,
    /// Limits of single families.
    pub limits_by_family: BTreeMap<String, Limits>,
    /// The operator's table of each family, handed to its plugin with every call.
    pub settings: BTreeMap<String, serde_json::Value>,
    /// Whose signatures count, and whether one is needed.
    pub trust: Trust,
    /// Versions that came with the binary: who runs the binary trusts them, and its configuration may lack
    /// what some of them need.
    pub built_in: BTreeSet<Digest>,
    /// What the gateway can serve a version with; `None` where nothing is served.
    pub supplies: Option<Supplies>,
    /// How a version is watched after a switch.
    pub watch: CanaryConfig,
}

/// What one call of a plugin may use. Strict by default; raise them for one family where it needs more
/// (a component made from Python is 18 MB).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Linear memory of an instance, MiB; more where a text of some MiB is handed over, as with `call_ms`.
    pub memory_mib: NonZeroU32,
    /// Processor time of a submit or an advance, ms.
    pub call_ms: NonZeroU32,
    /// Processor time of a describe, a migrate or a self-test, ms.
    pub load_ms: NonZeroU32,
    /// Bytes that may leave the guest in one crossing, and the largest upstream reply that may enter, MiB.
    pub crossing_mib: NonZeroU32,
    /// The JSON of a request that makes a task, blobs cut out, KiB.
    pub input_kib: NonZeroU32,
    /// A text request's JSON, blobs cut out, KiB: models read a million tokens and more.
    pub text_kib: NonZeroU32,
    /// A task's state, KiB.
    pub state_kib: NonZeroU32,
    /// The component's file, MiB.
    pub component_mib: NonZeroU32,
    /// Log lines of one call.
    pub log_lines: NonZeroU32,
    /// One log line, KiB.
    pub log_line_kib: NonZeroU32,
    /// Component-model handles an instance may hold at once.
    pub handles: NonZeroU32,
}

/// MiB of memory for each MiB a text plugin is handed: the text, its parts, and what is made of them, in buffers
/// that grow by doubling.
const MEMORY_EACH: u32 = 12;

const fn count(value: u32) -> NonZeroU32 {
    NonZeroU32::new(value).expect("a literal above zero")
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            memory_mib: count(32),
            call_ms: count(100),
            load_ms: count(1000),
            crossing_mib: count(8),
            input_kib: count(1024),
            text_kib: count(8192),
            state_kib: count(64),
            component_mib: count(8),
            log_lines: count(64),
            log_line_kib: count(4),
            handles: count(64),
        }
    }
}

impl Limits {
    /// A 32-bit memory ends at 4 GiB.
    const MOST_MEMORY_MIB: u32 = 4096;

    /// The limits of a call that is handed so many bytes at once: each MiB is read, owned and written again,
    /// and whoever may hand it over must not thereby fault the plugin.
    pub(crate) fn stretched(self, bytes: usize) -> Self {
        let mib = u32::try_from(bytes >> 20).unwrap_or(u32::MAX);
        Self {
            memory_mib: self.memory_mib.saturating_add(mib.saturating_mul(MEMORY_EACH)),
            call_ms: self.call_ms.saturating_add(mib.saturating_mul(self.call_ms.get())),
            crossing_mib: self.crossing_mib.saturating_add(mib),
            ..self
        }
    }

    pub(crate) fn memory(&self) -> usize {
        mib(self.memory_mib.get().min(Self::MOST_MEMORY_MIB))
    }

    pub(crate) fn crossing(&self) -> usize {
        mib(self.crossing_mib.get())
    }

    pub(crate) fn component(&self) -> usize {
        mib(self.component_mib.get())
    }

    pub(crate) fn input(&self) -> usize {
        kib(self.input_kib.get())
    }

    pub(crate) fn text(&self) -> usize {
        kib(self.text_kib.get())
    }

    pub(crate) fn state(&self) -> usize {
        kib(self.state_kib.get())
    }

    pub(crate) fn log_line(&self) -> usize {
        kib(self.log_line_kib.get())
    }

    fn max(self, other: Self) -> Self {
        Self {
            memory_mib: self.memory_mib.max(other.memory_mib),
            call_ms: self.call_ms.max(other.call_ms),
            load_ms: self.load_ms.max(other.load_ms),
            crossing_mib: self.crossing_mib.max(other.crossing_mib),
            input_kib: self.input_kib.max(other.input_kib),
            text_kib: self.text_kib.max(other.text_kib),
            state_kib: self.state_kib.max(other.state_kib),
            component_mib: self.component_mib.max(other.component_mib),
            log_lines: self.log_lines.max(other.log_lines),
            log_line_kib: self.log_line_kib.max(other.log_line_kib),
            handles: self.handles.max(other.handles),
        }
    }
}

fn kib(count: u32) -> usize {
    usize::try_from(u64::from(count) << 10).unwrap_or(usize::MAX)
}

fn mib(count: u32) -> usize {
    usize::try_from(u64::from(count) << 20).unwrap_or(usize::MAX)
}

impl Config {
    /// Defaults around `data_dir`.
    #[must_use]
    pub fn new(data_dir: PathBuf) -> Self {
        Self {
            data_dir,
            threads: 0,
            streams: STREAMS,
            limits: Limits::default(),
            limits_by_family: BTreeMap::new(),
            settings: BTreeMap::new(),
            trust: Trust::default(),
            built_in: BTreeSet::new(),
            supplies: None,
            watch: CanaryConfig::default(),
        }
    }

    pub(crate) fn thread_count(&self) -> usize {
        if self.threads > 0 {
            return self.threads;
        }
        std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
    }

    pub(crate) fn limits_of(&self, family: &str) -> Limits {
        self.limits_by_family.get(family).copied().unwrap_or(self.limits)
    }

    /// The family's table as JSON; an empty object when the operator wrote none.
    pub(crate) fn settings_of(&self, family: &str) -> Arc<[u8]> {
        self.settings.get(family).map_or_else(|| "{}".to_owned(), ToString::to_string).into_bytes().into()
    }

    /// What any family may use: the pool is made for it, and a component is held to it until it has said
    /// which family it is.
    pub(crate) fn loosest(&self) -> Limits {
        self.limits_by_family.values().fold(self.limits, |most, limits| most.max(*limits))
    }

    /// Bytes of memory the largest call of any family may have.
    pub(crate) fn largest_memory(&self) -> usize {
        let all = std::iter::once(&self.limits).chain(self.limits_by_family.values());
        all.map(|limits| limits.stretched(limits.text()).memory()).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_from_a_table_with_defaults() {
        let check = |text: &str, expected: Result<u32, &str>| {
            let limits: Result<Limits, _> = serde_json::from_str(text);
            match (limits, expected) {
                (Ok(limits), Ok(memory)) => assert_eq!(limits.memory_mib.get(), memory, "{text}"),
                (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{error}"),
                (other, _) => panic!("{text}: {other:?}"),
            }
        };
        check("{}", Ok(32));
        check(r#"{"memory_mib": 48}"#, Ok(48));
        check(r#"{"memory_mib": 0}"#, Err("nonzero"));
        check(r#"{"memory_mb": 1}"#, Err("unknown field"));
    }

    #[test]
    fn a_family_has_its_own_limits_and_the_pool_fits_all() {
        let mut config = Config::new(PathBuf::new());
        let large = Limits { memory_mib: count(100), call_ms: count(5), ..Limits::default() };
        config.limits_by_family.insert("large".to_owned(), large);
        assert_eq!(config.limits_of("large"), large);
        assert_eq!(config.limits_of("other"), Limits::default());
        assert_eq!((config.loosest().memory_mib.get(), config.loosest().call_ms.get()), (100, 100));
        // The largest text has 8 MiB.
        assert_eq!(config.largest_memory(), mib(100 + 8 * MEMORY_EACH));
    }

    #[test]
    fn a_large_text_stretches_the_limits_and_a_usual_one_does_not() {
        let limits = Limits::default();
        assert_eq!(limits.stretched((1 << 20) - 1), limits);
        let large = limits.stretched(5 << 20);
        assert_eq!((large.memory_mib.get(), large.call_ms.get(), large.crossing_mib.get()), (92, 600, 13));
        assert_eq!(limits.stretched(usize::MAX).memory(), 4096 << 20);
    }
}
