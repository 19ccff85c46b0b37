//! The log of a run: what each phase did, until the next commit takes it along.
//!
//! Never costs a commit of its own: what a run did that was not worth one is counted for the next. An exchange is
//! noted as it is (`exchange`) and written out only for a commit: most polls have none.

use std::collections::VecDeque;
use std::ops::Range;

use gatehouse_model::{Action, Call, Digest, Event, Media, Span, SpanKind, Step, TraceParent, UnixMs};
use gatehouse_tasks::{Command, MAX_STEPS_OF_A_ROW, StepKind, StepRecord};

use crate::live::QuietSteps;
use crate::step::log::excerpt::excerpt;
use crate::step::log::exchange::NotedExchange;

/// Steps that are held until a commit, so many that they fit into a row with the count of those before; beyond it the
/// oldest are only counted.
const MAX_HELD: usize = MAX_STEPS_OF_A_ROW - 1;

/// Steps of a run that no commit has taken yet.
#[derive(Debug, Default)]
pub(in crate::step) struct StepLog {
    steps: VecDeque<NotedStep>,
    /// Those before them.
    quiet: QuietSteps,
    /// Of the run, if its task is traced.
    pub(in crate::step) span: Option<Span>,
}

#[derive(Debug)]
struct NotedStep {
    at: UnixMs,
    took_ms: u64,
    what: Noted,
}

#[derive(Debug)]
enum Noted {
    Kind(StepKind),
    Exchange(Box<NotedExchange>),
}

impl StepLog {
    /// Goes on from the steps of earlier runs.
    pub(in crate::step) fn after(quiet: QuietSteps) -> Self {
        Self { quiet, ..Self::default() }
    }

    /// Where the run is in its trace.
    pub(in crate::step) fn place(&self) -> Option<&TraceParent> {
        self.span.as_ref().map(|span| span.trace().place())
    }

    /// A part of the run that has ended, if that is traced.
    fn part(&self, name: &'static str, kind: SpanKind, time: &Range<UnixMs>) -> Option<Span> {
        let mut part = self.span.as_ref()?.trace().begin(name, kind);
        part.set_times(time.start, time.end);
        Some(part)
    }

    /// What is left at the end of a run, as numbers only.
    pub(in crate::step) fn into_quiet(self) -> QuietSteps {
        let mut quiet = self.quiet;
        self.steps.iter().for_each(|step| quiet.add(step.at));
        quiet
    }

    fn add(&mut self, time: Range<UnixMs>, what: StepKind) {
        self.note(time, Noted::Kind(what));
    }

    fn note(&mut self, time: Range<UnixMs>, what: Noted) {
        if self.steps.len() >= MAX_HELD
            && let Some(oldest) = self.steps.pop_front()
        {
            self.quiet.add(oldest.at);
        }
        let took_ms = u64::try_from(time.end.since(time.start).as_millis()).unwrap_or(u64::MAX);
        self.steps.push_back(NotedStep { at: time.start, took_ms, what });
    }

    /// The plugin was told an event and answered.
    pub(in crate::step) fn plugin(&mut self, time: Range<UnixMs>, digest: Digest, event: &str, step: &Step) {
        if let Some(mut part) = self.part("plugin advance", SpanKind::Internal, &time) {
            part.set("gatehouse.event", event);
            part.set("gatehouse.next", verdict(&step.next));
        }
        let what = StepKind::Plugin {
            digest,
            event: event.to_owned(),
            verdict: verdict(&step.next).to_owned(),
            progress: step.progress.min(100),
            state_bytes: step.state.len() as u64,
            fault: None,
        };
        self.add(time, what);
    }

    /// The plugin was told an event and failed.
    pub(in crate::step) fn fault(&mut self, time: Range<UnixMs>, digest: Digest, event: &str, fault: &str) {
        if let Some(mut part) = self.part("plugin advance", SpanKind::Internal, &time) {
            part.set("gatehouse.event", event);
            // A plugin's own words may quote the request.
            part.fail("plugin fault");
        }
        let what = StepKind::Plugin {
            digest,
            event: event.to_owned(),
            verdict: "fault".to_owned(),
            progress: 0,
            state_bytes: 0,
            fault: Some(excerpt(fault.as_bytes(), fault.len() as u64)),
        };
        self.add(time, what);
    }

    /// A provider was called through that account; `event` is what the plugin is told of it.
    pub(in crate::step) fn exchange(
        &mut self,
        time: Range<UnixMs>,
        account: &str,
        call: &Call,
        event: &Event,
    ) {
        if let Some(mut part) = self.part("provider call", SpanKind::Client, &time) {
            part.set("gen_ai.provider.name", call.provider.as_str());
            part.set("gatehouse.account", account);
            part.set("http.request.method", call.method.as_str());
            match event {
                Event::Reply(reply) => part.set("http.response.status_code", u32::from(reply.status)),
                Event::Outage(outage) => part.fail(outage.as_str()),
                _ => {}
            }
        }
        self.note(time, Noted::Exchange(Box::new(NotedExchange::of(account, call, event))));
    }

    /// Media were looked at.
    pub(in crate::step) fn probe(&mut self, time: Range<UnixMs>, media: usize) {
        drop(self.part("probe", SpanKind::Internal, &time));
        self.add(time, StepKind::Probe { media: media as u64 });
    }

    /// Results were copied.
    pub(in crate::step) fn copy(&mut self, time: Range<UnixMs>, media: &[Media]) {
        let bytes = media.iter().map(|one| one.bytes).sum();
        if let Some(mut part) = self.part("copy", SpanKind::Client, &time) {
            part.set("gatehouse.media", media.len() as u64);
            part.set("gatehouse.bytes", bytes);
        }
        self.add(time, StepKind::Copy { media: media.len() as u64, bytes });
    }

    /// The task waits.
    pub(in crate::step) fn wait(&mut self, now: UnixMs, until: UnixMs, reason: &str) {
        self.add(now..now, StepKind::Wait { until, reason: reason.to_owned() });
    }

    /// The host decided.
    pub(in crate::step) fn decision(&mut self, now: UnixMs, text: &str) {
        self.add(now..now, StepKind::Decision { text: text.to_owned() });
    }

    /// The change with the steps that led to it.
    pub(in crate::step) fn logged(&mut self, change: Command, at: UnixMs) -> Command {
        let quiet = std::mem::take(&mut self.quiet);
        let mut steps = Vec::with_capacity(self.steps.len() + 1);
        if quiet.count > 0 {
            let what = StepKind::Quiet { steps: quiet.count, last: quiet.last };
            steps.push(StepRecord { at: quiet.first, took_ms: 0, what });
        }
        steps.extend(self.steps.drain(..).map(|NotedStep { at, took_ms, what }| {
            let what = match what {
                Noted::Kind(kind) => kind,
                Noted::Exchange(exchange) => StepKind::Exchange(Box::new(exchange.record())),
            };
            StepRecord { at, took_ms, what }
        }));
        if steps.is_empty() { change } else { Command::Logged { change: Box::new(change), steps, at } }
    }
}

/// The word of an event.
pub(in crate::step) const fn event_word(event: &Event) -> &'static str {
    match event {
        Event::Start(_) => "start",
        Event::Joined(_) => "joined",
        Event::Reply(_) => "reply",
        Event::Outage(_) => "outage",
        Event::Probed(_) => "probed",
        Event::Timer => "timer",
        Event::Cancel(_) => "cancel",
        Event::Lost { .. } => "lost",
    }
}

const fn verdict(next: &Action) -> &'static str {
    match next {
        Action::Call(_) => "call",
        Action::Probe(_) => "probe",
        Action::Wait(_) => "wait",
        Action::Done(_) => "done",
        Action::Fail(_) => "fail",
    }
}
