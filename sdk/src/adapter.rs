//! A [`Family`] behind the generated exports. Hidden: `export_family!` names it, nobody else does.

use std::marker::PhantomData;
use std::sync::Once;

use crate::bindings::exports::gatehouse::family::{jobs, manifest, text};
use crate::bindings::gatehouse::family::{types, upstream};
use crate::{Family, Jobs, Text, convert, log, run};

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
    fn open(cx: types::Context, dialect: String, body: Vec<u8>) -> Result<text::Opened, types::Refusal> {
        report_panics();
        let body = convert::body(&body)?;
        run::open::<F>(&convert::context(cx), &dialect, body).map(convert::opened).map_err(convert::refusal)
    }

    fn whole(
        cx: types::Context,
        state: Vec<u8>,
        got: upstream::Reply,
    ) -> Result<(Vec<u8>, text::Usage), types::Failure> {
        report_panics();
        run::whole::<F>(&convert::context(cx), &state, convert::reply(got))
            .map(|(body, usage)| (convert::json(&body), convert::usage(usage)))
            .map_err(convert::failure)
    }

    fn relay(
        cx: types::Context,
        state: Vec<u8>,
        got: Vec<text::Sse>,
        ended: bool,
    ) -> Result<text::Chunk, types::Failure> {
        report_panics();
        let events = got.into_iter().map(convert::sse_in).collect();
        run::relay::<F>(&convert::context(cx), &state, events, ended)
            .map(convert::chunk)
            .map_err(convert::failure)
    }
}

#[cfg(test)]
mod tests;
