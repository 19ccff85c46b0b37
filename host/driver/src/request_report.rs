//! How the maker of a request learns what it took: what is left of its key's rates, who answered, and its money. A client may
//! leave before the work ends: what is to be known then waits for it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use gatehouse_model::{Credits, RequestFacts, Span, SpanKind, Tags, Trace, UnixMs, Usage};
use gatehouse_runtime::Version;
use gatehouse_upstream::CallPermit;

use crate::rates::{RateStatus, RateUse};

/// Where the maker of a request finds out what is left of its rates, and what it holds and pays, whatever becomes of it.
/// Empty until the rates that it counts against are known.
#[derive(Clone, Default)]
pub struct RequestReport(Arc<Reported>);

struct Reported {
    began: Instant,
    rates: OnceLock<Arc<RateUse>>,
    trace: OnceLock<Trace>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    facts: RequestFacts,
    has_targets: bool,
    /// Work that has neither ended nor been charged.
    open: u32,
    waiting: Option<Waiting>,
}

/// Gets what is known of the request.
type Waiting = Box<dyn FnOnce(RequestFacts) + Send>;

/// The work of a request, or of one of the text requests that it is made of; dropped at its end, however it comes. What waits
/// is told then, if not before.
pub(crate) struct WorkGuard {
    report: RequestReport,
    is_charged: AtomicBool,
}

impl Default for Reported {
    fn default() -> Self {
        Self {
            began: Instant::now(),
            rates: OnceLock::new(),
            trace: OnceLock::new(),
            state: Mutex::default(),
        }
    }
}

impl Drop for WorkGuard {
    fn drop(&mut self) {
        self.close(|_| {});
    }
}

impl WorkGuard {
    /// Its work holds that amount.
    pub(crate) fn hold(&self, amount: Credits) {
        self.report.hold(amount);
    }

    /// The first bill counts, as it does in the ledger; whether this is the first.
    pub(crate) fn charge(&self, amount: Credits) -> bool {
        self.close(|facts| add(&mut facts.charged, amount))
    }

    /// The same of a text, whose tokens are counted.
    pub(crate) fn charge_tokens(&self, amount: Credits, tokens: &Usage) {
        self.close(|facts| {
            add(&mut facts.charged, amount);
            facts.tokens = Some(facts.tokens.unwrap_or_default().plus(tokens));
        });
    }

    /// Nothing more of it has to be waited for; the first call counts.
    fn close(&self, change: impl FnOnce(&mut RequestFacts)) -> bool {
        if self.is_charged.swap(true, Ordering::Relaxed) {
            return false;
        }
        let mut state = self.report.state();
        change(&mut state.facts);
        state.open = state.open.saturating_sub(1);
        if state.open == 0
            && let Some(then) = state.waiting.take()
        {
            let facts = state.facts.clone();
            drop(state);
            then(facts);
        }
        true
    }
}

fn add(sum: &mut Option<Credits>, amount: Credits) {
    *sum = Some(Credits(sum.unwrap_or_default().0.saturating_add(amount.0)));
}

impl RequestReport {
    /// What is left at that moment.
    #[must_use]
    pub fn status(&self, now: UnixMs) -> RateStatus {
        self.0.rates.get().map(|used| used.status(now)).unwrap_or_default()
    }

    /// The request is traced: its parts are made under `trace`.
    pub fn trace_with(&self, trace: &Trace) {
        let _ = self.0.trace.set(trace.clone());
    }

    /// Where its parts are made, if it is traced.
    pub(crate) fn trace(&self) -> Option<&Trace> {
        self.0.trace.get()
    }

    /// Begins a part of it within the gateway, if it is traced.
    pub(crate) fn begin(&self, name: &'static str) -> Option<Span> {
        self.trace().map(|trace| trace.begin(name, SpanKind::Internal))
    }

    /// Begins a call of an account, if it is traced: `operation` by the conventions for generative models.
    pub(crate) fn begin_call(
        &self,
        operation: &'static str,
        model: &str,
        permit: &CallPermit,
    ) -> Option<Span> {
        let mut span = self.trace()?.begin(format!("{operation} {model}"), SpanKind::Client);
        span.set("gen_ai.operation.name", operation);
        span.set("gen_ai.request.model", model);
        span.set("gen_ai.provider.name", permit.provider());
        span.set("gatehouse.account", permit.account());
        permit.trace_with(span.trace().place());
        Some(span)
    }

    /// What is known so far.
    #[must_use]
    pub fn facts(&self) -> RequestFacts {
        self.state().facts.clone()
    }

    /// The target that answered and the calls that were made, where its model lists several, so that its client is to know.
    #[must_use]
    pub fn answered_among_targets(&self) -> Option<(Option<Arc<str>>, u32)> {
        let state = self.state();
        state.has_targets.then(|| (state.facts.target.clone(), state.facts.attempts))
    }

    /// Gives `then` what is known once its money is: at once unless the request is still worked on. Work whose client has left
    /// ends all the same, so `then` is called once.
    pub fn when_known(&self, then: impl FnOnce(RequestFacts) + Send + 'static) {
        let mut state = self.state();
        if state.open > 0 {
            state.waiting = Some(Box::new(then));
            return;
        }
        let facts = state.facts.clone();
        drop(state);
        then(facts);
    }

    /// The request is worked on from now on.
    pub(crate) fn begin_work(&self) -> WorkGuard {
        self.state().open += 1;
        WorkGuard { report: self.clone(), is_charged: AtomicBool::new(false) }
    }

    /// A request that is judged again counts against the same rates.
    pub(crate) fn count(&self, used: &Arc<RateUse>) {
        let _ = self.0.rates.set(Arc::clone(used));
    }

    /// The first one that is found counts.
    pub(crate) fn of_model(&self, model: &str) {
        self.state().facts.model.get_or_insert_with(|| model.into());
    }

    pub(crate) fn tagged(&self, tags: Option<&Arc<Tags>>) {
        let Some(tags) = tags else { return };
        self.state().facts.tags = Some(Arc::clone(tags));
    }

    pub(crate) fn of_targets(&self) {
        self.state().has_targets = true;
    }

    /// That version has read it.
    pub(crate) fn read_by(&self, version: &Version) {
        self.state().facts.plugin = Some(Arc::clone(version.label()));
    }

    /// An account is called for it.
    pub(crate) fn attempt(&self, provider: &str, account: &str) {
        let (provider, account) = (provider.into(), account.into());
        let facts = &mut self.state().facts;
        (facts.provider, facts.account, facts.first_byte_ms) = (Some(provider), Some(account), None);
        facts.attempts = facts.attempts.saturating_add(1);
    }

    /// The head of the answer to the last call came after that time.
    pub(crate) fn first_byte(&self, after: Option<Duration>) {
        self.state().facts.first_byte_ms = after.map(milliseconds);
    }

    /// The client has the first content of its stream now; the first one counts.
    pub(crate) fn first_token(&self) {
        let after = milliseconds(self.0.began.elapsed());
        self.state().facts.first_token_ms.get_or_insert(after);
    }

    pub(crate) fn answered_by(&self, target: &str) {
        let target = target.into();
        self.state().facts.target = Some(target);
    }

    /// A part of the request holds that amount.
    pub(crate) fn hold(&self, amount: Credits) {
        add(&mut self.state().facts.held, amount);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Begins a call of a plugin for a request, if that is traced.
pub(crate) fn plugin_span(report: &RequestReport, name: &'static str, version: &Version) -> Option<Span> {
    let mut span = report.begin(name)?;
    span.set("gatehouse.plugin", &**version.label());
    Some(span)
}

fn milliseconds(time: Duration) -> u32 {
    u32::try_from(time.as_millis()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    fn ask(report: &RequestReport) -> mpsc::Receiver<(Option<Credits>, Option<Credits>)> {
        let (told, asked) = mpsc::channel();
        report.when_known(move |facts| {
            let _ = told.send((facts.held, facts.charged));
        });
        asked
    }

    #[test]
    fn without_work_it_is_known_at_once() {
        let report = RequestReport::default();
        assert_eq!(ask(&report).try_recv(), Ok((None, None)));
        drop(report.begin_work());
        report.hold(Credits(7));
        assert_eq!(ask(&report).try_recv(), Ok((Some(Credits(7)), None)), "the price of a task");
    }

    #[test]
    fn who_asks_before_the_bill_is_told_with_it() {
        let report = RequestReport::default();
        let work = report.begin_work();
        let told = ask(&report);
        work.hold(Credits(7));
        assert_eq!(told.try_recv(), Err(mpsc::TryRecvError::Empty));
        assert!(work.charge(Credits(3)));
        assert_eq!(told.try_recv(), Ok((Some(Credits(7)), Some(Credits(3)))));
        // The second bill of a request changes nothing, as in the ledger.
        assert!(!work.charge(Credits(5)));
        assert_eq!(ask(&report).try_recv(), Ok((Some(Credits(7)), Some(Credits(3)))));
        drop(work);
        assert_eq!(told.try_recv(), Err(mpsc::TryRecvError::Disconnected), "once");
    }

    #[test]
    fn work_that_ends_without_a_bill_says_so() {
        let report = RequestReport::default();
        let work = report.begin_work();
        let told = ask(&report);
        work.hold(Credits(7));
        drop(work);
        assert_eq!(told.try_recv(), Ok((Some(Credits(7)), None)));
    }

    /// Without it the line of a request with several prompts has the money and the tokens of one.
    #[test]
    fn several_parts_are_one_sum() {
        let report = RequestReport::default();
        let tokens = Usage { input: 2, output: 3, ..Usage::default() };
        for charge in [3, 4] {
            let work = report.begin_work();
            let told = ask(&report);
            work.hold(Credits(10));
            assert_eq!(told.try_recv(), Err(mpsc::TryRecvError::Empty));
            work.charge_tokens(Credits(charge), &tokens);
            assert!(told.try_recv().is_ok());
        }
        let facts = report.facts();
        assert_eq!((facts.held, facts.charged), (Some(Credits(20)), Some(Credits(7))));
        assert_eq!(facts.tokens, Some(Usage { input: 4, output: 6, ..Usage::default() }));
    }

    /// Without it a failed call's time stands beside the account of the next one.
    #[test]
    fn the_last_call_is_told_and_the_first_content() {
        let report = RequestReport::default();
        report.attempt("p", "one");
        report.first_byte(Some(Duration::from_millis(7)));
        report.attempt("q", "two");
        report.first_token();
        let facts = report.facts();
        assert_eq!((facts.provider.as_deref(), facts.account.as_deref()), (Some("q"), Some("two")));
        assert_eq!((facts.attempts, facts.first_byte_ms), (2, None));
        report.first_token();
        assert_eq!(report.facts().first_token_ms, facts.first_token_ms);
        assert!(facts.first_token_ms.is_some());
    }
}
