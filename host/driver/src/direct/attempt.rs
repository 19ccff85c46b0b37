//! Which account answers a request: one after another, as long as the failure allows another try. The client has nothing until
//! an account has answered.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use gatehouse_model::{
    Blame, Context, DirectResponse, Exchange, Failure, Obstacle, Outage, Price, Reply, Span,
};
use gatehouse_runtime::Version;
use gatehouse_upstream::{AccountPermit, CallPermit, Claimant, Passing, Pieces, retry_after};

use crate::config::tables::Tables;
use crate::direct::api::Client;
use crate::direct::request::Answers;
use crate::errors::SubmitError;
use crate::request_report::RequestReport;
use crate::text::TextError;
use crate::text::attempt::{RequestBlobs, asked_pause, fault_of_answer, unavailable};

const TOO_MANY_REQUESTS: u16 = 429;

/// One prepared request, ready to be sent.
pub(super) struct DirectRun {
    /// In whose name.
    pub(super) claimant: Claimant,
    pub(super) version: Arc<Version>,
    pub(super) cx: Context,
    pub(super) exchange: Exchange,
    /// Of the lines of its charge, then of those of its limit.
    pub(super) prices: Vec<Price>,
    pub(super) blobs: RequestBlobs,
    /// The configuration of the request.
    pub(super) tables: Arc<Tables>,
    /// The client that waits for the answer.
    pub(super) client: Client,
    /// The answer is kept for a repetition: it is made to its end, also when the client has left.
    pub(super) is_kept: bool,
    pub(super) report: RequestReport,
}

impl DirectRun {
    /// Ends when nobody waits for the answer any more.
    async fn left(&self) {
        match self.is_kept {
            true => std::future::pending().await,
            false => self.client.closed().await,
        }
    }
}

/// What an account answered.
pub(super) enum ProviderAnswer {
    Whole(DirectResponse),
    Passing(PassingAnswer),
}

/// An answer that passes, whose first piece has come.
pub(super) struct PassingAnswer {
    pub(super) pieces: Box<Pieces>,
    pub(super) first: Option<Bytes>,
    /// Held until the provider is done.
    pub(super) permit: AccountPermit,
    /// Of the call, if it is traced.
    pub(super) _span: Option<Span>,
}

/// Why there is no answer.
pub(super) enum Unanswered {
    Failed(TextError),
    /// The client has left; whether the provider was asked before.
    Left {
        was_asked: bool,
    },
}

/// The outcome of a try with one account.
enum Attempt {
    Answered(ProviderAnswer),
    /// Another account may do better.
    TryNext(TextError),
    Over(Unanswered),
}

impl Answers {
    pub(super) async fn serve_answer(&self, run: &DirectRun) -> Result<ProviderAnswer, Unanswered> {
        let provider = run.exchange.call.provider.as_str();
        let mut tried: Vec<String> = vec![];
        let mut last = None;
        let mut max_wait = self.shared.config.text.permit_wait();
        loop {
            let began = self.shared.now();
            let acquired = tokio::select! {
                biased;
                () = run.left() => return Err(Unanswered::Left { was_asked: false }),
                acquired = run.tables.upstream.wait_for_account(provider, &run.claimant, &tried, None, max_wait) => acquired,
            };
            let (permit, slot) = match acquired {
                Ok(entered) => entered,
                Err(none) => {
                    let error = last.unwrap_or_else(|| unavailable(provider, none, self.shared.now()));
                    return Err(Unanswered::Failed(error));
                }
            };
            max_wait = max_wait.saturating_sub(self.shared.now().since(began));
            tried.push(permit.account().to_owned());
            match self.try_answer(run, permit, slot).await {
                Attempt::Answered(answer) => return Ok(answer),
                Attempt::Over(unanswered) => return Err(unanswered),
                Attempt::TryNext(error) => last = Some(error),
            }
        }
    }

    /// One call, and what it is answered with.
    async fn try_answer(&self, run: &DirectRun, permit: AccountPermit, slot: CallPermit) -> Attempt {
        // The wait for the account may have been long.
        if let Err(error) = self.shared.store.until_it_may_begin().await {
            return Attempt::Over(Unanswered::Failed(error.into()));
        }
        let progress = slot.progress();
        run.report.attempt(permit.provider(), permit.account());
        let model = run.report.facts().model;
        let mut span = run.report.begin_call("generate_content", model.as_deref().unwrap_or_default(), &slot);
        let idle = self.shared.config.text.idle();
        let deadline = run.cx.deadline.plus(self.shared.clock.skipped(run.cx.now));
        let (call, patterns) = (&run.exchange.call, run.exchange.passes.as_slice());
        let passing = async {
            match slot.pass(call, patterns, &run.blobs, deadline, idle).await? {
                Passing::Reply(reply) => Ok((Passing::Reply(reply), None)),
                // An answer that ends before it begins says nothing.
                Passing::Pieces(mut pieces) => {
                    // Silence alone does not bound it: the hold must not expire before it is settled.
                    let first = tokio::select! {
                        first = pieces.next() => first?,
                        () = self.shared.clock.pause_until(deadline) => return Err(Outage::Timeout),
                    };
                    Ok((Passing::Pieces(pieces), first))
                }
            }
        };
        let passing: Result<(Passing, Option<Bytes>), Outage> = tokio::select! {
            passing = passing => passing,
            () = run.left() => {
                let was_asked = progress.is_sent();
                return Attempt::Over(Unanswered::Left { was_asked });
            }
        };
        run.report.first_byte(progress.first_byte());
        match passing {
            Ok((Passing::Pieces(pieces), first)) => {
                run.report.first_token();
                Attempt::Answered(ProviderAnswer::Passing(PassingAnswer {
                    pieces,
                    first,
                    permit,
                    _span: span,
                }))
            }
            Ok((Passing::Reply(reply), _)) => self.read_answer(run, &permit, reply).await,
            Err(outage) => {
                if let Some(span) = &mut span {
                    span.fail(&format!("{outage:?}"));
                }
                outage_attempt(outage)
            }
        }
    }

    async fn read_answer(&self, run: &DirectRun, permit: &AccountPermit, reply: Reply) -> Attempt {
        let status = reply.status;
        let pause = asked_pause(retry_after(&reply, self.shared.now()));
        let (cx, state) = (run.cx.clone(), run.exchange.state.clone());
        let failure = match self.shared.plugins.answer_direct(&run.version, cx, state, reply).await {
            Ok(Ok(response)) if (200..300).contains(&status) => {
                return Attempt::Answered(ProviderAnswer::Whole(response));
            }
            Ok(Ok(_)) => return Attempt::TryNext(TextError::upstream("the provider did not answer")),
            Ok(Err(failure)) => failure,
            Err(fault) => {
                return Attempt::Over(Unanswered::Failed(fault_of_answer(&run.version, &fault)));
            }
        };
        failed_attempt(permit, failure, pause, status)
    }
}

/// What a failure means for the account and for the next one. Where its status says so, the host has told the account already.
fn failed_attempt(
    permit: &AccountPermit,
    failure: Failure,
    retry_after: Option<Duration>,
    status: u16,
) -> Attempt {
    let Failure { blame, message } = failure;
    let (obstacle, may_go_on) = match blame {
        Blame::Account => (Obstacle::Account, true),
        _ if status == TOO_MANY_REQUESTS => (Obstacle::RateLimited, true),
        Blame::Request | Blame::Moderation => (Obstacle::Invalid, false),
        Blame::Limit => (Obstacle::RateLimited, true),
        Blame::Timeout => return Attempt::Over(Unanswered::Failed(TextError::Timeout)),
        Blame::Cancelled => (Obstacle::Upstream, false),
        Blame::Upstream => (Obstacle::Upstream, true),
    };
    if obstacle == Obstacle::Account && !matches!(status, 401 | 402) {
        permit.report_failure();
    }
    if obstacle == Obstacle::RateLimited && (200..300).contains(&status) {
        permit.report_rate_limit(retry_after);
    }
    let error = TextError::Rejected { obstacle, message, field: None, retry_after };
    if may_go_on { Attempt::TryNext(error) } else { Attempt::Over(Unanswered::Failed(error)) }
}

/// Nothing sent: another account may answer. Sent: the provider may have answered and billed it, so the host does not ask
/// again.
fn outage_attempt(outage: Outage) -> Attempt {
    let failed = |error| Attempt::Over(Unanswered::Failed(error));
    match outage {
        Outage::Unreachable => Attempt::TryNext(TextError::upstream("the provider cannot be reached")),
        Outage::Timeout => failed(TextError::Timeout),
        Outage::Broken => failed(TextError::upstream("the provider broke off")),
        Outage::TooLarge => failed(TextError::upstream("the provider's answer is too large")),
        Outage::Refused => failed(SubmitError::Internal("a plugin's call was refused".to_owned()).into()),
    }
}
