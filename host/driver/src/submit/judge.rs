//! What a request is before anything is written: its model and version, its media cut out, what its plugin says of it, and what
//! that comes to at the prices of now.

use std::sync::Arc;

use gatehouse_media::{BadLink, ExtractError, Extracted, NewBlob};
use gatehouse_model::{
    Action, Charge, Context, Credits, CustomerId, Event, Json, Key, ModelInfo, ModelName, Price, Submission,
    SurfaceInfo, TaskId, UnixMs,
};
use gatehouse_runtime::{Resolved, ServedBy, StartContext, Submitted, Version};
use gatehouse_store::StoreError;
use gatehouse_tasks::Quote;

use crate::api::{ChargeUnit, DryRunCharge, SubmitRequest};
use crate::body::CheckedBody;
use crate::errors::SubmitError;
use crate::request_report::plugin_span;
use crate::served::Served;
use crate::shared::Shared;
use crate::submit::references::References;
use crate::submit::refusal::{fault_error, refusal_error};

/// The surface whose errors have paths with dots.
const MESSAGES: &str = "messages.create";

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
            error => SubmitError::invalid(error.to_string()),
        })
    }

    /// The same for a request that is answered at once: its links leave with its call. A text has no `surface`.
    pub(crate) async fn cut_to_send(
        &self,
        body: Json,
        name: &str,
        surface: Option<&SurfaceInfo>,
    ) -> Result<Extracted, SubmitError> {
        let cut = self.cut(body).await?;
        match cut.bad_links.iter().find(|link| is_read(link, surface)) {
            Some(bad) => Err(bad_link(bad, name)),
            None => Ok(cut),
        }
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
        // Before the plugin has them: a request without bad links, as nearly all are, is not held up.
        let links = (!cut.bad_links.is_empty()).then(|| (cut.bad_links, context.clone()));
        let submission = Submission {
            surface: request.surface.to_owned(),
            model: ModelName {
                id: found.model.clone(),
                alias: request.body.model().filter(|name| *name != found.model).map(str::to_owned),
            },
            body: cut.json,
            parents: refers.parents,
            owned: refers.owned,
            blobs: cut.blobs.iter().map(|blob| blob.facts.clone()).collect(),
        };
        let plugins = self.shared.plugins.for_key(&request.key.id);
        let _span = plugin_span(&request.report, "plugin submit", &found.version);
        match plugins.submit_with_fallback(&found, request.surface, context, submission, start).await {
            Ok(ServedBy { by, answer: Ok(submitted) }) => {
                if let Some((links, context)) = links {
                    self.check_links(request.surface, &by, &submitted, context, links).await?;
                }
                Ok((Resolved { version: by, ..found }, submitted, cut.blobs))
            }
            Ok(ServedBy { answer: Err(refusal), .. }) => Err(refusal_error(refusal)),
            Err(fault) => Err(fault_error(fault, |fault| {
                tracing::error!(family = found.version.family(), %fault, "plugin fault in a submission");
                SubmitError::Plugin(found.model)
            })),
        }
    }

    /// Refuses a link that the plugin would hand to its provider as it is, where the gateway itself would not fetch it. What the
    /// plugin has the host look at first fails by that look, in the words and at the time of its family.
    async fn check_links(
        &self,
        surface: &str,
        by: &Arc<Version>,
        submitted: &Submitted,
        context: Context,
        links: Vec<BadLink>,
    ) -> Result<(), SubmitError> {
        let accepted = &submitted.accepted;
        let declared = by.surface(surface);
        let links: Vec<BadLink> = links.into_iter().filter(|link| is_read(link, declared)).collect();
        if accepted.doomed.is_some() || links.is_empty() {
            return Ok(());
        }
        let refused = |link: Option<&BadLink>| link.map_or(Ok(()), |link| Err(bad_link(link, surface)));
        if declared.is_some_and(|surface| surface.joins) {
            // The task that it joins looks at its files.
            return refused(links.iter().find(|link| link.in_text));
        }
        let next = match &submitted.first_step {
            Some(step) => step.next.clone(),
            None => {
                let task = Some(TaskId::new(context.now, &*self.shared.seed));
                let (state, start) = (accepted.state.clone(), Event::Start(accepted.brief.clone()));
                let step = self.shared.plugins.advance(by, Context { task, ..context }, state, start).await;
                let Ok(step) = step else { return refused(links.first()) };
                step.next
            }
        };
        let is_looked_at = |link: &BadLink| match &next {
            Action::Probe(probes) => probes.iter().any(|probe| probe.source.eq_ignore_ascii_case(&link.link)),
            _ => false,
        };
        refused(links.iter().find(|link| link.in_text || !is_looked_at(link)))
    }

    /// The variant of the price book that a customer's requests are priced by. Without variants nobody is looked up.
    pub(crate) async fn variant_of(&self, customer: &CustomerId) -> Result<Option<String>, StoreError> {
        if self.shared.tables.load().variants.is_empty() {
            return Ok(None);
        }
        let customer = self.shared.store.customer(customer).await?;
        Ok(customer.and_then(|customer| customer.price_variant))
    }

    /// The prices of a charge and its limit in a variant of the book, and what is held for them.
    pub(crate) fn quote_terms(
        &self,
        variant: Option<&str>,
        model: &str,
        charge: &Charge,
        at_most: &Charge,
    ) -> Result<QuotedTerms, SubmitError> {
        let quote = self.quote_of(variant, model, charge)?;
        Ok(QuotedTerms::new(quote, &self.quote_of(variant, model, at_most)?))
    }

    /// The price of what a request for `model` is charged for.
    pub(crate) fn quote_of(
        &self,
        variant: Option<&str>,
        model: &str,
        charge: &Charge,
    ) -> Result<Quote, SubmitError> {
        self.shared.tables.load().prices_of(variant).quote(charge).map_err(|error| {
            tracing::error!(model, %error, "a model has no usable price");
            SubmitError::Internal(format!("model {model:?} has no usable price in this gateway"))
        })
    }
}

impl QuotedTerms {
    /// Of a charge, with what its limit comes to.
    pub(crate) fn new(quote: Quote, limit: &Quote) -> Self {
        let prices = [quote.prices(), limit.prices()].concat();
        Self { hold: quote.total.max(limit.total), quote, prices }
    }

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

/// Whether somebody fetches a link: one among the words of a prompt is a word, unless the provider behind that surface reads it.
fn is_read(link: &BadLink, surface: Option<&SurfaceInfo>) -> bool {
    !link.in_text || surface.is_some_and(|surface| surface.reads_links)
}

/// The refusal of a link that must not be handed on. Clients of Messages read its words as those of their own provider.
fn bad_link(bad: &BadLink, surface: &str) -> SubmitError {
    let BadLink { field, reason, .. } = bad;
    if surface == MESSAGES {
        return SubmitError::wrong_field(field.replace('[', ".").replace(']', ""), reason);
    }
    SubmitError::Invalid { field: Some(field.clone()), message: format!("`{field}`: {reason}") }
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

    /// Without it a prompt about an address is refused by families whose provider reads it as words, or handed to one that fetches it.
    #[test]
    fn a_link_in_a_prompt_counts_where_the_provider_reads_it() {
        let link = |in_text| BadLink {
            field: "prompt".to_owned(),
            link: "http://10.0.0.1/".to_owned(),
            in_text,
            reason: "private".to_owned(),
        };
        let words = SurfaceInfo::default();
        let read = SurfaceInfo::default().reads_links();
        for (in_text, surface, is_judged) in [
            (false, None, true),
            (false, Some(&words), true),
            (true, None, false),
            (true, Some(&words), false),
            (true, Some(&read), true),
        ] {
            assert_eq!(is_read(&link(in_text), surface), is_judged, "{in_text} {surface:?}");
        }
    }

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
