//! What a task did: a line a step, with the bodies of exchanges under it.

use std::fmt::Write as _;

use serde_json::Value;

use super::generic::{rows_at, text_at};

/// Every step, oldest first.
pub(crate) fn steps_in_words(rows: &[Value]) -> String {
    if rows.is_empty() {
        return "no step is on record\n".to_owned();
    }
    let mut text = String::new();
    for row in rows {
        // A String takes every write.
        let _ = writeln!(text, "revision {} at {}", row["revision"], text_at(row, "at"));
        if row["left_out"].as_u64().is_some_and(|left_out| left_out > 0) {
            let _ = writeln!(text, "  {} older steps are left out", row["left_out"]);
        }
        for step in rows_at(row, "steps") {
            let took = step["took_ms"].as_u64().unwrap_or_default();
            let _ = writeln!(text, "  {} {took:>6} ms  {}", text_at(step, "at"), words(step));
            bodies(&mut text, step);
        }
    }
    text
}

fn words(step: &Value) -> String {
    let text = |field| text_at(step, field);
    match text("kind") {
        "plugin" => format!(
            "plugin {}: {} -> {}, {} %, {} bytes of state{}",
            text("version").get(..12).unwrap_or_default(),
            text("event"),
            text("verdict"),
            step["progress"],
            step["state_bytes"],
            if step["fault"].is_null() { "" } else { ", fault:" },
        ),
        "exchange" => {
            let outcome = match (&step["status"], text("outage")) {
                (Value::Number(status), _) => status.to_string(),
                (_, "") => "no answer".to_owned(),
                (_, outage) => outage.to_owned(),
            };
            let account = if text("account").is_empty() { "(shared)" } else { text("account") };
            let (method, url, provider) = (text("method"), text("url"), text("provider"));
            let (sent, received) = (&step["sent_bytes"], &step["received_bytes"]);
            format!("{method} {url} at {provider}/{account}: {outcome}, {sent} bytes out, {received} in")
        }
        "probe" => format!("looked at {} media", step["media"]),
        "copy" => format!("copied {} results, {} bytes", step["media"], step["bytes"]),
        "wait" => format!("waits ({}) until {}", text("reason"), text("until")),
        "quiet" => format!("{} steps without a change, the last at {}", step["steps"], text("last")),
        _ => text("text").to_owned(),
    }
}

/// Lines of what was said; what a terminal would act on is not written as it is.
fn bodies(out: &mut String, step: &Value) {
    for (mark, field) in [("!", "fault"), (">", "request"), ("<", "reply")] {
        for line in text_at(step, field).lines() {
            let plain: String =
                line.chars().map(|letter| if letter.is_control() { '\u{fffd}' } else { letter }).collect();
            let _ = writeln!(out, "      {mark} {plain}");
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn steps_are_told_in_lines() {
        let at = "1970-01-01T00:00:00.000Z";
        let steps = json!([
            {
                "at": at, "took_ms": 12, "kind": "exchange", "provider": "bfl", "account": "main", "method": "POST",
                "url": "/v1/flux", "status": 200, "outage": null, "sent_bytes": 3, "received_bytes": 2,
                "request": "a\u{1b}[2J", "reply": "{}",
            },
            {"at": at, "took_ms": 12, "kind": "wait", "reason": "plugin", "until": "1970-01-01T00:00:02.000Z"},
        ]);
        let rows = [json!({"revision": 1, "at": "1970-01-01T00:00:01.000Z", "steps": steps, "left_out": 0})];
        let expected = "\
revision 1 at 1970-01-01T00:00:01.000Z
  1970-01-01T00:00:00.000Z     12 ms  POST /v1/flux at bfl/main: 200, 3 bytes out, 2 in
      > a\u{fffd}[2J
      < {}
  1970-01-01T00:00:00.000Z     12 ms  waits (plugin) until 1970-01-01T00:00:02.000Z
";
        assert_eq!(steps_in_words(&rows), expected);
    }
}
