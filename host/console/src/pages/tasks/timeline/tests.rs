//! Rows of the timeline: their order, what is left out, who sees what.

use gatehouse_model::Digest;
use gatehouse_sample::{START, task};

use super::*;

fn exchange(reply: &str) -> StepKind {
    StepKind::Exchange(Box::new(ExchangeRecord {
        provider: "bfl".to_owned(),
        account: "main".to_owned(),
        method: "POST".to_owned(),
        url: "/v1/flux?id=…".to_owned(),
        status: Some(200),
        outage: None,
        sent_bytes: 5,
        received_bytes: 7,
        request: "{\"prompt\":\"<b>\"}".to_owned(),
        reply: reply.to_owned(),
    }))
}

fn rows(kinds: Vec<StepKind>) -> Vec<StepRow> {
    let steps = kinds.into_iter().enumerate().map(|(number, what)| StepRecord {
        at: UnixMs(START.0 + number as u64),
        took_ms: 40,
        what,
    });
    let task = task(1, 0, 0, 5, START);
    vec![StepRow { task: task.id, revision: 1, at: START, steps: steps.collect(), left_out: 2 }]
}

fn shown(kinds: Vec<StepKind>, scale: Scale) -> String {
    let details = TaskDetails { task: task(1, 0, 0, 5, START), entries: Vec::new(), deliveries: Vec::new() };
    show(&details, Some(&rows(kinds)), scale, UnixMs(START.0 + 1000)).into_string()
}

#[test]
fn every_kind_has_a_row_in_the_order_of_time() {
    let digest = Digest::of(b"v");
    let kinds = vec![
        StepKind::Plugin {
            digest,
            event: "start".to_owned(),
            verdict: "call".to_owned(),
            progress: 7,
            state_bytes: 12,
            fault: None,
        },
        exchange("{}"),
        StepKind::Wait { until: UnixMs(START.0 + 500), reason: "permit".to_owned() },
        StepKind::Decision { text: "ambiguous POST to bfl".to_owned() },
        StepKind::Quiet { steps: 3, last: UnixMs(START.0 + 9) },
    ];
    let text = shown(kinds, Scale::Sequence);
    let expected = [
        "accepted",
        "start → <strong>call</strong>, 7 %, 12 bytes",
        "POST <code>/v1/flux?id=…</code> <strong>200</strong>",
        "[account bfl/main] 5 bytes sent, 7 received",
        "&lt;b&gt;",
        "for a permit",
        "ambiguous POST to bfl",
        "3 steps that changed nothing",
        "Sum: ",
    ];
    let mut from = 0;
    for part in expected {
        let at = text[from..].find(part).unwrap_or_else(|| panic!("{part} after {from} in {text}"));
        from += at;
    }
    assert!(text.contains("2 rows") && !text.contains("<svg"), "{text}");
}

#[test]
fn the_time_scale_has_bars_within_their_frame() {
    let text = shown(vec![exchange("{}")], Scale::Time);
    assert!(text.contains("<rect class=\"fill\" x=\"0\" width=\"40\""), "{text}");
    let details = TaskDetails { task: task(1, 0, 0, 5, START), entries: Vec::new(), deliveries: Vec::new() };
    let rows = rows(vec![exchange("{}")]);
    let events = events(&details, &rows);
    let frame = Frame { start: START, length: 1 };
    for event in &events {
        let (from, length) = frame.place(event);
        assert!(from + length <= 1000 && length >= 5, "{from} {length}");
    }
}

#[test]
fn a_page_is_bounded() {
    let text = shown((0..400).map(|_| exchange(&"x".repeat(2000))).collect(), Scale::Sequence);
    assert!(text.contains("gatehouse steps task_"), "{text}");
    assert!(text.matches("<li>").count() <= FIRST + NEWEST + 3, "{}", text.matches("<li>").count());
    assert!(text.matches("xxxx").count() * 4 <= BODIES);
    assert!(text.contains("<details>"));
}

#[test]
fn those_who_may_not_read_it_are_told() {
    let details = TaskDetails { task: task(1, 0, 0, 5, START), entries: Vec::new(), deliveries: Vec::new() };
    let text = show(&details, None, Scale::Sequence, START).into_string();
    assert!(text.contains("for operators, and") && !text.contains("POST"), "{text}");
}
