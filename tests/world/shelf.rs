//! The real plugin in several builds, a second family with two kinds of state, and the room they run in. Compiled
//! once a process; every thread of tests has a room of its own, which outlives the houses it is lent to as the
//! folder of versions does.

use std::fs;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use gatehouse_build::{build_plugin, plugins_target_dir};
use gatehouse_model::{Clock, Digest, Pause, UnixMs};
use gatehouse_runtime::{Config, PluginService};
use tempfile::TempDir;

use crate::clock::Time;

/// The family of each build: those of tasks, among them the scribe and the one that reads its states; then text.
pub(crate) const BUILDS: [&str; 9] = [
    "context-image",
    "context-image",
    "context-image",
    "scribe",
    "scribe",
    "messages",
    "messages",
    "chat",
    "chat",
];
/// How many of them are of families with tasks.
pub(crate) const OF_TASKS: usize = 5;
/// The builds every world begins with.
const FIRST: [usize; 4] = [0, 3, 5, 7];

/// The digests of all builds.
pub(crate) fn builds() -> &'static [Digest] {
    &template().builds
}

/// Whether a task of the one build may become a task of the other.
pub(crate) fn reads(from: &Digest, to: &Digest) -> bool {
    let builds = builds();
    *from == builds[3] && *to == builds[4]
}

/// A room with every build on its shelf.
pub(crate) struct Shelf {
    room: Option<PluginService>,
    dir: TempDir,
}

/// Only stamps when a version became active, which nothing here asks for.
struct Noon;

impl Clock for Noon {
    fn now(&self) -> UnixMs {
        UnixMs(1)
    }
    fn pause(&self, span: std::time::Duration) -> Pause {
        Time::pause(span)
    }
}

impl Shelf {
    pub(crate) fn open() -> Self {
        let made = template();
        let dir = tempfile::tempdir().expect("a folder");
        let (from, to) = (made.dir.path().join("plugins"), dir.path().join("plugins"));
        fs::create_dir(&to).expect("a folder");
        for entry in fs::read_dir(from).expect("a folder") {
            let path = entry.expect("an entry").path();
            fs::copy(&path, to.join(path.file_name().expect("a name"))).expect("a copy");
        }
        Self { room: Some(room(dir.path())), dir }
    }

    /// Makes the first build of each family active.
    pub(crate) fn tidy(&self) {
        for build in FIRST {
            self.room().activate(&builds()[build]).expect("a build");
        }
    }

    pub(crate) fn room(&self) -> &PluginService {
        self.room.as_ref().expect("open between two houses")
    }

    /// As a new process finds it.
    pub(crate) fn reopen(&mut self) {
        let active = |room: &PluginService| {
            FIRST.map(|build| room.registry().family(BUILDS[build]).map(|version| version.digest()))
        };
        let before = active(self.room());
        self.room = None;
        self.room = Some(room(self.dir.path()));
        assert_eq!(active(self.room()), before, "a restart forgets no switch");
    }
}

fn room(dir: &Path) -> PluginService {
    let mut config = Config::new(dir.to_owned());
    config.threads = 1;
    // Each reserves addresses, and there are many houses.
    config.streams = 8;
    // A busy machine must not decide what happens.
    config.limits.call_ms = 60_000.try_into().expect("above zero");
    PluginService::open_synchronous(config, Arc::new(Noon)).expect("families")
}

struct Template {
    dir: TempDir,
    builds: Vec<Digest>,
}

fn template() -> &'static Template {
    static MADE: OnceLock<Template> = OnceLock::new();
    MADE.get_or_init(|| {
        let dir = tempfile::tempdir().expect("a folder");
        let families = room(dir.path());
        // A custom section changes the digest and nothing else: the same plugin as another build.
        let times = |path: &str, times: u8| {
            let wasm = component(path);
            (0..times).map(move |number| [wasm.as_slice(), &[0, 3, 1, b'b', number]].concat())
        };
        let scribes = ["scribe", "scribe-next"].map(|name| component(&format!("world/fixtures/{name}")));
        let all = times("../plugins/context-image", 3).chain(scribes);
        let all = all.chain(times("../plugins/messages", 2)).chain(times("../plugins/chat", 2));
        let builds = all.map(|wasm| families.install(&wasm).expect("a build").digest).collect();
        Template { dir, builds }
    })
}

fn component(path: &str) -> Vec<u8> {
    let crate_dir = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    let target = plugins_target_dir(&std::env::current_exe().expect("a running test"));
    let wasm = build_plugin(&crate_dir, &target).unwrap_or_else(|error| panic!("{error}"));
    fs::read(wasm).expect("a component")
}
