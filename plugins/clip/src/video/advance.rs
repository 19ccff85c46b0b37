//! The steps of a video task, one event at a time.
//!
//! ```text
//! Accepted --start--> (probe) --> Sending --200--> Running --succeeded--> done
//!                                  |    ^           |  ^ |                 |
//!                     429, no con- `-wait'    poll  `-wait'<---copy lost---'
//!                     nection                         |
//!                        cancel, poll: still queued   `--> Stopping --> fail | Running
//! ```
//! The probe looks at the references, and keeps a long prompt as a blob. `poll` goes on with a task that the provider
//! has accepted.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gatehouse_sdk::job::{Attempts, Next};
use gatehouse_sdk::{Context, Event, Failure, Finding, Probe, Step};

use crate::video::media::{self, Kind};
use crate::video::poll;
use crate::video::provider::{self, POLICY};
use crate::video::request::{Prompt, Reference, VideoRequest};
use crate::video::state::{Sending, VideoState};

pub(crate) fn step(cx: &Context, state: VideoState, event: Event) -> Step<VideoState> {
    match state {
        VideoState::Accepted(request) => begin(cx, request, event),
        VideoState::Sending(sending) => send(cx, sending, event),
        VideoState::Running(job) => poll::step(cx, job, event),
        VideoState::Stopping(job) => poll::stopping(cx, job, event),
    }
}

/// Looks at what there is to look at, and sends the submission.
fn begin(cx: &Context, mut request: VideoRequest, event: Event) -> Step<VideoState> {
    let failure = match event {
        Event::Start(brief) => {
            let probes = probes(&request, &brief);
            if probes.is_empty() {
                return submit(cx, request);
            }
            return Step::probe(VideoState::Accepted(request), probes);
        }
        Event::Probed(findings) => match settle(&mut request, &findings) {
            Ok(()) => return submit(cx, request),
            Err(failure) => failure,
        },
        Event::Cancel(_) => POLICY.cancelled(),
        other => POLICY.unexpected(&other),
    };
    Step::fail(VideoState::Accepted(request), failure)
}

/// The first try.
fn submit(cx: &Context, request: VideoRequest) -> Step<VideoState> {
    let call = provider::submission(cx, &request);
    Step::call(VideoState::Sending(Sending { request, attempts: Attempts::default() }), call)
}

fn send(cx: &Context, mut sending: Sending, event: Event) -> Step<VideoState> {
    let call = || provider::submission(cx, &sending.request);
    let read = |reply: &_| provider::submitted(cx, sending.request.model, reply);
    match sending.attempts.step(cx, &POLICY, event, call, read) {
        Next::Action(action) => {
            let stage = sending.attempts.stage();
            Step::new(VideoState::Sending(sending), action).stage(stage)
        }
        Next::Answer(id) => poll::accepted(cx, id, &sending.request),
    }
}

/// The prompt, if it is in the brief, and every reference but assets.
fn probes(request: &VideoRequest, brief: &[u8]) -> Vec<Probe> {
    let is_brief = request.prompt == Some(Prompt::Brief);
    let prompt = is_brief.then(|| Probe::keep(format!("data:text/plain;base64,{}", STANDARD.encode(brief))));
    let references = request.references.iter().filter(|reference| !reference.is_asset());
    prompt.into_iter().chain(references.map(|reference| Probe::look(&reference.source))).collect()
}

/// Reads the findings, in the order of the probes.
fn settle(request: &mut VideoRequest, findings: &[Finding]) -> Result<(), Failure> {
    let mut findings = findings.iter();
    if request.prompt == Some(Prompt::Brief) {
        let blob = findings.next().and_then(|finding| finding.found.as_ref().ok()?.blob.clone());
        request.prompt =
            Some(Prompt::Blob(blob.ok_or_else(|| Failure::upstream("the prompt could not be kept"))?));
    }
    let (mut videos, mut audio) = (Vec::new(), Vec::new());
    for reference in &request.references {
        let length = if reference.is_asset() { None } else { looked_at(reference, findings.next())? };
        match reference.kind {
            Kind::Image => {}
            Kind::Video => videos.push(length),
            Kind::Audio => audio.push(length),
        }
    }
    let wrong = |field: &str, problem: String| Failure::request(format!("`{field}`: {problem}"));
    media::check_video_time(&videos).map_err(|problem| wrong("video_urls", problem))?;
    media::check_audio_time(&audio).map_err(|problem| wrong("audio_urls", problem))
}

/// Checks one reference; its length in milliseconds, when it has one.
fn looked_at(reference: &Reference, finding: Option<&Finding>) -> Result<Option<u64>, Failure> {
    let field = &reference.field;
    let Some(finding) = finding else {
        return Err(Failure::upstream(format!("`{field}` could not be looked at")));
    };
    let facts = finding.found.as_ref().map_err(|reason| Failure::unavailable(field, reason))?;
    reference.kind.check(facts).map_err(|problem| Failure::request(format!("`{field}`: {problem}")))?;
    Ok(facts.milliseconds)
}
