//! The steps of an avatar task, one event at a time.
//!
//! ```text
//! FindGroup --none--> MakeGroup --> MakeAsset(0) .. MakeAsset(n) --> wait --> Poll(i) for each under review --.
//!     `----found--------------------^                                 ^                                       |
//!                                                                     `------- some are still under review ---+
//!                                                                                                             |
//!                                                                       all approved: done; some not: fail <--'
//! ```
//! An asset that is refused or whose answer is lost has failed, and the others go on. A call that was turned away waits
//! and is sent again. Shortly before the deadline the task ends itself, so that what was approved stays usable.

use std::time::Duration;

use gatehouse_sdk::job::Policy;
use gatehouse_sdk::{Action, Context, Event, Failure, Outage, Reply, Stage, Step, UnixMs, View, log, pace};
use serde_json::Value;

use crate::avatar::outcome;
use crate::avatar::provider::{self, Answer};
use crate::avatar::state::{AvatarState, Doing, Problem, Status};
use crate::upstream_error::{ErrorKind, UpstreamError};

/// Spec: "An avatar-asset task starts as processing with progress 10".
pub(crate) const BEGUN: u8 = 10;
/// Progress when all but the last asset are reviewed, at most.
const REVIEWED: u8 = 95;
/// For each asset, and for the group.
const POLICY: Policy = Policy::DEFAULT;
/// The task ends itself before the host does: this long, and of a short time limit a tenth. The host may add a quarter to
/// a wait, which is at most 30 s or an eighth of the time so far.
const MARGIN: Duration = Duration::from_secs(45);
const FAILED_REVIEW: &str = "the upstream failed to review the asset";
const LOST: &str = "the upstream's answer was lost, please submit it again";

pub(crate) fn step(cx: &Context, mut state: AvatarState, event: Event) -> Step<AvatarState> {
    match event {
        Event::Start(_) => send(cx, state),
        Event::Timer => {
            state.until = None;
            send(cx, state)
        }
        Event::Reply(reply) => {
            state.unreachable = None;
            answered(cx, state, &reply)
        }
        Event::Outage(outage) => unanswered(cx, state, outage),
        // Nothing is lost by a cancel while nothing is made. Later the host would end the task without its names.
        Event::Cancel(_) if state.until.is_some() && state.assets.iter().all(|asset| asset.id.is_none()) => {
            fail(state, POLICY.cancelled())
        }
        Event::Cancel(_) => {
            let until = state.until.map_or_else(|| pace::until_deadline(cx), |until| until.max(cx.now));
            then(state, Action::Wait(until))
        }
        other => fail(state, POLICY.unexpected(&other)),
    }
}

fn send(cx: &Context, state: AvatarState) -> Step<AvatarState> {
    if is_late(cx) {
        return give_up(state);
    }
    let call = provider::call(cx, &state);
    then(state, Action::Call(call))
}

/// A step with stage and progress on it.
fn then(state: AvatarState, action: Action) -> Step<AvatarState> {
    let settled = state.assets.iter().filter(|asset| asset.status != Status::Processing).count();
    let share = usize::from(REVIEWED - BEGUN) * settled / state.assets.len().max(1);
    let progress = BEGUN + u8::try_from(share).unwrap_or(0);
    Step::new(state, action).stage(Stage::Processing).progress(progress)
}

fn fail(state: AvatarState, failure: Failure) -> Step<AvatarState> {
    let ending = outcome::failed(&state, failure);
    then(state, Action::Fail(ending))
}

/// When the task ends itself.
fn last_moment(cx: &Context) -> UnixMs {
    let limit = cx.deadline.since(cx.accepted_at);
    let whole = limit.saturating_sub((limit / 10).min(MARGIN));
    cx.accepted_at.plus(whole)
}

fn is_late(cx: &Context) -> bool {
    cx.now >= last_moment(cx)
}

/// The host is about to fail the task, and would leave its names unclaimed.
fn give_up(state: AvatarState) -> Step<AvatarState> {
    let open = state.assets.iter().filter(|asset| asset.status == Status::Processing).count();
    fail(state, Failure::upstream(format!("Task timeout: {open} assets were not reviewed in time")))
}

/// The same call again, later.
fn rest(cx: &Context, mut state: AvatarState) -> Step<AvatarState> {
    state.rests += 1;
    let wake = pace::backoff(cx, state.rests);
    wait(cx, state, wake)
}

fn wait(cx: &Context, mut state: AvatarState, wake: UnixMs) -> Step<AvatarState> {
    if is_late(cx) {
        return give_up(state);
    }
    let wake = wake.min(last_moment(cx));
    state.until = Some(wake);
    then(state, Action::Wait(wake))
}

/// What a client reads when the provider fails to do it.
fn aim(doing: Doing) -> &'static str {
    match doing {
        Doing::FindGroup | Doing::MakeGroup => "make the group",
        Doing::MakeAsset(_) => "take the asset",
        Doing::Poll(_) => "review the asset",
    }
}

fn answered(cx: &Context, mut state: AvatarState, reply: &Reply) -> Step<AvatarState> {
    match provider::answer(reply, aim(state.doing)) {
        Answer::Ok(result) => {
            state.rests = 0;
            state.account.get_or_insert_with(|| reply.affinity.clone());
            achieved(cx, state, &result)
        }
        Answer::Busy => rest(cx, state),
        Answer::Failed(ErrorKind::Account, failure) => fail(state, failure),
        Answer::Missing(failure) => match state.doing {
            Doing::Poll(at) => unclear(cx, state, at, failure),
            _ => refused(cx, state, failure),
        },
        Answer::Failed(ErrorKind::Provider, failure) => match state.doing {
            Doing::FindGroup if state.rests < POLICY.faults => rest(cx, state),
            Doing::Poll(at) => unclear(cx, state, at, failure),
            _ => refused(cx, state, failure),
        },
        Answer::Failed(_, failure) => refused(cx, state, failure),
    }
}

/// The action is done.
fn achieved(cx: &Context, mut state: AvatarState, result: &Value) -> Step<AvatarState> {
    match state.doing {
        Doing::FindGroup => {
            state.group = provider::found_group(cx, &state, result);
            state.doing = if state.group.is_some() { Doing::MakeAsset(0) } else { Doing::MakeGroup };
            send(cx, state)
        }
        Doing::MakeGroup => {
            let Some(id) = provider::id(result) else {
                return fail(state, Failure::upstream("the upstream failed to make the group"));
            };
            state.group = Some(id);
            state.doing = Doing::MakeAsset(0);
            send(cx, state)
        }
        Doing::MakeAsset(at) => match provider::id(result) {
            Some(id) => {
                state.assets[at].id = Some(id);
                made(cx, state, at)
            }
            None => settle(cx, state, at, Failure::upstream("the upstream failed to take the asset")),
        },
        Doing::Poll(at) => {
            state.assets[at].faults = 0;
            let (status, error) = provider::review(result);
            match status.as_str() {
                "active" => {
                    state.assets[at].status = Status::Active;
                    reviewed(cx, state, at)
                }
                "failed" | "rejected" => {
                    let failure = rejected(&state, at, &error);
                    settle(cx, state, at, failure)
                }
                _ => next_poll(cx, state, at),
            }
        }
    }
}

/// Why a review failed: the file cannot be had or read, which is the request's fault, or it was rejected.
fn rejected(state: &AvatarState, at: usize, error: &UpstreamError) -> Failure {
    let words = if error.message.is_empty() { "it was rejected".to_owned() } else { error.words(&[]) };
    match error.kind(200) {
        ErrorKind::Request if error.is_missing_file() => Failure::unavailable(&state.field(at), &words),
        ErrorKind::Request => Failure::request(words),
        ErrorKind::Account => POLICY.account(),
        // The library failed itself: its words are not about the file.
        ErrorKind::Busy => Failure::upstream(FAILED_REVIEW),
        ErrorKind::Provider if error.is_of_server() => Failure::upstream(FAILED_REVIEW),
        ErrorKind::Moderation | ErrorKind::Provider => Failure::moderation(words),
    }
}

/// The action is refused for good: the end of the task without a group, the end of an asset otherwise.
fn refused(cx: &Context, state: AvatarState, failure: Failure) -> Step<AvatarState> {
    match state.doing {
        Doing::FindGroup | Doing::MakeGroup => fail(state, failure),
        Doing::MakeAsset(at) | Doing::Poll(at) => settle(cx, state, at, failure),
    }
}

/// An answer about an asset that may be another one soon.
fn unclear(cx: &Context, mut state: AvatarState, at: usize, failure: Failure) -> Step<AvatarState> {
    state.assets[at].faults += 1;
    if state.assets[at].faults > POLICY.faults {
        return settle(cx, state, at, failure);
    }
    next_poll(cx, state, at)
}

/// An asset has failed.
fn settle(cx: &Context, mut state: AvatarState, at: usize, failure: Failure) -> Step<AvatarState> {
    log::warn("an asset failed", &[("reason", &failure.message)]);
    state.assets[at].status = Status::Failed;
    state.assets[at].problem = Some(Problem::from(failure));
    match state.doing {
        Doing::Poll(_) => reviewed(cx, state, at),
        _ => made(cx, state, at),
    }
}

/// An asset is made, or refused; the client sees it.
fn made(cx: &Context, mut state: AvatarState, at: usize) -> Step<AvatarState> {
    let next = at + 1;
    if next < state.assets.len() {
        state.doing = Doing::MakeAsset(next);
        let view = outcome::view(&state);
        return with_view(send(cx, state), view);
    }
    state.since = Some(cx.now);
    reviewed(cx, state, at)
}

/// Something changed; the task ends with the last review.
fn reviewed(cx: &Context, state: AvatarState, at: usize) -> Step<AvatarState> {
    if state.under_review(0).is_none() {
        return end(state);
    }
    let view = outcome::view(&state);
    with_view(next_poll(cx, state, at), view)
}

/// An end has a result of its own.
fn with_view(step: Step<AvatarState>, view: View) -> Step<AvatarState> {
    if matches!(step.next, Action::Done(_) | Action::Fail(_)) { step } else { step.view(view) }
}

/// The next asset of this round, or a wait before the next round.
fn next_poll(cx: &Context, mut state: AvatarState, at: usize) -> Step<AvatarState> {
    let in_round = matches!(state.doing, Doing::Poll(_)).then(|| state.under_review(at + 1)).flatten();
    if let Some(next) = in_round {
        state.doing = Doing::Poll(next);
        return send(cx, state);
    }
    let Some(first) = state.under_review(0) else { return end(state) };
    state.doing = Doing::Poll(first);
    let wake = pace::poll(cx, state.since.unwrap_or(cx.now));
    wait(cx, state, wake)
}

fn end(state: AvatarState) -> Step<AvatarState> {
    if state.assets.iter().any(|asset| asset.status == Status::Failed) {
        let failure = outcome::some_failed(&state);
        // Spec: "review finished, at least one asset failed: failed, progress 100".
        return fail(state, failure).progress(100);
    }
    let outcome = outcome::done(&state);
    then(state, Action::Done(outcome))
}

fn unanswered(cx: &Context, mut state: AvatarState, outage: Outage) -> Step<AvatarState> {
    match outage {
        Outage::Unreachable => {
            let since = *state.unreachable.get_or_insert(cx.now);
            if cx.now.since(since) < POLICY.unreachable {
                rest(cx, state)
            } else {
                fail(state, POLICY.unavailable())
            }
        }
        Outage::Refused => {
            log::error("the host refused to call the asset library, see its configuration", &[]);
            fail(state, POLICY.unavailable())
        }
        Outage::Timeout | Outage::Broken | Outage::TooLarge => match state.doing {
            Doing::FindGroup if state.rests < POLICY.faults => rest(cx, state),
            Doing::Poll(at) => next_poll(cx, state, at),
            // It may have been made; a second one could be one too many.
            _ => {
                log::warn("the answer to a creation was lost", &[("outage", outage.as_str())]);
                refused(cx, state, Failure::upstream(LOST))
            }
        },
    }
}
