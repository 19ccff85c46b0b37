//! What a request is before anything is written: its model and version, its media cut out, what its plugin says of it, and what
//! that comes to at the prices of now.

use std::sync::Arc;

use gatehouse_media::{ExtractError, Extracted, NewBlob};
use gatehouse_model::{Charge, Context, Credits, Json, Key, ModelInfo, ModelName, Price, Submission, UnixMs};
use gatehouse_runtime::{Resolved, ServedBy, StartContext, Submitted};
use gatehouse_tasks::Quote;

use crate::api::{ChargeUnit, DryRunCharge, SubmitRequest};
use crate::body::CheckedBody;
use crate::errors::SubmitError;
use crate::request_report::plugin_span;
use crate::served::Served;
use crate::shared::Shared;
use crate::submit::references::References;
use crate::submit::refusal::{fault_error, refusal_error};

/// Judges requests: what they ask for, and whether their keys may.
pub(crate) struct Judge {
    pub(crate) shared: Arc<Shared>,
    pub(crate) served: Arc<Served>,
}

/// A charge and its limit with their prices.
pub(crate) struct QuotedTerms {
    /// Of the charge alone.
    pub(crate) quote: Quote,
    /// Of the lines of the charge, then of those of its limit.
    pub(crate) prices: Vec<Price>,
    /// What is held.
    pub(crate) hold: Credits,
}

impl Judge {
    /// The body without the files in it.
    pub(crate) async fn cut(&self, body: Json) -> Result<Extracted, SubmitError> {
        self.shared.media.extract(body).await.map_err(|error| match error {
            ExtractError::Interrupted => SubmitError::Draining,
            error => SubmitError::Invalid { field: None, message: error.to_string() },
        })
    }

    /// The model that it asks for, and the version that serves it.
    pub(crate) fn resolve(
        &self,
        surface: &str,
        key: &Key,
        body: &CheckedBody,
    ) -> Result<Resolved, SubmitError> {
        let registry = self.shared.plugins.registry();
        let (requested, resolved) = match body.model() {
            Some(requested) => {
                let resolved = registry.resolve(surface, requested);
                let requested = requested.to_owned();
                let resolved = resolved.ok_or_else(|| self.served.no_job_model(&registry, &requested))?;
                (requested, resolved)
            }
            None => {
                let resolved =
                    registry.default_model(surface).ok_or_else(|| self.served.no_default_model())?;
                (resolved.model.clone(), resolved)
            }
        };
        let allowed = self.may_use(key, &requested, &resolved.model)
            || (body.implies_model() && self.may_use_one(surface, key, &resolved));
        if !allowed {
            return Err(SubmitError::ModelForbidden(requested));
        }
        // A price is known without a provider.
        if !body.is_price_only() {
            self.served.check_job_providers(&requested, resolved.version.about())?;
        }
        Ok(resolved)
    }

    /// Where the path names the model, and not the client, a key may use it that may use any model of the surface.
    fn may_use_one(&self, surface: &str, key: &Key, found: &Resolved) -> bool {
        let serves = |model: &&ModelInfo| model.surfaces.iter().any(|served| served == surface);
        let models = &found.version.about().models;
        models.iter().filter(serves).any(|model| self.may_use(key, &model.id, &model.id))
    }

    /// Whether a key may use the model of the own id `canonical`, which a request names `requested`. A key's list may name a
    /// model by its own id or by any alias, and means it by all its names.
    pub(crate) fn may_use(&self, key: &Key, requested: &str, canonical: &str) -> bool {
        may_use(key, requested, canonical, |name| self.own_id(name))
    }

    /// The own id of a model that is served now under that id or alias.
    pub(crate) fn own_id(&self, name: &str) -> Option<String> {
        let text = self.shared.tables.load().models.find(name).map(|model| model.id.clone());
        text.or_else(|| self.shared.plugins.registry().model_id(name).map(str::to_owned))
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
            deadline: now.plus(self.shared.time_limit(&found.model)),
            customer: self.shared.pseudonym(&request.key.customer),
            settings: self.shared.plugins.settings(found.version.family()),
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
            model: ModelName { id: found.model.clone(), alias: alias_of(request, &found.model) },
            body: cut.json,
            parents: refers.parents,
            owned: refers.owned,
            blobs: cut.blobs.iter().map(|blob| blob.facts.clone()).collect(),
        };
        let plugins = self.shared.plugins.for_key(&request.key.id);
        let _span = plugin_span(&request.report, "plugin submit", &found.version);
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

    /// The prices of a charge and its limit, and what is held for them.
    pub(crate) fn quote_terms(
        &self,
        model: &str,
        charge: &Charge,
        at_most: &Charge,
    ) -> Result<QuotedTerms, SubmitError> {
        let (quote, limit) = (self.quote_of(model, charge)?, self.quote_of(model, at_most)?);
        let prices = [quote.prices(), limit.prices()].concat();
        Ok(QuotedTerms { hold: quote.total.max(limit.total), quote, prices })
    }

    /// The price of what a request for `model` is charged for.
    pub(crate) fn quote_of(&self, model: &str, charge: &Charge) -> Result<Quote, SubmitError> {
        self.shared.tables.load().prices.quote(charge).map_err(|error| {
            tracing::error!(model, %error, "a model has no usable price");
            SubmitError::Internal(format!("model {model:?} has no usable price in this gateway"))
        })
    }
}

impl QuotedTerms {
    /// Whether more is held than the charge comes to.
    pub(crate) fn is_limit(&self) -> bool {
        self.hold > self.quote.total
    }

    /// The lines of `charge`, of which it is the quote, as a dry run tells them.
    pub(crate) fn dry_run(&self, charge: &Charge) -> Vec<DryRunCharge> {
        let lines = charge.0.iter().zip(&self.quote.lines);
        let told = lines.map(|(line, quoted)| DryRunCharge {
            keys: line.keys.clone(),
            key: quoted.key.clone(),
            unit: ChargeUnit::Unit(line.unit.clone()),
            quantity: line.quantity,
            unit_price: quoted.price.credits,
            per: quoted.price.per,
            sum: quoted.total,
        });
        told.collect()
    }
}

/// The name under which a request asked for the model, where that is not its own id.
fn alias_of(request: &SubmitRequest, id: &str) -> Option<String> {
    request.body.model().filter(|name| *name != id).map(str::to_owned)
}

/// [`Judge::may_use`], with the own ids of models as `own_id` knows them.
fn may_use(key: &Key, requested: &str, canonical: &str, own_id: impl Fn(&str) -> Option<String>) -> bool {
    let is_it = |name: &String| {
        name == requested || name == canonical || own_id(name).is_some_and(|own| own == canonical)
    };
    key.models.is_empty() || key.models.iter().any(is_it)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without it a key limited to an alias could not use the model by the name that the documentation gives.
    #[test]
    fn a_name_of_a_key_means_its_model_by_all_its_names() {
        let own = |name: &str| match name {
            "scene-fast" | "scene-fast-ext" | "scene-fast-official" => Some("scene-fast-official".to_owned()),
            "other" => Some("other".to_owned()),
            _ => None,
        };
        for (models, requested, allowed) in [
            (&[][..], "scene-fast", true),
            (&["scene-fast"], "scene-fast", true),
            (&["scene-fast"], "scene-fast-ext", true),
            (&["scene-fast"], "scene-fast-official", true),
            (&["scene-fast-official"], "scene-fast-ext", true),
            (&["other"], "scene-fast", false),
            (&["gone"], "scene-fast", false),
            (&["gone", "scene-fast-ext"], "scene-fast-official", true),
        ] {
            let models = models.iter().map(|name| (*name).to_owned()).collect();
            let key = Key { models, ..gatehouse_sample::key(1, 1, None) };
            assert_eq!(
                may_use(&key, requested, "scene-fast-official", own),
                allowed,
                "{:?} {requested}",
                key.models
            );
        }
    }
}
