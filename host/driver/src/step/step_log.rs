//! The log of a run: what each phase did, until the next commit takes it along.
//!
//! Never costs a commit of its own: what a run did that was not worth one is counted for the next. Of an exchange it
//! keeps the beginning of each body; a call as the plugin wrote it has no credential, a reply was stripped of them, and
//! the values of queries are left out here.

use gatehouse_model::{Action, Body, Call, Digest, Event, Media, Outage, Payload, Step, Target, UnixMs};
use gatehouse_tasks::{Command, ExchangeRecord, StepKind, StepRecord};

use crate::step::excerpt::{excerpt, without_query_values};

/// Steps that are held until a commit; beyond it the oldest are only counted.
const MAX_HELD: usize = 64;

/// Steps of a run that no commit has taken yet.
#[derive(Debug, Default)]
pub(super) struct StepLog {
    steps: Vec<StepRecord>,
    /// Those before them.
    quiet: QuietSteps,
}

/// Steps that changed nothing worth a commit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct QuietSteps {
    count: u64,
    first: UnixMs,
    last: UnixMs,
}

impl QuietSteps {
    fn add(&mut self, at: UnixMs) {
        if self.count == 0 {
            self.first = at;
        }
        (self.count, self.last) = (self.count + 1, at);
    }
}

impl StepLog {
    /// Goes on from the steps of earlier runs.
    pub(super) fn after(quiet: QuietSteps) -> Self {
        Self { steps: Vec::new(), quiet }
    }

    /// What is left at the end of a run, as numbers only.
    pub(super) fn into_quiet(self) -> QuietSteps {
        let mut quiet = self.quiet;
        self.steps.iter().for_each(|step| quiet.add(step.at));
        quiet
    }

    fn add(&mut self, at: UnixMs, now: UnixMs, what: StepKind) {
        if self.steps.len() >= MAX_HELD {
            let oldest = self.steps.remove(0);
            self.quiet.add(oldest.at);
        }
        let took_ms = u64::try_from(now.since(at).as_millis()).unwrap_or(u64::MAX);
        self.steps.push(StepRecord { at, took_ms, what });
    }

    /// The plugin was told an event and answered.
    pub(super) fn plugin(&mut self, (at, now): (UnixMs, UnixMs), digest: Digest, event: &str, step: &Step) {
        let what = StepKind::Plugin {
            digest,
            event: event.to_owned(),
            verdict: verdict(&step.next).to_owned(),
            progress: step.progress.min(100),
            state_bytes: step.state.len() as u64,
            fault: None,
        };
        self.add(at, now, what);
    }

    /// The plugin was told an event and failed.
    pub(super) fn fault(&mut self, (at, now): (UnixMs, UnixMs), digest: Digest, event: &str, fault: &str) {
        let what = StepKind::Plugin {
            digest,
            event: event.to_owned(),
            verdict: "fault".to_owned(),
            progress: 0,
            state_bytes: 0,
            fault: Some(excerpt(fault.as_bytes())),
        };
        self.add(at, now, what);
    }

    /// A provider was called through that account; `event` is what the plugin is told of it.
    pub(super) fn exchange(
        &mut self,
        (at, now): (UnixMs, UnixMs),
        account: &str,
        call: &Call,
        event: &Event,
    ) {
        let (request, sent_bytes) = payload(&call.body);
        let (status, outage, reply, received_bytes) = match event {
            Event::Reply(reply) => {
                let (text, bytes) = body(&reply.body);
                (Some(reply.status), None, text, bytes)
            }
            Event::Outage(outage) => (None, Some(outage_word(*outage).to_owned()), String::new(), 0),
            _ => (None, None, String::new(), 0),
        };
        let record = ExchangeRecord {
            provider: call.provider.clone(),
            account: account.to_owned(),
            method: call.method.clone(),
            url: match &call.target {
                Target::Path(path) => without_query_values(path),
                Target::Url(url) => without_query_values(url),
            },
            status,
            outage,
            sent_bytes,
            received_bytes,
            request,
            reply,
        };
        self.add(at, now, StepKind::Exchange(Box::new(record)));
    }

    /// Media were looked at.
    pub(super) fn probe(&mut self, (at, now): (UnixMs, UnixMs), media: usize) {
        self.add(at, now, StepKind::Probe { media: media as u64 });
    }

    /// Results were copied.
    pub(super) fn copy(&mut self, (at, now): (UnixMs, UnixMs), media: &[Media]) {
        let bytes = media.iter().map(|one| one.bytes).sum();
        self.add(at, now, StepKind::Copy { media: media.len() as u64, bytes });
    }

    /// The task waits.
    pub(super) fn wait(&mut self, now: UnixMs, until: UnixMs, reason: &str) {
        self.add(now, now, StepKind::Wait { until, reason: reason.to_owned() });
    }

    /// The host decided.
    pub(super) fn decision(&mut self, now: UnixMs, text: &str) {
        self.add(now, now, StepKind::Decision { text: text.to_owned() });
    }

    /// The change with the steps that led to it.
    pub(super) fn logged(&mut self, change: Command, at: UnixMs) -> Command {
        let quiet = std::mem::take(&mut self.quiet);
        let mut steps = std::mem::take(&mut self.steps);
        if quiet.count > 0 {
            let what = StepKind::Quiet { steps: quiet.count, last: quiet.last };
            steps.insert(0, StepRecord { at: quiet.first, took_ms: 0, what });
        }
        if steps.is_empty() { change } else { Command::Logged { change: Box::new(change), steps, at } }
    }
}

/// The word of an event.
pub(super) const fn event_word(event: &Event) -> &'static str {
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

const fn outage_word(outage: Outage) -> &'static str {
    match outage {
        Outage::Unreachable => "unreachable",
        Outage::Timeout => "timeout",
        Outage::Broken => "broken",
        Outage::TooLarge => "too_large",
        Outage::Refused => "refused",
    }
}

/// The beginning of what a call carries, and its bytes where they are known.
fn payload(payload: &Payload) -> (String, u64) {
    match payload {
        Payload::None => (String::new(), 0),
        Payload::Json(json) => (excerpt(json), json.len() as u64),
        Payload::Form(parts) => {
            let all: Vec<(String, u64)> = parts.iter().map(|part| body(&part.data)).collect();
            let named = parts.iter().zip(&all).map(|(part, (text, _))| format!("{}: {text}", part.name));
            let text = named.collect::<Vec<_>>().join("\n");
            (excerpt(text.as_bytes()), all.iter().map(|(_, bytes)| bytes).sum())
        }
        Payload::Raw { mime, data } => {
            let (text, bytes) = body(data);
            (excerpt(format!("{mime}: {text}").as_bytes()), bytes)
        }
    }
}

/// The beginning of a body, and its bytes where they are in hand.
fn body(body: &Body) -> (String, u64) {
    match body {
        Body::Inline(bytes) => (excerpt(bytes), bytes.len() as u64),
        Body::Blob(name) => (name.clone(), 0),
    }
}
