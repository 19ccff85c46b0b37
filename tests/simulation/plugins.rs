//! The plugins of a simulation: the real ones in several versions, and a fixture family with two kinds of state.
//! They are compiled once a test process. Every test thread has a plugin service of its own, whose folder outlives the
//! processes of the system.

use std::fs;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use gatehouse_build::{build_plugin, plugins_target_dir};
use gatehouse_model::Digest;
use gatehouse_runtime::{Config, PluginService};
use tempfile::TempDir;

use crate::clock::VirtualClock;

/// The family of each version: first families with tasks (the second scribe reads the states of the first), then text,
/// then the family whose tasks other requests join.
pub(crate) const FAMILIES: [&str; 11] = [
    "context-image",
    "context-image",
    "context-image",
    "scribe",
    "scribe",
    "messages",
    "messages",
    "chat",
    "chat",
    "quilt",
    "quilt",
];
/// How many of these versions are of families with tasks.
pub(crate) const WITH_TASKS: usize = 5;
/// How many after them are of text families.
pub(crate) const WITH_TEXTS: usize = 4;
/// The two versions of the quilt.
pub(crate) const QUILTS: [usize; 2] = [9, 10];
/// The versions every simulation begins with.
const FIRST: [usize; 5] = [0, 3, 5, 7, QUILTS[0]];

/// The digests of all versions.
pub(crate) fn versions() -> &'static [Digest] {
    &template().versions
}

/// Whether a task of the one version may become a task of the other.
pub(crate) fn reads(from: &Digest, to: &Digest) -> bool {
    let versions = versions();
    *from == versions[3] && *to == versions[4]
}

/// A plugin service with every version installed.
pub(crate) struct Plugins {
    service: Option<PluginService>,
    dir: TempDir,
}

impl Plugins {
    pub(crate) fn open() -> Self {
        let made = template();
        let dir = tempfile::tempdir().expect("a folder");
        let (from, to) = (made.dir.path().join("plugins"), dir.path().join("plugins"));
        fs::create_dir(&to).expect("a folder");
        for entry in fs::read_dir(from).expect("a folder") {
            let path = entry.expect("an entry").path();
            fs::copy(&path, to.join(path.file_name().expect("a name"))).expect("a copy");
        }
        Self { service: Some(service(dir.path())), dir }
    }

    /// Activates the first version of each family, where another one or none serves.
    pub(crate) fn activate_first(&self) {
        for (number, serving) in FIRST.into_iter().zip(active(self.service())) {
            if serving != Some(versions()[number]) {
                self.service().activate(&versions()[number]).expect("a version");
            }
        }
    }

    pub(crate) fn service(&self) -> &PluginService {
        self.service.as_ref().expect("open between two processes")
    }

    /// Opens the service again on the same folder, as a new process does.
    pub(crate) fn reopen(&mut self) {
        let before = active(self.service());
        self.service = None;
        self.service = Some(service(self.dir.path()));
        assert_eq!(active(self.service()), before, "a restart keeps the active versions");
    }
}

/// The active version of each family.
fn active(service: &PluginService) -> [Option<Digest>; FIRST.len()] {
    FIRST.map(|number| service.registry().family(FAMILIES[number]).map(|version| version.digest()))
}

fn service(dir: &Path) -> PluginService {
    let mut config = Config::new(dir.to_owned());
    config.threads = 1;
    // Each reserves address space, and there are many services.
    config.streams = 8;
    // The speed of the machine must not decide what happens.
    config.limits.call_ms = 60_000.try_into().expect("above zero");
    PluginService::open_synchronous(config, Arc::new(VirtualClock::new())).expect("a plugin service")
}

struct Template {
    dir: TempDir,
    versions: Vec<Digest>,
}

fn template() -> &'static Template {
    static MADE: OnceLock<Template> = OnceLock::new();
    MADE.get_or_init(|| {
        let dir = tempfile::tempdir().expect("a folder");
        let service = service(dir.path());
        // A custom section changes the digest and nothing else: the same plugin as another version.
        let times = |path: &str, times: u8| {
            let wasm = component(path);
            (0..times).map(move |number| [wasm.as_slice(), &[0, 3, 1, b'b', number]].concat())
        };
        let scribes = ["scribe", "scribe-next"].map(|name| component(&format!("../fixtures/{name}")));
        let all = times("../../plugins/context-image", 3).chain(scribes);
        let all = all.chain(times("../../plugins/messages", 2)).chain(times("../../plugins/chat", 2));
        let all = all.chain(times("../fixtures/quilt", 2));
        let versions = all.map(|wasm| service.install(&wasm).expect("a version").digest).collect();
        Template { dir, versions }
    })
}

fn component(path: &str) -> Vec<u8> {
    let crate_dir = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    let target = plugins_target_dir(&std::env::current_exe().expect("a running test"));
    let wasm = build_plugin(&crate_dir, &target).unwrap_or_else(|error| panic!("{error}"));
    fs::read(wasm).expect("a component")
}
