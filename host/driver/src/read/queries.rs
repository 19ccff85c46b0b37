//! What callers may read: their tasks, the models they may use, results and media links.
//!
//! Every look-up is by (owner, id). Reads use the store's own snapshots and never wait for the writer.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use gatehouse_media::{MediaFile, MediaRefusal};
use gatehouse_model::{Boxed, Key, KeyDigest, Media, Price, Task, TaskId, UnixMs};
use gatehouse_runtime::ModelRow;
use gatehouse_store::{StoreError, TaskPage, TaskQuery};
use gatehouse_tasks::PriceTable;
use gatehouse_upstream::QueueEstimate;

use crate::api::{ListedPrice, ModelFacts, ModelListing, TaskFilter};
use crate::driver::Driver;
use crate::read::result::{self, Waiting};
use crate::scheduler::store_pause::StorePause;
use crate::state::{DriverState, ShutdownState};
use crate::text::models::ModelKind;

impl DriverState {
    /// Where there are several customers, none of them gets every permit of an account.
    pub(crate) async fn count_customers(&self) {
        let pause = StorePause::default();
        loop {
            match self.store.count_customers().await {
                Ok(customers) if customers > 1 => return self.upstream.expect_several_customers(),
                Ok(_) => return,
                Err(error) if error.passes() => {
                    self.clock.pause(pause.failed(self.now(), self.seed.unit())).await;
                }
                Err(error) => return tracing::warn!(%error, "customers were not counted"),
            }
        }
    }
}

impl Driver {
    /// The key of this digest, straight from the store. Callers cache, and drop what they cached
    /// whenever [`Driver::keys_generation`] has moved.
    ///
    /// # Errors
    /// A failed store.
    pub async fn key(&self, digest: &KeyDigest) -> Result<Option<Key>, StoreError> {
        self.state.store.key_by_digest(digest).await
    }

    /// Moves whenever a key is made, changed or revoked.
    #[must_use]
    pub fn keys_generation(&self) -> u64 {
        self.state.keys_generation.load(Ordering::Acquire)
    }

    /// Tells caches that a key was made, changed or revoked.
    pub fn keys_changed(&self) {
        self.state.keys_generation.fetch_add(1, Ordering::AcqRel);
        if !self.state.upstream.has_several_customers() {
            let state = Arc::clone(&self.state);
            tokio::spawn(async move { state.count_customers().await });
        }
    }

    /// One of the caller's tasks. Another customer's task is as unknown as one that never existed.
    ///
    /// # Errors
    /// A failed store.
    pub async fn task(&self, key: &Key, id: TaskId) -> Result<Option<Task>, StoreError> {
        Ok(self.state.store.task(id).await?.filter(|task| task.customer == key.customer))
    }

    /// The same, once it has ended or `max_wait` is over.
    ///
    /// # Errors
    /// A failed store.
    pub async fn task_when_over(
        &self,
        key: &Key,
        id: TaskId,
        max_wait: Duration,
    ) -> Result<Option<Task>, StoreError> {
        // Registered before the read, so that an end in between is not missed.
        let end = self.state.live.wait_for_end(id);
        let task = self.task(key, id).await?;
        let Some(end) = end.filter(|_| task.as_ref().is_some_and(|task| !task.status.is_final())) else {
            return Ok(task);
        };
        let mut shutdown = self.state.shutdown.subscribe();
        tokio::select! {
            biased;
            _ = end => {}
            () = self.state.clock.pause(max_wait) => {}
            // A shutdown does not wait for a client that only waits.
            _ = shutdown.wait_for(|shutdown| *shutdown >= ShutdownState::LameDuck) => {}
        }
        self.task(key, id).await
    }

    /// When a task that waits for a provider's permit can expect it; `None` where it waits for none, or that is not known.
    #[must_use]
    pub fn queue_estimate(&self, task: &Task) -> Option<QueueEstimate> {
        if task.status.is_final() { None } else { self.state.live.queue_estimate(task.id) }
    }

    /// A page of the caller's tasks, newest first.
    ///
    /// # Errors
    /// A failed store.
    pub async fn tasks(&self, key: &Key, filter: &TaskFilter) -> Result<TaskPage, StoreError> {
        let query = TaskQuery {
            status: filter.status,
            model: filter.model.as_deref().map(|model| self.canonical(model)),
            after: filter.after,
            limit: filter.limit,
        };
        self.state.store.list_tasks(&key.customer, query).await
    }

    /// The client's `result` of a task as JSON, interim or final; `None` while there is none. Links begin with `base` (no trailing slash).
    #[must_use]
    pub fn result(&self, task: &Task, base: &str) -> Option<Vec<u8>> {
        result::render(task, |media| self.state.media.link(base, media))
    }

    /// What a living task waits for from its client.
    #[must_use]
    pub fn waiting(&self, task: &Task) -> Option<Waiting> {
        result::waiting(task)
    }

    /// Models this key may use at its customer's prices, aliases included. One whose provider has no account is not among them.
    ///
    /// # Errors
    /// A failed store.
    pub async fn models(&self, key: &Key) -> Result<Vec<ModelListing>, StoreError> {
        let variant = self.state.variant_of(&key.customer).await?;
        Ok(self.models_at(key, variant.as_deref()))
    }

    fn models_at(&self, key: &Key, variant: Option<&str>) -> Vec<ModelListing> {
        let registry = self.state.plugins.registry();
        let served = |row: &ModelRow| self.state.serves_family_of(&registry, &row.family);
        let tables = self.state.tables.load();
        let jobs = registry.models().into_iter().filter(served).map(|row| {
            let ModelRow { id, model, family, surfaces, modality, since } = row;
            let facts = facts_of_job(&model, tables.prices_of(variant));
            (ModelListing { id, family, surfaces, modality, facts, since }, model)
        });
        let surfaces = registry.text_surfaces();
        let since = surfaces.iter().map(|(_, since)| *since).max().unwrap_or(UnixMs(0));
        let served: Vec<String> = surfaces.into_iter().map(|(surface, _)| surface).collect();
        let texts = tables
            .models
            .names()
            .filter(|(_, id)| self.state.serves_text(&registry, &tables, id))
            .filter_map(|(name, id)| {
                let kind = tables.models.kind(id);
                let surfaces: Vec<String> =
                    served.iter().filter(|surface| ModelKind::of_surface(surface) == kind).cloned().collect();
                if surfaces.is_empty() {
                    return None;
                }
                let family = tables.models.provider(id).to_owned();
                let (id_or_alias, facts) =
                    (name.to_owned(), tables.models_of(variant).find(id)?.facts.clone());
                let listing =
                    ModelListing { id: id_or_alias, family, surfaces, modality: None, facts, since };
                Some((listing, id.to_owned()))
            });
        let mut models: Vec<ModelListing> = jobs
            .chain(texts)
            .filter(|(listing, model)| self.state.may_use(key, &listing.id, model))
            .map(|(listing, _)| listing)
            .collect();
        models.sort_by(|a, b| a.id.cmp(&b.id));
        models
    }

    /// Opens a signed link: `/v1/media/<name>?expires=<unix s>&signature=<hex>`.
    ///
    /// # Errors
    /// Why the link is not served.
    pub fn media<'a>(
        &'a self,
        name: &'a str,
        expires: &'a str,
        signature: &'a str,
        range: Option<&'a str>,
    ) -> Boxed<'a, Result<MediaFile, MediaRefusal>> {
        Box::pin(self.state.media.open_link(name, expires, signature, range))
    }

    /// A copied result, for an operator; `range` is a `Range` header.
    ///
    /// # Errors
    /// As for a link, which ends when the result does.
    pub fn result_file<'a>(
        &'a self,
        media: &'a Media,
        range: Option<&'a str>,
    ) -> Boxed<'a, Result<MediaFile, MediaRefusal>> {
        Box::pin(self.state.media.open_result(media, range))
    }

    /// Whether a customer has deleted the result of that task; it ends by itself otherwise.
    ///
    /// # Errors
    /// A failed media store.
    pub async fn is_result_deleted(&self, task: &Task) -> Result<bool, MediaRefusal> {
        match task.media.first() {
            Some(first) => self.state.media.is_deleted(first).await.map_err(|error| MediaRefusal::of(&error)),
            None => Ok(false),
        }
    }

    /// Deletes the files of a task that has ended, for good. The task stays, as what was paid for.
    ///
    /// # Errors
    /// A failed media store.
    pub async fn delete_result(&self, task: &Task) -> Result<(), MediaRefusal> {
        // The first one says whether they are deleted: it is the last to go.
        for media in task.media.iter().rev() {
            self.state.media.delete_result(media).await.map_err(|error| MediaRefusal::of(&error))?;
        }
        tracing::info!(task = %task.id, files = task.media.len(), "a customer has deleted a result");
        Ok(())
    }

    /// The model's own id, of a model that this gateway has under that id or alias.
    #[must_use]
    pub fn model_id(&self, name: &str) -> Option<String> {
        self.state.own_id(name)
    }

    /// Every name of every model of this gateway, also where a provider has no account yet.
    #[must_use]
    pub fn model_names(&self) -> Vec<String> {
        let jobs = self.state.plugins.registry().models().into_iter().map(|row| row.id);
        let tables = self.state.tables.load();
        jobs.chain(tables.models.names().map(|(name, _)| name.to_owned())).collect()
    }

    fn canonical(&self, model: &str) -> String {
        let listed = self.state.plugins.registry().models().into_iter().find(|entry| entry.id == model);
        listed.map_or_else(|| model.to_owned(), |entry| entry.model)
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
