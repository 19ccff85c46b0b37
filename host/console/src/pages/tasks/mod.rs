//! One task of any customer, its results, and what an operator does with it.

pub(crate) mod media;
pub(crate) mod one;
mod ruling;
mod timeline;

use gatehouse_model::{Phase, Status, Task};
use maud::{Markup, html};

use crate::format::seconds;
use crate::parts::elements::{self, Tone, chip};

/// Its state as a shape and a word.
pub(super) fn state(task: &Task) -> Markup {
    let tone = match task.status {
        Status::Submitted | Status::Pending => Tone::Neutral,
        Status::Processing => Tone::Info,
        Status::Completed => Tone::Ok,
        Status::Failed => Tone::Error,
    };
    html! {
        (chip(tone, task.status.as_str()))
        @if task.phase.ambiguous_call().is_some() { " " (chip(Tone::Warn, "ambiguous")) }
    }
}

/// How far it is.
pub(super) fn progress(task: &Task) -> Markup {
    elements::progress((!task.status.is_final()).then(|| task.progress.into()))
}

/// What the gateway does next for it.
pub(super) fn next(task: &Task) -> String {
    match &task.phase {
        Phase::Run(_) => "its plugin is asked for the next step".to_owned(),
        Phase::Call(_) => "a call waits for a permit of its provider's account".to_owned(),
        Phase::Sent { at, .. } => {
            format!("a call left at {} UTC; its reply is not on record yet", seconds(*at))
        }
        Phase::Ambiguous { at, .. } => {
            format!("a call that left at {} UTC has no reply; it waits for a ruling", seconds(*at))
        }
        Phase::Probe(_) => "media are looked at".to_owned(),
        Phase::Wait(until) => format!("its plugin is asked again at {} UTC", seconds(*until)),
        Phase::Publish { .. } => "an interim result is copied".to_owned(),
        Phase::Save(_) | Phase::SaveFailed(_) => "its results are copied".to_owned(),
        Phase::Over => "nothing".to_owned(),
    }
}
