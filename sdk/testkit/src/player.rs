//! Runs a script: keeps the clock and the state, calls the family, compares what it returns.

use gatehouse_sdk::{
    Accepted, Action, Charge, Context, Dialect, Direct, Event, Finding, Jobs, Product, Refusal, Step,
    Submission, Text,
};
use serde_json::Value;

use crate::direct::NativeDirect;
use crate::lines::{Ask, Expect, Feed, Line};
use crate::machine::{Declared, Machine, Native, NativeDialect, NativeText};
use crate::script::Script;
use crate::written::{difference, shown};
use checks::{equal, run, settles, surface, twice};
use direct::DirectState;
use text::TextState;

mod checks;
mod direct;
mod text;

/// Any id the host could have given.
const TASK: &str = "task_01KDWFAMDV000000000000000A";

/// What the family last returned.
enum Answer {
    Nothing,
    Submitted(Result<Accepted<Vec<u8>>, Refusal>),
    Stepped(Box<Step<Vec<u8>>>),
    /// A task's state that an older version wrote; what the task waits for is not known.
    Migrated,
}

struct Player<'a> {
    machine: &'a dyn Machine,
    declared: Declared,
    cx: Context,
    /// What may be settled for the task; `None` before, and when a request has joined it: its charge is not in the script.
    held: Option<Charge>,
    state: Vec<u8>,
    brief: Vec<u8>,
    answer: Answer,
    /// The last answer beside the task's own steps.
    aside: Option<Value>,
    /// What its provider answers: the request that is under way.
    asked: Asked,
    /// The last answer has been expected by some line.
    expected: bool,
}

/// A request without a task whose provider may answer.
enum Asked {
    Nothing,
    Text(TextState),
    Direct(DirectState),
}

impl Script {
    /// Runs it with the family as plain Rust.
    ///
    /// # Panics
    /// With the line's number and place, what was expected and what came.
    pub fn run_native<F: Jobs>(&self) {
        self.run(&Native::<F>::new());
    }

    /// Runs it with the text family as plain Rust.
    ///
    /// # Panics
    /// As [`Script::run_native`].
    pub fn run_native_text<F: Text>(&self) {
        self.run(&NativeText::<F>::NEW);
    }

    /// Runs it with the dialect half of a family as plain Rust.
    ///
    /// # Panics
    /// As [`Script::run_native`].
    pub fn run_native_dialect<F: Dialect>(&self) {
        self.run(&NativeDialect::<F>::NEW);
    }

    /// Runs it with the half of a family that answers at once, as plain Rust.
    ///
    /// # Panics
    /// As [`Script::run_native`].
    pub fn run_native_direct<F: Direct>(&self) {
        self.run(&NativeDirect::<F>::new());
    }

    /// Runs it with any machine.
    ///
    /// # Panics
    /// As [`Script::run_native`].
    pub fn run(&self, machine: &dyn Machine) {
        if let Err(problem) = self.play(machine) {
            panic!("{problem}");
        }
    }

    /// The same for callers that go on after a failure.
    ///
    /// # Errors
    /// The line's number and place, what was expected and what came.
    pub fn play(&self, machine: &dyn Machine) -> Result<(), String> {
        let mut player = Player {
            machine,
            declared: machine.declared(),
            cx: self.cx.clone(),
            held: None,
            state: Vec::new(),
            brief: Vec::new(),
            answer: Answer::Nothing,
            aside: None,
            asked: Asked::Nothing,
            expected: true,
        };
        for (index, (line, place)) in self.lines.iter().enumerate() {
            player.line(line).map_err(|problem| {
                format!("line {} of the script, `{}` at {place}:\n  {problem}", index + 1, line.name())
            })?;
        }
        if player.expected {
            return Ok(());
        }
        let came = player.came();
        Err(format!("the script ends, but the family answered and no line expects it:\n  {came}"))
    }
}

impl Player<'_> {
    fn line(&mut self, line: &Line) -> Result<(), String> {
        match line {
            Line::Later(span) => {
                self.cx.now = self.cx.now.plus(*span);
                Ok(())
            }
            Line::Submit(request) => self.submit(request),
            Line::Feed(feed) => self.feed(feed),
            Line::Ask(ask) => self.ask(ask),
            Line::Expect(expect) => self.expect(expect),
        }
    }

    fn submit(&mut self, request: &Submission) -> Result<(), String> {
        self.all_expected()?;
        surface(&self.declared, &request.surface)?;
        self.begin();
        let verdict = twice(|| self.machine.submit(&self.cx, request))?;
        if let Ok(accepted) = &verdict {
            self.cx.task = Some(TASK.to_owned());
            self.state = accepted.state.clone().unwrap_or_default();
            self.brief.clone_from(&accepted.brief);
            let most = accepted.at_most.as_ref().unwrap_or(&accepted.charge);
            self.held = Some(most.clone());
        }
        self.came_now(Answer::Submitted(verdict));
        Ok(())
    }

    /// A request arrives.
    fn begin(&mut self) {
        let limit = self.cx.deadline.since(self.cx.accepted_at);
        self.cx.accepted_at = self.cx.now;
        self.cx.deadline = self.cx.now.plus(limit);
        self.cx.task = None;
    }

    fn came_now(&mut self, answer: Answer) {
        (self.answer, self.aside, self.expected) = (answer, None, false);
    }

    fn feed(&mut self, feed: &Feed) -> Result<(), String> {
        self.all_expected()?;
        let event = self.event(feed)?;
        let step = twice(|| self.machine.advance(&self.cx, &self.state, &event))?;
        if matches!(event, Event::Joined(_)) {
            self.held = None;
        }
        if let (Action::Done(outcome), Some(held)) = (&step.next, &self.held) {
            settles(&held.lines, outcome.settle.as_ref())?;
        }
        self.state.clone_from(&step.state);
        self.came_now(Answer::Stepped(Box::new(step)));
        Ok(())
    }

    /// What is asked beside a task leaves it where the last step ended.
    fn ask(&mut self, ask: &Ask) -> Result<(), String> {
        self.all_expected()?;
        match ask {
            Ask::Text(request) => {
                surface(&self.declared, &request.surface)?;
                self.begin();
            }
            Ask::Direct(request) => {
                surface(&self.declared, &request.surface)?;
                self.begin();
            }
            Ask::Translate(_) => self.begin(),
            Ask::Render(name, _) => surface(&self.declared, name)?,
            _ => {}
        }
        let (machine, cx) = (self.machine, &self.cx.clone());
        let came = match ask {
            Ask::Render(surface, view) => shown::rendered(&twice(|| machine.view(cx, surface, view))?),
            Ask::Merge(key, items) => shown::merged(&twice(|| machine.merge(cx, key, items))?),
            Ask::Split(key, items, reply) => shown::parts(&twice(|| machine.split(cx, key, items, reply))?),
            Ask::Migrate(from, state) => self.migrate(*from, state)?,
            Ask::Text(request) => {
                let (state, came) = text::prepare(machine, cx, request)?;
                self.asked = state.map_or(Asked::Nothing, Asked::Text);
                came
            }
            Ask::Translate(request) => {
                let (state, came) = text::translate(machine, cx, request)?;
                self.asked = state.map_or(Asked::Nothing, Asked::Text);
                came
            }
            Ask::Direct(request) => {
                let (state, came) = direct::plan(machine, cx, request)?;
                self.asked = state.map_or(Asked::Nothing, Asked::Direct);
                came
            }
            Ask::Answer(reply) => match &self.asked {
                Asked::Text(text) => text.answer(machine, cx, reply)?,
                Asked::Direct(direct) => direct.answer(machine, cx, reply)?,
                Asked::Nothing => return Err("unexpected here: no request has been prepared".to_owned()),
            },
            Ask::Events(events) => self.stream()?.events(machine, cx, events)?,
            Ask::End => self.stream()?.end(machine, cx)?,
        };
        (self.aside, self.expected) = (Some(came), false);
        Ok(())
    }

    fn stream(&mut self) -> Result<&mut TextState, String> {
        match &mut self.asked {
            Asked::Text(text) => Ok(text),
            _ => Err("unexpected here: no request has been prepared".to_owned()),
        }
    }

    fn migrate(&mut self, from: u32, state: &[u8]) -> Result<Value, String> {
        let reads = &self.declared.reads_state;
        if !reads.contains(&from) {
            return Err(format!(
                "states of version {from} are not read: the manifest's reads_state is {reads:?}"
            ));
        }
        let migrated = twice(|| self.machine.migrate(from, state))?;
        if let Ok(state) = &migrated {
            self.state.clone_from(state);
            if matches!(self.answer, Answer::Nothing) {
                self.cx.task = Some(TASK.to_owned());
                self.answer = Answer::Migrated;
            }
        }
        Ok(shown::migrated(&migrated))
    }

    fn all_expected(&self) -> Result<(), String> {
        if self.expected {
            return Ok(());
        }
        Err(format!("the family's last answer has not been expected by any line: {}", self.came()))
    }

    /// The event, if the family waits for it.
    fn event(&mut self, feed: &Feed) -> Result<Event, String> {
        let next = match &self.answer {
            Answer::Stepped(step) => Some(&step.next),
            Answer::Submitted(_) | Answer::Nothing | Answer::Migrated => None,
        };
        if matches!(self.answer, Answer::Migrated) {
            return resumed(feed);
        }
        match (feed, next) {
            (Feed::Start, None) if self.is_accepted() => Ok(Event::Start(std::mem::take(&mut self.brief))),
            // The host delivers it while the task waits, or before it completes.
            (Feed::Joined(brief), Some(Action::Wait(_) | Action::Done(_))) => {
                Ok(Event::Joined(brief.clone()))
            }
            (Feed::Reply(reply), Some(Action::Call(_))) => Ok(Event::Reply(reply.clone())),
            (Feed::Outage(outage), Some(Action::Call(_))) => Ok(Event::Outage(*outage)),
            (Feed::Probed(found), Some(Action::Probe(probes))) if found.len() == probes.len() => {
                let sources = probes.iter().map(|probe| probe.source.clone());
                let findings =
                    sources.zip(found).map(|(source, found)| Finding { source, found: found.clone() });
                Ok(Event::Probed(findings.collect()))
            }
            (Feed::Timer, Some(Action::Wait(moment))) => {
                self.cx.now = self.cx.now.max(*moment);
                Ok(Event::Timer)
            }
            (Feed::Cancel(cause), Some(Action::Wait(_) | Action::Call(_) | Action::Probe(_))) => {
                Ok(Event::Cancel(*cause))
            }
            (Feed::Cancel(cause), None) if self.is_accepted() => Ok(Event::Cancel(*cause)),
            (Feed::Lost(reason), Some(_)) => match self.first_product() {
                Some(product) => Ok(Event::Lost((product.source.clone(), reason.clone()))),
                None => Err("the last answer has no product that could be lost".to_owned()),
            },
            _ => Err(format!("unexpected here: the family's last answer was {}", self.came())),
        }
    }

    /// The first product of the last answer.
    fn first_product(&self) -> Option<&Product> {
        let Answer::Stepped(step) = &self.answer else { return None };
        let products = match &step.next {
            Action::Done(outcome) => &outcome.products,
            Action::Fail(ending) => &ending.products,
            _ => &step.view.as_ref()?.products,
        };
        products.first()
    }

    fn is_accepted(&self) -> bool {
        matches!(&self.answer, Answer::Submitted(Ok(accepted)) if accepted.doomed.is_none())
    }

    fn expect(&mut self, expect: &Expect) -> Result<(), String> {
        self.expected = true;
        if let Expect::Part(part) = expect {
            return difference(part, &self.shown());
        }
        if self.aside.is_some() {
            return self.other(expect.name());
        }
        match (&self.answer, expect) {
            (Answer::Submitted(Ok(accepted)), Expect::Accepted(check)) if accepted.doomed.is_none() => {
                run(check, accepted)
            }
            (Answer::Submitted(Ok(accepted)), Expect::Doomed(message)) => match &accepted.doomed {
                Some(failure) => equal("message", &failure.message, message),
                None => self.other("a doomed acceptance"),
            },
            (Answer::Submitted(Err(Refusal::Invalid { field, message })), Expect::Refused(at, expected)) => {
                equal("field", field, at)?;
                equal("message", message, expected)
            }
            (Answer::Stepped(step), expect) => self.expect_step(step, expect),
            _ => self.other(expect.name()),
        }
    }

    fn expect_step(&self, step: &Step<Vec<u8>>, expect: &Expect) -> Result<(), String> {
        match (&step.next, expect) {
            (Action::Call(call), Expect::Call(check)) => run(check, call),
            (Action::Probe(probes), Expect::Probe(check)) => run(check, probes),
            (Action::Wait(moment), Expect::Wait(check)) => run(check, &moment.since(self.cx.now)),
            (Action::Done(outcome), Expect::Done(check)) => run(check, outcome),
            (Action::Fail(ending), Expect::Fail(blame, message)) => {
                equal("message", &ending.failure.message, message)?;
                equal("blame", &ending.failure.blame, blame)
            }
            (Action::Fail(ending), Expect::FailWith(check)) => run(check, ending),
            (_, Expect::View(check)) => match &step.view {
                Some(view) => run(check, view),
                None => self.other("a view"),
            },
            (_, Expect::Stage(stage)) => equal("stage", &step.stage, stage),
            (_, Expect::Progress(percent)) => equal("progress", &step.progress, percent),
            _ => self.other(expect.name()),
        }
    }

    fn other(&self, expected: &str) -> Result<(), String> {
        Err(format!("expected: {expected}\n  came: {}", self.came()))
    }

    /// The last answer as JSON, for written scripts.
    fn shown(&self) -> Value {
        match (&self.aside, &self.answer) {
            (Some(came), _) => came.clone(),
            (None, Answer::Nothing | Answer::Migrated) => Value::Null,
            (None, Answer::Submitted(verdict)) => shown::verdict(verdict),
            (None, Answer::Stepped(step)) => shown::step(self.cx.now, step),
        }
    }

    /// The last answer, for people.
    fn came(&self) -> String {
        if let Some(came) = &self.aside {
            return came.to_string();
        }
        match &self.answer {
            Answer::Nothing | Answer::Migrated => "nothing yet".to_owned(),
            Answer::Submitted(Ok(Accepted { model, doomed, .. })) => {
                format!("accepted as {model:?}, doomed: {doomed:?}")
            }
            Answer::Submitted(Err(refusal)) => format!("{refusal:?}"),
            Answer::Stepped(step) => {
                let state = String::from_utf8_lossy(&step.state);
                format!("{:?}, {:?} at {} %, state {state}", step.next, step.stage, step.progress)
            }
        }
    }
}

/// The event of a task whose state was migrated: the script knows what it waits for.
fn resumed(feed: &Feed) -> Result<Event, String> {
    match feed {
        Feed::Joined(brief) => Ok(Event::Joined(brief.clone())),
        Feed::Reply(reply) => Ok(Event::Reply(reply.clone())),
        Feed::Outage(outage) => Ok(Event::Outage(*outage)),
        Feed::Timer => Ok(Event::Timer),
        Feed::Cancel(cause) => Ok(Event::Cancel(*cause)),
        Feed::Start | Feed::Probed(_) | Feed::Lost(_) => {
            Err("unexpected here: a migrated task was started, and has asked for no probe and no copy"
                .to_owned())
        }
    }
}

#[cfg(test)]
mod tests;
