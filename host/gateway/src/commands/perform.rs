//! What each command does with the admin API, and what it shows.

use gatehouse_admin::ApiRequest;
use serde_json::{Value, json};

use super::api::{Api, ExecuteError, Performed};
use super::args::{customer, key, plugin, price, provider, task, webhook};
use super::backup;
use super::cli::{Command, ConsoleCommand};
use super::print::{Shown, credits, reload_in_words, rows_at, text_at, texts_at};
use crate::terminal::Exit;

/// Does what a command means.
pub(super) async fn perform_by_api(command: Command, api: &Api<'_>) -> Performed {
    match command {
        Command::Doctor => doctor(api).await,
        Command::Backup(args) => backup::back_up(&args.into(), api).await,
        Command::Audit(args) => task::audit(args, api).await,
        Command::Key(command) => key::run(command, api).await,
        Command::Customer(command) => customer::run(command, api).await,
        Command::Webhook(command) => webhook::run(command, api).await,
        Command::Reload => reload(api).await,
        Command::Console(command) => login_link(command, api).await,
        Command::Prices(command) => price::run(command, api).await,
        Command::Tasks(args) => task::list(args, api).await,
        Command::Cancel(args) => task::cancel(args, api).await,
        Command::Reconcile(args) => task::reconcile(args, api).await,
        Command::Steps { task } => task::steps(task, api).await,
        Command::Providers => provider::list(api).await,
        Command::Provider(command) => provider::run(command, api).await,
        Command::Plugin(command) => plugin::run(command, api).await,
        Command::Serve(_)
        | Command::CheckConfig { .. }
        | Command::Sandbox(_)
        | Command::Health { .. }
        | Command::Restore(_)
        | Command::Store(_)
        | Command::Fleet(_)
        | Command::Verify { .. }
        | Command::Completions { .. }
        | Command::Man { .. }
        | Command::CompileComponent(_)
        | Command::PackagePlugins { .. } => {
            Err(ExecuteError::Arguments("this command asks nothing of the admin API".to_owned()))
        }
    }
}

/// Ends with a code of its own where something is wrong.
async fn doctor(api: &Api<'_>) -> Performed {
    let progress = |run: &Value| format!("checked {} of {} rows", run["checked"], run["of"]);
    let report = api.watch(ApiRequest::get(&["doctor"]), "doctor", progress).await?["report"].take();
    let mut text = String::new();
    for (name, count) in report["counts"].as_object().into_iter().flatten() {
        text.push_str(&format!("{name:<15} {count}\n"));
    }
    text.push_str(&format!("imbalance {}\n", credits(&report["imbalance_micro"])));
    let findings = rows_at(&report, "findings");
    if findings.is_empty() {
        text.push_str("nothing is wrong\n");
    } else {
        text.push_str(&format!("{} findings:\n", findings.len()));
    }
    for finding in findings {
        text.push_str(&format!("  {}\n", finding.as_str().unwrap_or_default()));
    }
    let exit = if report["sound"] == true { Exit::Done } else { Exit::Refused };
    Ok(Shown { exit, ..Shown::told(report, text) })
}

async fn reload(api: &Api<'_>) -> Performed {
    api.needs_gateway("it reads its configuration when it starts")?;
    api.told(ApiRequest::post(&["config", "reload"]), reload_in_words).await
}

async fn login_link(command: ConsoleCommand, api: &Api<'_>) -> Performed {
    let ConsoleCommand::Link { role } = command;
    api.needs_gateway("start it, it prints a link to its console")?;
    let make = ApiRequest::post(&["console", "links"]).json(&json!({"role": role}));
    api.told(make, |link| {
        let urls: String = texts_at(link, "urls").map(|url| format!("{url}\n")).collect();
        let (role, expires) = (text_at(link, "role"), text_at(link, "expires"));
        format!(
            "{urls}\nOpen one of them in a browser on this machine. It works once, until {expires}, for one {role}.\n"
        )
    })
    .await
}
