//! What every service of the driver stands on: the handles of the other crates, time and chance, and how far a shutdown has come.
//!
//! Soft state of tasks, texts and keys is the services' own. Never holds a lock across an await.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use gatehouse_media::MediaStore;
use gatehouse_model::{Clock, Context, CustomerId, Digest, Pepper, Seed, Task, Tracer, UnixMs};
use gatehouse_runtime::{PluginService, Version};
use gatehouse_store::{Store, StoreError};
use gatehouse_upstream::Upstream;
use tokio::sync::watch;
use url::Url;

use crate::config::Config;
use crate::config::tables::Tables;
use crate::in_progress::InProgress;
use crate::store_pause::StorePause;

/// 96 bits: no two customers of a gateway share a pseudonym by chance.
const PSEUDONYM_BYTES: usize = 12;
/// How much longer than its request a hold lasts: the sweep of expired holds may not overtake a settlement.
const GRACE: Duration = Duration::from_secs(60);

/// Between two looks whether a call may leave.
const LOOK: Duration = Duration::from_millis(200);

/// Ends once what has effects may begin, as [`Store::until_it_may_begin`], however long the store is away.
///
/// # Errors
/// The store is of no more use.
pub(crate) async fn until_it_may_begin(store: &Store, clock: &dyn Clock) -> Result<(), StoreError> {
    loop {
        match store.until_it_may_begin().await {
            Err(error) if error.passes() => clock.pause(LOOK).await,
            other => return other,
        }
    }
}

/// How far a shutdown has come. Each state includes the restrictions of the ones before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ShutdownState {
    /// No shutdown has begun.
    Serving,
    /// Not ready any more, and a wait for a task's end is answered at once. New work is taken and done.
    LameDuck,
    /// No step begins. What is submitted is kept for the next process.
    Draining,
    /// New work is refused.
    Stopped,
}

/// The handles that services share. Without any state of their work.
pub(crate) struct Shared {
    pub(crate) store: Store,
    pub(crate) plugins: PluginService,
    pub(crate) upstream: Upstream,
    pub(crate) media: MediaStore,
    pub(crate) config: Config,
    /// Replaced as a whole; a request reads it once.
    pub(crate) tables: ArcSwap<Tables>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) seed: Arc<dyn Seed>,
    pub(crate) pepper: Pepper,
    /// Makes traces, where there is a collector for them.
    pub(crate) tracer: Option<Arc<Tracer>>,
    pub(crate) shutdown: watch::Sender<ShutdownState>,
    pub(crate) in_progress: Arc<InProgress>,
}

impl Shared {
    pub(crate) fn now(&self) -> UnixMs {
        self.clock.now()
    }

    /// The moment at which the task's time is over. Its row has the wall clock's; what the clock was set forward by since it
    /// began is time that the task has not had.
    pub(crate) fn deadline(&self, task: &Task) -> UnixMs {
        task.deadline.plus(self.clock.skipped(task.created))
    }

    /// The deadline in the row of a task created at that time, whose time is over at `moment` as the clock goes now: the
    /// reverse of [`Self::deadline`].
    pub(crate) fn row_deadline(&self, created: UnixMs, moment: UnixMs) -> UnixMs {
        let skipped = u64::try_from(self.clock.skipped(created).as_millis()).unwrap_or(u64::MAX);
        UnixMs(moment.0.saturating_sub(skipped))
    }

    /// Whether the task must end because its time is over.
    pub(crate) fn is_overdue(&self, task: &Task) -> bool {
        !task.status.is_final() && self.now() >= self.deadline(task)
    }

    pub(crate) fn has_reached(&self, shutdown: ShutdownState) -> bool {
        *self.shutdown.borrow() >= shutdown
    }

    /// What a plugin is told with a step of a task.
    pub(crate) fn context(&self, task: &Task, version: &Version) -> Context {
        Context {
            now: self.now(),
            seed: task.seed,
            task: Some(task.id),
            accepted_at: task.created,
            deadline: self.deadline(task),
            customer: self.pseudonym(&task.customer),
            settings: self.plugins.settings(version.family()),
        }
    }

    /// A customer as plugins name it: stable in one gateway, and of no use outside of it.
    pub(crate) fn pseudonym(&self, customer: &CustomerId) -> String {
        Digest(self.pepper.sign(&[b"customer", customer.0.as_bytes()])).prefix(PSEUDONYM_BYTES)
    }

    /// The context of a request that is answered while its client waits.
    pub(crate) fn waiting_context(&self, version: &Version, customer: &CustomerId) -> Context {
        let now = self.now();
        Context {
            now,
            seed: self.seed.next_u64(),
            task: None,
            accepted_at: now,
            deadline: now.plus(self.config.text.time_limit()),
            customer: self.pseudonym(customer),
            settings: version.settings(),
        }
    }

    /// What the store answers, as soon as it is there.
    pub(crate) async fn when_there<T, F>(&self, read: impl Fn() -> F) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, StoreError>>,
    {
        let pause = StorePause::default();
        loop {
            match read().await {
                Err(error) if error.passes() => {
                    self.clock.pause(pause.failed(self.now(), self.seed.unit())).await;
                }
                read => return read,
            }
        }
    }

    /// Checks an address for a webhook, as far as it can be without a name server; why nothing would be sent there.
    pub(crate) fn check_webhook_url(&self, url: &str) -> Result<(), String> {
        let checked = self.upstream.fetcher().check_post_url(url, self.config.webhooks_over_http);
        checked.map_err(|error| error.to_string())
    }

    /// Whether an operator stopped a webhook of this customer at that address, also one that an operator made; another query is
    /// the same address.
    pub(crate) async fn is_stopped_address(
        &self,
        customer: &CustomerId,
        url: &str,
    ) -> Result<bool, StoreError> {
        let (webhooks, at) = (self.store.webhooks_of(customer).await?, place(url));
        Ok(webhooks.iter().any(|row| row.is_disabled_by_operator() && place(&row.url) == at))
    }

    /// How long a task of that model may take.
    pub(crate) fn time_limit(&self, model: &str) -> Duration {
        let config = &self.config;
        let seconds = config.time_limit_s_by_model.get(model).copied().unwrap_or(config.time_limit_s);
        Duration::from_secs(u64::from(seconds))
    }

    /// More than a request can take altogether: a hold that expires before its settlement is lost money.
    pub(crate) fn max_duration(&self, streaming: bool) -> Duration {
        let text = &self.config.text;
        let stream = if streaming { text.stream() + text.drain() } else { Duration::ZERO };
        text.time_limit() + stream + GRACE
    }
}

/// What an address leads to, however it is written.
fn place(url: &str) -> Option<(String, String)> {
    let url = Url::parse(url).ok()?;
    Some((url.origin().ascii_serialization(), url.path().to_owned()))
}
