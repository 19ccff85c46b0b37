//! Submission: a request becomes a durable task, or is refused with nothing charged.
//!
//! The receipt means that task, hold and intent are on disk; the provider is called only after it. One snapshot of
//! the registry decides model, version and price key.

use std::sync::Arc;

use bytes::Bytes;
use gatehouse_media::Extracted;
use gatehouse_model::{
    Accepted, AccountAssignment, BlobId, Boxed, Credits, CustomerId, Digest, Event, Phase, Purpose, Step,
    Tags, Task, TaskFailure, TaskId, UnixMs, metric,
};
use gatehouse_runtime::{Resolved, Submitted, Version};
use gatehouse_tasks::{Applied, Command, Idempotency, MAX_URL, shown_url};

use crate::api::{Receipt, SubmitRequest};
use crate::body::off_worker;
use crate::detached::detached;
use crate::disks::Disks;
use crate::errors::SubmitError;
use crate::live::live_tasks::LiveTasks;
use crate::money;
use crate::rates::{RateLimiter, RateUse};
use crate::request_report::RequestReport;
use crate::shared::{Shared, ShutdownState};
use crate::step::first::FirstStep;
use crate::step::run::Steps;
use crate::submit::join::JoinedTask;
use crate::submit::judge::Judge;
use crate::submit::references::{ReferenceReader, References};
use crate::submit::refusal::{rejection_error, store_error};

/// How often a request that joins a task is judged, while the task moves on at each time. Every other request is judged
/// once.
const MAX_JUDGEMENTS: u32 = 16;

/// The field of a body that says where the task's end is to be told.
const CALLBACK: &str = "callback_url";

/// Takes tasks.
pub struct Intake {
    pub(crate) shared: Arc<Shared>,
    pub(crate) live: Arc<LiveTasks>,
    pub(crate) disks: Arc<Disks>,
    pub(crate) rates: Arc<RateLimiter>,
    pub(crate) judge: Arc<Judge>,
    pub(crate) references: ReferenceReader,
    pub(crate) steps: Arc<Steps>,
}

impl Intake {
    /// Accepts a task: the receipt means that task, hold and intent are durable. Runs to its end even if the
    /// client disconnects meanwhile: a submission must not be cut in half.
    ///
    /// # Errors
    /// [`SubmitError`]; nothing was charged and nothing will happen.
    pub fn submit(self: &Arc<Self>, request: SubmitRequest) -> Boxed<'_, Result<Receipt, SubmitError>> {
        Box::pin(async move {
            if self.shared.has_reached(ShutdownState::Stopped) {
                return Err(SubmitError::Draining);
            }
            let (intake, body) = (Arc::clone(self), request.body.bytes().clone());
            detached(body, Box::pin(async move { intake.accepted(request).await })).await
        })
    }

    async fn accepted(&self, request: SubmitRequest) -> Result<Receipt, SubmitError> {
        let (now, _work) = (self.shared.now(), request.report.begin_work());
        let idempotency = self.idempotency(&request, now).await?;
        // A client that lost its receipt gets it, whatever has become of model, task and names since.
        if let Some(receipt) = self.first_receipt(idempotency.as_ref(), now).await? {
            return Ok(receipt);
        }
        self.check_callback(&request).await?;
        self.disks.check()?;
        let found = self.judge.resolve(request.surface, &request.key, &request.body)?;
        request.report.of_model(&found.model);
        request.report.tagged(request.body.tags());
        let cut = self.judge.cut(request.body.json().clone()).await?;
        for _ in 0..MAX_JUDGEMENTS {
            let refers = self.references.references(&request, &found, &cut.json).await?;
            let adopted = refers.adopted.clone();
            let (cut, idempotency) = (cut.clone(), idempotency.clone());
            let outcome = self.accept(&request, found.clone(), refers, cut, idempotency, now).await;
            if !is_new(&outcome) {
                self.shared.media.drop_blobs(&adopted).await;
            }
            if let Some(receipt) = outcome? {
                return Ok(receipt);
            }
        }
        Err(SubmitError::Busy)
    }

    /// What a repetition of the request is recognised by.
    pub(super) async fn idempotency(
        &self,
        request: &SubmitRequest,
        now: UnixMs,
    ) -> Result<Option<Idempotency>, SubmitError> {
        let Some(token) = &request.idempotency else { return Ok(None) };
        Ok(Some(Idempotency {
            key: request.key.id.clone(),
            token: Digest::of(token.as_bytes()),
            fingerprint: fingerprint(request).await?,
            expires: now.plus(self.shared.config.idempotency_lifetime()),
        }))
    }

    /// The receipt of an earlier request with the same idempotency key.
    pub(super) async fn first_receipt(
        &self,
        idempotency: Option<&Idempotency>,
        now: UnixMs,
    ) -> Result<Option<Receipt>, SubmitError> {
        let Some(idempotency) = idempotency else { return Ok(None) };
        let record = self.shared.store.idempotency_record(&idempotency.key, &idempotency.token).await?;
        match record.and_then(|record| idempotency.first_task(&record, now)) {
            Some(Ok(task)) => Ok(Some(Receipt { task, repeated: true })),
            Some(Err(conflict)) => Err(rejection_error(&Err(conflict))),
            None => Ok(None),
        }
    }

    /// What follows once the references of a request are known. `None` when the task that it joins has moved on
    /// meanwhile, so that the plugin must be asked again.
    async fn accept(
        &self,
        request: &SubmitRequest,
        found: Resolved,
        refers: References,
        cut: Extracted,
        idempotency: Option<Idempotency>,
        now: UnixMs,
    ) -> Result<Option<Receipt>, SubmitError> {
        let joins = found.version.surface(request.surface).is_some_and(|surface| surface.joins);
        let parent = refers.tasks.first().map(JoinedTask::of);
        let found = if joins { self.version_of_parent(request, found, &refers).await? } else { found };
        if joins {
            check_joined_callback(request, refers.tasks.first())?;
        } else {
            self.check_pace(&found.model, &request.key.customer)?;
        }
        let adopted = refers.adopted.clone();
        let (seed, id) = (self.shared.seed.next_u64(), TaskId::new(now, &*self.shared.seed));
        let context = self.judge.context_of(request, &found, seed, now);
        let start =
            if joins { Arc::new(|_: &Accepted| None) } else { self.steps.start_context(id, &context) };
        let (resolved, submitted, blobs) =
            self.judge.ask_plugin(request, found, refers, cut, context, start).await?;
        request.report.read_by(&resolved.version);
        let Submitted { accepted, first_step } = submitted;
        // The plugin may choose another of its models; the key's list holds for that one too.
        if accepted.model != resolved.model
            && !self.judge.may_use(&request.key, &accepted.model, &accepted.model)
        {
            return Err(SubmitError::ModelForbidden(accepted.model));
        }
        // Valid, and not yet written anywhere: first what the key's rates allow, then money.
        let (rates, outcome) =
            RateUse::take(&self.rates, &request.key, &accepted.model, None, self.shared.now());
        request.report.count(&rates);
        outcome.map_err(SubmitError::RateLimited)?;
        let outcome = async {
            let new: Vec<BlobId> = blobs.iter().map(|blob| blob.id).collect();
            self.shared.media.reserve(&request.key.customer, &blobs, self.disks.media_room())?;
            if let Err(error) = self.shared.media.keep(&blobs).await {
                self.shared.media.drop_blobs(&new).await;
                return Err(error.into());
            }
            let kept: Vec<BlobId> = new.iter().copied().chain(adopted).collect();
            let outcome = if joins {
                self.join(request, parent, accepted, kept, idempotency, now).await
            } else {
                let add = async {
                    let task = self.new_task(request, &resolved, accepted, id, seed, now).await?;
                    let task = Task { blobs: kept, ..task };
                    self.add(task, resolved.version, first_step, idempotency, &request.report).await
                };
                add.await.map(Some)
            };
            if !is_new(&outcome) {
                self.shared.media.drop_blobs(&new).await;
            }
            outcome
        }
        .await;
        if !is_new(&outcome) {
            rates.undo(self.shared.now());
        }
        outcome
    }

    /// Refuses an address for the task's end that nothing would be posted to, as far as that can be told without a name server;
    /// each attempt checks what its name resolves to. One at which an operator stopped a webhook of this customer is refused too.
    pub(super) async fn check_callback(&self, request: &SubmitRequest) -> Result<(), SubmitError> {
        let Some(url) = request.body.callback() else { return Ok(()) };
        if url.len() > MAX_URL {
            let problem = format!("expected at most {MAX_URL} bytes, got {}", url.len());
            return Err(SubmitError::wrong_field(CALLBACK, problem));
        }
        let checked = self.shared.check_webhook_url(url);
        checked.map_err(|problem| SubmitError::wrong_field(CALLBACK, problem))?;
        if self.shared.is_stopped_address(&request.key.customer, url).await? {
            let message = format!(
                "{CALLBACK}: an operator disabled a webhook at {}, and only an operator has anything sent \
                 there again",
                shown_url(url)
            );
            return Err(SubmitError::Forbidden(message));
        }
        Ok(())
    }

    /// Refuses a task that its customer's own tasks keep from beginning before its time limit, as far as can be told.
    pub(super) fn check_pace(&self, model: &str, customer: &CustomerId) -> Result<(), SubmitError> {
        let provider = self.live.provider_of(model);
        let wait = provider.and_then(|provider| self.shared.upstream.estimated_wait(&provider, customer));
        let limit = self.shared.time_limit(model);
        match wait.filter(|wait| *wait > limit) {
            Some(wait) => {
                metrics::counter!(metric::TASKS_TOO_LATE, "model" => model.to_owned()).increment(1);
                Err(SubmitError::TooLate { wait, limit })
            }
            None => Ok(()),
        }
    }

    /// Adds the task of an accepted request, with its first step where that may begin.
    async fn add(
        &self,
        task: Task,
        version: Arc<Version>,
        first_step: Option<Step>,
        idempotency: Option<Idempotency>,
        report: &RequestReport,
    ) -> Result<Receipt, SubmitError> {
        let (model, created, held) = (task.model.clone(), task.created, task.held);
        let first = first_step.and_then(|step| self.steps.begin_first_step(&task, &version, step));
        let task = Box::new(first.as_deref().map_or(task, FirstStep::task));
        let assignment = task.assignment.clone();
        let span = report.begin("hold");
        let outcome = self.shared.store.execute(Command::Submit { task, idempotency }).await;
        let outcome = outcome.map_err(store_error);
        drop(span);
        let is_submitted = matches!(outcome, Ok(Ok(Applied::Submitted(_))));
        let first = match first {
            Some(first) if !is_submitted => {
                first.give_up();
                None
            }
            first => first,
        };
        match outcome? {
            Ok(Applied::Submitted(id)) => {
                report.hold(held);
                money::held(&model, Purpose::Task, held);
                if let Some(AccountAssignment { provider, account }) = assignment {
                    report.attempt(&provider, &account);
                }
                match first {
                    Some(first) => self.steps.go_on(first),
                    None => self.live.add(id, Some(version), None, created),
                }
                metrics::counter!(metric::TASKS_ACCEPTED, "model" => model).increment(1);
                Ok(Receipt { task: id, repeated: false })
            }
            Ok(Applied::Repeated(task)) => Ok(Receipt { task, repeated: true }),
            other => Err(rejection_error(&other)),
        }
    }

    async fn new_task(
        &self,
        request: &SubmitRequest,
        resolved: &Resolved,
        accepted: Accepted,
        id: TaskId,
        seed: u64,
        now: UnixMs,
    ) -> Result<Task, SubmitError> {
        let variant = self.judge.variant_of(&request.key.customer).await?;
        let (variant, model) = (variant.as_deref(), accepted.model.as_str());
        let quoted = self.judge.quote_terms(variant, model, &accepted.charge, &accepted.at_most)?;
        Ok(Task {
            id,
            revision: 0,
            customer: request.key.customer.clone(),
            key: request.key.id.clone(),
            family: resolved.version.family().to_owned(),
            digest: resolved.version.digest(),
            state_version: resolved.version.about().state_version,
            state: accepted.state,
            seed,
            deadline: now.plus(self.shared.time_limit(&accepted.model)),
            model: accepted.model,
            surface: request.surface.to_owned(),
            status: accepted.stage.into(),
            progress: accepted.progress,
            created: now,
            finished: None,
            expected_ms: accepted.expected_ms,
            phase: Phase::Run(Event::Start(Bytes::new())),
            brief: accepted.brief,
            joined: Vec::new(),
            assignment: None,
            blobs: Vec::new(),
            charge: accepted.charge,
            at_most: accepted.at_most,
            prices: quoted.prices,
            held: quoted.hold,
            joined_held: Credits::ZERO,
            stop_asked: false,
            callback: request.body.callback().map(str::to_owned),
            tags: request.body.tags().map(|tags| Tags::clone(tags)).unwrap_or_default(),
            sent_again: false,
            trace: request.report.trace().map(|trace| trace.place().clone()),
            cost: None,
            public: Vec::new(),
            private: Vec::new(),
            media: Vec::new(),
            failure: accepted.doomed.map(TaskFailure::from),
        })
    }
}

/// Whether the request's blobs have an owner now.
fn is_new(outcome: &Result<Option<Receipt>, SubmitError>) -> bool {
    matches!(outcome, Ok(Some(receipt)) if !receipt.repeated)
}

/// A request that joins a task has no end of its own: it may name the address that the task was submitted with, and no other.
pub(super) fn check_joined_callback(
    request: &SubmitRequest,
    parent: Option<&Task>,
) -> Result<(), SubmitError> {
    let (Some(url), Some(parent)) = (request.body.callback(), parent) else { return Ok(()) };
    if parent.callback.as_deref() == Some(url) {
        return Ok(());
    }
    let problem = format!(
        "this request goes on with task {}, whose end is told as it was submitted: leave it out",
        parent.id
    );
    Err(SubmitError::wrong_field(CALLBACK, problem))
}

/// A digest of everything that makes two submissions the same request.
async fn fingerprint(request: &SubmitRequest) -> Result<Digest, SubmitError> {
    let parent = request.parent.map(|id| id.to_string()).unwrap_or_default();
    let (surface, body) = (request.surface, request.body.bytes().clone());
    let callback = request.body.callback().map(str::to_owned);
    let length = body.len();
    off_worker(length, move || {
        let mut fields = vec![surface.as_bytes(), parent.as_bytes(), &body[..]];
        fields.extend(callback.as_deref().map(str::as_bytes));
        Digest::of_fields(&fields)
    })
    .await
}
