//! Which target serves a text request, and which of its accounts: one after another, as long as a failure allows another try
//! and the client has nothing of an answer.
//!
//! ```text
//! next free account, by the order of targets --none--> wait at all of them at once, in fair order
//!        ^                |
//!        |                `-> call: answered | the client's fault | client left --> end
//!        |--- this account failed (429, 5xx, refused, foreign answer) --'
//!        `--- this target failed (silent, broken off): its other accounts are not asked either
//! ```
//! A provider that was sent a call and gave no answer may have billed it: that is on record as the operator's cost. The time
//! limit, the rates and the hold are those of the request, however many targets are tried.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use gatehouse_model::{Conversation, Obstacle, Pause, metric};
use gatehouse_tasks::Command;
use gatehouse_upstream::{AccountPermit, Claimant, NoPermit, Permits};

use crate::body::off_worker;
use crate::config::tables::Tables;
use crate::errors::SubmitError;
use crate::models::table::{ModelKind, TextModel};
use crate::models::targets;
use crate::text::api::{CompletionRequest, TextError};
use crate::text::attempt::{Attempt, ProviderAnswer, TextCalls, TextRun, unavailable};
use crate::text::conversation;
use crate::text::left::Unanswered;
use crate::text::translation::Translated;

/// The targets that may still answer a request.
pub(super) struct TriedTargets {
    /// In the order in which they are tried, by their numbers in the model's list.
    open: Vec<usize>,
    /// The accounts that were asked, by the target's number.
    tried: Vec<Vec<String>>,
    conversation: Option<Conversation>,
    /// A single 429 asks for a pause: afterwards the account may answer.
    may_repeat: bool,
}

impl TriedTargets {
    /// The target that is tried first.
    pub(super) fn first(&self) -> usize {
        self.open.first().copied().unwrap_or_default()
    }

    /// Whether no other target can be tried.
    pub(super) fn has_one(&self) -> bool {
        self.open.len() == 1
    }

    /// Their numbers in the model's list, in order.
    pub(super) fn open(&self) -> &[usize] {
        &self.open
    }

    pub(super) fn leave(&mut self, target: usize) {
        self.retain(|open| open != target);
    }

    /// Keeps those alone.
    pub(super) fn retain(&mut self, is_kept: impl Fn(usize) -> bool) {
        self.open.retain(|&target| is_kept(target));
    }

    /// A permit at the first target that has one, else at whichever has one first.
    async fn acquire(
        &self,
        tables: &Tables,
        model: &TextModel,
        claimant: &Claimant,
        max_wait: Duration,
    ) -> Result<(usize, Permits), NoPermit> {
        let ask = |target: usize, max_wait: Duration| {
            let provider = &model.targets[target].route.provider;
            let tried = self.tried[target].as_slice();
            tables.upstream.wait_for_account(provider, claimant, tried, self.conversation, max_wait)
        };
        if let [only] = self.open[..] {
            return ask(only, max_wait).await.map(|permits| (only, permits));
        }
        // One whose accounts are all refused is passed over while another is whole, as a refused account is.
        let is_whole = |target: &&usize| {
            let provider = &model.targets[**target].route.provider;
            tables.upstream.has_whole_account_besides(provider, &self.tried[**target])
        };
        let whole: Vec<usize> = self.open.iter().filter(is_whole).copied().collect();
        let open = if whole.is_empty() { &self.open } else { &whole };
        for &target in open {
            if let Ok(permits) = ask(target, Duration::ZERO).await {
                return Ok((target, permits));
            }
        }
        let wait = |&target: &usize| {
            let asked = ask(target, max_wait);
            async move { (target, asked.await) }
        };
        let mut waiting: FuturesUnordered<_> = open.iter().map(wait).collect();
        let mut why = NoPermit::Unknown;
        while let Some((target, outcome)) = waiting.next().await {
            match outcome {
                Ok(permits) => return Ok((target, permits)),
                Err(none) => why = sooner(why, none),
            }
        }
        Err(why)
    }
}

impl TextCalls {
    /// The targets of a request that can be tried: those whose provider has an account, and whose dialect a family speaks.
    pub(super) async fn usable_targets(
        &self,
        tables: &Tables,
        model: &Arc<TextModel>,
        request: &CompletionRequest,
        body: &gatehouse_model::Json,
    ) -> Result<TriedTargets, SubmitError> {
        let is_choice = targets::has_equals(&model.targets)
            || model.targets.iter().any(|target| tables.upstream.has_equal_accounts(&target.route.provider));
        let conversation = if is_choice && model.kind == ModelKind::Text && !request.body.is_dry_run() {
            let (key, id, body) = (Arc::clone(&request.key), Arc::clone(model), body.clone());
            off_worker(body.len(), move || conversation::of_request(&key.customer, &id.id, &body)).await?
        } else {
            None
        };
        let by_weight = targets::has_equals(&model.targets)
            .then(|| conversation.unwrap_or_else(|| Conversation::alone(self.shared.seed.next_u64())));
        let mut open = targets::ordered(&model.targets, by_weight);
        if !request.body.is_price_only() {
            open.retain(|&number| self.served.can_serve(tables, &model.targets[number].route));
        }
        if open.is_empty() {
            return Err(self.served.no_target(tables, model));
        }
        let tried = vec![Vec::new(); model.targets.len()];
        Ok(TriedTargets { open, tried, conversation, may_repeat: true })
    }

    /// Calls one account after another until one has answered.
    pub(super) async fn serve(&self, run: &mut TextRun) -> Result<ProviderAnswer, Unanswered> {
        let deadline = self.deadline_of_text(&run.cx);
        let first = run.at;
        let mut last: Option<TextError> = None;
        let mut max_wait = self.shared.config.text.permit_wait();
        loop {
            let began = self.shared.now();
            let acquired = tokio::select! {
                biased;
                () = run.client.closed() => return Err(Unanswered::Left(None)),
                acquired = run.targets.acquire(&run.tables, &run.model, &run.claimant, max_wait) => acquired,
            };
            let (target, (permit, slot)) = match acquired {
                Ok(acquired) => acquired,
                Err(none) => {
                    let provider = &run.model.targets[first].route.provider;
                    return Err(last
                        .unwrap_or_else(|| unavailable(provider, none, self.shared.now()))
                        .into());
                }
            };
            max_wait = max_wait.saturating_sub(self.shared.now().since(began));
            if let Err(error) = self.turn_to(run, target).await {
                // What one provider's protocol cannot say another's can: the target is passed over.
                drop((permit, slot));
                run.targets.leave(target);
                last.get_or_insert(error);
                continue;
            }
            run.targets.tried[target].push(permit.account().to_owned());
            run.report.attempt(permit.provider(), permit.account());
            let attempt = self.try_account(run, permit, slot).await;
            note_failure(run, &attempt);
            let error = match attempt {
                Attempt::Answered(answer) => {
                    self.answered(run, first);
                    return Ok(answer);
                }
                Attempt::Failed(error) => return Err(error.into()),
                Attempt::Left(produced) => return Err(Unanswered::Left(produced)),
                Attempt::TryNext(error) => {
                    let is_limit =
                        matches!(error, TextError::Rejected { obstacle: Obstacle::RateLimited, .. });
                    if is_limit && std::mem::take(&mut run.targets.may_repeat) {
                        run.targets.tried[target].pop();
                    }
                    error
                }
                Attempt::TryOther(error) => error,
                Attempt::NextTarget(error) => {
                    run.targets.leave(target);
                    error
                }
            };
            if self.shared.now() >= deadline {
                return Err(error.into());
            }
            last = Some(error);
        }
    }

    /// Translates the request for that target, and bills it by its price.
    async fn turn_to(&self, run: &mut TextRun, target: usize) -> Result<(), TextError> {
        if run.at == target {
            return Ok(());
        }
        let model = Arc::clone(&run.model);
        let of_target = &model.targets[target];
        let translated = self.translator.translated(&run.source, &run.cx, &of_target.route).await?;
        let bill = model.bill(of_target, &translated.prepared);
        let bill = bill.ok_or_else(|| SubmitError::too_dear(&model.id))?;
        run.held.bill_by(bill);
        let Translated { version, prepared, instance, dialect } = translated;
        (run.version, run.prepared, run.instance, run.dialect) = (version, prepared, instance, dialect);
        run.at = target;
        Ok(())
    }

    fn answered(&self, run: &TextRun, first: usize) {
        let target = &run.model.targets[run.at];
        run.report.answered_by(&target.name);
        if run.at != first {
            let (model, provider) = (run.model.id.clone(), target.route.provider.clone());
            metrics::counter!(metric::TARGET_FALLBACKS, "model" => model, "provider" => provider)
                .increment(1);
        }
    }

    /// Ends when the target has been silent for too long; `None` where no other could answer instead.
    pub(super) fn patience(&self, run: &TextRun) -> Option<Pause> {
        let TriedTargets { open, tried, .. } = &run.targets;
        let may_answer = |&other: &usize| {
            let provider = &run.model.targets[other].route.provider;
            other != run.at && run.tables.upstream.has_working_account_besides(provider, &tried[other])
        };
        open.iter().any(may_answer).then(|| {
            let time_limit = self.shared.config.text.time_limit();
            let patience = run.model.targets[run.at].patience(run.prepared.streaming, time_limit);
            self.shared.clock.pause(patience)
        })
    }

    /// A provider was sent a call, and its answer is not waited for any more or broke off before it began.
    pub(super) fn give_up(&self, run: &TextRun, permit: &AccountPermit, why: &str) {
        let (provider, account) = (permit.provider(), permit.account());
        metrics::counter!(metric::GIVEN_UP_CALLS, "provider" => provider.to_owned()).increment(1);
        let (id, claimant) = (run.held.id, &run.claimant);
        let text = format!(
            "text request {id} of customer {}, key {}: {provider}/{account} was sent a call and {why}; what it may bill is the \
             operator's cost",
            claimant.customer, claimant.key
        );
        tracing::warn!(request = %id, provider, account, why, "a call of a text was given up");
        if let Err(error) = self.shared.store.post(Command::Audit { task: None, text, at: self.shared.now() })
        {
            tracing::error!(request = %id, %error, "a call that was given up is not on record");
        }
    }
}

/// A call without an answer has ended.
fn note_failure(run: &mut TextRun, attempt: &Attempt) {
    let why = match attempt {
        Attempt::Answered(_) => return,
        Attempt::TryNext(error)
        | Attempt::TryOther(error)
        | Attempt::NextTarget(error)
        | Attempt::Failed(error) => error.outline(),
        Attempt::Left(_) => "its client left".to_owned(),
    };
    if let Some(mut span) = run.span.take() {
        span.fail(&why);
    }
}

/// Ends with the patience; never without one.
pub(super) async fn is_over(patience: &mut Option<Pause>) {
    match patience {
        Some(pause) => pause.await,
        None => std::future::pending().await,
    }
}

/// The reason that ends first.
fn sooner(one: NoPermit, other: NoPermit) -> NoPermit {
    match (one, other) {
        (NoPermit::Until(one), NoPermit::Until(other)) => NoPermit::Until(one.min(other)),
        (NoPermit::Until(moment), _) | (_, NoPermit::Until(moment)) => NoPermit::Until(moment),
        (NoPermit::Busy, _) | (_, NoPermit::Busy) => NoPermit::Busy,
        (NoPermit::Unknown, NoPermit::Unknown) => NoPermit::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use gatehouse_model::UnixMs;

    use super::*;

    /// Without it a client is told to come back later than it could.
    #[test]
    fn of_several_reasons_the_one_that_ends_first_is_told() {
        use NoPermit::{Busy, Unknown, Until};
        for (one, other, expected) in [
            (Unknown, Unknown, Unknown),
            (Unknown, Busy, Busy),
            (Busy, Until(UnixMs(5)), Until(UnixMs(5))),
            (Until(UnixMs(7)), Until(UnixMs(5)), Until(UnixMs(5))),
        ] {
            assert_eq!((sooner(one, other), sooner(other, one)), (expected, expected));
        }
    }
}
