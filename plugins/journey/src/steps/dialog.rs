//! A task in MODAL: it waits for the modal route, which joins it, until the host ends its time. A request whose file
//! cannot be used changes nothing but the reason that the client reads.

use gatehouse_sdk::{Context, Event, Failure, Finding, Probe, Stage, Step};

use crate::job::ModalRequest;
use crate::provider::failure::POLICY;
use crate::record::Status;
use crate::request::{modal, source};
use crate::state::{State, Waiting, shown};
use crate::steps::send;

pub(crate) fn step(cx: &Context, mut waiting: Waiting, event: Event) -> Step<State> {
    match event {
        Event::Joined(brief) => match serde_json::from_slice(&brief) {
            Ok(modal) => {
                // A second request is refused until this one is done.
                let record = waiting.job.record(Status::Submitted, Some(&waiting.id), None);
                shown(waiting.take(cx, modal), &record)
            }
            Err(_) => waiting.fail(POLICY.unexpected(&Event::Joined(Vec::new()))),
        },
        Event::Probed(findings) => match (findings.as_slice(), waiting.joined.take()) {
            ([finding], Some(modal)) => waiting.found(cx, modal, finding),
            _ => waiting.fail(POLICY.unexpected(&Event::Probed(findings))),
        },
        // The picture to paint is gone at the provider's server: the client does without it.
        Event::Lost(..) => {
            waiting.job.tile = None;
            waiting.show(cx)
        }
        // The host's deadline ends a task that nobody finishes; until then it waits on.
        Event::Timer => waiting.wait(cx),
        Event::Cancel(_) => waiting.fail(POLICY.cancelled()),
        other => waiting.fail(POLICY.unexpected(&other)),
    }
}

impl Waiting {
    /// What joined is sent, its file after a look at it.
    fn take(self, cx: &Context, modal: ModalRequest) -> Step<State> {
        let Some(area) = &modal.area else { return self.send(cx, modal) };
        let probe = Probe::keep(&area.source);
        self.probe(modal, probe)
    }

    /// What the host found: a file is made one that the provider reads, which is sent; without a usable one the task waits on.
    fn found(mut self, cx: &Context, mut modal: ModalRequest, finding: &Finding) -> Step<State> {
        let Some(area) = &mut modal.area else { return self.send(cx, modal) };
        let is_made = finding.source != area.source;
        let usable = source::found(&area.field, finding).and_then(|(facts, kept)| {
            let picture = self.job.picture.or(modal.picture);
            let pixels = modal::scaled_to(facts, picture);
            Ok((pixels.map_err(|problem| format!("`{}`: {problem}", area.field))?, kept))
        });
        match usable {
            Ok((pixels, kept)) => {
                area.source = kept;
                if is_made {
                    return self.send(cx, modal);
                }
                let probe = Probe::scaled(&area.source, pixels);
                self.probe(modal, probe)
            }
            Err(problem) => {
                (self.paid, self.problem) = (Some(modal.speed), Some(problem));
                self.show(cx)
            }
        }
    }

    fn probe(mut self, modal: ModalRequest, probe: Probe) -> Step<State> {
        let progress = self.progress;
        self.joined = Some(modal);
        Step::probe(State::Modal(self), vec![probe]).stage(Stage::Processing).progress(progress)
    }

    fn send(self, cx: &Context, modal: ModalRequest) -> Step<State> {
        send::confirm(cx, self.job, self.id, modal, self.progress)
    }

    fn fail(self, failure: Failure) -> Step<State> {
        let progress = self.progress;
        Step::fail(State::Modal(self), failure).stage(Stage::Processing).progress(progress)
    }
}
