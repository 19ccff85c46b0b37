//! Results on standard output: tables for people, JSON for programs.

use std::io::{self, Write};

use gatehouse_admin::{
    AuditNote, Examination, LoginLinkView, OperationResult, PluginState, PluginView, StageVerdict, StageView,
};
use gatehouse_model::Customer;
use gatehouse_runtime::escape_control_in_json;

use super::table::{rfc3339, table};
use super::{configuration, deployment, key, price, provider, steps as task_steps, task, webhook};
use crate::terminal::PlainText;

/// Writes an result as one JSON document.
pub(crate) fn json(out: &mut dyn Write, result: &OperationResult) -> io::Result<()> {
    let text = serde_json::to_string_pretty(result)?;
    writeln!(out, "{}", escape_control_in_json(&text))
}

/// Writes an result for people.
pub(crate) fn text(out: &mut dyn Write, result: &OperationResult) -> io::Result<()> {
    let out = &mut PlainText(out);
    match result {
        OperationResult::Customer(customer) => customers(out, std::slice::from_ref(customer)),
        OperationResult::Customers { customers: all } => customers(out, all),
        OperationResult::Key(shown) => key::details(out, shown),
        OperationResult::KeyCreated { key: new, secret } => {
            key::details(out, new)?;
            writeln!(out, "\n{}\n\nThis is the key; it is not shown again.", secret.0)
        }
        OperationResult::Keys { keys } => key::list(out, keys),
        OperationResult::Examined(examination) => examined(out, examination),
        OperationResult::Audit { notes, next } => audit(out, notes, *next),
        OperationResult::PluginChecked { plugin, stages: all, defaults } => {
            stages(out, all)?;
            plugins(out, std::slice::from_ref(plugin))?;
            configuration::defaults(out, defaults)?;
            writeln!(out, "\nIt passed every stage.")
        }
        OperationResult::PluginRemoved { digest } => writeln!(out, "removed {digest}"),
        OperationResult::FamilyDisabled { family, digest } => {
            let version = digest.short();
            writeln!(out, "{family} serves no new request; version {version} finishes the tasks it admitted")
        }
        OperationResult::FamilyUninstalled { family, versions, defaults } => {
            configuration::defaults(out, defaults)?;
            writeln!(out, "uninstalled {family}")?;
            versions.iter().try_for_each(|digest| writeln!(out, "removed {digest}"))
        }
        OperationResult::Reloaded(view) => configuration::reloaded(out, view),
        OperationResult::ConsoleLink(link) => login_link(out, link),
        OperationResult::PluginSwitched { plugin, replaced, stages: all, defaults } => {
            stages(out, all)?;
            plugins(out, std::slice::from_ref(plugin))?;
            configuration::defaults(out, defaults)?;
            match replaced {
                Some(before) => writeln!(out, "\nIt replaces {}.", before.short()),
                None => writeln!(out, "\nIt serves."),
            }
        }
        OperationResult::Webhook { webhook: shown, deliveries } => {
            webhook::details(out, shown)?;
            writeln!(out)?;
            webhook::deliveries(out, deliveries)
        }
        OperationResult::WebhookSecret { webhook: new, secret } => {
            webhook::details(out, new)?;
            writeln!(out, "\n{}\n\nThis is the secret; it is not shown again.", secret.0)
        }
        OperationResult::Webhooks { webhooks } => webhook::list(out, webhooks),
        OperationResult::Resent(resent) => webhook::resent(out, resent),
        OperationResult::WebhookRemoved { id } => writeln!(out, "removed {id}"),
        OperationResult::Delivery(delivery) => webhook::deliveries(out, std::slice::from_ref(delivery)),
        OperationResult::Plugins { plugins: all } => plugins(out, all),
        OperationResult::Prices(book) => price::book(out, book),
        OperationResult::PricePreview(preview) => price::preview(out, preview),
        OperationResult::PriceBooks { books } => price::history(out, books),
        OperationResult::PriceChanges(changes) => price::changes(out, changes),
        OperationResult::Deployments { deployments } => deployment::list(out, deployments),
        OperationResult::Deployment { report } => deployment::report(out, report),
        OperationResult::Tasks { tasks } => task::list(out, tasks),
        OperationResult::TaskRuled { task: ruled, ruling } => task::ruled(out, ruled, *ruling),
        OperationResult::TaskEnded { task } if task.status.is_final() => {
            writeln!(out, "{}: failed and refunded", task.id)
        }
        OperationResult::TaskEnded { task } => writeln!(
            out,
            "{0}: its provider is asked to stop it; it ends as cancelled once that is done (gatehouse steps {0})",
            task.id
        ),
        OperationResult::Steps { rows } => task_steps::list(out, rows),
        OperationResult::Providers { providers } => provider::list(out, providers),
        OperationResult::ProviderAccount(account) => provider::accounts(out, std::slice::from_ref(account)),
    }
}

fn login_link(out: &mut dyn Write, link: &LoginLinkView) -> io::Result<()> {
    link.urls.iter().try_for_each(|url| writeln!(out, "{}", url.0))?;
    let (role, expires) = (link.role, rfc3339(link.expires));
    writeln!(
        out,
        "\nOpen one of them in a browser on this machine. It works once, until {expires}, for one {role}."
    )
}

fn customers(out: &mut dyn Write, customers: &[Customer]) -> io::Result<()> {
    let row = |customer: &Customer| {
        vec![
            customer.id.to_string(),
            customer.available.to_string(),
            customer.reserved.to_string(),
            customer.spent.to_string(),
            customer.deposited.to_string(),
        ]
    };
    table(out, &["ACCOUNT", "AVAILABLE", "RESERVED", "SPENT", "DEPOSITED"], customers.iter().map(row))
}

fn examined(out: &mut dyn Write, examination: &Examination) -> io::Result<()> {
    for (name, count) in &examination.counts {
        writeln!(out, "{name:<15} {count}")?;
    }
    writeln!(out, "imbalance {}", examination.imbalance)?;
    if examination.findings.is_empty() {
        return writeln!(out, "nothing is wrong");
    }
    writeln!(out, "{} findings:", examination.findings.len())?;
    examination.findings.iter().try_for_each(|finding| writeln!(out, "  {finding}"))
}

fn audit(out: &mut dyn Write, notes: &[AuditNote], next: Option<u64>) -> io::Result<()> {
    let row = |note: &AuditNote| {
        let task = note.task.map_or_else(|| "-".to_owned(), |task| task.to_string());
        vec![rfc3339(note.at), task, note.text.clone()]
    };
    table(out, &["WHEN", "TASK", "WHAT"], notes.iter().map(row))?;
    next.map_or(Ok(()), |number| writeln!(out, "there are older lines: --cursor {number}"))
}

fn plugins(out: &mut dyn Write, plugins: &[PluginView]) -> io::Result<()> {
    let row = |plugin: &PluginView| {
        let state = match &plugin.state {
            PluginState::Active { since } => format!("serves since {}", rfc3339(*since)),
            PluginState::Broken { reason } => format!("broken: {reason}"),
            PluginState::DisabledByConfiguration => "disabled by the configuration".to_owned(),
            PluginState::DisabledByOperator { since } => format!("disabled since {}", rfc3339(*since)),
            PluginState::Checked => "checked".to_owned(),
            PluginState::Kept => "kept".to_owned(),
            PluginState::Pinned => "finishes its tasks".to_owned(),
            PluginState::Serves => "serves".to_owned(),
            PluginState::Standby { until } => format!("standby until {}", rfc3339(*until)),
            PluginState::RolledBack { at, reason } => format!("rolled back {}: {reason}", rfc3339(*at)),
        };
        let digest = plugin.digest.to_string()[..12].to_owned();
        vec![plugin.family.clone(), plugin.version.clone(), digest, models(plugin), state]
    };
    table(out, &["FAMILY", "VERSION", "DIGEST", "MODELS", "STATE"], plugins.iter().map(row))
}

/// Each model, with its other names behind it.
fn models(plugin: &PluginView) -> String {
    let named = |model: &String| match plugin.aliases.get(model) {
        Some(aliases) => format!("{model} ({})", aliases.join(", ")),
        None => model.clone(),
    };
    plugin.models.iter().map(named).collect::<Vec<_>>().join(", ")
}

/// The stages a plugin version went through, and an empty line.
pub(crate) fn stages(out: &mut dyn Write, stages: &[StageView]) -> io::Result<()> {
    let row = |stage: &StageView| {
        let verdict = match stage.verdict {
            StageVerdict::Passed => "passed",
            StageVerdict::Refused => "REFUSED",
            StageVerdict::Skipped => "skipped",
        };
        // The reason of a refusal is the command's error message; here it would be the second time. A cell is one line.
        let note = match stage.verdict {
            StageVerdict::Refused => String::new(),
            _ => stage.note.lines().next().unwrap_or_default().to_owned(),
        };
        vec![stage.stage.clone(), verdict.to_owned(), stage.took_ms.to_string(), note]
    };
    table(out, &["STAGE", "VERDICT", "MS", "NOTE"], stages.iter().map(row))?;
    writeln!(out)
}

#[cfg(test)]
mod tests {
    use gatehouse_model::{Credits, UnixMs};

    use super::*;

    fn shown(result: &OperationResult) -> String {
        let mut out = Vec::new();
        text(&mut out, result).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn columns_line_up() {
        let account = |id: &str, micro| Customer {
            id: id.into(),
            created: UnixMs(0),
            available: Credits(micro),
            reserved: Credits::ZERO,
            spent: Credits::ZERO,
            deposited: Credits(micro),
        };
        let accounts = vec![account("a", 1_500_000), account("longer-name", 0)];
        let expected = "\
ACCOUNT      AVAILABLE  RESERVED  SPENT  DEPOSITED
a            1.5        0         0      1.5
longer-name  0          0         0      0
";
        assert_eq!(shown(&OperationResult::Customers { customers: accounts }), expected);
    }

    #[test]
    fn a_plugin_is_listed_with_all_names_of_its_models() {
        let plugin = PluginView {
            family: "f".to_owned(),
            version: "1.0.0".to_owned(),
            digest: gatehouse_model::Digest::of(b"x"),
            models: vec!["a".to_owned(), "b".to_owned()],
            aliases: [("a".to_owned(), vec!["a-1".to_owned(), "a-2".to_owned()])].into(),
            state: PluginState::Active { since: UnixMs(0) },
        };
        let digest = plugin.digest.to_string()[..12].to_owned();
        let expected = format!(
            "FAMILY  VERSION  DIGEST        MODELS           STATE\n\
             f       1.0.0    {digest}  a (a-1, a-2), b  serves since 1970-01-01T00:00:00Z\n"
        );
        assert_eq!(shown(&OperationResult::Plugins { plugins: vec![plugin] }), expected);
    }

    /// Names come from customers and plugins, and a terminal obeys what it is sent.
    #[test]
    fn no_name_reaches_the_terminal_as_it_is() {
        let note = AuditNote { at: UnixMs(0), task: None, text: "key \u{1b}[2J\nforged line".to_owned() };
        let shown = shown(&OperationResult::Audit { notes: vec![note], next: None });
        assert!(shown.ends_with("key \\u{1b}[2J\\nforged line\n"), "{shown}");
    }

    #[test]
    fn the_doctor_says_imbalance_zero() {
        let mut examination = Examination {
            findings: vec![],
            counts: [("keys".to_owned(), 2)].into(),
            imbalance: Credits::ZERO,
        };
        assert_eq!(
            shown(&OperationResult::Examined(examination.clone())),
            "keys            2\nimbalance 0\nnothing is wrong\n"
        );
        examination.findings.push("account a: a balance is negative".to_owned());
        assert!(
            shown(&OperationResult::Examined(examination))
                .ends_with("1 findings:\n  account a: a balance is negative\n")
        );
    }

    #[test]
    fn audit_lines_name_moment_and_task() {
        let note = |task, text: &str| AuditNote { at: UnixMs(0), task, text: text.to_owned() };
        let notes = vec![note(None, "it was noticed")];
        let expected = "\
WHEN                  TASK  WHAT
1970-01-01T00:00:00Z  -     it was noticed
";
        assert_eq!(shown(&OperationResult::Audit { notes: notes.clone(), next: None }), expected);
        let more = format!("{expected}there are older lines: --cursor 7\n");
        assert_eq!(shown(&OperationResult::Audit { notes, next: Some(7) }), more);
    }
}
