//! What a request is before anything is written: its model and version, its media cut out, and what its plugin says of it.

use gatehouse_media::{ExtractError, Extracted, NewBlob};
use gatehouse_model::{Context, Json, Key, Submission, UnixMs};
use gatehouse_runtime::{Resolved, ServedBy, StartContext, Submitted};

use crate::api::SubmitRequest;
use crate::errors::SubmitError;
use crate::state::DriverState;
use crate::submit::references::References;
use crate::submit::refusal::{fault_error, refusal_error};

impl DriverState {
    /// The body without the files in it.
    pub(crate) async fn cut(&self, body: Json) -> Result<Extracted, SubmitError> {
        self.media.extract(body).await.map_err(|error| match error {
            ExtractError::Interrupted => SubmitError::Draining,
            error => SubmitError::Invalid { field: None, message: error.to_string() },
        })
    }

    /// The model that it asks for, and the version that serves it.
    pub(super) fn resolve(&self, request: &SubmitRequest) -> Result<Resolved, SubmitError> {
        let registry = self.plugins.registry();
        let (requested, resolved) = match request.body.model() {
            Some(requested) => {
                let resolved = registry.resolve(request.surface, requested);
                let requested = requested.to_owned();
                (requested.clone(), resolved.ok_or(SubmitError::UnknownModel(requested))?)
            }
            None => {
                let resolved = registry.default_model(request.surface).ok_or_else(SubmitError::no_model)?;
                (resolved.model.clone(), resolved)
            }
        };
        if !may_use(&request.key, &requested, &resolved.model) {
            return Err(SubmitError::ModelForbidden(requested));
        }
        Ok(resolved)
    }

    /// What the plugin that judges a request is told besides it.
    pub(super) fn context_of(
        &self,
        request: &SubmitRequest,
        found: &Resolved,
        seed: u64,
        now: UnixMs,
    ) -> Context {
        Context {
            now,
            seed,
            task: None,
            accepted_at: now,
            deadline: now.plus(self.time_limit(&found.model)),
            customer: self.pseudonym(&request.key.customer),
            settings: self.plugins.settings(found.version.family()),
        }
    }

    /// The task belongs to the version that accepted it: the standby, where the version found faulted.
    pub(super) async fn ask_plugin(
        &self,
        request: &SubmitRequest,
        found: Resolved,
        refers: References,
        cut: Extracted,
        context: Context,
        start: StartContext,
    ) -> Result<(Resolved, Submitted, Vec<NewBlob>), SubmitError> {
        let submission = Submission {
            surface: request.surface.to_owned(),
            body: cut.json,
            parents: refers.parents,
            owned: refers.owned,
            blobs: cut.blobs.iter().map(|blob| blob.facts.clone()).collect(),
        };
        let plugins = self.plugins.for_key(&request.key.id);
        match plugins.submit_with_fallback(&found, request.surface, context, submission, start).await {
            Ok(ServedBy { by, answer: Ok(submitted) }) => {
                Ok((Resolved { version: by, ..found }, submitted, cut.blobs))
            }
            Ok(ServedBy { answer: Err(refusal), .. }) => Err(refusal_error(refusal)),
            Err(fault) => Err(fault_error(fault, |fault| {
                tracing::error!(family = found.version.family(), %fault, "plugin fault in a submission");
                SubmitError::Plugin(found.model)
            })),
        }
    }
}

/// A key's model list may name a model by its own id or by any alias.
pub(crate) fn may_use(key: &Key, requested: &str, canonical: &str) -> bool {
    key.models.is_empty() || key.models.iter().any(|model| model == requested || model == canonical)
}
