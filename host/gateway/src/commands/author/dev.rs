//! `gatehouse plugin dev`: on every change of a family's folder it builds, checks, plays the scripts and installs into
//! the running gateway. Ends on Ctrl-C.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use gatehouse_runtime::Config;

use super::{Install, Load, play};
use crate::commands::args::author::DevArgs;
use crate::terminal::{Exit, print, print_error};

const POLL_INTERVAL: Duration = Duration::from_millis(300);
/// The file that `build.sh` writes.
const COMPONENT: &str = "family.wasm";
/// Folders that a build fills.
const BUILT: [&str; 4] = ["target", "node_modules", "__pycache__", "wit_world"];

pub(super) fn run(args: &DevArgs, load: Load<'_>, install: Install<'_>) -> Exit {
    let dev = Dev { args, load, install };
    if !args.folder.join("build.sh").is_file() {
        let folder = args.folder.display();
        print_error(&format!(
            "{folder}: expected a folder with build.sh, as `gatehouse plugin new` writes it"
        ));
        return Exit::Misconfigured;
    }
    let mut seen = dev.sources();
    loop {
        let exit = dev.pass();
        if args.once {
            return exit;
        }
        // A build may install what it needs.
        let installed = installed(&args.folder);
        if print("waiting for a change; Ctrl-C ends\n") != Exit::Done {
            return Exit::Broken;
        }
        loop {
            thread::sleep(POLL_INTERVAL);
            let now = dev.sources();
            // A file that is still being written changes once more.
            if now != seen || self::installed(&args.folder) != installed {
                seen = now;
                break;
            }
        }
    }
}

struct Dev<'a> {
    args: &'a DevArgs,
    load: Load<'a>,
    install: Install<'a>,
}

impl Dev<'_> {
    /// Every step, up to the first that fails.
    fn pass(&self) -> Exit {
        let component = self.args.folder.join(COMPONENT);
        let built = step("build", || self.build());
        let loaded = built.and_then(|()| (self.load)(self.args.defaults.as_deref()));
        let played = loaded.and_then(|loaded| {
            let limits = loaded.config.runtime(PathBuf::new());
            step("check and play", || self.play(&component, &limits))
        });
        if let Err(exit) = played {
            return exit;
        }
        if self.args.no_install {
            return Exit::Done;
        }
        let started = Instant::now();
        let exit = (self.install)(component, self.args.defaults.clone());
        said("install", exit == Exit::Done, started);
        exit
    }

    fn build(&self) -> Result<(), String> {
        let built =
            Command::new("sh").arg("build.sh").current_dir(&self.args.folder).stdin(Stdio::null()).status();
        match built {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(format!("build.sh: {status}")),
            Err(error) => Err(format!("sh build.sh: {error}")),
        }
    }

    fn play(&self, component: &Path, limits: &Config) -> Result<(), String> {
        play::play(&self.args.folder.join("play"), component, limits).map(|report| show(&report))
    }

    /// What a change of is waited for: the folder, and the defaults, which may lie elsewhere.
    fn sources(&self) -> Sources {
        let mut found = sources(&self.args.folder);
        let defaults = self.args.defaults.as_ref();
        found.extend(defaults.and_then(|path| Some((path.clone(), stamp(&fs::metadata(path).ok()?)))));
        found
    }
}

fn step(name: &str, work: impl FnOnce() -> Result<(), String>) -> Result<(), Exit> {
    let started = Instant::now();
    let done = work();
    if let Err(problem) = &done {
        print_error(problem);
    }
    said(name, done.is_ok(), started);
    done.map_err(|_| Exit::Refused)
}

fn said(name: &str, done: bool, started: Instant) {
    let (end, spent) = (if done { "done" } else { "failed" }, started.elapsed());
    show(&format!("{name}: {end} in {spent:.1?}\n"));
}

/// A reader that went away ends the loop at its next line.
fn show(text: &str) {
    let _ = print(text);
}

/// Files with their length and time of change.
type Sources = BTreeMap<PathBuf, (u64, SystemTime)>;

fn stamp(meta: &fs::Metadata) -> (u64, SystemTime) {
    (meta.len(), meta.modified().unwrap_or(SystemTime::UNIX_EPOCH))
}

/// Every source file. Files that cannot be read count as absent.
fn sources(folder: &Path) -> Sources {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let Ok(meta) = entry.metadata() else { continue };
            let hidden = name.starts_with('.') || BUILT.contains(&name.as_ref());
            if meta.is_dir() && !hidden {
                folders.push(entry.path());
            } else if meta.is_file() && !hidden && !is_output(&name) {
                found.insert(entry.path(), stamp(&meta));
            }
        }
    }
    found
}

/// What tells that packages were installed or removed by hand: the folders of Python's, the lists of npm's.
fn installed(folder: &Path) -> Sources {
    let versions = fs::read_dir(folder.join(".venv/lib")).into_iter().flatten().flatten();
    let packages = versions.map(|version| version.path().join("site-packages"));
    let lists = ["package-lock.json", "node_modules/.package-lock.json"].map(|list| folder.join(list));
    let stamped = |path: PathBuf| Some((path.clone(), stamp(&fs::metadata(&path).ok()?)));
    packages.chain(lists).filter_map(stamped).collect()
}

/// What a build writes beside the sources.
fn is_output(name: &str) -> bool {
    name.ends_with(".wasm") || name == "Cargo.lock" || name == "package-lock.json"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_sources_are_watched() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for file in
            ["app.py", "play/a.play", "family.wasm", "target/x", "node_modules/y", ".venv/z", "Cargo.lock"]
        {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().expect("below the folder")).expect("a folder");
            fs::write(path, file).expect("a file");
        }
        let before = sources(folder.path());
        let names: Vec<_> =
            before.keys().map(|path| path.strip_prefix(folder.path()).expect("below")).collect();
        assert_eq!(names, [Path::new("app.py"), Path::new("play/a.play")]);
        fs::write(folder.path().join("family.wasm"), "again, and longer").expect("a file");
        assert_eq!(sources(folder.path()), before);
        fs::write(folder.path().join("app.py"), "changed, and longer").expect("a file");
        assert_ne!(sources(folder.path()), before);
    }

    /// A package that was installed by hand would else be missing until the next change of a source.
    #[test]
    fn installed_packages_are_watched() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let packages = folder.path().join(".venv/lib/python3.14/site-packages");
        for path in [&packages, &folder.path().join("node_modules")] {
            fs::create_dir_all(path).expect("a folder");
        }
        let mut before = installed(folder.path());
        assert_eq!(before.len(), 1);
        for file in ["package-lock.json", "node_modules/.package-lock.json"] {
            fs::write(folder.path().join(file), "{}").expect("a file");
            let now = installed(folder.path());
            assert_ne!(now, before, "{file}");
            before = now;
        }
        let old = SystemTime::UNIX_EPOCH + Duration::from_secs(1);
        fs::File::open(&packages).and_then(|folder| folder.set_modified(old)).expect("a time");
        assert_ne!(installed(folder.path()), before);
    }
}
