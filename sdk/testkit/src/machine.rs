//! A family that can be called, natively or as a component.

use std::marker::PhantomData;

use gatehouse_sdk::{About, Accepted, Context, Event, Jobs, Refusal, Step, Submission, TaskView, run};
use serde_json::Value;

use crate::rules;

/// A family behind the contract: state is bytes, nothing is kept between calls.
pub(crate) trait Machine {
    /// Checks a request; `Err` when the family broke.
    fn submit(
        &self,
        cx: &Context,
        request: &Submission,
    ) -> Result<Result<Accepted<Vec<u8>>, Refusal>, String>;

    /// One step; `Err` when the family broke.
    fn advance(&self, cx: &Context, state: &[u8], event: &Event) -> Result<Step<Vec<u8>>, String>;

    /// Renders a task; `Err` when the family broke, or has no views here.
    fn view(&self, cx: &Context, surface: &str, view: &TaskView) -> Result<Value, String> {
        let _ = (cx, view);
        Err(format!("{surface:?}: views are played against the component only"))
    }
}

/// Plain Rust, with the host's rules checked here because no host is there to do it.
pub(crate) struct Native<F> {
    about: About,
    family: PhantomData<F>,
}

impl<F: Jobs> Native<F> {
    pub(crate) fn new() -> Self {
        Self { about: F::about(), family: PhantomData }
    }
}

impl<F: Jobs> Machine for Native<F> {
    fn submit(
        &self,
        cx: &Context,
        request: &Submission,
    ) -> Result<Result<Accepted<Vec<u8>>, Refusal>, String> {
        let verdict = run::submit::<F>(cx, request.clone());
        if let Ok(accepted) = &verdict {
            rules::accepted(&self.about, &request.surface, accepted)?;
        }
        Ok(verdict)
    }

    fn advance(&self, cx: &Context, state: &[u8], event: &Event) -> Result<Step<Vec<u8>>, String> {
        let step = run::advance::<F>(cx, state, event.clone());
        rules::step(&self.about, cx, &step)?;
        Ok(step)
    }
}
