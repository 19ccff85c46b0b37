//! Commands for authors of plugins: a plugin as one file, its signature, the surfaces and limits, a new family's
//! folder, scripts played against a component or served as a provider, and the loop that rebuilds on every change.
//! None of them reads a store; only `dev` speaks to a running gateway.

mod dev;
mod mock;
mod new;
mod play;
mod surfaces;

use std::path::{Path, PathBuf};

use crate::commands::args::author::AuthorCommand;
use crate::commands::packing;
use crate::config::{Loaded, Location};
use crate::plugins::signing;
use crate::terminal::{Exit, end};

/// Reads the configuration, with the defaults of this file; an error is printed already.
type Load<'a> = &'a dyn Fn(Option<&Path>) -> Result<Loaded, Exit>;
/// Installs a component with these defaults, as `gatehouse plugin install` does.
type Install<'a> = &'a dyn Fn(PathBuf, Option<PathBuf>) -> Exit;

/// Runs one of them.
pub(super) fn run(
    command: AuthorCommand,
    location: &Location,
    json: bool,
    load: Load<'_>,
    install: Install<'_>,
) -> Exit {
    match command {
        AuthorCommand::Pack(args) => packing::pack(&args, || load(None)),
        AuthorCommand::Push { file, target } => packing::push(&file, &target, location),
        AuthorCommand::Inspect { file } => packing::inspect(&file, location, json),
        AuthorCommand::Keygen { file } => end(signing::keygen(&file), Exit::Misconfigured),
        AuthorCommand::Sign { file, key } => end(signing::sign(&file, &key), Exit::Misconfigured),
        AuthorCommand::Surfaces => surfaces::run(),
        AuthorCommand::New(args) => new::run(&args),
        AuthorCommand::Play(args) => load(None).map_or_else(|exit| exit, |loaded| play::run(&args, &loaded)),
        AuthorCommand::Mock(args) => mock::run(&args),
        AuthorCommand::Dev(args) => dev::run(&args, load, install),
    }
}
