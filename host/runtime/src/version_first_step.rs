//! The judgement of a request and the first step of the task that comes of it, in one instance: to make another one costs
//! as much as the step. Checks what the two calls check when they are made apart.

use std::sync::Arc;

use gatehouse_model::{Accepted, Context, Event, Refusal, Step, Submission};

use crate::abi_v1::jobs;
use crate::exec::answer_rules;
use crate::exec::instance::Instance;
use crate::fault::Fault;
use crate::version::Version;
use crate::version_text::MAX_KEPT;

/// The context of the first step of a task that a plugin has accepted; `None` where it is not taken now.
pub type StartContext = Arc<dyn Fn(&Accepted) -> Option<Context> + Send + Sync>;

/// What a plugin makes of a request that it accepts.
#[derive(Clone, Debug)]
pub struct Submitted {
    /// The task to be.
    pub accepted: Accepted,
    /// Its first step. `None` where it was not taken, or failed: the task asks for it again.
    pub first_step: Option<Step>,
}

impl Version {
    /// Judges a request, and takes the first step of its task if `start` gives a context for it.
    pub(crate) fn submit_and_start(
        &self,
        cx: &Context,
        submission: Submission,
        start: &StartContext,
    ) -> Result<Result<Submitted, Refusal>, Fault> {
        let bytes = submission.body.len();
        // A large request needs the memory of an instance for itself.
        if bytes > MAX_KEPT {
            let answer = self.submit(cx, submission)?;
            return Ok(answer.map(|accepted| Submitted { accepted, first_step: None }));
        }
        let record = self.check_submission(&submission)?;
        let setup = self.call_setup(cx.task, self.limits().call_ms.get());
        let mut instance = Instance::new(&self.pre, setup)?;
        let answer = instance.call(|family, store| jobs::submit(family, store, cx, submission));
        let answer = self.judge_submitted(answer, bytes, record)?;
        Ok(answer.map(|accepted| {
            let first_step = start(&accepted).and_then(|cx| self.first_step(instance, &cx, &accepted));
            Submitted { accepted, first_step }
        }))
    }

    fn first_step(&self, mut instance: Instance, cx: &Context, accepted: &Accepted) -> Option<Step> {
        let start = Event::Start(accepted.brief.clone());
        instance.log_about(cx.task);
        // Whose fault it is shows when the task asks again.
        let step =
            instance.call(|family, store| jobs::advance(family, store, cx, &accepted.state, start)).ok()?;
        let step = answer_rules::step(step, cx.now, &self.about, &self.limits()).ok()?;
        self.count_call("advance", "ok");
        Some(step)
    }
}
