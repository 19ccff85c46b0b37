//! The family behind the contract's interfaces. Only hands over.

use gatehouse_sdk::{
    About, Accepted, Bulk, Call, Context, Event, Family, Jobs, Refusal, Reply, Step, Submission, TaskView,
    Views,
};
use serde_json::Value;

use crate::state::State;
use crate::{manifest, provider, request, steps, view};

/// The family.
pub struct Journey;

impl Family for Journey {
    fn about() -> About {
        manifest::about()
    }
}

impl Jobs for Journey {
    type State = State;

    fn submit(_: &Context, request: Submission) -> Result<Accepted<State>, Refusal> {
        request::submit::submit(&request)
    }

    fn advance(cx: &Context, state: State, event: Event) -> Step<State> {
        steps::advance::step(cx, state, event)
    }
}

impl Views for Journey {
    fn view(_: &Context, _: &str, task: TaskView) -> Value {
        view::render(&task)
    }
}

impl Bulk for Journey {
    fn merge(_: &Context, _: &str, items: &[String]) -> Call {
        provider::bulk::merge(items)
    }

    fn split(_: &Context, _: &str, items: &[String], reply: Reply) -> Vec<Option<Reply>> {
        provider::bulk::split(items, &reply)
    }
}
