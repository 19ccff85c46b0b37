//! Intake: a request becomes a durable task, or is refused with nothing charged.
//!
//! The receipt means task, hold and intent are on disk; the provider is called only after it. Nothing is
//! looked up twice: one registry snapshot decides model, version and price key.

use std::time::Duration;

use bytes::Bytes;
use gatehouse_media::{Cut, CutError};
use gatehouse_model::{
    Accepted, BlobId, Context, Digest, Event, Key, Parent, Phase, Refusal, Status, Submission, Task,
    TaskFailure, TaskId, UnixMs,
};
use gatehouse_runtime::{Fault, Resolved, ServedBy};
use gatehouse_store::StoreError;
use gatehouse_tasks::{Applied, Command, Idempotency, Rejection};
use serde::Deserialize;

use crate::driver::{Inner, Stage};
use crate::{Driver, Receipt, Request, SubmitError};

impl Driver {
    /// Accepts a job: the receipt means task, hold and intent are durable.
    ///
    /// # Errors
    /// [`SubmitError`]; nothing was charged and nothing will happen.
    pub async fn submit(&self, request: Request) -> Result<Receipt, SubmitError> {
        if self.inner.has_reached(Stage::Stopped) {
            return Err(SubmitError::Draining);
        }
        self.inner.submit(request).await
    }
}

impl Inner {
    async fn submit(&self, mut request: Request) -> Result<Receipt, SubmitError> {
        let now = self.now();
        let fingerprint = request.idempotency.is_some().then(|| fingerprint(&request));
        // Not held a moment longer than it is needed: it may be 30 MB of pictures.
        let cut = self.cut(std::mem::take(&mut request.body)).await?;
        let asked = asked_model(request.model, &cut.json)?;
        let found = self.resolve(&request, asked)?;
        let parent = self.parent(&request)?;
        let seed = self.seed.next_u64();
        let (resolved, accepted, blobs) = self.judge(&request, found, parent, cut, seed, now).await?;
        // The plugin may answer with another of its models; the key's list holds for that one too.
        if accepted.model != resolved.model && !may_use(&request.key, &accepted.model, &accepted.model) {
            return Err(SubmitError::ModelForbidden(accepted.model));
        }
        let task = self.new_task(&request, &resolved, accepted, seed, now)?;
        let idempotency =
            request.idempotency.as_deref().zip(fingerprint).map(|(token, fingerprint)| Idempotency {
                key: request.key.id.clone(),
                token: Digest::of(token.as_bytes()),
                fingerprint,
                expires: now.plus(Duration::from_secs(u64::from(self.config.idempotency_hours) * 3600)),
            });
        self.media.keep(&blobs).await.map_err(|error| SubmitError::Internal(error.to_string()))?;
        let kept: Vec<BlobId> = blobs.iter().map(|blob| blob.id).collect();
        let model = task.model.clone();
        let task = Box::new(Task { blobs: kept.clone(), ..task });
        let outcome =
            self.store.execute(Command::Submit { task, idempotency }).await.map_err(|error| match error {
                StoreError::Busy => SubmitError::Busy,
                error => error.into(),
            })?;
        match outcome {
            Ok(Applied::Submitted(id)) => {
                self.live.add(id, Some(resolved.version), None, now);
                metrics::counter!(gatehouse_model::metric::TASKS_ACCEPTED, "model" => model).increment(1);
                Ok(Receipt { task: id, repeated: false })
            }
            other => {
                self.media.drop_blobs(&kept).await;
                settle_refusal(other)
            }
        }
    }

    pub(crate) async fn cut(&self, body: Bytes) -> Result<Cut, SubmitError> {
        self.media.cut(body).await.map_err(|error| match error {
            CutError::Interrupted => SubmitError::Draining,
            error => SubmitError::Invalid { field: None, message: error.to_string() },
        })
    }

    fn resolve(&self, request: &Request, asked: Option<String>) -> Result<Resolved, SubmitError> {
        let registry = self.families.registry();
        let (asked, resolved) = match asked {
            Some(asked) => {
                let resolved = registry.resolve(request.surface, &asked);
                (asked.clone(), resolved.ok_or(SubmitError::UnknownModel(asked))?)
            }
            None => {
                let resolved = registry.default_model(request.surface).ok_or_else(SubmitError::no_model)?;
                (resolved.model.clone(), resolved)
            }
        };
        if !may_use(&request.key, &asked, &resolved.model) {
            return Err(SubmitError::ModelForbidden(asked));
        }
        Ok(resolved)
    }

    fn parent(&self, request: &Request) -> Result<Option<Parent>, SubmitError> {
        let Some(id) = request.parent else { return Ok(None) };
        let task = self
            .store
            .task(id)?
            .filter(|task| task.customer == request.key.customer)
            .ok_or_else(|| SubmitError::NotFound(format!("no task {id}")))?;
        Ok(Some(Parent {
            task: task.id,
            model: task.model,
            completed: task.status == Status::Completed,
            public: task.public,
            private: task.private,
        }))
    }

    /// The task belongs to the version that accepted it, which is not the one found where that one faulted
    /// and another stood by.
    async fn judge(
        &self,
        request: &Request,
        found: Resolved,
        parent: Option<Parent>,
        cut: Cut,
        seed: u64,
        now: UnixMs,
    ) -> Result<(Resolved, Accepted, Vec<gatehouse_media::NewBlob>), SubmitError> {
        let context = Context {
            now,
            seed,
            task: None,
            accepted_at: now,
            deadline: now.plus(self.time_limit(&found.model)),
            settings: self.families.settings(found.version.family()),
        };
        let submission = Submission {
            surface: request.surface.to_owned(),
            body: cut.json.to_vec(),
            parent,
            blobs: cut.blobs.iter().map(|blob| blob.facts.clone()).collect(),
        };
        match self.families.judge(&found, request.surface, context, submission).await {
            Ok(ServedBy { by, answer: Ok(accepted) }) => {
                Ok((Resolved { version: by, ..found }, accepted, cut.blobs))
            }
            Ok(ServedBy { answer: Err(refusal), .. }) => Err(refused(refusal)),
            Err(Fault::Busy) => Err(SubmitError::Busy),
            Err(fault @ (Fault::InputTooLarge { .. } | Fault::InputTooComplex { .. })) => {
                Err(SubmitError::Invalid { field: None, message: format!("besides its media, {fault}") })
            }
            Err(fault) => {
                tracing::error!(family = found.version.family(), %fault, "plugin fault while judging a request");
                Err(SubmitError::Plugin(found.model))
            }
        }
    }

    fn new_task(
        &self,
        request: &Request,
        resolved: &Resolved,
        accepted: Accepted,
        seed: u64,
        now: UnixMs,
    ) -> Result<Task, SubmitError> {
        let quote = self.prices.quote(&accepted.charge).map_err(|error| {
            tracing::error!(model = accepted.model, %error, "a model has no usable price");
            SubmitError::Internal(format!("model {:?} has no usable price in this gateway", accepted.model))
        })?;
        Ok(Task {
            id: TaskId::new(now, &*self.seed),
            revision: 0,
            customer: request.key.customer.clone(),
            key: request.key.id.clone(),
            family: resolved.version.family().to_owned(),
            digest: resolved.version.digest(),
            state_version: resolved.version.about().state_version,
            state: accepted.state,
            seed,
            deadline: now.plus(self.time_limit(&accepted.model)),
            model: accepted.model,
            surface: request.surface.to_owned(),
            status: accepted.stage.into(),
            progress: accepted.progress,
            created: now,
            finished: None,
            expected_ms: accepted.expected_ms,
            phase: Phase::Run(Event::Start),
            assignment: None,
            blobs: Vec::new(),
            charge: accepted.charge,
            unit_price: quote.unit,
            held: quote.total,
            cost: None,
            public: Vec::new(),
            private: Vec::new(),
            media: Vec::new(),
            failure: accepted.doomed.map(TaskFailure::from),
        })
    }

    fn time_limit(&self, model: &str) -> Duration {
        let config = &self.config;
        let seconds = config.time_limit_s_by_model.get(model).copied().unwrap_or(config.time_limit_s);
        Duration::from_secs(u64::from(seconds))
    }
}

/// The body's `model`, and the proof that the body is one JSON object.
pub(crate) fn asked_model(implied: Option<&str>, json: &[u8]) -> Result<Option<String>, SubmitError> {
    #[derive(Deserialize)]
    struct Head {
        model: Option<serde_json::Value>,
    }
    let first = json.iter().find(|byte| !byte.is_ascii_whitespace());
    if first.is_some_and(|&byte| byte != b'{') {
        // A whole parse first: broken JSON deserves its position, not "expected an object".
        serde_json::from_slice::<serde::de::IgnoredAny>(json).map_err(|error| broken_json(&error))?;
        return Err(SubmitError::Invalid {
            field: None,
            message: "the request body must be a JSON object".to_owned(),
        });
    }
    let head: Head = serde_json::from_slice(json).map_err(|error| broken_json(&error))?;
    if let Some(model) = implied {
        return Ok(Some(model.to_owned()));
    }
    match head.model {
        None | Some(serde_json::Value::Null) => Ok(None),
        Some(serde_json::Value::String(model)) if !model.trim().is_empty() => Ok(Some(model)),
        Some(other) => Err(invalid("model", &format!("expected the id of a model as a string, got {other}"))),
    }
}

fn broken_json(error: &serde_json::Error) -> SubmitError {
    SubmitError::Invalid { field: None, message: format!("the request body is not valid JSON: {error}") }
}

impl SubmitError {
    pub(crate) fn no_model() -> Self {
        invalid("model", "expected the id of a model, nothing came")
    }
}

fn invalid(field: &str, message: &str) -> SubmitError {
    SubmitError::Invalid { field: Some(field.to_owned()), message: format!("{field}: {message}") }
}

/// A key's model list may name a model by its own id or by any alias.
pub(crate) fn may_use(key: &Key, asked: &str, canonical: &str) -> bool {
    key.models.is_empty() || key.models.iter().any(|model| model == asked || model == canonical)
}

pub(crate) fn refused(refusal: Refusal) -> SubmitError {
    match refusal {
        Refusal::Invalid { field, message } => SubmitError::Invalid { field, message },
        Refusal::NotFound(message) => SubmitError::NotFound(message),
        Refusal::Forbidden(message) => SubmitError::Forbidden(message),
    }
}

/// A digest of everything that makes two submissions the same request.
fn fingerprint(request: &Request) -> Digest {
    let parent = request.parent.map(|id| id.to_string()).unwrap_or_default();
    Digest::of_fields(&[request.surface.as_bytes(), parent.as_bytes(), &request.body])
}

pub(crate) fn settle_refusal(outcome: Result<Applied, Rejection>) -> Result<Receipt, SubmitError> {
    match outcome {
        Ok(Applied::Repeated(task)) => Ok(Receipt { task, repeated: true }),
        Err(Rejection::InsufficientBalance { needed, available }) => {
            Err(SubmitError::InsufficientBalance { needed, available })
        }
        Err(Rejection::QuotaExceeded { needed, remaining }) => {
            Err(SubmitError::QuotaExceeded { needed, remaining })
        }
        Err(Rejection::IdempotencyConflict) => Err(SubmitError::IdempotencyConflict),
        Err(Rejection::KeyExpired(_) | Rejection::KeyRevoked(_) | Rejection::NoKey(_)) => {
            Err(SubmitError::KeyGone)
        }
        other => Err(SubmitError::Internal(format!("the store answered a submission with {other:?}"))),
    }
}
