//! An open store and its plugins, on which every operation of an operator works.

use std::sync::{Arc, OnceLock};

use gatehouse_driver::Driver;
use gatehouse_model::{Clock, Pepper, RequestId, Seed};
use gatehouse_runtime::PluginService;
use gatehouse_store::Store;
use gatehouse_tasks::{Applied, Command, FieldChange, Rejection};
use tokio::sync::Mutex;

use crate::access::caller::Caller;
use crate::api::configuration::{EffectiveView, ReloadView};
use crate::api::error::OperationError;
use crate::audit::line;
use crate::error::ApiError;
use crate::service::backup::Backups;
use crate::service::configuration::Configuration;
use crate::service::price_history::PriceCause;
use crate::service::public_api::PublicApi;

/// What operations work on.
pub struct AdminService {
    /// The open store.
    pub store: Store,
    /// What runs beside the store.
    pub backend: Backend,
    /// The operator's configuration.
    pub configuration: Arc<dyn Configuration>,
    /// What makes backups of the data folder.
    pub backups: Arc<dyn Backups>,
    /// The secret under which keys are digested.
    pub pepper: Pepper,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub seed: Arc<dyn Seed>,
    /// The public API, once its listeners are open.
    pub public: OnceLock<Arc<dyn PublicApi>>,
}

/// What runs beside the store.
pub enum Backend {
    /// A running gateway.
    Running {
        /// Its plugins.
        plugins: PluginService,
        /// Its driver, which drops cached keys when keys change.
        driver: Driver,
        /// Held while reports of deployments that are missing are looked up and written: two at once would each write the same.
        missing_reports: Mutex<()>,
    },
    /// No gateway. Plugins are opened with this configuration by the operation that needs them.
    Offline(Box<gatehouse_runtime::Config>),
}

impl AdminService {
    /// The driver of a running gateway.
    pub(crate) fn driver(&self, why: &str) -> Result<&Driver, OperationError> {
        match &self.backend {
            Backend::Running { driver, .. } => Ok(driver),
            Backend::Offline(_) => Err(OperationError::Refused(why.to_owned())),
        }
    }

    /// The public API, once its listeners are open.
    ///
    /// # Errors
    /// [`OperationError::Refused`] before, and without a running gateway.
    pub fn public_api(&self) -> Result<&Arc<dyn PublicApi>, OperationError> {
        let none = || OperationError::Refused("only a running gateway has a public API; start it".to_owned());
        self.public.get().ok_or_else(none)
    }

    /// Serves requests by `public` from now on; the first one given stays.
    pub fn connect(&self, public: Arc<dyn PublicApi>) {
        drop(self.public.set(public));
    }

    /// The configuration, secrets by their origin alone.
    pub(crate) async fn effective_configuration(&self) -> Result<EffectiveView, OperationError> {
        let configuration = Arc::clone(&self.configuration);
        on_blocking_thread(move || configuration.effective()).await?
    }

    /// Reads the configuration again and switches to it, or changes nothing.
    pub(crate) async fn reload_configuration(&self) -> Result<ReloadView, OperationError> {
        let (configuration, cause) = (Arc::clone(&self.configuration), PriceCause::present("reload"));
        let outcome = on_blocking_thread(move || configuration.reload(&cause)).await?;
        self.keep_price_books().await;
        for deployed in self.configuration.take_deployed() {
            self.keep_deployment(&deployed).await;
        }
        outcome
    }

    /// Returns once every change that was confirmed to a client is seen by readers.
    pub(crate) async fn flush(&self) -> Result<(), OperationError> {
        Ok(self.store.flush().await?)
    }

    /// Sends an operator's request to the store. Cached keys are dropped where it is about a key.
    pub(crate) async fn administer(
        &self,
        command: Command,
    ) -> Result<Result<Applied, Rejection>, OperationError> {
        let changes_keys = changes_keys(&command);
        let applied = self.store.execute(command).await?;
        if let (true, Backend::Running { driver, .. }) = (changes_keys, &self.backend) {
            driver.keys.keys_changed();
        }
        Ok(applied)
    }

    /// Leaves the line of what no route of the API does, such as the end of a session; with an error, of its refusal.
    ///
    /// # Errors
    /// The store's.
    pub async fn note(
        &self,
        caller: &Caller,
        (operation, object): (&str, String),
        error: Option<&OperationError>,
        changes: Vec<FieldChange>,
    ) -> Result<(), OperationError> {
        let at = self.clock.now();
        let (status, reason) = match error {
            Some(error) => (ApiError::from(error.clone()).status(), error.to_string()),
            None => (200, String::new()),
        };
        let sender = (RequestId::new(at, self.seed.as_ref()), Some(caller), caller.address.to_string());
        let audit = Box::new(line(sender, operation, object, status, &reason, changes));
        self.administer(Command::Administer { change: None, audit, idempotency: None, at }).await??;
        Ok(())
    }
}

/// Runs long work on a blocking thread, away from the async workers.
pub(crate) async fn on_blocking_thread<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, OperationError> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| OperationError::Failed(format!("the operation was cut short: {error}")))
}

/// Whether a request may change keys: anything but money, tasks, webhooks and what changes nothing.
fn changes_keys(command: &Command) -> bool {
    let Command::Administer { change: Some(change), .. } = command else { return false };
    !matches!(
        **change,
        Command::Deposit { .. }
            | Command::AddCustomer { .. }
            | Command::EditCustomer { .. }
            | Command::Logged { .. }
            | Command::Webhook { .. }
    )
}
