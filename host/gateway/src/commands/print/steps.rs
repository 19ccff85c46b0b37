//! What a task did on standard output: a line a step, with the bodies of exchanges under it.

use std::io::{self, Write};

use gatehouse_tasks::{ExchangeRecord, StepKind, StepRecord, StepRow};

use super::table::rfc3339;

/// Every step, oldest first.
pub(super) fn list(out: &mut dyn Write, rows: &[StepRow]) -> io::Result<()> {
    if rows.is_empty() {
        return writeln!(out, "no step is on record");
    }
    for row in rows {
        writeln!(out, "revision {} at {}", row.revision, rfc3339(row.at))?;
        if row.left_out > 0 {
            writeln!(out, "  {} older steps are left out", row.left_out)?;
        }
        row.steps.iter().try_for_each(|step| line(out, step))?;
    }
    Ok(())
}

fn line(out: &mut dyn Write, step: &StepRecord) -> io::Result<()> {
    write!(out, "  {} {:>6} ms  ", rfc3339(step.at), step.took_ms)?;
    match &step.what {
        StepKind::Plugin { digest, event, verdict, progress, state_bytes, fault } => {
            write!(out, "plugin {}: {event} -> {verdict}, {progress} %, ", digest.short())?;
            writeln!(out, "{state_bytes} bytes of state{}", fault.as_ref().map_or("", |_| ", fault:"))?;
            fault.as_ref().map_or(Ok(()), |fault| body(out, "!", fault))
        }
        StepKind::Exchange(exchange) => exchanged(out, exchange),
        StepKind::Probe { media } => writeln!(out, "looked at {media} media"),
        StepKind::Copy { media, bytes } => writeln!(out, "copied {media} results, {bytes} bytes"),
        StepKind::Wait { until, reason } => writeln!(out, "waits ({reason}) until {}", rfc3339(*until)),
        StepKind::Decision { text } => writeln!(out, "{text}"),
        StepKind::Quiet { steps, last } => {
            writeln!(out, "{steps} steps without a change, the last at {}", rfc3339(*last))
        }
    }
}

fn exchanged(out: &mut dyn Write, exchange: &ExchangeRecord) -> io::Result<()> {
    let ExchangeRecord { provider, account, method, url, status, outage, .. } = exchange;
    let outcome = match (status, outage) {
        (Some(status), _) => status.to_string(),
        (None, Some(outage)) => outage.clone(),
        (None, None) => "no answer".to_owned(),
    };
    let account = if account.is_empty() { "(shared)" } else { account };
    let (sent, received) = (exchange.sent_bytes, exchange.received_bytes);
    writeln!(out, "{method} {url} at {provider}/{account}: {outcome}, {sent} bytes out, {received} in")?;
    body(out, ">", &exchange.request)?;
    body(out, "<", &exchange.reply)
}

/// Lines of a body; what a terminal would act on is not written as it is.
fn body(out: &mut dyn Write, mark: &str, text: &str) -> io::Result<()> {
    for line in text.lines() {
        let plain: String =
            line.chars().map(|letter| if letter.is_control() { '\u{fffd}' } else { letter }).collect();
        writeln!(out, "      {mark} {plain}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use gatehouse_model::{TaskId, UnixMs};

    use super::*;

    #[test]
    fn steps_are_told_in_lines() {
        let exchange = ExchangeRecord {
            provider: "bfl".to_owned(),
            account: "main".to_owned(),
            method: "POST".to_owned(),
            url: "/v1/flux".to_owned(),
            status: Some(200),
            outage: None,
            sent_bytes: 3,
            received_bytes: 2,
            request: "a\u{1b}[2J".to_owned(),
            reply: "{}".to_owned(),
        };
        let step = |what| StepRecord { at: UnixMs(0), took_ms: 12, what };
        let rows = [StepRow {
            task: TaskId::from_bits(0),
            revision: 1,
            at: UnixMs(1_000),
            steps: vec![
                step(StepKind::Exchange(Box::new(exchange))),
                step(StepKind::Wait { until: UnixMs(2_000), reason: "plugin".to_owned() }),
            ],
            left_out: 0,
        }];
        let mut out = Vec::new();
        list(&mut out, &rows).unwrap();
        let expected = "\
revision 1 at 1970-01-01T00:00:01Z
  1970-01-01T00:00:00Z     12 ms  POST /v1/flux at bfl/main: 200, 3 bytes out, 2 in
      > a\u{fffd}[2J
      < {}
  1970-01-01T00:00:00Z     12 ms  waits (plugin) until 1970-01-01T00:00:02Z
";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
