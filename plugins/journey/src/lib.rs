//! The journey family: grids of four pictures and all that follows from them, by the midjourney proxy's protocol of the
//! provider `midjourney`.
//!
//! Owns the parameters of sixteen routes, their translation (`request`, `billing`), the provider's protocol
//! (`provider`), the steps of a task (`steps`) and the rendering of `GET /v1/journey/{task_id}` (`view`). Never a
//! socket, a clock or money; the host owns those, and the owner of every task a request names.

mod action;
mod billing;
mod job;
mod manifest;
mod provider;
mod record;
mod request;
mod state;
mod steps;
mod version;
mod view;

use gatehouse_sdk::{
    About, Accepted, Bulk, Call, Context, Event, Family, Jobs, Refusal, Reply, Step, Submission, TaskView,
    Views,
};
use serde_json::Value;

use crate::state::State;

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

gatehouse_sdk::export_family!(Journey: jobs, views, bulk);
