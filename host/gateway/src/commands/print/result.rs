//! Results about plugins on standard output: tables for people, JSON for programs.

use std::io::{self, Write};

use gatehouse_admin::{OperationResult, PluginState, PluginView, StageVerdict, StageView, Switched};
use gatehouse_runtime::escape_control_in_json;

use super::configuration;
use super::table::{rfc3339, table};
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
        OperationResult::PluginChecked { plugin, stages: all, defaults } => {
            stages(out, all)?;
            plugins(out, std::slice::from_ref(plugin))?;
            configuration::defaults(out, defaults)?;
            writeln!(out, "\nIt passed every stage.")
        }
        OperationResult::PluginSwitched(Switched { plugin, replaced, stages: all, defaults }) => {
            stages(out, all)?;
            plugins(out, std::slice::from_ref(plugin))?;
            configuration::defaults(out, defaults)?;
            match replaced {
                Some(before) => writeln!(out, "\nIt replaces {}.", before.short()),
                None => writeln!(out, "\nIt serves."),
            }
        }
    }
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
