//! What an operator may set for the plugin runtime: the data folder, threads, limits, trusted keys, the canary rule.
//! Parsed elsewhere; this file only answers questions about the result. Knows limits and keys, and no other part of this crate.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::{Digest, UnixMs, settings};
use serde::Deserialize;

use crate::exec::limits::Limits;
use crate::signatures::Trust;
use crate::store::packaged::PackagedCode;

/// Streams open at once unless an operator says otherwise.
pub const STREAMS: usize = 1536;

/// Requests answered whole that keep their instance until the provider has answered; more make a second one.
pub(crate) const REQUEST_INSTANCES: usize = 64;

settings! {
    /// Settings of the plugin runtime.
    #[derive(Clone, Debug)]
    pub struct Config {
        /// The gateway's data folder; versions are kept in `plugins` below it. [`Config::new`] sets it.
        pub data_dir: PathBuf = PathBuf::new(),
        /// Plugin threads; 0 means one for each processor.
        pub threads: usize = 0,
        /// Text streams open at once; each holds an instance. One customer gets at most two thirds of them.
        pub streams: usize = STREAMS,
        /// Limits of every family not named in `limits_by_family`.
        pub limits: Limits = Limits::default(),
        /// Limits of single families.
        pub limits_by_family: BTreeMap<String, Limits> = BTreeMap::new(),
        /// The operator's table of each family, handed to its plugin with every call.
        pub settings: BTreeMap<String, serde_json::Value> = BTreeMap::new(),
        /// Families that the configuration switches off.
        pub disabled: BTreeSet<String> = BTreeSet::new(),
        /// What clients are told of models that this gateway has and does not serve.
        pub unserved: Unserved = Unserved::default(),
        /// The trusted keys, and whether a signature is required.
        pub trust: Trust = Trust::default(),
        /// Versions that came with the binary. They need no signature, and the configuration may lack a provider or a
        /// price that they name.
        pub built_in: BTreeSet<Digest> = BTreeSet::new(),
        /// The configured providers and prices; `None` when the gateway serves no requests.
        pub inventory: Option<Inventory> = None,
        /// When a fresh version is rolled back.
        pub canary: CanaryConfig = CanaryConfig::default(),
        /// What one compilation may use.
        pub compiler: CompilerLimits = CompilerLimits::default(),
        /// Components that are compiled at once, at least one; each may take as much memory as `compiler` allows.
        pub compilers: usize = 1,
        /// Code that came with the program.
        pub packaged_code: Option<PackagedCode> = None,
        /// The program that compiles. Without one this process does, without limits: for tests and tools.
        pub compiler_process: Option<CompilerProcess> = None,
    }
}

/// What clients are told of a model that this gateway has and does not serve: its family is switched off, or its provider has
/// no account.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unserved {
    /// 503, with a reason.
    #[default]
    Unavailable,
    /// The same as of a model that never was.
    NotFound,
}

/// What the operator set for one family.
#[derive(Clone, Debug)]
pub(crate) struct FamilyConfig {
    pub(crate) limits: Limits,
    /// The family's table as JSON.
    pub(crate) settings: Arc<str>,
}

impl Config {
    /// Defaults around `data_dir`.
    #[must_use]
    pub fn new(data_dir: PathBuf) -> Self {
        Self { data_dir, ..Self::default() }
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

    /// What concerns one family.
    pub(crate) fn of_family(&self, family: &str) -> FamilyConfig {
        FamilyConfig { limits: self.limits_of(family), settings: self.settings_of(family) }
    }

    /// The family's table as JSON; an empty object when the operator wrote none.
    pub(crate) fn settings_of(&self, family: &str) -> Arc<str> {
        self.settings.get(family).map_or_else(|| "{}".to_owned(), ToString::to_string).into()
    }

    /// The largest of each limit over all families: the limits of a component whose family is not yet known.
    pub(crate) fn largest_limits(&self) -> Limits {
        self.limits_by_family.values().fold(self.limits, |largest, limits| largest.max(*limits))
    }

    /// Bytes of memory of the largest call of any family: the pool is made for it.
    pub(crate) fn largest_memory(&self) -> usize {
        let all = std::iter::once(&self.limits).chain(self.limits_by_family.values());
        all.map(|limits| limits.for_input(limits.text()).memory()).max().unwrap_or(0)
    }
}

settings! {
    /// The `[plugins.canary]` table.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
    #[serde(deny_unknown_fields, default)]
    pub struct CanaryConfig {
        /// Length of the canary period after a switch, seconds; 0 means none.
        pub window_s: u32 = 300,
        /// Faults among the last 128 calls at which a version is rolled back ...
        pub faults: u32 = 5,
        /// ... if they are at least this share of those calls, percent.
        pub percent: u32 = 20,
    }
}

impl CanaryConfig {
    /// The end of a period that begins now; `None` when there is none.
    pub(crate) fn until(&self, now: UnixMs) -> Option<UnixMs> {
        (self.window_s > 0).then(|| now.plus(Duration::from_secs(self.window_s.into())))
    }
}

/// What the gateway has: its own paths, and the configured providers and prices.
#[derive(Clone, Debug, Default)]
pub struct Inventory {
    /// The paths of the gateway itself.
    pub own_paths: Vec<OwnPath>,
    /// Paths that any family may declare, as the operator wrote them; one that ends with `/*` allows all below it.
    pub paths: Vec<String>,
    /// The same for single families.
    pub paths_by_family: BTreeMap<String, Vec<String>>,
    /// Providers with an account.
    pub providers: BTreeSet<String>,
    /// Providers that a family does not need for all it serves.
    pub optional: BTreeSet<String>,
    /// Price keys with a price.
    pub prices: BTreeSet<String>,
}

/// A path of the gateway itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnPath {
    /// A segment in braces is a parameter.
    pub path: String,
    /// The text surface that a family serves there.
    pub text: Option<String>,
}

settings! {
    /// The `[plugins.compiler]` table: what one compilation may use.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
    #[serde(deny_unknown_fields, default)]
    pub struct CompilerLimits {
        /// MiB of address space.
        pub memory_mib: u32 = 2048,
        /// Seconds of processor time.
        pub seconds: u32 = 120,
    }
}

/// A program that reads a component from its standard input and writes its code to its standard output.
#[derive(Clone, Debug)]
pub struct CompilerProcess {
    /// The program.
    pub program: PathBuf,
    /// What it is told before its limits.
    pub argument: &'static str,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::limits::{MEMORY_PER_INPUT_MIB, count, mib};

    #[test]
    fn a_family_has_its_own_limits_and_the_pool_fits_all() {
        let mut config = Config::new(PathBuf::new());
        let large = Limits { memory_mib: count(100), call_ms: count(5), ..Limits::default() };
        config.limits_by_family.insert("large".to_owned(), large);
        assert_eq!(config.limits_of("large"), large);
        assert_eq!(config.limits_of("other"), Limits::default());
        let largest = config.largest_limits();
        assert_eq!((largest.memory_mib.get(), largest.call_ms.get()), (100, 100));
        // The largest text has 8 MiB.
        assert_eq!(config.largest_memory(), mib(100 + 8 * MEMORY_PER_INPUT_MIB));
    }
}
