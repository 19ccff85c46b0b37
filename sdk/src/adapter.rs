//! A [`Family`] behind the generated exports. Hidden: only `export_family!` uses it.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::sync::Once;

use crate::bindings::exports::gatehouse::family::{bulk, dialect, direct, jobs, manifest, text, views};
use crate::bindings::gatehouse::family::{types, upstream};
use crate::contract::direct::DirectRequest;
use crate::contract::manifest::About;
use crate::contract::submission::Submission;
use crate::interfaces::Family;
use crate::interfaces::dialect::{Dialect, FrameReader};
use crate::interfaces::direct::Direct;
use crate::interfaces::jobs::{Bulk, Jobs, Views};
use crate::interfaces::text::{Relay, Text};
use crate::{log, run};

/// The exports of a component that is the family `F`.
pub struct Adapter<F>(PhantomData<F>);

/// Logs a panic, which otherwise ends the instance without a message. Natively Rust prints it itself.
fn report_panics() {
    static HOOK: Once = Once::new();
    if cfg!(not(target_arch = "wasm32")) {
        return;
    }
    HOOK.call_once(|| {
        std::panic::set_hook(Box::new(|panic| log::error(&format!("the plugin panicked: {panic}"), &[])));
    });
}

impl<F: Family> manifest::Guest for Adapter<F> {
    fn describe() -> String {
        report_panics();
        let about =
            About { state_version: F::STATE_VERSION, reads_state: F::READS_STATE.to_vec(), ..F::about() };
        serde_json::to_string(&about).expect("a manifest is JSON")
    }
}

impl<F: Jobs> jobs::Guest for Adapter<F> {
    fn submit(cx: types::Context, request: jobs::Submission) -> Result<jobs::Accepted, types::Refusal> {
        report_panics();
        let request = Submission::try_from(request)?;
        Ok(run::submit::<F>(&cx.into(), request)?.into())
    }

    fn advance(cx: types::Context, state: Vec<u8>, event: jobs::Event) -> jobs::Step {
        report_panics();
        run::advance::<F>(&cx.into(), &state, event).into()
    }

    fn migrate(from_version: u32, state: Vec<u8>) -> Result<Vec<u8>, String> {
        report_panics();
        run::migrate::<F>(from_version, &state)
    }
}

impl<F: Views> views::Guest for Adapter<F> {
    fn view(cx: types::Context, surface: String, task: views::TaskView) -> String {
        report_panics();
        F::view(&cx.into(), &surface, task.into()).to_string()
    }
}

impl<F: Bulk> bulk::Guest for Adapter<F> {
    fn merge(cx: types::Context, key: String, items: Vec<String>) -> upstream::Call {
        report_panics();
        F::merge(&cx.into(), &key, &items)
    }

    fn split(
        cx: types::Context,
        key: String,
        items: Vec<String>,
        got: upstream::Reply,
    ) -> Vec<Option<upstream::Reply>> {
        report_panics();
        F::split(&cx.into(), &key, &items, got)
    }
}

impl<F: Direct> direct::Guest for Adapter<F> {
    fn prepare(cx: types::Context, request: direct::DirectRequest) -> Result<direct::Plan, types::Refusal> {
        report_panics();
        let request = DirectRequest::try_from(request)?;
        Ok(run::plan::<F>(&cx.into(), request)?.into())
    }

    fn answer(
        cx: types::Context,
        state: Vec<u8>,
        got: upstream::Reply,
    ) -> Result<direct::DirectResponse, types::Failure> {
        report_panics();
        run::respond::<F>(&cx.into(), &state, got).map(Into::into)
    }
}

impl<F: Text> text::Guest for Adapter<F> {
    type Relay = Stream<F>;

    fn prepare(cx: types::Context, request: text::TextRequest) -> Result<text::Prepared, types::Refusal> {
        report_panics();
        Ok(run::prepare::<F>(&cx.into(), request.into())?.into())
    }

    fn answer(
        cx: types::Context,
        state: Vec<u8>,
        got: upstream::Reply,
    ) -> Result<text::Answered, text::TextFailure> {
        report_panics();
        run::answer::<F>(&cx.into(), &state, got).map(Into::into)
    }
}

/// A stream under way, behind its handle.
pub struct Stream<F: Text>(RefCell<F::Relay>);

impl<F: Text> text::GuestRelay for Stream<F> {
    fn new(cx: types::Context, state: Vec<u8>) -> Self {
        report_panics();
        Self(RefCell::new(run::relay::<F>(&cx.into(), &state)))
    }

    fn push(&self, got: Vec<text::Sse>) -> Result<text::Chunk, text::TextFailure> {
        self.0.borrow_mut().push(got).map(Into::into)
    }

    fn end(&self) -> Result<text::Chunk, text::TextFailure> {
        self.0.borrow_mut().end().map(Into::into)
    }
}

impl<F: Dialect> dialect::Guest for Adapter<F> {
    type FrameReader = Frames<F>;

    fn prepare(
        cx: types::Context,
        request: dialect::DialectRequest,
    ) -> Result<dialect::DialectPrepared, types::Refusal> {
        report_panics();
        Ok(run::translate::<F>(&cx.into(), request.into())?.into())
    }

    fn answer(
        cx: types::Context,
        state: Vec<u8>,
        got: upstream::Reply,
    ) -> Result<String, upstream::TextFailure> {
        report_panics();
        run::read_answer::<F>(&cx.into(), &state, got)
    }
}

/// A provider's stream under way, behind its handle.
pub struct Frames<F: Dialect>(RefCell<F::Reader>);

impl<F: Dialect> dialect::GuestFrameReader for Frames<F> {
    fn new(cx: types::Context, state: Vec<u8>) -> Self {
        report_panics();
        Self(RefCell::new(run::reader::<F>(&cx.into(), &state)))
    }

    fn push(&self, got: Vec<upstream::Sse>) -> Result<Vec<upstream::Sse>, upstream::TextFailure> {
        self.0.borrow_mut().push(got)
    }

    fn end(&self) -> Result<Vec<upstream::Sse>, upstream::TextFailure> {
        self.0.borrow_mut().end()
    }
}

#[cfg(test)]
mod tests;
