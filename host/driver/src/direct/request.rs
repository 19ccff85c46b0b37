//! One request from its body to its answer: prepared, paid for in advance, served, settled.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt as _;
use gatehouse_model::{
    Boxed, Charge, Context, Credits, Digest, DirectPlan, DirectRequest, DirectResponse, Exchange, Terms,
};
use gatehouse_runtime::{Fault, Resolved, ServedBy, Version};
use gatehouse_upstream::Claimant;
use tokio::sync::mpsc;

use crate::api::{DryRun, PriceBasis};
use crate::body::off_worker;
use crate::detached::detached;
use crate::direct::api::{AnswerPieces, AnswerRequest, AnswerResponse, Client, WholeAnswer};
use crate::direct::attempt::{DirectRun, ProviderAnswer, Unanswered};
use crate::direct::hold::DirectHold;
use crate::direct::pump::MAX_QUEUED;
use crate::errors::SubmitError;
use crate::in_progress::InProgressGuard;
use crate::kept_answers::{Keeping, KeptAnswer, KeptAnswers, Known, Repetition};
use crate::rates::{RateLimiter, RateUse};
use crate::request_report::{WorkGuard, plugin_span};
use crate::shared::{Shared, ShutdownState};
use crate::submit::dry_run::check_funds;
use crate::submit::judge::{Judge, QuotedTerms};
use crate::submit::refusal::{fault_error, refusal_error};
use crate::text::TextError;
use crate::text::attempt::{RequestBlobs, plugin_fault};

/// What a request came to; pieces go to its client.
enum Answered {
    Whole(WholeAnswer),
    /// With that type.
    Passing(String),
    DryRun(DryRun),
}

/// Answers requests with what one call returned.
pub struct Answers {
    pub(crate) shared: Arc<Shared>,
    pub(crate) judge: Arc<Judge>,
    pub(crate) rates: Arc<RateLimiter>,
    /// What requests with an idempotency key were answered with.
    pub(crate) kept: KeptAnswers,
}

impl Answers {
    /// Answers a request with what one call returned. Dropped before its answer, it means that the client has left.
    ///
    /// # Errors
    /// [`TextError`]; nothing was charged.
    pub fn answer(self: &Arc<Self>, request: AnswerRequest) -> Boxed<'_, Result<AnswerResponse, TextError>> {
        Box::pin(async move {
            if self.shared.has_reached(ShutdownState::Stopped) {
                return Err(SubmitError::Draining.into());
            }
            let (answers, body) = (Arc::clone(self), request.body.bytes().clone());
            let in_progress = self.shared.in_progress.begin_text();
            let work = request.report.begin_work();
            // The client is there for as long as this end is.
            let (client, pieces) = mpsc::channel(MAX_QUEUED);
            let answered = detached(body, Box::pin(answers.answered(request, client, in_progress, work)));
            Ok(match answered.await? {
                Answered::Whole(answer) => AnswerResponse::Whole(answer),
                Answered::Passing(mime) => AnswerResponse::Pieces(AnswerPieces::new(mime, pieces)),
                Answered::DryRun(found) => AnswerResponse::DryRun(found),
            })
        })
    }

    async fn answered(
        self: Arc<Self>,
        request: AnswerRequest,
        client: Client,
        in_progress: InProgressGuard,
        work: WorkGuard,
    ) -> Result<Answered, TextError> {
        // A client that lost its answer gets it, whatever has become of model and money since.
        let keeping = match self.known_answer(&request).await? {
            Some(Known::Before(KeptAnswer { mime, body, fresh_s })) => {
                return Ok(Answered::Whole(WholeAnswer { mime, body, fresh_s, is_repeated: true }));
            }
            Some(Known::New(keeping)) => Some(keeping),
            None => None,
        };
        let Resolved { version, model } = self.answering(&request)?;
        if request.reader.is_none() {
            request.report.of_model(&model);
        }
        request.report.tagged(request.body.tags());
        let cut = self
            .judge
            .cut_to_send(request.body.json().clone(), request.surface, version.surface(request.surface))
            .await?;
        let cx = self.shared.waiting_context(&version, &request.key.customer);
        let direct = DirectRequest {
            surface: request.surface.to_owned(),
            model: model.clone(),
            body: cut.json,
            blobs: cut.blobs.iter().map(|blob| blob.facts.clone()).collect(),
        };
        let (version, plan) = self.plan(&request, &version, &cx, direct).await?;
        request.report.read_by(&version);
        let exchange = match plan {
            DirectPlan::Respond(_) if request.body.is_dry_run() => {
                return Ok(Answered::DryRun(dry_run(model, None, None)));
            }
            DirectPlan::Respond(response) => {
                self.hold_answer(&request, &model, None, false, work).await?.settle(Credits::ZERO)?;
                return Ok(Answered::Whole(whole(response, keeping)));
            }
            DirectPlan::Call(exchange) => *exchange,
        };
        let variant = self.judge.variant_of(&request.key.customer).await?;
        let priced = |charge| self.judge.quote_terms(variant.as_deref(), &model, charge, &exchange.at_most);
        let quoted = exchange.charge.as_ref().map(priced).transpose()?;
        if request.body.is_dry_run() {
            self.check_answer_funds(&request, &model, quoted.as_ref()).await?;
            let basis = if request.body.is_price_only() { basis(&exchange) } else { None };
            let priced = exchange.charge.as_ref().zip(quoted);
            return Ok(Answered::DryRun(dry_run(model, priced, basis)));
        }
        let streaming = !exchange.passes.is_empty();
        let held = self.hold_answer(&request, &model, quoted.as_ref(), streaming, work).await?;
        let claimant = Claimant { customer: request.key.customer.clone(), key: request.key.id.clone() };
        let (blobs, tables) = (RequestBlobs(cut.blobs), self.shared.tables.load_full());
        let is_kept = keeping.is_some();
        let prices = quoted.map(|quoted| quoted.prices).unwrap_or_default();
        let report = request.report;
        let run =
            DirectRun { claimant, version, cx, exchange, prices, blobs, tables, client, is_kept, report };
        self.serve_direct(run, held, model, keeping, in_progress).await
    }

    /// What is known of a request with an idempotency key. A dry run keeps nothing.
    async fn known_answer(&self, request: &AnswerRequest) -> Result<Option<Known>, SubmitError> {
        let Some(token) = request.idempotency.as_ref().filter(|_| !request.body.is_dry_run()) else {
            return Ok(None);
        };
        let (now, surface, body) = (self.shared.now(), request.surface, request.body.bytes().clone());
        let fingerprint = move || Digest::of_fields(&[surface.as_bytes(), &body]);
        let of = Repetition {
            key: request.key.id.clone(),
            customer: request.key.customer.clone(),
            token: Digest::of(token.as_bytes()),
            fingerprint: off_worker(request.body.bytes().len(), fingerprint).await?,
            expires: now.plus(self.shared.config.idempotency_lifetime()),
        };
        self.kept.begin(of, now).map(Some)
    }

    /// The call, and what becomes of its answer. A hold that is dropped is given back.
    async fn serve_direct(
        self: Arc<Self>,
        run: DirectRun,
        held: DirectHold,
        model: String,
        keeping: Option<Keeping>,
        in_progress: InProgressGuard,
    ) -> Result<Answered, TextError> {
        match self.serve_answer(&run).await {
            Ok(ProviderAnswer::Whole(response)) => {
                let amount = self.amount(&run, &response, &held, &model);
                held.settle(amount)?;
                Ok(Answered::Whole(whole(response, keeping)))
            }
            Ok(ProviderAnswer::Passing(answer)) => {
                let (mime, client) = (answer.pieces.mime.clone(), run.client);
                tokio::spawn(async move {
                    let passing = AssertUnwindSafe(self.pass_on(answer, held, &client, keeping));
                    if passing.catch_unwind().await.is_err() {
                        // Without it the client would take what it has for the whole answer.
                        let error = SubmitError::Internal("an answer that passes panicked".to_owned());
                        let _ = client.send(Err(error.into())).await;
                    }
                    drop(client);
                    drop(in_progress);
                });
                Ok(Answered::Passing(mime))
            }
            Err(Unanswered::Failed(error)) => Err(error),
            Err(Unanswered::Left { was_asked }) => {
                if was_asked {
                    let cost = held.cost;
                    held.settle(cost)?;
                }
                Err(TextError::upstream("nobody reads the answer any more"))
            }
        }
    }

    /// What a whole answer costs: what its family says, up to what is held. A plugin that bills more is at fault, as one that
    /// traps.
    fn amount(&self, run: &DirectRun, response: &DirectResponse, held: &DirectHold, model: &str) -> Credits {
        let Some(settle) = &response.settle else { return held.cost };
        let free = Charge::default();
        let Exchange { charge, at_most, .. } = &run.exchange;
        let terms = Terms { charge: charge.as_ref().unwrap_or(&free), at_most, prices: &run.prices };
        match terms.settled(settle) {
            Some(amount) if amount <= held.amount() => amount,
            asked => {
                tracing::error!(model, settle = ?asked, held = %held.amount(), "a plugin settles above what was held, or by another price");
                let why =
                    format!("expected at most what was held, {}, by the prices of its charge", held.amount());
                self.shared.plugins.record_fault(&run.version, &Fault::BadOutput { what: "settle", why });
                held.amount()
            }
        }
    }

    /// The family of a surface that reads, or the model that the request names and the version that serves it.
    fn answering(&self, request: &AnswerRequest) -> Result<Resolved, SubmitError> {
        let Some(family) = request.reader else {
            return self.judge.resolve(request.surface, &request.key, &request.body);
        };
        // It was there a moment ago.
        let gone = || SubmitError::PathSwitchedOff(format!("surface {:?}", request.surface));
        let version = self.shared.plugins.registry().family(family).ok_or_else(gone)?;
        self.judge.served.check_job_providers(family, version.about())?;
        Ok(Resolved { version, model: String::new() })
    }

    async fn plan(
        &self,
        request: &AnswerRequest,
        version: &Arc<Version>,
        cx: &Context,
        direct: DirectRequest,
    ) -> Result<(Arc<Version>, DirectPlan), SubmitError> {
        let plugins = self.shared.plugins.for_key(&request.key.id);
        let _span = plugin_span(&request.report, "plugin prepare", version);
        match plugins.prepare_direct(version, cx.clone(), direct).await {
            Ok(ServedBy { by, answer: Ok(plan) }) => Ok((by, plan)),
            Ok(ServedBy { answer: Err(refusal), .. }) => Err(refusal_error(refusal)),
            Err(fault) => Err(fault_error(fault, |fault| plugin_fault(version, &fault))),
        }
    }

    /// Whether the caller could pay and make the request now.
    async fn check_answer_funds(
        &self,
        request: &AnswerRequest,
        model: &str,
        quoted: Option<&QuotedTerms>,
    ) -> Result<(), SubmitError> {
        if request.body.is_price_only() {
            return Ok(());
        }
        let now = self.shared.now();
        let (rates, outcome) = RateUse::ask(&self.rates, &request.key, model, None, now);
        request.report.count(&rates);
        outcome.map_err(SubmitError::RateLimited)?;
        let amount = quoted.map_or(Credits::ZERO, |quoted| quoted.hold);
        check_funds(&self.shared.store, &request.key, amount, Some(model), now).await
    }
}

/// The client's answer, which is paid and kept for a repetition.
fn whole(response: DirectResponse, keeping: Option<Keeping>) -> WholeAnswer {
    let DirectResponse { mime, body, fresh_s, .. } = response;
    if let Some(mut keeping) = keeping {
        keeping.write(&body);
        // The body is its client's at once.
        drop(keeping.keep(mime.clone(), fresh_s, 0));
    }
    WholeAnswer { mime, body, fresh_s, is_repeated: false }
}

/// What the price of a call comes from; `None` where it is free.
fn basis(exchange: &Exchange) -> Option<PriceBasis> {
    let charge = exchange.charge.clone()?;
    Some(PriceBasis::Units { charge, at_most: exchange.at_most.clone() })
}

/// What a request would come to.
fn dry_run(model: String, priced: Option<(&Charge, QuotedTerms)>, basis: Option<PriceBasis>) -> DryRun {
    let (charges, sum, at_most) = priced.map_or((Vec::new(), Credits::ZERO, false), |(charge, quoted)| {
        (quoted.dry_run(charge), quoted.hold, quoted.is_limit())
    });
    DryRun { model, charges, sum, at_most, expected_ms: None, failure: None, basis }
}
