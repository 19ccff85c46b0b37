//! Videos that the provider keeps: fetched one after the other, by calls, because they need the account's credentials. The
//! calls are harmless to repeat.

use gatehouse_sdk::{Body, Context, Event, Failure, Outage, Reply, Stage, Step, UnixMs, log, pace};

use crate::provider::{self, POLICY, Ready, VideoSource};
use crate::state::{Fetching, Job, State};
use crate::steps::finish;

/// Tries of one video.
const MAX_TRIES: u32 = 5;

pub(super) fn step(cx: &Context, fetching: Fetching, event: Event) -> Step<State> {
    match event {
        Event::Reply(reply) => answered(cx, fetching, reply),
        Event::Outage(Outage::Unreachable | Outage::Timeout | Outage::Broken) => {
            again(cx, fetching, "the connection broke")
        }
        Event::Outage(outage) => {
            log::error("a finished video cannot be fetched", &[("outage", outage.as_str())]);
            fetching.job.fail(Failure::upstream(POLICY.uncopied))
        }
        Event::Timer => next(cx, fetching),
        Event::Cancel(_) => {
            let until = fetching.until.unwrap_or(cx.now).max(cx.now);
            rest(fetching, until)
        }
        other => fetching.job.fail(POLICY.unexpected(&other)),
    }
}

/// Fetches what the provider keeps of its videos, and ends the task.
pub(super) fn begin(cx: &Context, job: Job, ready: Ready) -> Step<State> {
    let uri = match ready.videos.first() {
        Some(VideoSource::Uri(uri)) => Some(uri.clone()),
        _ => None,
    };
    // More than were asked for are not paid for.
    let asked = usize::try_from(job.kind.samples).unwrap_or(usize::MAX);
    let videos = ready.videos.into_iter().take(asked).collect();
    next(cx, Fetching { job, videos, uri, tries: 0, until: None })
}

/// Fetches the next video, or ends the task.
fn next(cx: &Context, mut fetching: Fetching) -> Step<State> {
    fetching.until = None;
    let kept = fetching.videos.iter().find_map(|video| match video {
        VideoSource::Uri(uri) => Some(uri.clone()),
        VideoSource::Inline(_) => None,
    });
    let Some(uri) = kept else {
        return finish::end(fetching);
    };
    let call = provider::download(cx, &uri);
    let progress = fetching.job.polls.progress();
    Step::call(State::Fetching(fetching), call).stage(Stage::Processing).progress(progress)
}

fn answered(cx: &Context, mut fetching: Fetching, reply: Reply) -> Step<State> {
    match (reply.status, &reply.body) {
        (_, Body::Blob(blob)) if reply.is_success() => {
            let present = fetching.videos.iter_mut().find(|video| matches!(video, VideoSource::Uri(_)));
            if let Some(video) = present {
                *video = VideoSource::Inline(blob.clone());
            }
            fetching.tries = 0;
            next(cx, fetching)
        }
        (status, _) => {
            let reason = format!("HTTP {status}");
            again(cx, fetching, &reason)
        }
    }
}

/// Tries once more.
fn again(cx: &Context, mut fetching: Fetching, reason: &str) -> Step<State> {
    fetching.tries += 1;
    log::warn(
        "a finished video could not be fetched",
        &[("operation", &fetching.job.polls.id), ("reason", reason)],
    );
    if fetching.tries >= MAX_TRIES {
        return fetching.job.fail(Failure::upstream(POLICY.uncopied));
    }
    let until = pace::backoff(cx, fetching.tries);
    rest(fetching, until)
}

fn rest(mut fetching: Fetching, until: UnixMs) -> Step<State> {
    fetching.until = Some(until);
    let progress = fetching.job.polls.progress();
    Step::wait(State::Fetching(fetching), until).stage(Stage::Processing).progress(progress)
}
