//! `doctor`, `reload` and `console link`: what they ask the admin API, and what they show.

use gatehouse_admin::ApiRequest;
use serde_json::{Value, json};

use super::api::{Api, Performed};
use super::cli::ConsoleCommand;
use super::print::{Shown, credits, reload_in_words, rows_at, text_at, texts_at};
use crate::terminal::Exit;

/// Ends with a code of its own where something is wrong.
pub(super) async fn doctor(api: &Api<'_>) -> Performed {
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

/// Has a running gateway read its configuration again.
pub(super) async fn reload(api: &Api<'_>) -> Performed {
    api.needs_gateway("it reads its configuration when it starts")?;
    api.told(ApiRequest::post(&["config", "reload"]), reload_in_words).await
}

/// Makes a link to the console of a running gateway.
pub(super) async fn login_link(command: ConsoleCommand, api: &Api<'_>) -> Performed {
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
