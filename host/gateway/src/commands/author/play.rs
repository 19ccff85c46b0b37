//! `gatehouse plugin play`: scripts against a component, under this gateway's own engine, limits and rules.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use gatehouse_play::{CODE, Component};
use gatehouse_runtime::{ComponentRunner, Config};
use gatehouse_testkit::Script;

use crate::commands::args::author::PlayArgs;
use crate::config::Loaded;
use crate::environment;
use crate::terminal::{Exit, at, end};

pub(super) fn run(args: &PlayArgs, loaded: &Loaded) -> Exit {
    let limits = loaded.config.runtime(PathBuf::new());
    end(play(&args.script, &args.component, &limits), Exit::Refused)
}

/// Plays one script, or all of a folder; the lines to print.
///
/// # Errors
/// Every script that failed, with its line, what was expected and what came.
pub(super) fn play(scripts: &Path, component: &Path, config: &Config) -> Result<String, String> {
    let scripts = find(scripts)?;
    let started = Instant::now();
    let wasm = fs::read(component).map_err(at(component))?;
    let code = environment::cache_folder().map(|folder| folder.join(CODE));
    let runner = ComponentRunner::load_with(&wasm, config, code.as_deref())
        .map_err(|error| format!("{}: the component does not load: {error}", component.display()))?;
    let mut report = String::new();
    let about = runner.about();
    let (family, version, spent) = (&about.family, &about.version, started.elapsed());
    let code = if runner.was_compiled() { "compiled now" } else { "compiled before" };
    // A String takes every write.
    let _ = writeln!(report, "{family} {version}: loaded, its self-tests hold ({code}, {spent:.1?})");
    let component = Component::from(runner);
    let mut failed = String::new();
    for file in &scripts {
        let started = Instant::now();
        let _ = match Script::read(file).and_then(|script| script.play(&component)) {
            Ok(()) => writeln!(report, "ok  {} ({:.1?})", file.display(), started.elapsed()),
            Err(problem) => writeln!(failed, "{problem}"),
        };
    }
    if failed.is_empty() { Ok(report) } else { Err(format!("{report}{failed}").trim_end().to_owned()) }
}

/// A file as it is, or the `*.play` files of a folder by name.
pub(super) fn find(scripts: &Path) -> Result<Vec<PathBuf>, String> {
    if !scripts.is_dir() {
        return Ok(vec![scripts.to_owned()]);
    }
    let mut found = Vec::new();
    for entry in fs::read_dir(scripts).map_err(at(scripts))? {
        let path = entry.map_err(at(scripts))?.path();
        if path.extension().is_some_and(|kind| kind == "play") {
            found.push(path);
        }
    }
    found.sort();
    if found.is_empty() {
        return Err(format!("{}: expected scripts (*.play) in this folder, got none", scripts.display()));
    }
    Ok(found)
}
