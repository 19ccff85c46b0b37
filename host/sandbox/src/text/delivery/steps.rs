//! The steps of a body: framed events, the faults of the markers, and the split into writes.

use std::time::Duration;

use bytes::Bytes;

use super::reply::{Event, EventKind, ReplyPlan};
use super::split::Split;
use crate::text::markers::Marker;

/// Bytes a huge line is filled up with.
const HUGE: usize = 1 << 20;
const COMMENT: &str = ": keep-alive\n\n";

/// One step of a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Closes the connection inside the body.
    Abort,
    Bytes(Bytes),
    /// Waits until the sandbox releases held answers.
    Hold,
    /// The same, and writes these bytes again and again meanwhile.
    KeepAlives(Bytes),
    Pause(Duration),
    /// Half of these bytes, then a reset.
    Reset(Bytes),
}

/// The steps of a stream.
pub(crate) fn stream(plan: &ReplyPlan) -> Vec<Step> {
    let faults = &plan.faults;
    let pause = faults.number(Marker::Pace).map(|ms| Step::Pause(Duration::from_millis(ms.min(60_000))));
    let mut seed = plan.seed.fork("comments");
    let (mut steps, mut deltas) = (Vec::new(), 0);
    if faults.has(Marker::SlowEvent) {
        steps.push(Step::Hold);
    }
    if faults.has(Marker::KeepAlives) {
        steps.push(Step::KeepAlives(line_end(plan, COMMENT).into()));
    }
    if faults.due(Marker::Cut, 0) {
        return steps;
    }
    for event in &plan.events {
        if event.kind == EventKind::End && faults.has(Marker::NoEnd) {
            continue;
        }
        if faults.has(Marker::Comments) && seed.below(2) == 0 {
            steps.push(Step::Bytes(line_end(plan, COMMENT).into()));
        }
        let is_delta = event.kind == EventKind::Delta;
        if is_delta && deltas == 0 && faults.has(Marker::OddEvent) {
            steps.push(Step::Bytes(frame(plan, &plan.odd)));
        }
        let bytes = match is_delta && deltas == 0 && faults.has(Marker::HugeLine) {
            true => frame(plan, &event.clone().padded(HUGE)),
            false => frame(plan, event),
        };
        if is_delta && faults.due(Marker::Reset, deltas) {
            steps.push(Step::Reset(bytes));
            break;
        }
        steps.push(Step::Bytes(bytes));
        steps.extend(pause.clone());
        if !is_delta {
            continue;
        }
        deltas += 1;
        if faults.due(Marker::Stall, deltas) {
            steps.push(Step::Hold);
        }
        if faults.due(Marker::Cut, deltas) {
            break;
        }
        if faults.due(Marker::Abort, deltas) {
            steps.push(Step::Abort);
            break;
        }
        if faults.due(Marker::ErrorEvent, deltas) {
            steps.push(Step::Bytes(frame(plan, &plan.error)));
            break;
        }
    }
    cut(plan, steps)
}

/// The steps of a body in one piece.
pub(crate) fn whole(plan: &ReplyPlan, body: Bytes) -> Vec<Step> {
    let faults = &plan.faults;
    let (start, rest) = (body.slice(..body.len() / 2), body.slice(body.len() / 2..));
    if faults.has(Marker::SlowEvent) {
        vec![Step::Hold, Step::Bytes(body)]
    } else if faults.has(Marker::Stall) {
        vec![Step::Bytes(start), Step::Hold, Step::Bytes(rest)]
    } else if faults.has(Marker::Cut) {
        vec![Step::Bytes(start)]
    } else if faults.has(Marker::Abort) {
        vec![Step::Bytes(start), Step::Abort]
    } else if faults.has(Marker::Reset) {
        vec![Step::Bytes(start), Step::Reset(rest)]
    } else {
        vec![Step::Bytes(body)]
    }
}

/// Joins neighbouring bytes, then cuts them anew.
fn cut(plan: &ReplyPlan, steps: Vec<Step>) -> Vec<Step> {
    let (split, mut seed) = (Split::of(&plan.faults), plan.seed.fork("split"));
    let (mut out, mut joined) = (Vec::new(), Vec::new());
    for step in steps {
        match step {
            Step::Bytes(bytes) => joined.extend_from_slice(&bytes),
            other => {
                let bytes = Bytes::from(std::mem::take(&mut joined));
                out.extend(split.cut(bytes, &mut seed).into_iter().map(Step::Bytes));
                out.push(other);
            }
        }
    }
    out.extend(split.cut(joined.into(), &mut seed).into_iter().map(Step::Bytes));
    out
}

/// An event in wire format.
fn frame(plan: &ReplyPlan, event: &Event) -> Bytes {
    let name = event.name.map_or_else(String::new, |name| format!("event: {name}\n"));
    line_end(plan, &format!("{name}data: {}\n\n", event.data)).into()
}

fn line_end(plan: &ReplyPlan, text: &str) -> String {
    if plan.faults.has(Marker::Crlf) { text.replace('\n', "\r\n") } else { text.to_owned() }
}
