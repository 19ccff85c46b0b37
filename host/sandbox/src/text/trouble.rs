//! From what a wire wants to say to what leaves: frames, the markers' trouble, and where it is cut.

use std::time::Duration;

use bytes::Bytes;

use super::deliver::{Draft, Event, Part};
use super::faults::Mark;
use super::split::Split;

/// Bytes a huge line is filled up with.
const HUGE: usize = 1 << 20;

/// One thing a body does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Breaks off, the connection closed.
    Abort,
    Bytes(Bytes),
    /// Waits until the sandbox lets go.
    Hold,
    Pause(Duration),
    /// Half of these bytes, then a reset.
    Reset(Bytes),
}

/// The steps of a stream.
pub(super) fn stream(draft: &Draft) -> Vec<Step> {
    let faults = &draft.faults;
    let pause = faults.number(Mark::Pace).map(|ms| Step::Pause(Duration::from_millis(ms.min(60_000))));
    let mut seed = draft.seed.fork("comments");
    let (mut steps, mut deltas) = (Vec::new(), 0);
    if faults.has(Mark::SlowEvent) {
        steps.push(Step::Hold);
    }
    if faults.due(Mark::Cut, 0) {
        return steps;
    }
    for event in &draft.events {
        if event.part == Part::End && faults.has(Mark::NoEnd) {
            continue;
        }
        if faults.has(Mark::Comments) && seed.below(2) == 0 {
            steps.push(Step::Bytes(line_end(draft, ": keep-alive\n\n").into()));
        }
        let is_delta = event.part == Part::Delta;
        if is_delta && deltas == 0 && faults.has(Mark::OddEvent) {
            steps.push(Step::Bytes(frame(draft, &draft.odd)));
        }
        let bytes = match is_delta && deltas == 0 && faults.has(Mark::HugeLine) {
            true => frame(draft, &event.padded(HUGE)),
            false => frame(draft, event),
        };
        if is_delta && faults.due(Mark::Reset, deltas) {
            steps.push(Step::Reset(bytes));
            break;
        }
        steps.push(Step::Bytes(bytes));
        steps.extend(pause.clone());
        if !is_delta {
            continue;
        }
        deltas += 1;
        if faults.due(Mark::Stall, deltas) {
            steps.push(Step::Hold);
        }
        if faults.due(Mark::Cut, deltas) {
            break;
        }
        if faults.due(Mark::Abort, deltas) {
            steps.push(Step::Abort);
            break;
        }
        if faults.due(Mark::ErrorEvent, deltas) {
            steps.push(Step::Bytes(frame(draft, &draft.error)));
            break;
        }
    }
    cut(draft, steps)
}

/// The steps of a body in one piece.
pub(super) fn whole(draft: &Draft, body: Bytes) -> Vec<Step> {
    let faults = &draft.faults;
    let (start, rest) = (body.slice(..body.len() / 2), body.slice(body.len() / 2..));
    if faults.has(Mark::SlowEvent) {
        vec![Step::Hold, Step::Bytes(body)]
    } else if faults.has(Mark::Stall) {
        vec![Step::Bytes(start), Step::Hold, Step::Bytes(rest)]
    } else if faults.has(Mark::Cut) {
        vec![Step::Bytes(start)]
    } else if faults.has(Mark::Abort) {
        vec![Step::Bytes(start), Step::Abort]
    } else if faults.has(Mark::Reset) {
        vec![Step::Bytes(start), Step::Reset(rest)]
    } else {
        vec![Step::Bytes(body)]
    }
}

/// Joins neighbouring bytes, then cuts them anew.
fn cut(draft: &Draft, steps: Vec<Step>) -> Vec<Step> {
    let (split, mut seed) = (Split::asked(&draft.faults), draft.seed.fork("split"));
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

/// An event as it stands on the wire.
fn frame(draft: &Draft, event: &Event) -> Bytes {
    let name = event.name.map_or_else(String::new, |name| format!("event: {name}\n"));
    line_end(draft, &format!("{name}data: {}\n\n", event.data)).into()
}

fn line_end(draft: &Draft, text: &str) -> String {
    if draft.faults.has(Mark::Crlf) { text.replace('\n', "\r\n") } else { text.to_owned() }
}
