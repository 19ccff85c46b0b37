//! Commands for authors of plugins: the surfaces and limits, a new family's folder, scripts played against a component
//! or served as a provider, and the loop that rebuilds on every change. None of them reads a store; only `dev` speaks to a running gateway.

mod dev;
mod mock;
mod new;
mod play;
mod surfaces;

use std::path::{Path, PathBuf};

use crate::commands::args::author::AuthorCommand;
use crate::config::Loaded;
use crate::terminal::Exit;

/// Reads the configuration, with the defaults of this file; an error is printed already.
type Load<'a> = &'a dyn Fn(Option<&Path>) -> Result<Loaded, Exit>;
/// Installs a component with these defaults, as `gatehouse plugin install` does.
type Install<'a> = &'a dyn Fn(PathBuf, Option<PathBuf>) -> Exit;

/// Runs one of them.
pub(super) fn run(command: AuthorCommand, load: Load<'_>, install: Install<'_>) -> Exit {
    match command {
        AuthorCommand::Surfaces => surfaces::run(),
        AuthorCommand::New(args) => new::run(&args),
        AuthorCommand::Play(args) => load(None).map_or_else(|exit| exit, |loaded| play::run(&args, &loaded)),
        AuthorCommand::Mock(args) => mock::run(&args),
        AuthorCommand::Dev(args) => dev::run(&args, load, install),
    }
}
