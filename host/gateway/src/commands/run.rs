//! From the command line to an exit code.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser as _;
use gatehouse_admin::{RemoteApi, STANDBY};
use gatehouse_model::escape_control_in_json;
use gatehouse_runtime::OpenError;
use http::StatusCode;
use tokio::runtime::Runtime;

use super::api::{Api, ExecuteError, Performed, running, waiting};
use super::args::author::AuthorCommand;
use super::args::plugin::{PluginCommand, PluginRequest};
use super::args::values::SandboxArgs;
use super::args::{customer, key, plugin, price, provider, task, webhook};
use super::author;
use super::backup;
use super::cli::{Cli, Command, ServeArgs};
use super::fleet;
use super::offer::{ComponentArgs, read_defaults};
use super::perform;
use super::print::{print_refusal, print_shown};
use super::shell;
use super::store;
use super::verify;
use crate::config::{ConfigErrors, FamilyDefaults, Loaded, Location, SandboxConfig, load_with};
use crate::plugins::compiler;
use crate::server::{self, Options, ServeError, Signals};
use crate::terminal::{Exit, fail, print as print_text, print_as_it_is, print_error};
use crate::{environment, privacy, sandbox_mode};

/// Runs the program; the whole of `main`.
pub(crate) fn run() -> ExitCode {
    let started = Instant::now();
    let cli = Cli::parse();
    let environment = environment::overrides();
    let location = Location { file: cli.config, environment, data: cli.data, client: cli.client.into() };
    let json = cli.json;
    let exit = match cli.command {
        None => serve(location, &ServeArgs::default(), started),
        Some(Command::Serve(args)) => serve(location, &args, started),
        Some(Command::CheckConfig { file }) => {
            check_config(&Location { file: file.or(location.file), ..location })
        }
        Some(Command::Sandbox(args)) => run_sandbox(&args),
        Some(Command::Health { live }) => health(&location, live),
        Some(Command::Restore { folder, from }) => {
            by_itself(json, |runtime| backup::restore(folder, from, &location, runtime))
        }
        Some(Command::Store(command)) => {
            by_itself(json, |runtime| runtime.block_on(store::run(&command, &location)))
        }
        Some(Command::Fleet(command)) => {
            by_itself(json, |runtime| runtime.block_on(fleet::run(&command, &location)))
        }
        Some(Command::Verify { file }) => verify::run(&file),
        Some(Command::Completions { shell }) => shell::completions(shell),
        Some(Command::Man { folder }) => shell::man(&folder),
        Some(Command::CompileComponent(args)) => compiler::run(args),
        Some(Command::PackagePlugins { folder }) => compiler::package(&folder),
        Some(Command::Plugin(PluginCommand::Author(command))) => author(command, &location, json),
        Some(Command::Plugin(PluginCommand::Api(request))) => {
            ask(&location, json, async |api| plugin::run(request, api).await)
        }
        Some(Command::Backup { folder, to }) => {
            ask(&location, json, async |api| backup::back_up(folder, to, api).await)
        }
        Some(Command::Key(command)) => ask(&location, json, async |api| key::run(command, api).await),
        Some(Command::Customer(command)) => {
            ask(&location, json, async |api| customer::run(command, api).await)
        }
        Some(Command::Webhook(command)) => ask(&location, json, async |api| webhook::run(command, api).await),
        Some(Command::Prices(command)) => ask(&location, json, async |api| price::run(command, api).await),
        Some(Command::Provider(command)) => {
            ask(&location, json, async |api| provider::run(command, api).await)
        }
        Some(Command::Providers) => ask(&location, json, provider::list),
        Some(Command::Audit(args)) => ask(&location, json, async |api| task::audit(args, api).await),
        Some(Command::Tasks(args)) => ask(&location, json, async |api| task::list(args, api).await),
        Some(Command::Cancel(args)) => ask(&location, json, async |api| task::cancel(args, api).await),
        Some(Command::Reconcile(args)) => ask(&location, json, async |api| task::reconcile(args, api).await),
        Some(Command::Steps { task }) => ask(&location, json, async |api| task::steps(task, api).await),
        Some(Command::Console(command)) => {
            ask(&location, json, async |api| perform::login_link(command, api).await)
        }
        Some(Command::Doctor) => ask(&location, json, perform::doctor),
        Some(Command::Reload) => ask(&location, json, perform::reload),
    };
    exit.into()
}

/// What the authors' commands need of the others.
fn author(command: AuthorCommand, location: &Location, json: bool) -> Exit {
    let install = |file: PathBuf, defaults: Option<PathBuf>| {
        // An author takes names away as often as not, and names the file of defaults to have them.
        let (yes, allow_removal) = (defaults.is_some(), true);
        let component = ComponentArgs { file, allow_removal, defaults, ..ComponentArgs::default() };
        let install = PluginRequest::Install { component, yes };
        ask(location, json, async |api| plugin::run(install, api).await)
    };
    author::run(command, location, json, &|defaults| configuration(location, defaults), &install)
}

fn serve(location: Location, args: &ServeArgs, started: Instant) -> Exit {
    if let Err(wrong) = gatehouse_process::check_clock() {
        return fail(Exit::Broken, wrong);
    }
    let loaded = match configuration(&location, None) {
        Ok(loaded) => loaded,
        Err(exit) => return exit,
    };
    let sockets = match server::inherited_sockets() {
        Ok(sockets) => sockets,
        Err(error) => {
            let wrong = format!("LISTEN_FDS: expected listening TCP sockets to be handed over: {error}");
            return fail(Exit::Misconfigured, wrong);
        }
    };
    let Some(runtime) = runtime(loaded.config.server.threads) else { return Exit::Broken };
    let options =
        Options { location, listen: args.listen, self_signed: args.tls_self_signed, sockets, started };
    let ended = runtime.block_on(server::serve(&loaded, options));
    // Everything was stopped before, or exceeded its time.
    runtime.shutdown_background();
    ended.unwrap_or_else(|error| print_serve_error(&loaded, &error))
}

fn check_config(location: &Location) -> Exit {
    let loaded = match configuration(location, None).and_then(|loaded| loaded.whole().map_err(misconfigured))
    {
        Ok(loaded) => loaded,
        Err(exit) => return exit,
    };
    let Some(runtime) = runtime(1) else { return Exit::Broken };
    let _inside = runtime.enter();
    match server::check(&loaded.config, false) {
        Ok(_) => {
            for warning in server::warnings(&loaded.config) {
                let at = loaded.error_at(&warning.key, &warning.problem);
                print_error(&format!("warning: {at}"));
            }
            for warning in &loaded.warnings {
                print_error(&format!("warning: {warning}"));
            }
            if let Err(problem) = runtime.block_on(server::try_database(&loaded.config)) {
                print_error(&format!("warning: {}", loaded.error_at("data.url", &problem)));
            }
            // It may be saved as a configuration: TOML has the escapes of JSON.
            print_as_it_is(&escape_control_in_json(&loaded.effective()))
        }
        Err(error) => print_serve_error(&loaded, &error),
    }
}

/// An error in the configuration names its line.
fn print_serve_error(loaded: &Loaded, error: &ServeError) -> Exit {
    let text = match error {
        ServeError::Config(wrong) => {
            let errors: Vec<_> = wrong.iter().map(|one| loaded.error_at(&one.key, &one.problem)).collect();
            ConfigErrors::from(errors).to_string()
        }
        ServeError::Database(wrong) => loaded.error_at(&wrong.key, &wrong.problem).to_string(),
        ServeError::Plugins(wrong @ (OpenError::TooManyStreams { .. } | OpenError::AddressSpace { .. })) => {
            let text = wrong.to_string();
            let (key, problem) = text.split_once(": ").unwrap_or(("plugins", &text));
            loaded.error_at(key, problem).to_string()
        }
        ServeError::Certificates(wrong) | ServeError::Edge(gatehouse_edge::Error::Tls(wrong)) => {
            loaded.error_at(&wrong.key, &wrong.problem).to_string()
        }
        other => other.to_string(),
    };
    fail(error.exit(), text)
}

fn run_sandbox(args: &SandboxArgs) -> Exit {
    let config = SandboxConfig { enabled: true, job_ms: args.job_ms, link_seconds: args.link_seconds };
    let Some(runtime) = runtime(1) else { return Exit::Broken };
    let ended = runtime.block_on(async {
        let mut signals = Signals::handle()?;
        let running = sandbox_mode::start(&config).await?;
        let addresses = serde_json::to_string(&running.addresses()).map_err(io::Error::other)?;
        print_text(&format!("{addresses}\n"));
        signals.next().await;
        running.stop().await;
        io::Result::Ok(())
    });
    match ended {
        Ok(()) => Exit::Done,
        Err(error) => fail(Exit::Broken, format_args!("simulated providers: {error}")),
    }
}

/// Does what a command means by the admin API.
fn ask(location: &Location, json: bool, work: impl AsyncFnOnce(&Api<'_>) -> Performed) -> Exit {
    privacy::close_process(&print_error);
    if let Err(wrong) = gatehouse_process::check_clock() {
        return fail(Exit::Broken, wrong);
    }
    by_itself(json, |runtime| {
        runtime.block_on(async {
            let api = Api::new(location, json)?;
            let performed = work(&api).await;
            api.close();
            performed
        })
    })
}

/// Shows what a command came to that needs no gateway in this process.
fn by_itself(json: bool, perform: impl FnOnce(Runtime) -> Performed) -> Exit {
    let Some(runtime) = runtime(1) else { return Exit::Broken };
    match perform(runtime) {
        Ok(shown) => print_shown(&shown, json),
        Err(error) => {
            if let ExecuteError::Refused(refusal) = &error {
                print_refusal(&refusal.body, json);
            }
            fail(Exit::from(&error), error)
        }
    }
}

/// Asks the probes of a running gateway.
fn health(location: &Location, live: bool) -> Exit {
    let Some(runtime) = runtime(1) else { return Exit::Broken };
    let path = if live { "/livez" } else { "/readyz" };
    let asked = runtime.block_on(async {
        match page(running(location), path).await {
            Ok(answer) if answer.0.is_success() => Ok(answer),
            // None, or that of a process that was killed, whose address a start that waits may have now.
            other => while_waiting(location, path).await.or(other),
        }
    });
    match asked {
        Ok((status, text)) if status.is_success() => print_text(&text),
        Ok((status, text)) => {
            fail(Exit::Refused, format_args!("{path} answers {}: {}", status.as_u16(), text.trim_end()))
        }
        // Nothing else is told apart: a probe asks whether it serves.
        Err(error) => fail(Exit::Refused, error),
    }
}

/// What a gateway answers that starts or waits. A standby is as it should be.
async fn while_waiting(
    location: &Location,
    path: &'static str,
) -> Result<(StatusCode, String), ExecuteError> {
    let answer = page(waiting(location), path).await?;
    if answer.0.is_success() {
        return Ok(answer);
    }
    let standby = page(waiting(location), STANDBY).await.ok();
    Ok(standby.filter(|(status, _)| status.is_success()).unwrap_or(answer))
}

async fn page(
    api: Result<RemoteApi, ExecuteError>,
    path: &'static str,
) -> Result<(StatusCode, String), ExecuteError> {
    api?.page(path).await.map_err(|error| ExecuteError::Unreachable(error.to_string()))
}

/// The configuration, with the defaults that a family brings; errors are printed.
fn configuration(location: &Location, defaults: Option<&Path>) -> Result<Loaded, Exit> {
    let brought = defaults.map(read_defaults).transpose();
    let brought = brought.map_err(|problem| fail(Exit::Misconfigured, problem))?;
    let brought = brought.map(|file| FamilyDefaults { family: None, name: file.name, text: file.text });
    load_with(location, brought).map_err(misconfigured)
}

fn misconfigured(errors: ConfigErrors) -> Exit {
    fail(Exit::Misconfigured, errors)
}

/// 0 threads: one for every two processors. An idle thread that is woken for every request costs more than it serves.
fn runtime(threads: u8) -> Option<Runtime> {
    let half = || std::thread::available_parallelism().map_or(1, |processors| processors.get().div_ceil(2));
    let threads = if threads == 0 { half() } else { threads.into() };
    let built = tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build();
    built.map_err(|error| print_error(&format!("the runtime could not start: {error}"))).ok()
}
