//! One loaded build of a family, and its calls.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use gatehouse_model::{About, Accepted, Body, Context, Digest, Event, Refusal, Step, Submission, TaskId};
use wasmtime::Store;

use crate::check;
use crate::config::Limits;
use crate::fault::Fault;
use crate::guest::Guest;
use crate::notes::Speaker;
use crate::run::{Frame, call};
use crate::v1::{self, Family, FamilyPre};

/// What a client sent, to itself.
pub(crate) const REQUEST: &str = "the request's JSON";

/// A loaded build. It stays loaded as long as somebody holds it: whoever pins a task to it keeps the `Arc`.
pub struct Version {
    pub(crate) about: About,
    pub(crate) digest: Digest,
    pub(crate) limits: Limits,
    pub(crate) settings: Arc<[u8]>,
    pub(crate) pre: FamilyPre,
    pub(crate) speaker: Speaker,
    /// It failed its watch; nothing new is asked of it.
    pub(crate) withdrawn: AtomicBool,
}

impl fmt::Debug for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} ({})", self.about.family, self.about.version, self.digest.short())
    }
}

impl Version {
    /// What it said of itself when it was loaded.
    #[must_use]
    pub fn about(&self) -> &About {
        &self.about
    }

    /// The digest of its component.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Its family.
    #[must_use]
    pub fn family(&self) -> &str {
        &self.about.family
    }

    /// What each of its calls may use.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The operator's table for its family, as JSON: the `settings` of a context.
    #[must_use]
    pub fn settings(&self) -> Arc<[u8]> {
        Arc::clone(&self.settings)
    }

    /// Whether `model` (its own id) is served on `surface`.
    #[must_use]
    pub fn serves(&self, surface: &str, model: &str) -> bool {
        let on = |surfaces: &[String]| surfaces.iter().any(|served| served == surface);
        self.about.models.iter().any(|info| info.id == model && on(&info.surfaces))
    }

    /// Whether its text half serves `surface`.
    pub(crate) fn talks(&self, surface: &str) -> bool {
        self.about.offers.text && self.about.surfaces.iter().any(|own| own.name == surface)
    }

    /// Whether a state that `other` wrote is one of its own.
    pub(crate) fn reads_like(&self, other: &Self) -> bool {
        self.about.state_version == other.about.state_version
    }

    pub(crate) fn is_withdrawn(&self) -> bool {
        self.withdrawn.load(Ordering::Acquire)
    }

    pub(crate) fn set_withdrawn(&self, withdrawn: bool) {
        self.withdrawn.store(withdrawn, Ordering::Release);
    }

    pub(crate) fn frame(&self, task: Option<TaskId>, budget_ms: u32) -> Frame<'_> {
        Frame { limits: &self.limits, speaker: Speaker { task, ..self.speaker.clone() }, budget_ms }
    }

    /// One call on a fresh instance.
    pub(crate) fn call<R>(
        &self,
        task: Option<TaskId>,
        budget_ms: u32,
        body: impl FnOnce(&Family, &mut Store<Guest>) -> wasmtime::Result<R>,
    ) -> Result<R, Fault> {
        call(&self.pre, self.frame(task, budget_ms), body)
    }

    /// The same for a text of so many bytes.
    pub(crate) fn call_with<R>(
        &self,
        bytes: usize,
        budget_ms: u32,
        body: impl FnOnce(&Family, &mut Store<Guest>) -> wasmtime::Result<R>,
    ) -> Result<R, Fault> {
        let limits = self.limits.stretched(bytes);
        let budget_ms = budget_ms.max(limits.call_ms.get());
        call(&self.pre, Frame { limits: &limits, ..self.frame(None, budget_ms) }, body)
    }

    pub(crate) fn submit(
        &self,
        cx: &Context,
        submission: Submission,
    ) -> Result<Result<Accepted, Refusal>, Fault> {
        self.submit_within(self.limits.call_ms.get(), cx, submission)
    }

    pub(crate) fn submit_within(
        &self,
        budget_ms: u32,
        cx: &Context,
        submission: Submission,
    ) -> Result<Result<Accepted, Refusal>, Fault> {
        let bytes = submission.body.len();
        self.admit(REQUEST, bytes, self.limits.input())?;
        let parent = submission.parent.as_ref();
        let record = parent.map_or(0, |parent| parent.public.len() + parent.private.len());
        self.admit("the parent task's record", record, self.limits.input())?;
        let judged = self
            .call(cx.task, budget_ms, |family, store| v1::submit(family, store, cx, submission))
            .map_err(|fault| fault.over(REQUEST, bytes))?;
        match judged {
            Ok(yes) => {
                let state = yes.state.len();
                check::accepted(yes, &self.about, &self.limits)
                    .map(Ok)
                    .map_err(|fault| fault.of_request(bytes + record, state))
            }
            Err(no) => Ok(Err(check::refused(no))),
        }
    }

    pub(crate) fn advance(&self, cx: &Context, state: &[u8], event: Event) -> Result<Step, Fault> {
        self.advance_within(self.limits.call_ms.get(), cx, state, event)
    }

    pub(crate) fn advance_within(
        &self,
        budget_ms: u32,
        cx: &Context,
        state: &[u8],
        event: Event,
    ) -> Result<Step, Fault> {
        self.admit("the task's state", state.len(), self.limits.state())?;
        if let Event::Reply(reply) = &event
            && let Body::Inline(bytes) = &reply.body
        {
            self.admit("the upstream's reply", bytes.len(), self.limits.crossing())?;
        }
        let step =
            self.call(cx.task, budget_ms, |family, store| v1::advance(family, store, cx, state, event))?;
        check::step(step, cx.now, &self.about, &self.limits)
    }

    pub(crate) fn migrate(&self, from: u32, state: &[u8]) -> Result<Result<Vec<u8>, String>, Fault> {
        if !self.about.reads_state.contains(&from) {
            let why = format!("state version {from} is not among those it reads");
            return Err(Fault::Host(format!("{self:?}: {why}")));
        }
        let migrated = self
            .call(None, self.limits.load_ms.get(), |family, store| v1::migrate(family, store, from, state))?;
        if let Ok(state) = &migrated {
            check::state(state, &self.limits)?;
        }
        Ok(migrated)
    }

    pub(crate) fn admit(&self, what: &'static str, bytes: usize, limit: usize) -> Result<(), Fault> {
        if bytes > limit { Err(Fault::InputTooLarge { what, bytes, limit }) } else { Ok(()) }
    }
}
