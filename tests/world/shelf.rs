//! The real plugin in several builds, and the room it runs in. Compiled once a process; every thread of tests
//! has a room of its own, which outlives the houses it is lent to as the folder of versions does.

use std::fs;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use gatehouse_build::{build_plugin, plugins_target_dir};
use gatehouse_families::{Config, Families};
use gatehouse_model::{Clock, Digest, Pause, UnixMs};
use tempfile::TempDir;

use crate::clock::Time;
use crate::plan::BUILDS;

/// A room with every build on its shelf.
pub(crate) struct Shelf {
    room: Option<Families>,
    pub(crate) builds: Vec<Digest>,
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
        Self { room: Some(room(dir.path())), builds: made.builds.clone(), dir }
    }

    /// The room, with the first build active.
    pub(crate) fn tidy(&self) {
        self.room().activate(&self.builds[0]).expect("the first build");
    }

    pub(crate) fn room(&self) -> &Families {
        self.room.as_ref().expect("open between two houses")
    }

    /// As a new process finds it.
    pub(crate) fn reopen(&mut self) {
        let active =
            |room: &Families| room.registry().family("context-image").map(|version| version.digest());
        let before = active(self.room());
        self.room = None;
        self.room = Some(room(self.dir.path()));
        assert_eq!(active(self.room()), before, "a restart forgets no switch");
    }
}

fn room(dir: &Path) -> Families {
    let mut config = Config::new(dir.to_owned());
    config.threads = 1;
    // A busy machine must not decide what happens.
    config.limits.call_ms = 60_000.try_into().expect("above zero");
    Families::open_in_turn(config, Arc::new(Noon)).expect("families")
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
        let wasm = component();
        // A custom section changes the digest and nothing else: the same plugin as another build.
        let build = |number: usize| {
            let section = [0, 3, 1, b'b', u8::try_from(number).expect("a few builds")];
            [wasm.as_slice(), &section].concat()
        };
        let install = |number| families.install(&build(number)).expect("a build").digest;
        Template { builds: (0..BUILDS).map(install).collect(), dir }
    })
}

fn component() -> Vec<u8> {
    let crate_dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../plugins/context-image");
    let target = plugins_target_dir(&std::env::current_exe().expect("a running test"));
    let wasm = build_plugin(&crate_dir, &target).unwrap_or_else(|error| panic!("{error}"));
    fs::read(wasm).expect("a component")
}
