//! Tasks on standard output: a row a task, then what is known of each ambiguous call.

use std::io::{self, Write};

use gatehouse_admin::{RulingWord, TaskSummary};

use super::table::{rfc3339, table};

pub(super) fn list(out: &mut dyn Write, tasks: &[TaskSummary]) -> io::Result<()> {
    let row = |task: &TaskSummary| {
        let status = if task.ambiguous.is_some() { "ambiguous" } else { task.status.as_str() };
        vec![
            task.id.to_string(),
            status.to_owned(),
            task.model.clone(),
            task.customer.to_string(),
            rfc3339(task.created),
            // Nothing is held for a task that has ended.
            if task.status.is_final() { "-".to_owned() } else { task.held.to_string() },
        ]
    };
    table(out, &["TASK", "STATUS", "MODEL", "ACCOUNT", "CREATED", "HELD"], tasks.iter().map(row))?;
    for task in tasks {
        let Some(call) = &task.ambiguous else { continue };
        writeln!(
            out,
            "\n{}: {} {} to {}/{} at {}, no reply: {}\n  it fails and is refunded at {} unless it is settled:\n  \
             gatehouse reconcile {} resend|fail|adopt --reason TEXT",
            task.id,
            call.method,
            call.url,
            call.provider,
            call.account,
            rfc3339(call.at),
            call.outage.as_deref().unwrap_or("the gateway stopped"),
            rfc3339(task.deadline),
            task.id,
        )?;
    }
    Ok(())
}

pub(super) fn ruled(out: &mut dyn Write, task: &TaskSummary, ruling: RulingWord) -> io::Result<()> {
    match ruling {
        RulingWord::Resend => writeln!(out, "{}: the call is sent again", task.id),
        RulingWord::Fail => writeln!(out, "{}: failed and refunded", task.id),
        RulingWord::Adopt => writeln!(out, "{}: goes on with the reply", task.id),
    }
}
