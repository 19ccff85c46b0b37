//! A submission that only asks: the whole path of a real one, its errors included, up to the price and what its sources
//! tell. Then everything is dropped. No task, no hold and no call of a provider comes of it. Where only the price is asked,
//! nobody is known who pays: rates, balance and quota do not matter, and no source is looked at.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::try_join_all;
use gatehouse_media::{NewBlob, TaskBlobs};
use gatehouse_model::{
    Accepted, Action, BlobId, Boxed, Charge, Context, Credits, Event, Finding, Key, Phase, Probe, Status,
    Task, TaskFailure, TaskId, UnixMs,
};
use gatehouse_runtime::{Resolved, Submitted};
use gatehouse_store::Store;
use gatehouse_tasks::{self as rules, MAX_UNDELIVERED_JOINS, NoPrice, PriceTable, Rejection};

use crate::api::{DryRun, PriceBasis, SubmitRequest};
use crate::detached::detached;
use crate::errors::SubmitError;
use crate::rates::RateUse;
use crate::shared::ShutdownState;
use crate::submit::join::no_parent;
use crate::submit::judge::QuotedTerms;
use crate::submit::refusal::rejection_error;
use crate::submit::submission::{Intake, check_joined_callback};

/// Steps of the plugin that look at sources, before it would call its provider.
const MAX_STEPS: u32 = 8;
/// How long sources are looked at: the client waits.
const PATIENCE: Duration = Duration::from_secs(30);

/// What a plugin has judged.
struct Judged {
    resolved: Resolved,
    accepted: Accepted,
    blobs: Vec<NewBlob>,
    joins: bool,
    seed: u64,
}

impl Intake {
    /// What a submission would come to. Where only its price is asked ([`crate::CheckedBody::for_price`]), its key names the
    /// customer whose tasks and names it refers to, and need not exist.
    ///
    /// # Errors
    /// [`SubmitError`], as for the submission itself.
    pub fn dry_run(self: &Arc<Self>, request: SubmitRequest) -> Boxed<'_, Result<DryRun, SubmitError>> {
        Box::pin(async move {
            if self.shared.has_reached(ShutdownState::Stopped) {
                return Err(SubmitError::Draining);
            }
            let (intake, body) = (Arc::clone(self), request.body.bytes().clone());
            detached(body, Box::pin(async move { intake.priced(request).await })).await
        })
    }

    async fn priced(&self, request: SubmitRequest) -> Result<DryRun, SubmitError> {
        let now = self.shared.now();
        let has_payer = !request.body.is_price_only();
        if has_payer {
            let idempotency = self.idempotency(&request, now).await?;
            // A receipt that is there already changes nothing; a conflict is an error here too.
            self.first_receipt(idempotency.as_ref(), now).await?;
            self.disks.check()?;
        }
        self.check_callback(&request).await?;
        let found = self.judge.resolve(request.surface, &request.key, &request.body)?;
        let cut = self.judge.cut(request.body.json().clone()).await?;
        let refers = self.references.references(&request, &found, &cut.json).await?;
        let adopted = refers.adopted.clone();
        let outcome = async {
            let joins = found.version.surface(request.surface).is_some_and(|surface| surface.joins);
            let parent = refers.tasks.first().cloned();
            let found = if joins { self.version_of_parent(&request, found, &refers).await? } else { found };
            if joins {
                check_joined_callback(&request, parent.as_ref())?;
            } else if has_payer {
                self.check_pace(&found.model, &request.key.customer)?;
            }
            let seed = self.shared.seed.next_u64();
            let context = self.judge.context_of(&request, &found, seed, now);
            let (resolved, Submitted { accepted, .. }, blobs) =
                self.judge.ask_plugin(&request, found, refers, cut, context, Arc::new(|_| None)).await?;
            if joins && has_payer {
                check_join(&accepted, parent.as_ref())?;
            }
            let judged = Judged { resolved, accepted, blobs, joins, seed };
            self.price(&request, judged, &adopted, now).await
        };
        let outcome = outcome.await;
        self.shared.media.drop_blobs(&adopted).await;
        outcome
    }

    async fn price(
        &self,
        request: &SubmitRequest,
        judged: Judged,
        adopted: &[BlobId],
        now: UnixMs,
    ) -> Result<DryRun, SubmitError> {
        let accepted = &judged.accepted;
        let has_payer = !request.body.is_price_only();
        if has_payer {
            self.check_use(request, &judged)?;
        }
        let variant = self.judge.variant_of(&request.key.customer).await?;
        let at_most = if judged.joins { &Charge::default() } else { &accepted.at_most };
        let quoted =
            self.judge.quote_terms(variant.as_deref(), &accepted.model, &accepted.charge, at_most)?;
        if has_payer {
            let model = (!judged.joins).then_some(accepted.model.as_str());
            check_funds(&self.shared.store, &request.key, quoted.hold, model, now).await?;
        }
        let basis = || PriceBasis::Units { charge: accepted.charge.clone(), at_most: at_most.clone() };
        let basis = (!has_payer).then(basis);
        let charges = quoted.dry_run(&accepted.charge);
        let (model, expected_ms) = (accepted.model.clone(), accepted.expected_ms);
        let failure = match accepted.doomed.clone() {
            Some(failure) => Some(failure.into()),
            None if judged.joins || !has_payer => None,
            None => self.early_failure(request, judged, adopted, now).await,
        };
        let (sum, at_most) = (quoted.hold, quoted.is_limit());
        Ok(DryRun { model, charges, sum, at_most, expected_ms, failure, basis })
    }

    /// Whether the key may use the model that the plugin has chosen, as often as it does.
    fn check_use(&self, request: &SubmitRequest, judged: &Judged) -> Result<(), SubmitError> {
        let model = judged.accepted.model.as_str();
        if model != judged.resolved.model && !self.judge.may_use(&request.key, model, model) {
            return Err(SubmitError::ModelForbidden(model.to_owned()));
        }
        let (rates, outcome) = RateUse::ask(&self.rates, &request.key, model, None, self.shared.now());
        request.report.count(&rates);
        outcome.map_err(SubmitError::RateLimited)
    }

    /// The failure of a task whose sources are not usable: what its plugin says after it has looked at them. `None` too
    /// where that cannot be told. Nothing is left of what was kept for it.
    async fn early_failure(
        &self,
        request: &SubmitRequest,
        judged: Judged,
        adopted: &[BlobId],
        now: UnixMs,
    ) -> Option<TaskFailure> {
        let embedded = judged.blobs.iter().map(|blob| blob.id);
        let owned = embedded.chain(adopted.iter().copied());
        let owner = self.shared.media.blobs_of(owned).of(&request.key.customer);
        let mut kept = Vec::new();
        let failure = tokio::select! {
            biased;
            failure = self.first_steps(request, judged, &owner, &mut kept, now) => failure,
            () = self.shared.clock.pause(PATIENCE) => None,
        };
        kept.extend(owner.kept());
        self.shared.media.drop_blobs(&kept).await;
        failure
    }

    async fn first_steps(
        &self,
        request: &SubmitRequest,
        judged: Judged,
        owner: &TaskBlobs,
        kept: &mut Vec<BlobId>,
        now: UnixMs,
    ) -> Option<TaskFailure> {
        let Judged { resolved, accepted, blobs, seed, .. } = judged;
        let context = Context {
            task: Some(TaskId::new(now, &*self.shared.seed)),
            deadline: now.plus(self.shared.time_limit(&accepted.model)),
            ..self.judge.context_of(request, &resolved, seed, now)
        };
        let (mut state, mut event) = (accepted.state, Event::Start(accepted.brief));
        for _ in 0..MAX_STEPS {
            let step =
                self.shared.plugins.advance(&resolved.version, context.clone(), state, event).await.ok()?;
            match step.next {
                Action::Probe(probes) => {
                    if kept.is_empty() {
                        kept.extend(blobs.iter().map(|blob| blob.id));
                        self.shared
                            .media
                            .reserve(&request.key.customer, &blobs, self.disks.media_room())
                            .ok()?;
                        self.shared.media.keep(&blobs).await.ok()?;
                    }
                    event = Event::Probed(self.look(&probes, owner).await?);
                }
                Action::Fail(ending) => return Some(ending.failure.into()),
                _ => return None,
            }
            state = step.state;
        }
        None
    }

    /// The facts of sources.
    async fn look(&self, probes: &[Probe], owner: &TaskBlobs) -> Option<Vec<Finding>> {
        try_join_all(probes.iter().map(|probe| self.shared.media.probe(probe, owner))).await.ok()
    }
}

impl DryRun {
    /// The same request at other prices of units. A request that costs no units stays as it is.
    ///
    /// # Errors
    /// [`NoPrice`], as for the request itself.
    pub fn at_unit_prices(self, prices: &PriceTable) -> Result<Self, NoPrice> {
        let Some(PriceBasis::Units { charge, at_most }) = &self.basis else { return Ok(self) };
        let quoted = QuotedTerms::new(prices.quote(charge)?, &prices.quote(at_most)?);
        let charges = quoted.dry_run(charge);
        Ok(Self { charges, sum: quoted.hold, at_most: quoted.is_limit(), ..self })
    }
}

/// Whether the key may have one more request of `model` open (none: it opens nothing), and customer and key could
/// pay, by the store's own rules.
pub(crate) async fn check_funds(
    store: &Store,
    key: &Key,
    amount: Credits,
    model: Option<&str>,
    now: UnixMs,
) -> Result<(), SubmitError> {
    let key = store.key_lineage(&key.id).await?.ok_or(SubmitError::KeyGone)?;
    let customer = store.customer(&key.key.customer).await?.ok_or(SubmitError::KeyGone)?;
    rules::check_funds(&customer, &key, amount, model, now)
        .map_err(|rejection| rejection_error(&Err(rejection)))
}

/// What the store would say of a request that joins.
fn check_join(accepted: &Accepted, parent: Option<&Task>) -> Result<(), SubmitError> {
    let parent = parent.ok_or_else(no_parent)?;
    if let Some(failure) = &accepted.doomed {
        return Err(SubmitError::invalid(failure.message.clone()));
    }
    if parent.status.is_final() || matches!(parent.phase, Phase::Over) || parent.failure.is_some() {
        let status = if parent.status.is_final() { parent.status } else { Status::Failed };
        return Err(SubmitError::ParentOver { task: parent.id, status });
    }
    if parent.joined.len() >= MAX_UNDELIVERED_JOINS {
        return Err(rejection_error(&Err(Rejection::JoinsFull(parent.joined.len()))));
    }
    Ok(())
}
