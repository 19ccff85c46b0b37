//! The timeline of a task: its steps, calls, waits, money, decisions and webhooks in the order of time. The rows are those of the
//! admin API; what a client or a provider wrote is for operators.

use gatehouse_admin::{
    DeliveryState, EntryKind, ExchangeRecord, JournalEntry, StepKind, StepRecord, StepRow, TaskDetails,
    WebhookAttempt, WebhookDelivery,
};
use gatehouse_model::{Credits, Phase, Task, UnixMs, words};
use maud::{Markup, html};

use crate::format::{count, credits, moment, seconds, span};
use crate::parts::elements::{Tone, chip};

#[cfg(test)]
mod tests;

/// Rows of a page: the first ones, and the newest.
const FIRST: usize = 20;
const NEWEST: usize = 130;
/// Bytes of bodies on a page; beyond it a call is told without them, oldest last.
const BODIES: usize = 64 * 1024;

words! {
    /// How the rows are drawn.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub(super) enum Scale {
        /// Equal blocks: a step of 40 ms is seen beside a wait of 30 s.
        #[default]
        Sequence = "sequence",
        /// A bar for each row, as long as it took.
        Time = "time",
    }
}

/// One row.
struct Event<'e> {
    at: UnixMs,
    took_ms: u64,
    what: What<'e>,
}

enum What<'e> {
    Accepted,
    Money(&'e JournalEntry),
    Step(&'e StepKind),
    LeftOut(u64),
    Told(&'e WebhookDelivery, Option<&'e WebhookAttempt>),
    Ended,
}

/// The timeline, oldest first. `steps` is missing for those who may not read clients' words.
pub(super) fn show(details: &TaskDetails, steps: Option<&[StepRow]>, scale: Scale, now: UnixMs) -> Markup {
    let task = &details.task;
    let mut events = events(details, steps.unwrap_or_default());
    let left_out = events.len().saturating_sub(FIRST + NEWEST);
    if left_out > 0 {
        let at = events[FIRST].at;
        let hidden = Event { at, took_ms: 0, what: What::LeftOut(left_out as u64) };
        events.splice(FIRST..FIRST + left_out, [hidden]);
    }
    let frame = Frame::of(task, &events, now);
    let with_bodies = bodies_from(&events);
    html! {
        (scales(task, scale))
        ol.timeline {
            @for (at, event) in events.iter().enumerate() {
                li {
                    (row(event, task, at >= with_bodies, now))
                    @if scale == Scale::Time { (frame.bar(event)) }
                }
            }
            @if !task.status.is_final() {
                @if !task.joined.is_empty() { li { (task.joined.len()) " joined requests wait for its next step" } }
                li { (chip(Tone::Neutral, "next")) " " (next(task)) }
                li { (chip(Tone::Neutral, "limit")) " it fails by itself " (moment(task.deadline, now)) ", if it has not ended by then" }
            }
        }
        @if steps.is_none() { p.muted { "Steps and calls are for operators, and shown once the read is on record." } }
        (sum(details))
    }
}

/// What the gateway does next for it.
fn next(task: &Task) -> String {
    match &task.phase {
        Phase::Run(_) => "its plugin is asked for the next step".to_owned(),
        Phase::Call(_) => "a call waits for a permit of its provider's account".to_owned(),
        Phase::Sent { at, .. } => {
            format!("a call left at {} UTC; its reply is not on record yet", seconds(*at))
        }
        Phase::Ambiguous { at, .. } => {
            format!("a call that left at {} UTC has no reply; it waits for a ruling", seconds(*at))
        }
        Phase::Probe(_) => "media are looked at".to_owned(),
        Phase::Wait(until) => format!("its plugin is asked again at {} UTC", seconds(*until)),
        Phase::Publish { .. } => "an interim result is copied".to_owned(),
        Phase::Save(_) | Phase::SaveFailed(_) => "its results are copied".to_owned(),
        Phase::Over => "nothing".to_owned(),
    }
}

fn scales(task: &Task, scale: Scale) -> Markup {
    html! {
        p.muted {
            "Scale: "
            @for one in Scale::ALL {
                a href={ "/tasks/" (task.id) "?scale=" (one.as_str()) "#timeline" } aria-current=[(one == scale).then_some("true")] { (one.as_str()) }
                " "
            }
        }
    }
}

/// All rows in the order of time; what led to one commit stays in its order.
fn events<'e>(details: &'e TaskDetails, steps: &'e [StepRow]) -> Vec<Event<'e>> {
    let task = &details.task;
    let instant = |at, what| Event { at, took_ms: 0, what };
    let mut events = vec![instant(task.created, What::Accepted)];
    let opening = details.entries.iter().filter(|entry| entry.kind == EntryKind::Hold);
    events.extend(opening.map(|entry| instant(entry.at, What::Money(entry))));
    for row in steps {
        if row.left_out > 0 {
            events
                .push(instant(row.steps.first().map_or(row.at, |step| step.at), What::LeftOut(row.left_out)));
        }
        events.extend(row.steps.iter().map(|StepRecord { at, took_ms, what }| Event {
            at: *at,
            took_ms: *took_ms,
            what: What::Step(what),
        }));
    }
    let others = details.entries.iter().filter(|entry| entry.kind != EntryKind::Hold);
    events.extend(others.map(|entry| instant(entry.at, What::Money(entry))));
    events.extend(task.finished.map(|at| instant(at, What::Ended)));
    for delivery in &details.deliveries {
        events.push(instant(delivery.created, What::Told(delivery, None)));
        events.extend(delivery.attempts.iter().map(|attempt| Event {
            at: attempt.at,
            took_ms: attempt.took_ms,
            what: What::Told(delivery, Some(attempt)),
        }));
    }
    // Steps are in their order already; the sort is stable.
    events.sort_by_key(|event| event.at);
    events
}

/// From which row on bodies are shown.
fn bodies_from(events: &[Event<'_>]) -> usize {
    let mut room = BODIES;
    for (at, event) in events.iter().enumerate().rev() {
        let What::Step(StepKind::Exchange(exchange)) = &event.what else { continue };
        match room.checked_sub(exchange.request.len() + exchange.reply.len()) {
            Some(rest) => room = rest,
            None => return at + 1,
        }
    }
    0
}

fn row(event: &Event<'_>, task: &Task, with_bodies: bool, now: UnixMs) -> Markup {
    let (tone, word, text) = match &event.what {
        What::Accepted => (Tone::Neutral, "accepted", html! { "through " code { (task.surface) } }),
        What::Money(entry) => (Tone::Neutral, "money", money(entry)),
        What::Step(step) => step_of(step, with_bodies),
        What::LeftOut(rows) => (
            Tone::Neutral,
            "left out",
            html! { (count(*rows)) " rows; all that is kept: " code { "gatehouse steps " (task.id) } },
        ),
        What::Told(delivery, attempt) => webhook_row(delivery, *attempt, now),
        What::Ended => (
            if task.failure.is_some() { Tone::Error } else { Tone::Ok },
            task.status.as_str(),
            html! { "after " (span(event.at.since(task.created))) },
        ),
    };
    html! {
        (chip(tone, word)) " " (text)
        span.muted.num { " " (moment(event.at, now)) @if event.took_ms > 0 { ", took " (ms(event.took_ms)) } }
    }
}

fn money(entry: &JournalEntry) -> Markup {
    let word = entry.kind.as_str();
    let amount = match entry.kind {
        EntryKind::Hold | EntryKind::Join => entry.movement.reserved,
        EntryKind::Settle => entry.movement.spent,
        EntryKind::Release | EntryKind::Deposit => entry.movement.available,
    };
    html! { (word) " " (credits(amount)) span.muted { " ledger row " (entry.seq) } }
}

fn step_of(step: &StepKind, with_bodies: bool) -> (Tone, &'static str, Markup) {
    match step {
        StepKind::Plugin { digest, event, verdict, progress, state_bytes, fault } => (
            if fault.is_some() { Tone::Error } else { Tone::Info },
            "step",
            html! {
                (event) " → " strong { (verdict) } ", " (progress) " %, " (count(*state_bytes)) " bytes of state "
                span.muted { "plugin " code { (digest.short()) } }
                @if let Some(fault) = fault { p.note { (fault) } }
            },
        ),
        StepKind::Exchange(exchange) => {
            let is_fine = exchange.status.is_some_and(|status| status < 400);
            (if is_fine { Tone::Ok } else { Tone::Error }, "call", call(exchange, with_bodies))
        }
        StepKind::Probe { media } => (Tone::Info, "probe", html! { (count(*media)) " media" }),
        StepKind::Copy { media, bytes } => {
            (Tone::Info, "copy", html! { (count(*media)) " results, " (count(*bytes)) " bytes" })
        }
        StepKind::Wait { until, reason } => {
            let why = match reason.as_str() {
                "permit" => "for a permit of the provider's account",
                "media store" => "for the media store",
                _ => "as its plugin asked",
            };
            (Tone::Neutral, "wait", html! { (why) ", until " (seconds(*until)) " UTC" })
        }
        StepKind::Decision { text } if text.starts_with("ambiguous") => {
            (Tone::Error, "ambiguous", html! { (text) })
        }
        StepKind::Decision { text } if text.starts_with("ruled by an operator") => {
            (Tone::Info, "ruling", html! { (text) })
        }
        StepKind::Decision { text } => (Tone::Warn, "decision", html! { (text) }),
        StepKind::Quiet { steps, last } => (
            Tone::Neutral,
            "quiet",
            html! { (count(*steps)) " steps that changed nothing, the last at " (seconds(*last)) " UTC" },
        ),
    }
}

fn call(exchange: &ExchangeRecord, with_bodies: bool) -> Markup {
    let ExchangeRecord { provider, account, method, url, status, outage, sent_bytes, received_bytes, .. } =
        exchange;
    let has_bodies = with_bodies && !(exchange.request.is_empty() && exchange.reply.is_empty());
    html! {
        (method) " " code { (url) } " "
        @match (status, outage) {
            (Some(status), _) => strong { (status) },
            (None, Some(outage)) => strong { "no reply: " (outage) },
            (None, None) => strong { "no reply" },
        }
        span.muted {
            " [account " (provider) "/" @if account.is_empty() { "shared with other tasks" } @else { (account) } "] "
            (count(*sent_bytes)) " bytes sent, " (count(*received_bytes)) " received"
        }
        @if has_bodies {
            details {
                summary { "Request and reply" }
                @for (name, text) in [("Request", &exchange.request), ("Reply", &exchange.reply)] {
                    @if !text.is_empty() {
                        p.muted { (name) }
                        pre.block tabindex="0" { code { (text) } }
                    }
                }
            }
        }
    }
}

/// What the task cost, as the ledger says.
fn sum(details: &TaskDetails) -> Markup {
    let spent = details
        .entries
        .iter()
        .fold(Credits::ZERO, |sum, entry| sum.checked_add(entry.movement.spent).unwrap_or(sum));
    html! {
        p { strong { "Sum: " } (credits(spent)) " credits spent"
            @if details.task.finished.is_none() { ", " (credits(details.task.held)) " held" } "."
        }
    }
}

fn ms(ms: u64) -> String {
    span(std::time::Duration::from_millis(ms))
}

/// The time that the bars stand for.
struct Frame {
    start: UnixMs,
    length: u64,
}

impl Frame {
    fn of(task: &Task, events: &[Event<'_>], now: UnixMs) -> Self {
        let last = events.iter().map(|event| event.at.0.saturating_add(event.took_ms)).max();
        let end = task.finished.unwrap_or(now).0.max(last.unwrap_or(0));
        Self { start: task.created, length: end.saturating_sub(task.created.0).max(1) }
    }

    /// In thousandths of the frame: where a row begins, and how long it is; never too short to be seen.
    fn place(&self, event: &Event<'_>) -> (u64, u64) {
        let share = |ms: u64| {
            u64::try_from(u128::from(ms) * 1000 / u128::from(self.length)).unwrap_or(1000).min(1000)
        };
        let until = match &event.what {
            What::Step(StepKind::Wait { until, .. }) => until.0.saturating_sub(event.at.0),
            What::Step(StepKind::Quiet { last, .. }) => last.0.saturating_sub(event.at.0),
            _ => event.took_ms,
        };
        let from = share(event.at.0.saturating_sub(self.start.0)).min(995);
        (from, share(until).clamp(5, 1000 - from))
    }

    fn bar(&self, event: &Event<'_>) -> Markup {
        let (from, length) = self.place(event);
        html! {
            svg.span viewBox="0 0 1000 6" preserveAspectRatio="none" aria-hidden="true" {
                rect.track width="1000" height="6" {}
                rect.fill x=(from) width=(length) height="6" {}
            }
        }
    }
}

/// The tone, the word and the text of a row; without an attempt, of the event itself.
fn webhook_row(
    delivery: &WebhookDelivery,
    attempt: Option<&WebhookAttempt>,
    now: UnixMs,
) -> (Tone, &'static str, Markup) {
    let link = html! { a href={ "/webhooks/" (delivery.webhook) } { code { (delivery.webhook) } } };
    match attempt {
        None => {
            let (tone, state) = match &delivery.state {
                DeliveryState::Pending { due } => (Tone::Warn, html! { "next attempt " (moment(*due, now)) }),
                DeliveryState::Delivered { .. } => (Tone::Ok, html! { "delivered" }),
                DeliveryState::Failed { reason, .. } => (Tone::Error, html! { "failed: " (reason) }),
            };
            (tone, "webhook", html! { (delivery.event.as_str()) " for " (link) ", " (state) })
        }
        Some(attempt) if attempt.succeeded() => {
            (Tone::Ok, "told", html! { (link) " answered " (attempt.status.unwrap_or_default()) })
        }
        Some(attempt) => (Tone::Error, "not told", html! { (link) ": " (attempt.problem()) }),
    }
}
