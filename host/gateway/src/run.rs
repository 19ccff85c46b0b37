//! From the command line to an exit code.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser as _;
use gatehouse_admin::{Component, NewKey, Operation, OperationError, Outcome};
use gatehouse_edge::Certificates;
use gatehouse_model::{Clock as _, CustomerId};

use crate::ask::AskError;
use crate::cli::{
    AccountCommand, Cli, Command, CreateKeyArgs, KeyCommand, OutputArgs, PluginCommand, SandboxArgs,
    ServeArgs, key_id,
};
use crate::config::{Loaded, SandboxConfig, load};
use crate::embedded::PLUGINS;
use crate::exit::Exit;
use crate::serve::{ServeError, Start};
use crate::{SystemClock, ask, environment, inherited, print, rooms, sandbox, serve, signing};

/// Runs the program; the whole of `main`.
#[must_use]
pub(crate) fn run() -> ExitCode {
    let started = Instant::now();
    let cli = Cli::parse();
    let exit = match cli.command {
        None => serving(cli.config.as_deref(), cli.data, &ServeArgs::default(), started),
        Some(Command::Serve(args)) => serving(cli.config.as_deref(), cli.data, &args, started),
        Some(Command::CheckConfig { file }) => check_config(file.or(cli.config).as_deref()),
        Some(Command::Sandbox(args)) => simulate(&args),
        Some(Command::Plugin(PluginCommand::Keygen { file })) => told(signing::keygen(&file)),
        Some(Command::Plugin(PluginCommand::Sign { file, key })) => told(signing::sign(&file, &key)),
        Some(other) => operate(other, cli.config.as_deref(), cli.data),
    };
    exit.into()
}

fn serving(file: Option<&Path>, data: Option<PathBuf>, args: &ServeArgs, started: Instant) -> Exit {
    let loaded = match configuration(file) {
        Ok(loaded) => loaded,
        Err(exit) => return exit,
    };
    let sockets = match inherited::sockets() {
        Ok(sockets) => sockets,
        Err(error) => {
            complain(&format!("LISTEN_FDS: expected listening TCP sockets to be handed over: {error}"));
            return Exit::Mistake;
        }
    };
    let Some(runtime) = runtime() else { return Exit::Broken };
    let start = Start { data, args, sockets, started };
    let ended = runtime.block_on(serve::serve(&loaded, start));
    // Whatever still runs has been told to stop, or was given up on.
    runtime.shutdown_background();
    ended.unwrap_or_else(|error| {
        match &error {
            ServeError::Config(wrong) => complain(&loaded.mistake(&wrong.key, &wrong.problem).to_string()),
            ServeError::Edge(gatehouse_edge::Error::Tls(wrong)) => {
                complain(&loaded.mistake("server.tls", &wrong.to_string()).to_string());
            }
            other => complain(&other.to_string()),
        }
        error.exit()
    })
}

fn check_config(file: Option<&Path>) -> Exit {
    let loaded = match configuration(file) {
        Ok(loaded) => loaded,
        Err(exit) => return exit,
    };
    let Some(runtime) = runtime() else { return Exit::Broken };
    // The same checks as at start: secrets are looked up, certificates read, and nothing is connected to.
    let _inside = runtime.enter();
    let wrong = match (
        rooms::upstream(&loaded.config),
        loaded.config.server.tls.clone().map(Certificates::from_files),
    ) {
        (Err(wrong), _) => loaded.mistake(&wrong.key, &wrong.problem),
        (_, Some(Err(wrong))) => loaded.mistake("server.tls", &wrong.to_string()),
        _ => return say(&loaded.effective),
    };
    complain(&wrong.to_string());
    Exit::Mistake
}

fn simulate(args: &SandboxArgs) -> Exit {
    let config = SandboxConfig { enabled: true, job_ms: args.job_ms, link_seconds: args.link_seconds };
    let Some(runtime) = runtime() else { return Exit::Broken };
    let ended = runtime.block_on(async {
        let mut signals = crate::shutdown::Signals::take()?;
        let running = sandbox::start(&config).await?;
        let addresses = serde_json::json!({
            "context": running.context(),
            "messages": running.messages(),
            "chat": running.chat(),
        });
        say(&format!("{addresses}\n"));
        signals.next().await;
        running.stop().await;
        io::Result::Ok(())
    });
    ended.map_or_else(
        |error| {
            complain(&format!("simulated providers: {error}"));
            Exit::Broken
        },
        |()| Exit::Done,
    )
}

fn operate(command: Command, file: Option<&Path>, data: Option<PathBuf>) -> Exit {
    let (operation, output) = match operation(command) {
        Ok(operation) => operation,
        Err(problem) => {
            complain(&problem);
            return Exit::Mistake;
        }
    };
    let loaded = match configuration(file) {
        Ok(loaded) => loaded,
        Err(exit) => return exit,
    };
    let root = data.unwrap_or_else(|| loaded.config.data.folder.clone());
    let Some(runtime) = runtime() else { return Exit::Broken };
    match runtime.block_on(ask::ask(&loaded.config, &root, operation)) {
        Ok(outcome) => show(&outcome, output),
        Err(error) => {
            if let AskError::Operation(refusal) = &error {
                show_stages(refusal, output);
            }
            complain(&error.to_string());
            Exit::from(&error)
        }
    }
}

/// What a refused plugin version went through, for whoever still reads standard output.
fn show_stages(refusal: &OperationError, output: OutputArgs) {
    let OperationError::PluginRefused { stages, .. } = refusal else { return };
    let mut out = io::stdout().lock();
    drop(match output.json {
        true => serde_json::to_string_pretty(refusal)
            .map_err(io::Error::from)
            .and_then(|text| writeln!(out, "{text}")),
        false => print::stages(&mut out, stages),
    });
}

fn told(done: Result<String, String>) -> Exit {
    match done {
        Ok(text) => say(&text),
        Err(problem) => {
            complain(&problem);
            Exit::Mistake
        }
    }
}

fn show(outcome: &Outcome, output: OutputArgs) -> Exit {
    let mut out = io::stdout().lock();
    let written = if output.json { print::json(&mut out, outcome) } else { print::text(&mut out, outcome) };
    if written.is_err() {
        return Exit::Broken;
    }
    match outcome {
        Outcome::Examined(found) if !found.is_clean() => Exit::Refused,
        _ => Exit::Done,
    }
}

fn plugin(command: PluginCommand) -> Result<(Operation, OutputArgs), String> {
    let read = |file: &Path| {
        std::fs::read(file).map(Component).map_err(|error| format!("{}: {error}", file.display()))
    };
    Ok(match command {
        PluginCommand::List(output) => (Operation::PluginList, output),
        PluginCommand::Check { file, signature, output } => {
            let signature = signing::signature_of(&file, signature.as_deref())?;
            (Operation::PluginCheck { component: read(&file)?, signature }, output)
        }
        PluginCommand::Install { file, sha256, signature, output } => {
            let signature = signing::signature_of(&file, signature.as_deref())?;
            (Operation::PluginInstall { component: read(&file)?, sha256, signature }, output)
        }
        PluginCommand::Activate { version, output } => (Operation::PluginActivate { version }, output),
        PluginCommand::Rollback { family, output } => (Operation::PluginRollback { family }, output),
        PluginCommand::Remove { version, output } => (Operation::PluginRemove { version }, output),
        PluginCommand::Keygen { .. } | PluginCommand::Sign { .. } => {
            return Err("this command asks for no operation".to_owned());
        }
    })
}

/// The operation a command line spells.
fn operation(command: Command) -> Result<(Operation, OutputArgs), String> {
    match command {
        Command::Doctor(output) => Ok((Operation::Doctor, output)),
        Command::Audit(args) => Ok((Operation::Audit { task: args.task, limit: args.limit }, args.output)),
        Command::Key(command) => Ok(key(command)),
        Command::Account(command) => Ok(account(command)),
        Command::Plugin(command) => plugin(command),
        Command::Serve(_) | Command::CheckConfig { .. } | Command::Sandbox(_) => {
            Err("this command asks for no operation".to_owned())
        }
    }
}

fn key(command: KeyCommand) -> (Operation, OutputArgs) {
    match command {
        KeyCommand::Create(args) => create_key(args),
        KeyCommand::List { account, all, output } => {
            (Operation::KeyList { account: account.map(CustomerId), revoked: all }, output)
        }
        KeyCommand::Show { key, output } => (Operation::KeyShow { key: key_id(&key) }, output),
        KeyCommand::Revoke { key, output } => (Operation::KeyRevoke { key: key_id(&key) }, output),
    }
}

fn create_key(args: CreateKeyArgs) -> (Operation, OutputArgs) {
    let new = NewKey {
        account: CustomerId(args.account),
        name: args.name,
        quota: args.quota,
        models: args.models,
        networks: args.networks,
        expires: args.expires.map(|expiry| expiry.moment(SystemClock.now())),
        chat_format: args.chat_format,
    };
    (Operation::KeyCreate(new), args.output)
}

fn account(command: AccountCommand) -> (Operation, OutputArgs) {
    match command {
        AccountCommand::Open { account, output } => {
            (Operation::AccountOpen { account: CustomerId(account) }, output)
        }
        AccountCommand::List(output) => (Operation::AccountList, output),
        AccountCommand::Show { account, output } => {
            (Operation::AccountShow { account: CustomerId(account) }, output)
        }
        AccountCommand::Deposit(args) => {
            let account = CustomerId(args.account);
            (Operation::AccountDeposit { account, amount: args.amount, memo: args.memo }, args.output)
        }
        AccountCommand::Withdraw(args) => {
            let account = CustomerId(args.account);
            (Operation::AccountWithdraw { account, amount: args.amount, memo: args.memo }, args.output)
        }
    }
}

fn configuration(file: Option<&Path>) -> Result<Loaded, Exit> {
    load(file, PLUGINS, environment::overrides()).map_err(|mistake| {
        complain(&mistake.to_string());
        Exit::Mistake
    })
}

fn runtime() -> Option<tokio::runtime::Runtime> {
    let built = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    built.map_err(|error| complain(&format!("the runtime could not start: {error}"))).ok()
}

/// Writes to standard output; a reader that went away ends the command.
pub(crate) fn say(text: &str) -> Exit {
    let mut out = io::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    if written.is_ok() { Exit::Done } else { Exit::Broken }
}

/// Writes to standard error; there is nobody to tell when that fails.
fn complain(text: &str) {
    drop(writeln!(io::stderr().lock(), "gatehouse: {text}"));
}
