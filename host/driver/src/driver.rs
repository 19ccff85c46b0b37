//! The driver's handle, its parts and its start.
//!
//! The order of the start matters: recovery fills the schedule before the scheduler loop runs, and the loop runs
//! before the listeners open.

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};

use arc_swap::ArcSwap;
use gatehouse_media::MediaStore;
use gatehouse_model::{Boxed, Clock, DeliveryId, Key, Pepper, Seed, Task, Tracer, WebhookId, metric};
use gatehouse_runtime::PluginService;
use gatehouse_store::{Store, StoreError};
use gatehouse_tasks::{AfterCrash, WebhookDelivery, WebhookEndpoint};
use gatehouse_upstream::{PreparedProviders, Upstream};
use tokio::sync::{Semaphore, watch};

use crate::config::{Config, PreparedTables};
use crate::disks::Disk;
use crate::errors::{StartError, WebhookError};
use crate::in_progress::InProgress;
use crate::kept_answers::KeptAnswers;
use crate::own_webhooks::{ChangedWebhook, OwnWebhooks, TaskCallback, WebhookRequest};
use crate::rates::RateLimiter;
use crate::scheduler::live_tasks::LiveTasks;
use crate::scheduler::store_pause::StorePause;
use crate::state::{DriverState, ShutdownState};
use crate::step::bulk::groups::CallGroups;
use crate::text::counters::UnpricedCounters;

/// What a driver joins.
pub struct Parts {
    /// Tasks, money and keys.
    pub store: Store,
    /// The plugin runtime.
    pub plugins: PluginService,
    /// Calls to providers.
    pub upstream: Upstream,
    /// Blobs and results.
    pub media: MediaStore,
    /// The operator's settings.
    pub config: Config,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub seed: Arc<dyn Seed>,
    /// The installation's secret; customers have pseudonyms under it.
    pub pepper: Pepper,
    /// Makes traces, where there is a collector for them.
    pub tracer: Option<Arc<Tracer>>,
    /// The disks that tasks are written to. Without any, none is ever low.
    pub disks: Vec<Disk>,
}

/// The whole gateway behind its listeners. Cheap to clone.
#[derive(Clone)]
pub struct Driver {
    pub(crate) state: Arc<DriverState>,
}

/// Counts what has not happened yet: an alert on a counter's growth does not see the value it is born with.
fn begin_counting() {
    for policy in [AfterCrash::Ask, AfterCrash::Refund, AfterCrash::Resend] {
        metrics::counter!(metric::AMBIGUOUS, "policy" => policy.as_str()).increment(0);
    }
    for outcome in ["taken", "failed", "throttled"] {
        metrics::counter!(metric::WEBHOOK_ATTEMPTS, "outcome" => outcome).increment(0);
    }
    for ruling in ["adopt", "fail", "resend"] {
        metrics::counter!(metric::RULINGS, "ruling" => ruling).increment(0);
    }
}

impl Driver {
    /// Joins the parts, recovers every live task, and starts the scheduler loop.
    ///
    /// # Errors
    /// A price or model table that cannot be used, or a store that cannot be read.
    pub fn start(parts: Parts) -> Boxed<'static, Result<Self, StartError>> {
        Box::pin(async move {
            let Parts { store, plugins, upstream, media, config, clock, seed, pepper, tracer, disks } = parts;
            let own_webhooks = Arc::new(OwnWebhooks {
                store: store.clone(),
                upstream: upstream.clone(),
                clock: Arc::clone(&clock),
                seed: Arc::clone(&seed),
                pepper: pepper.clone(),
                over_http: config.webhooks_over_http,
                remembered: config.idempotency_lifetime(),
                changes: RateLimiter::default(),
            });
            let tables = PreparedTables::of(&config)?.over(&upstream);
            let state = Arc::new(DriverState {
                step_permits: Arc::new(Semaphore::new(config.concurrency.max(1))),
                store,
                plugins,
                upstream,
                media,
                config,
                tables: ArcSwap::from_pointee(tables),
                clock,
                seed,
                pepper,
                tracer,
                unpriced_counters: UnpricedCounters::default(),
                disks,
                live: LiveTasks::default(),
                store_pause: StorePause::default(),
                shutdown: watch::Sender::new(ShutdownState::Serving),
                keys_generation: AtomicU64::new(0),
                rates: Arc::default(),
                own_webhooks,
                in_progress: Arc::new(InProgress::default()),
                call_groups: CallGroups::default(),
                kept_answers: KeptAnswers::default(),
                background: Mutex::default(),
            });
            begin_counting();
            state.recover().await?;
            state.count_customers().await;
            state.look_at_disks().await;
            let background = vec![
                tokio::spawn(Arc::clone(&state).run_loop()),
                tokio::spawn(Arc::clone(&state).run_housekeeping()),
                tokio::spawn(Arc::clone(&state).watch_disks()),
                tokio::spawn(Arc::clone(&state).run_webhooks()),
            ];
            *state.background.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = background;
            Ok(Self { state })
        })
    }

    /// Switches to other prices, text models and providers, for everything that begins from now on.
    pub fn switch_tables(&self, tables: PreparedTables, providers: PreparedProviders) {
        let state = &self.state;
        state.upstream.switch(providers);
        state.tables.store(Arc::new(tables.over(&state.upstream)));
        // An account may have more permits than before.
        state.live.ask_again(state.now());
    }

    /// Checks an address for a webhook, as far as it can be without a name server.
    ///
    /// # Errors
    /// Why nothing would be sent there, for its owner.
    pub fn check_webhook_url(&self, url: &str) -> Result<(), String> {
        let over_http = self.state.config.webhooks_over_http;
        self.state.upstream.fetcher().check_post_url(url, over_http).map_err(|error| error.to_string())
    }

    /// The webhooks that the customer's keys made, oldest first.
    ///
    /// # Errors
    /// A failed store.
    pub async fn own_webhooks(&self, key: &Key) -> Result<Vec<WebhookEndpoint>, StoreError> {
        self.state.own_webhooks.list(key).await
    }

    /// One of them.
    ///
    /// # Errors
    /// A failed store.
    pub async fn own_webhook(&self, key: &Key, id: WebhookId) -> Result<Option<WebhookEndpoint>, StoreError> {
        self.state.own_webhooks.find(key, id).await
    }

    /// A page of its deliveries, newest first, and whether more follow; `None` where there is no such webhook.
    ///
    /// # Errors
    /// A failed store.
    pub async fn own_deliveries(
        &self,
        key: &Key,
        id: WebhookId,
        page: (Option<DeliveryId>, usize),
    ) -> Result<Option<(Vec<WebhookDelivery>, bool)>, StoreError> {
        self.state.own_webhooks.deliveries(key, id, page).await
    }

    /// What became of the callback of one of the customer's tasks; `None` where the task was submitted without one.
    ///
    /// # Errors
    /// A failed store.
    pub async fn own_callback(&self, task: &Task) -> Result<Option<TaskCallback>, StoreError> {
        self.state.own_webhooks.callback(task).await
    }

    /// Changes one of them, also where the client leaves meanwhile.
    ///
    /// # Errors
    /// [`WebhookError`]; nothing was changed.
    pub async fn change_own_webhook(&self, request: WebhookRequest) -> Result<ChangedWebhook, WebhookError> {
        self.state.own_webhooks.change(request).await
    }

    /// The secret that signs the callbacks of tasks which are submitted with this key.
    #[must_use]
    pub fn callback_secret(&self, key: &Key) -> String {
        self.state.own_webhooks.callback_secret(key)
    }

    /// The disk, "store" or "media", for whose sake new tasks are refused.
    #[must_use]
    pub fn full_disk(&self) -> Option<&'static str> {
        self.state.full_disk()
    }

    /// The providers, for a change of the configuration.
    #[must_use]
    pub fn upstream(&self) -> &Upstream {
        &self.state.upstream
    }

    /// What makes traces, if anything does.
    #[must_use]
    pub fn tracer(&self) -> Option<&Arc<Tracer>> {
        self.state.tracer.as_ref()
    }

    /// The store, for the admin API.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.state.store
    }

    /// The plugin runtime, for the admin API.
    #[must_use]
    pub fn plugins(&self) -> &PluginService {
        &self.state.plugins
    }
}
