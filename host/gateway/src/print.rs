//! Outcomes on standard output: tables for people, JSON for programs.

use std::io::{self, Write};
use std::time::{Duration, UNIX_EPOCH};

use gatehouse_admin::{
    AuditNote, Examination, KeyView, Outcome, PluginState, PluginView, StageVerdict, StageView,
};
use gatehouse_model::{Credits, Customer, UnixMs};

/// Writes an outcome as one JSON document.
pub(crate) fn json(out: &mut dyn Write, outcome: &Outcome) -> io::Result<()> {
    let text = serde_json::to_string_pretty(outcome)?;
    writeln!(out, "{text}")
}

/// Writes an outcome for people.
pub(crate) fn text(out: &mut dyn Write, outcome: &Outcome) -> io::Result<()> {
    match outcome {
        Outcome::Customer(account) => accounts(out, std::slice::from_ref(account)),
        Outcome::Accounts { accounts: all } => accounts(out, all),
        Outcome::Key(key) => details(out, key),
        Outcome::KeyCreated { key, secret } => {
            details(out, key)?;
            writeln!(out, "\n{}\n\nThis is the key; it is not shown again.", secret.0)
        }
        Outcome::Keys { keys: all } => keys(out, all),
        Outcome::Examined(examination) => examined(out, examination),
        Outcome::Audit { notes } => audit(out, notes),
        Outcome::PluginChecked { plugin, stages: all } => {
            stages(out, all)?;
            plugins(out, std::slice::from_ref(plugin))?;
            writeln!(out, "\nIt passed every stage.")
        }
        Outcome::PluginRemoved { digest } => writeln!(out, "removed {digest}"),
        Outcome::PluginSwitched { plugin, replaced, stages: all } => {
            stages(out, all)?;
            plugins(out, std::slice::from_ref(plugin))?;
            match replaced {
                Some(before) => writeln!(out, "\nIt replaces {}.", before.short()),
                None => writeln!(out, "\nIt serves."),
            }
        }
        Outcome::Plugins { plugins: all } => plugins(out, all),
    }
}

fn accounts(out: &mut dyn Write, accounts: &[Customer]) -> io::Result<()> {
    let row = |account: &Customer| {
        vec![
            account.id.to_string(),
            account.available.to_string(),
            account.reserved.to_string(),
            account.spent.to_string(),
            account.deposited.to_string(),
        ]
    };
    table(out, &["ACCOUNT", "AVAILABLE", "RESERVED", "SPENT", "DEPOSITED"], accounts.iter().map(row))
}

fn keys(out: &mut dyn Write, keys: &[KeyView]) -> io::Result<()> {
    let row = |key: &KeyView| {
        let state = match (key.revoked, key.expires) {
            (Some(at), _) => format!("revoked {}", moment(at)),
            (None, Some(at)) => format!("until {}", moment(at)),
            (None, None) => "unlimited".to_owned(),
        };
        vec![
            key.id.to_string(),
            key.account.to_string(),
            quota(key.quota),
            key.used.to_string(),
            state,
            key.name.clone(),
        ]
    };
    table(out, &["KEY", "ACCOUNT", "QUOTA", "USED", "VALID", "NAME"], keys.iter().map(row))
}

fn details(out: &mut dyn Write, key: &KeyView) -> io::Result<()> {
    let list = |words: Vec<String>| if words.is_empty() { "all".to_owned() } else { words.join(", ") };
    let networks = key.networks.iter().map(ToString::to_string).collect();
    let lines = [
        ("key", key.id.to_string()),
        ("name", key.name.clone()),
        ("account", key.account.to_string()),
        ("quota", quota(key.quota)),
        ("used", key.used.to_string()),
        ("models", list(key.models.clone())),
        ("networks", list(networks)),
        ("created", moment(key.created)),
        ("expires", key.expires.map_or_else(|| "never".to_owned(), moment)),
        ("revoked", key.revoked.map_or_else(|| "no".to_owned(), moment)),
        ("chat", key.chat_format.as_str().to_owned()),
    ];
    lines.iter().try_for_each(|(name, value)| writeln!(out, "{name:<9}{value}"))
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

fn audit(out: &mut dyn Write, notes: &[AuditNote]) -> io::Result<()> {
    let row = |note: &AuditNote| {
        let task = note.task.map_or_else(|| "-".to_owned(), |task| task.to_string());
        vec![moment(note.at), task, note.text.clone()]
    };
    table(out, &["WHEN", "TASK", "WHAT"], notes.iter().map(row))
}

fn plugins(out: &mut dyn Write, plugins: &[PluginView]) -> io::Result<()> {
    let row = |plugin: &PluginView| {
        let state = match &plugin.state {
            PluginState::Active { since } => format!("serves since {}", moment(*since)),
            PluginState::Broken { reason } => format!("broken: {reason}"),
            PluginState::Checked => "checked".to_owned(),
            PluginState::Kept => "kept".to_owned(),
            PluginState::Pinned => "finishes its tasks".to_owned(),
            PluginState::Serves => "serves".to_owned(),
            PluginState::Standby { until } => format!("stands by until {}", moment(*until)),
            PluginState::Withdrawn { at, reason } => format!("withdrawn {}: {reason}", moment(*at)),
        };
        let digest = plugin.digest.to_string()[..12].to_owned();
        vec![plugin.family.clone(), plugin.version.clone(), digest, plugin.models.join(", "), state]
    };
    table(out, &["FAMILY", "VERSION", "DIGEST", "MODELS", "STATE"], plugins.iter().map(row))
}

/// The stages a plugin version went through, and an empty line.
pub(crate) fn stages(out: &mut dyn Write, stages: &[StageView]) -> io::Result<()> {
    let row = |stage: &StageView| {
        let verdict = match stage.verdict {
            StageVerdict::Passed => "passed",
            StageVerdict::Refused => "REFUSED",
            StageVerdict::Skipped => "skipped",
        };
        // A cell is one line; the whole reason follows the table.
        let note = stage.note.lines().next().unwrap_or_default().to_owned();
        vec![stage.stage.clone(), verdict.to_owned(), stage.took_ms.to_string(), note]
    };
    table(out, &["STAGE", "VERDICT", "MS", "NOTE"], stages.iter().map(row))?;
    writeln!(out)
}

/// Columns as wide as their widest cell.
fn table(out: &mut dyn Write, heads: &[&str], rows: impl Iterator<Item = Vec<String>>) -> io::Result<()> {
    let heads = heads.iter().map(|head| (*head).to_owned()).collect();
    let rows: Vec<Vec<String>> = std::iter::once(heads).chain(rows).collect();
    let wide = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..rows[0].len()).map(wide).collect();
    for row in &rows {
        let cells: Vec<String> =
            row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        writeln!(out, "{}", cells.join("  ").trim_end())?;
    }
    Ok(())
}

fn quota(quota: Option<Credits>) -> String {
    quota.map_or_else(|| "none".to_owned(), |quota| quota.to_string())
}

fn moment(at: UnixMs) -> String {
    humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_millis(at.0)).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(outcome: &Outcome) -> String {
        let mut out = Vec::new();
        text(&mut out, outcome).unwrap();
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
        assert_eq!(shown(&Outcome::Accounts { accounts }), expected);
    }

    #[test]
    fn the_doctor_says_imbalance_zero() {
        let mut examination = Examination {
            findings: vec![],
            counts: [("keys".to_owned(), 2)].into(),
            imbalance: Credits::ZERO,
        };
        assert_eq!(
            shown(&Outcome::Examined(examination.clone())),
            "keys            2\nimbalance 0\nnothing is wrong\n"
        );
        examination.findings.push("account a: a balance is negative".to_owned());
        assert!(
            shown(&Outcome::Examined(examination))
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
        assert_eq!(shown(&Outcome::Audit { notes }), expected);
    }

    #[test]
    fn moments_read() {
        assert_eq!(moment(UnixMs(86_400_000)), "1970-01-02T00:00:00Z");
    }
}
