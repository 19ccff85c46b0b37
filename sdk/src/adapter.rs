//! A [`Family`] behind the generated exports. Hidden: `export_family!` names it, nobody else does.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::sync::Once;

use crate::bindings::exports::gatehouse::family::{jobs, manifest, text};
use crate::bindings::gatehouse::family::{types, upstream};
use crate::{Family, Jobs, Relay, Text, convert, log, run};

/// The exports of a component that is the family `F`.
pub struct Adapter<F>(PhantomData<F>);

/// A panic ends the instance without a word of its own; this is the word. Natively there is a better one.
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
    fn describe() -> manifest::About {
        report_panics();
        let mut offers = manifest::Offers::empty();
        offers.set(manifest::Offers::JOBS, F::Jobs::OFFERED);
        offers.set(manifest::Offers::TEXT, F::Text::OFFERED);
        convert::about(F::about(), offers, F::Jobs::STATE_VERSION, F::Jobs::READS_STATE)
    }
}

impl<F: Family> jobs::Guest for Adapter<F> {
    fn submit(cx: types::Context, request: jobs::Submission) -> Result<jobs::Accepted, types::Refusal> {
        report_panics();
        let request = convert::submission(request)?;
        run::submit::<F>(&convert::context(cx), request).map(convert::accepted).map_err(convert::refusal)
    }

    fn advance(cx: types::Context, state: Vec<u8>, event: jobs::Event) -> jobs::Step {
        report_panics();
        convert::step(run::advance::<F>(&convert::context(cx), &state, convert::event(event)))
    }

    fn migrate(from_version: u32, state: Vec<u8>) -> Result<Vec<u8>, String> {
        report_panics();
        run::migrate::<F>(from_version, &state)
    }
}

impl<F: Family> text::Guest for Adapter<F> {
    type Relay = Stream<F>;

    fn prepare(cx: types::Context, request: text::TextRequest) -> Result<text::Prepared, types::Refusal> {
        report_panics();
        let request = convert::inquiry(request)?;
        run::prepare::<F>(&convert::context(cx), request).map(convert::prepared).map_err(convert::refusal)
    }

    fn answer(
        cx: types::Context,
        state: Vec<u8>,
        got: upstream::Reply,
    ) -> Result<text::Answered, text::TextFailure> {
        report_panics();
        run::answer::<F>(&convert::context(cx), &state, convert::reply(got))
            .map(convert::answered)
            .map_err(convert::rejection)
    }
}

/// A stream under way, behind its handle.
pub struct Stream<F: Family>(RefCell<<F::Text as Text>::Relay>);

impl<F: Family> text::GuestRelay for Stream<F> {
    fn new(cx: types::Context, state: Vec<u8>) -> Self {
        report_panics();
        Self(RefCell::new(run::relay::<F>(&convert::context(cx), &state)))
    }

    fn push(&self, got: Vec<text::Sse>) -> Result<text::Chunk, text::TextFailure> {
        let events = got.into_iter().map(convert::sse_in).collect();
        self.0.borrow_mut().push(events).map(convert::chunk).map_err(convert::rejection)
    }

    fn end(&self) -> Result<text::Chunk, text::TextFailure> {
        self.0.borrow_mut().end().map(convert::chunk).map_err(convert::rejection)
    }
}

#[cfg(test)]
mod tests;
