//! An open store, its plugins, and the dispatch of operations.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use gatehouse_driver::Driver;
use gatehouse_model::{Clock, Pepper, Seed};
use gatehouse_runtime::PluginService;
use gatehouse_store::{Store, StoreError};
use gatehouse_tasks::{Applied, Command, Rejection};

use crate::api::configuration::{EffectiveView, ReloadView};
use crate::api::error::OperationError;
use crate::api::operation::Operation;
use crate::api::result::OperationResult;
use crate::service::configuration::Configuration;
use crate::service::public_api::PublicApi;

/// What operations work on.
pub struct AdminService {
    /// The open store.
    pub store: Store,
    /// What runs beside the store.
    pub backend: Backend,
    /// The operator's configuration.
    pub configuration: Arc<dyn Configuration>,
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
    },
    /// No gateway. Plugins are opened with this configuration by the operation that needs them.
    Offline(Box<gatehouse_runtime::Config>),
}

impl AdminService {
    /// Performs one operation.
    ///
    /// # Errors
    /// Why nothing was changed.
    pub async fn perform(&self, operation: Operation) -> Result<OperationResult, OperationError> {
        // An operator sees every change that was confirmed to a client.
        self.store.flush().await.map_err(store_failed)?;
        self.dispatch(operation).await
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

    async fn dispatch(&self, operation: Operation) -> Result<OperationResult, OperationError> {
        match operation {
            Operation::CustomerOpen { customer } => self.open_customer(customer).await,
            Operation::CustomerList => self.list_customers().await,
            Operation::CustomerShow { customer } => self.show_customer(&customer),
            Operation::CustomerDeposit { customer, amount, memo } => {
                self.deposit(customer, amount, memo).await
            }
            Operation::CustomerWithdraw { customer, amount, memo } => {
                self.withdraw(customer, amount, memo).await
            }
            Operation::KeyCreate(new) => {
                let (key, secret) = self.create_key(new).await?;
                Ok(OperationResult::KeyCreated { key, secret })
            }
            Operation::KeyList { customer, revoked } => {
                let keys = self.list_keys(customer.as_ref(), revoked).await?;
                Ok(OperationResult::Keys { keys })
            }
            Operation::KeyShow { key } => self.show_key(&key).map(OperationResult::Key),
            Operation::KeyEdit { key, revision, patch } => {
                self.edit_key(&key, revision, &patch).await.map(OperationResult::Key)
            }
            Operation::KeyRotate { key, overlap_ms } => {
                let (key, secret) = self.rotate_key(key, Duration::from_millis(overlap_ms)).await?;
                Ok(OperationResult::KeyCreated { key, secret })
            }
            Operation::KeyRevoke { key } => self.revoke_key(&key).await.map(OperationResult::Key),
            Operation::Webhook { request } => self.webhook_request(request).await,
            Operation::Doctor => self.examine().await,
            Operation::Audit { task, limit } => self.read_audit(task, limit).await,
            // The listener answers it; without one there is nothing to log in to.
            Operation::ConsoleLink { .. } => {
                Err(OperationError::Refused("only a running gateway has a console".to_owned()))
            }
            Operation::Prices => self.prices().map(OperationResult::Prices),
            Operation::PricePreview { target, body, customer } => {
                self.preview_price(target, &body, customer).await.map(OperationResult::PricePreview)
            }
            Operation::TaskList { ambiguous, status, customer, limit } => {
                self.list_tasks(ambiguous, (status, customer), limit).await
            }
            Operation::TaskReconcile { task, ruling } => self.reconcile(task, &ruling).await,
            Operation::TaskSteps { task } => self.read_steps(task).await,
            Operation::ProviderList => self.list_providers(),
            Operation::ProviderDrain { provider, account } => {
                self.switch_account(&provider, &account, true).await
            }
            Operation::ProviderResume { provider, account } => {
                self.switch_account(&provider, &account, false).await
            }
            Operation::PluginList => self.list_plugins().await,
            Operation::Reload => self.reload().await,
            Operation::PluginCheck { component, signature, allow_removal, defaults } => {
                self.check_plugin(component, signature, allow_removal, defaults).await
            }
            Operation::PluginInstall { component, sha256, signature, allow_removal, defaults } => {
                self.install_plugin(component, sha256, signature, allow_removal, defaults).await
            }
            Operation::PluginActivate { version, allow_removal } => {
                self.activate_plugin(&version, allow_removal).await
            }
            Operation::PluginRollback { family } => self.roll_back_plugin(family).await,
            Operation::PluginRemove { version } => self.remove_plugin(&version).await,
        }
    }

    async fn reload(&self) -> Result<OperationResult, OperationError> {
        self.reload_configuration().await.map(OperationResult::Reloaded)
    }

    /// The configuration, secrets by their origin alone.
    ///
    /// # Errors
    /// Every error found, with line and remedy.
    pub async fn effective_configuration(&self) -> Result<EffectiveView, OperationError> {
        let configuration = Arc::clone(&self.configuration);
        on_blocking_thread(move || configuration.effective()).await?
    }

    /// Reads the configuration again and switches to it, or changes nothing.
    ///
    /// # Errors
    /// Every error found, with line and remedy.
    pub async fn reload_configuration(&self) -> Result<ReloadView, OperationError> {
        let configuration = Arc::clone(&self.configuration);
        on_blocking_thread(move || configuration.reload()).await?
    }

    /// Returns once every change that was confirmed to a client is seen by readers.
    pub(crate) async fn flush(&self) -> Result<(), OperationError> {
        self.store.flush().await.map_err(store_failed)
    }

    /// Sends an operator's request to the store. Cached keys are dropped where it is about a key.
    pub(crate) async fn administer(
        &self,
        command: Command,
    ) -> Result<Result<Applied, Rejection>, OperationError> {
        let changes_keys = changes_keys(&command);
        let applied = self.store.execute(command).await.map_err(store_failed)?;
        if let (true, Backend::Running { driver, .. }) = (changes_keys, &self.backend) {
            driver.keys_changed();
        }
        Ok(applied)
    }

    pub(super) async fn send(&self, command: Command) -> Result<Applied, OperationError> {
        self.store.execute(command).await.map_err(store_failed)?.map_err(rejected)
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

pub(crate) fn store_failed(error: StoreError) -> OperationError {
    match error {
        StoreError::Busy | StoreError::NoRoom => OperationError::Busy(error.to_string()),
        other => OperationError::Failed(other.to_string()),
    }
}

/// Whether a request may change keys: anything but money, tasks, webhooks and what changes nothing.
fn changes_keys(command: &Command) -> bool {
    let Command::Administer { change: Some(change), .. } = command else { return false };
    !matches!(
        **change,
        Command::Deposit { .. }
            | Command::AddCustomer { .. }
            | Command::Logged { .. }
            | Command::Webhook { .. }
    )
}

pub(crate) fn rejected(rejection: Rejection) -> OperationError {
    let text = rejection.to_string();
    match rejection {
        Rejection::NoCustomer(_)
        | Rejection::NoKey(_)
        | Rejection::NoTask(_)
        | Rejection::NoWebhook(_)
        | Rejection::NoDelivery(_) => OperationError::NotFound(text),
        Rejection::Malformed { .. } | Rejection::Overflow => OperationError::Invalid(text),
        Rejection::KeyChanged { .. } | Rejection::WebhookChanged { .. } => OperationError::Stale(text),
        _ => OperationError::Refused(text),
    }
}
