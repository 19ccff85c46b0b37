//! Reports of deployments on standard output.

use std::io::{self, Write};

use gatehouse_admin::DeploymentView;

use super::table::{rfc3339, table};

/// One line each, newest first.
pub(super) fn list(out: &mut dyn Write, deployments: &[DeploymentView]) -> io::Result<()> {
    let row = |report: &DeploymentView| {
        vec![
            report.number.to_string(),
            rfc3339(report.at.0),
            or_dash(report.family.as_deref()),
            or_dash(report.version.as_deref()),
            or_dash(report.digest.as_deref().map(short)),
            report.kind.as_str().to_owned(),
            report.outcome.as_str().to_owned(),
            report.who.clone(),
        ]
    };
    let heads = ["NUMBER", "WHEN", "FAMILY", "VERSION", "DIGEST", "ORDER", "OUTCOME", "WHO"];
    table(out, &heads, deployments.iter().map(row))
}

/// One with its stages.
pub(super) fn report(out: &mut dyn Write, report: &DeploymentView) -> io::Result<()> {
    list(out, std::slice::from_ref(report))?;
    if let Some(reason) = &report.reason {
        writeln!(out, "\n{reason}")?;
    }
    if let Some(replaced) = &report.replaced {
        writeln!(out, "It replaces {}.", short(replaced))?;
    }
    if report.stages.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    let row = |stage: &gatehouse_admin::DeploymentStageView| {
        vec![stage.stage.clone(), stage.verdict.clone(), format!("{} ms", stage.took_ms), stage.note.clone()]
    };
    table(out, &["STAGE", "VERDICT", "TOOK", "NOTE"], report.stages.iter().map(row))
}

fn or_dash(text: Option<&str>) -> String {
    text.unwrap_or("-").to_owned()
}

fn short(digest: &str) -> &str {
    digest.get(..12).unwrap_or(digest)
}
