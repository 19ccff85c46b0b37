//! What each command does with the admin API, and what it shows.

use gatehouse_admin::ApiRequest;
use serde_json::json;

use super::api::{Api, ExecuteError, Need, Performed};
use super::args::{customer, key, plugin, price, provider, task, webhook};
use super::backup;
use super::cli::{Command, ConsoleCommand};
use super::print::{Shown, credits, reload_in_words, text_at};
use crate::exit::Exit;
use crate::terminal::show_progress;

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
    let mut run = api.send_as(ApiRequest::get(&["doctor"]), Need::Examine).await?.body;
    while run["state"] == "running" {
        show_progress(&format!("checked {} of {} rows", run["checked"], run["of"]));
        let look = ApiRequest::get(&["doctor"]).query("run", &run["run"]);
        run = api.send_as(look, Need::Examine).await?.body;
    }
    show_progress("");
    let report = run["report"].take();
    let mut text = String::new();
    for (name, count) in report["counts"].as_object().into_iter().flatten() {
        text.push_str(&format!("{name:<15} {count}\n"));
    }
    text.push_str(&format!("imbalance {}\n", credits(&report["imbalance_micro"])));
    let findings = report["findings"].as_array().map_or(&[][..], Vec::as_slice);
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
        let urls = link["urls"].as_array().into_iter().flatten().filter_map(|url| url.as_str());
        let urls: String = urls.map(|url| format!("{url}\n")).collect();
        let (role, expires) = (text_at(link, "role"), text_at(link, "expires"));
        format!(
            "{urls}\nOpen one of them in a browser on this machine. It works once, until {expires}, for one {role}.\n"
        )
    })
    .await
}
