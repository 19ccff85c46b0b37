//! The models that callers may use, by all their names, with what they cost.

use std::sync::Arc;

use gatehouse_model::{Key, Price, UnixMs};
use gatehouse_runtime::{ModelRow, ServedRoute};
use gatehouse_store::StoreError;
use gatehouse_tasks::PriceTable;

use crate::api::{ListedPrice, ModelFacts, ModelListing};
use crate::errors::SubmitError;
use crate::models::table::ModelKind;
use crate::served::{Served, serves_text};
use crate::shared::Shared;
use crate::submit::judge::Judge;

/// Reads what this gateway offers: models, routes, schemas and prices.
pub struct Models {
    pub(crate) shared: Arc<Shared>,
    pub(crate) judge: Arc<Judge>,
    pub(crate) served: Arc<Served>,
}

impl Models {
    /// Models this key may use at its customer's prices, aliases included. One whose provider has no account is not among them.
    pub async fn models(&self, key: &Key) -> Result<Vec<ModelListing>, StoreError> {
        let variant = self.judge.variant_of(&key.customer).await?;
        Ok(self.models_at(key, variant.as_deref()))
    }

    fn models_at(&self, key: &Key, variant: Option<&str>) -> Vec<ModelListing> {
        let registry = self.shared.plugins.registry();
        let served = |row: &ModelRow| self.served.serves_family_of(&registry, &row.family);
        let tables = self.shared.tables.load();
        let jobs = registry.models().into_iter().filter(served).map(|row| {
            let ModelRow { id, model, family, surfaces, modality, since } = row;
            let facts = facts_of_job(&model, tables.prices_of(variant));
            (ModelListing { id, family, surfaces, modality, facts, since }, model)
        });
        let surfaces = registry.text_surfaces();
        let since = surfaces.iter().map(|(_, since)| *since).max().unwrap_or(UnixMs(0));
        let served: Vec<String> = surfaces.into_iter().map(|(surface, _)| surface).collect();
        let with_targets = tables.models.names().filter(|(_, id)| serves_text(&registry, &tables, id));
        let texts = with_targets.filter_map(|(name, id)| {
            let kind = tables.models.kind(id);
            let surfaces: Vec<String> =
                served.iter().filter(|surface| ModelKind::of_surface(surface) == kind).cloned().collect();
            if surfaces.is_empty() {
                return None;
            }
            let family = tables.models.provider(id).to_owned();
            let (id_or_alias, facts) = (name.to_owned(), tables.models_of(variant).find(id)?.facts.clone());
            let listing = ModelListing { id: id_or_alias, family, surfaces, modality: None, facts, since };
            Some((listing, id.to_owned()))
        });
        let mut models: Vec<ModelListing> = jobs
            .chain(texts)
            .filter(|(listing, model)| self.judge.may_use(key, &listing.id, model))
            .map(|(listing, _)| listing)
            .collect();
        models.sort_by(|a, b| a.id.cmp(&b.id));
        models
    }

    /// The model's own id, of a model that this gateway has under that id or alias.
    #[must_use]
    pub fn model_id(&self, name: &str) -> Option<String> {
        self.judge.own_id(name)
    }

    /// Every name of every model of this gateway, also where a provider has no account yet.
    #[must_use]
    pub fn model_names(&self) -> Vec<String> {
        let jobs = self.shared.plugins.registry().models().into_iter().map(|row| row.id);
        let tables = self.shared.tables.load();
        jobs.chain(tables.models.names().map(|(name, _)| name.to_owned())).collect()
    }

    /// Every route of the families. The same value as long as no family is switched.
    #[must_use]
    pub fn routes(&self) -> Arc<[ServedRoute]> {
        Arc::clone(self.shared.plugins.registry().routes())
    }

    /// The refusal of a path of a family that is switched off; `None` where it is to be told as one that never was.
    #[must_use]
    pub fn switched_off_path(&self, path: &str, family: &str) -> Option<SubmitError> {
        self.served.path_switched_off(path, family)
    }

    /// The refusal of what a family that has not started yet may serve; `None` once all have.
    #[must_use]
    pub fn starting(&self) -> Option<SubmitError> {
        self.served.starting()
    }
}

/// What a model of tasks costs: the prices under its id, and the more specific ones below it.
fn facts_of_job(id: &str, prices: &PriceTable) -> ModelFacts {
    let is_own =
        |key: &str| key.strip_prefix(id).is_some_and(|rest| rest.is_empty() || rest.starts_with('@'));
    let own = prices.iter().filter(|(key, _)| is_own(key));
    let listed = |(key, price): (&str, Price)| {
        let unit = match price.per {
            1_000 => "thousand units",
            1_000_000 => "million units",
            _ => "unit",
        };
        ListedPrice { key: key.to_owned(), unit, price: price.credits }
    };
    ModelFacts { prices: own.map(listed).collect(), ..ModelFacts::default() }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use gatehouse_model::Credits;

    use super::*;

    /// Without it a customer would be told the price of another model whose name begins alike.
    #[test]
    fn a_model_has_the_prices_below_its_id() {
        let keys = ["clip", "clip-fast", "clip@4k", "clip-fast@480p", "other"];
        let price = |credits| Price::each(Credits(credits));
        let table: BTreeMap<String, Price> =
            keys.into_iter().zip(1..).map(|(key, credits)| (key.to_owned(), price(credits))).collect();
        let facts = facts_of_job("clip", &PriceTable::new(table).unwrap());
        let found: Vec<(&str, i64)> =
            facts.prices.iter().map(|one| (one.key.as_str(), one.price.0)).collect();
        assert_eq!(found, [("clip", 1), ("clip@4k", 3)]);
    }
}
