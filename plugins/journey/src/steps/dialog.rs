//! A task in MODAL: it waits for the modal route, which joins it, until the host ends its time.

use gatehouse_sdk::{Context, Event, Failure, Finding, Probe, Stage, Step};

use crate::job::ModalRequest;
use crate::provider::failure::POLICY;
use crate::record::Status;
use crate::request::{modal, source};
use crate::steps::send;
use crate::steps::state::{State, Waiting, shown};

pub(crate) fn step(cx: &Context, mut waiting: Waiting, event: Event) -> Step<State> {
    match event {
        Event::Joined(brief) => match ModalRequest::of_brief(&brief) {
            Some(modal) => {
                // It waits no more, whatever becomes of this request: a second one is refused from now on.
                let record = waiting.job.record(Status::Submitted, Some(&waiting.id), None);
                shown(waiting.take(cx, modal), &record)
            }
            None => waiting.fail(POLICY.unexpected(&Event::Joined(Vec::new()))),
        },
        Event::Probed(findings) => match (findings.as_slice(), waiting.joined.take()) {
            ([finding], Some(modal)) => match keep(modal, finding, waiting.job.picture) {
                Ok(modal) => waiting.send(cx, modal),
                Err(problem) => waiting.fail(Failure::request(problem)),
            },
            _ => waiting.fail(POLICY.unexpected(&Event::Probed(findings))),
        },
        // The host's deadline ends a task that nobody finishes; until then it waits on.
        Event::Timer => waiting.wait(cx),
        Event::Cancel(_) => waiting.fail(POLICY.cancelled()),
        other => waiting.fail(POLICY.unexpected(&other)),
    }
}

impl Waiting {
    /// What joined is sent, its file after a look at it.
    fn take(mut self, cx: &Context, modal: ModalRequest) -> Step<State> {
        let Some(area) = &modal.area else { return self.send(cx, modal) };
        let (probes, progress) = (vec![Probe::keep(&area.source)], self.progress);
        self.joined = Some(modal);
        Step::probe(State::Modal(self), probes).stage(Stage::Processing).progress(progress)
    }

    fn send(self, cx: &Context, modal: ModalRequest) -> Step<State> {
        send::confirm(cx, self.job, self.id, modal, self.progress)
    }

    fn fail(self, failure: Failure) -> Step<State> {
        let progress = self.progress;
        Step::fail(State::Modal(self), failure).stage(Stage::Processing).progress(progress)
    }
}

/// Checks the file that says where to paint, and puts what the host keeps in its place.
fn keep(
    mut modal: ModalRequest,
    finding: &Finding,
    picture: Option<(u32, u32)>,
) -> Result<ModalRequest, String> {
    let Some(area) = &mut modal.area else { return Ok(modal) };
    let (facts, kept) = source::found(&area.field, finding)?;
    if let Some(picture) = picture {
        modal::check_area(&facts.mime, (facts.width, facts.height), picture)
            .map_err(|problem| format!("`{}`: {problem}", area.field))?;
    }
    area.source = kept;
    Ok(modal)
}
