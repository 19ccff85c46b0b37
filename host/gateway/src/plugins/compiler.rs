//! The compiler's process: this same binary, started by the gateway under a hidden command, with limits that it gives
//! itself before it reads a byte; and the code of the built-in plugins that a package brings along. Owns no rule about components.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::Path;

use clap::Args;
use gatehouse_runtime::{CompilerProcess, PackagedCode};
use rustix::process::{Resource, Rlimit, Signal, nice, set_parent_process_death_signal, setrlimit};

use crate::plugins::built_in::PLUGINS;
use crate::terminal::{Exit, fail};

/// The running program, also after its file was replaced: code of another release would not fit.
const THIS_PROGRAM: &str = "/proc/self/exe";
/// The name of the hidden command.
const COMMAND: &str = "compile-component";
/// Requests come first.
const NICENESS: i32 = 10;

/// Limits of the process.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct CompilerArgs {
    /// MiB of address space
    #[arg(long, value_name = "MIB")]
    memory_mib: u32,
    /// Seconds of processor time
    #[arg(long, value_name = "SECONDS")]
    seconds: u32,
}

/// How a gateway starts it.
pub(crate) fn process() -> CompilerProcess {
    CompilerProcess { program: THIS_PROGRAM.into(), argument: COMMAND }
}

/// Code that came with the program, where it can be trusted.
pub(crate) fn packaged_code() -> Option<PackagedCode> {
    let found = fs::read_link(THIS_PROGRAM).and_then(|program| PackagedCode::beside(&program));
    found.unwrap_or_else(|error| {
        tracing::warn!(%error, "the code of plugins that came with the program is not used; they are compiled");
        None
    })
}

/// Compiles the built-in plugins for the folder of a package.
pub(crate) fn package(folder: &Path) -> Exit {
    for plugin in PLUGINS {
        if let Err(why) = gatehouse_runtime::package_code(folder, plugin.wasm) {
            return fail(Exit::Broken, format_args!("{}: {}: {why}", folder.display(), plugin.name));
        }
    }
    Exit::Done
}

/// Reads a component, writes its code; the whole of the process.
pub(crate) fn run(args: CompilerArgs) -> Exit {
    match limit(args).and_then(|()| compile()) {
        Ok(Ok(())) => Exit::Done,
        Ok(Err(why)) => fail(Exit::Refused, why),
        Err(error) => fail(Exit::Refused, format_args!("the compiler's process: {error}")),
    }
}

fn limit(CompilerArgs { memory_mib, seconds }: CompilerArgs) -> io::Result<()> {
    // Nobody waits for the code of a gateway that was killed.
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // Where it is not allowed, the process competes with requests.
    let _ = nice(NICENESS);
    let memory = u64::from(memory_mib) << 20;
    setrlimit(Resource::As, Rlimit { current: Some(memory), maximum: Some(memory) })?;
    let seconds = u64::from(seconds);
    let time = Rlimit { current: Some(seconds), maximum: Some(seconds.saturating_add(1)) };
    Ok(setrlimit(Resource::Cpu, time)?)
}

fn compile() -> io::Result<Result<(), String>> {
    let mut wasm = Vec::new();
    io::stdin().lock().read_to_end(&mut wasm)?;
    match gatehouse_runtime::precompile(&wasm) {
        Ok(code) => io::stdout().lock().write_all(&code).map(Ok),
        Err(why) => Ok(Err(why)),
    }
}
