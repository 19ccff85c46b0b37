//! An open store, its plugins, and the dispatch of operations.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use gatehouse_driver::Driver;
use gatehouse_model::{Boxed, Clock, Pepper, RequestId, Seed};
use gatehouse_runtime::PluginService;
use gatehouse_store::{AuditQuery, Store, StoreError};
use gatehouse_tasks::{Applied, AuditedRequest, Command, FieldChange, Rejection};

use crate::api::configuration::{EffectiveView, ReloadView};
use crate::api::error::OperationError;
use crate::api::operation::Operation;
use crate::api::result::OperationResult;
use crate::api::task::TaskSummary;
use crate::http::access::caller::Role;
use crate::service::actor::Actor;
use crate::service::audited::{line_of, line_of_change, status_of};
use crate::service::configuration::Configuration;
use crate::service::money::PriceCause;
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
    /// Performs one operation for the present [`Actor`]. One that may change something leaves a line in the audit record,
    /// also when it is refused.
    ///
    /// # Errors
    /// Why nothing was changed.
    pub fn perform(&self, operation: Operation) -> Boxed<'_, Result<OperationResult, OperationError>> {
        Box::pin(async move {
            if Actor::is_set() {
                return self.perform_recorded(operation).await;
            }
            Actor::present().during(self.perform_recorded(operation)).await
        })
    }

    async fn perform_recorded(&self, operation: Operation) -> Result<OperationResult, OperationError> {
        let (actor, line) = (Actor::present(), line_of(&operation));
        actor.begin();
        let outcome = self.flushed(operation).await;
        if let Some((name, object)) = line.filter(|_| !actor.has_recorded()) {
            self.leave_outcome((name, object), outcome.as_ref().err(), Vec::new()).await;
        }
        outcome
    }

    async fn flushed(&self, operation: Operation) -> Result<OperationResult, OperationError> {
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
            Operation::Audit { task, limit, requests, cursor } => {
                let query = AuditQuery { task, decisions: !requests, ..AuditQuery::default() };
                self.read_audit(query, cursor, limit).await
            }
            // The listener answers it; without one there is nothing to log in to.
            Operation::ConsoleLink { .. } => {
                Err(OperationError::Refused("only a running gateway has a console".to_owned()))
            }
            Operation::Prices => self.prices().map(OperationResult::Prices),
            Operation::PricePreview { target, body, customer, book } => {
                self.preview_price(target, &body, customer, book).await.map(OperationResult::PricePreview)
            }
            Operation::PriceHistory { limit } => self.price_history(limit).await,
            Operation::PriceDiff { book, against } => {
                self.price_changes(book, against).await.map(OperationResult::PriceChanges)
            }
            Operation::DeploymentList { family, limit } => self.list_deployments(family, limit).await,
            Operation::DeploymentShow { number } => {
                let report = Box::new(self.deployment(number)?);
                Ok(OperationResult::Deployment { report })
            }
            Operation::TaskList { ambiguous, status, customer, limit } => {
                self.list_tasks(ambiguous, (status, customer), limit).await
            }
            Operation::TaskReconcile { task, ruling } => self.reconcile(task, &ruling).await,
            Operation::TaskCancel { task, reason, give_up } => {
                let ended = self.cancel_task(task, &reason, give_up).await?;
                Ok(OperationResult::TaskEnded { task: TaskSummary::from(&ended) })
            }
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
            Operation::PluginCheck(offer) => self.check_plugin(offer).await,
            Operation::PluginInstall(offer) => self.install_plugin(offer).await,
            Operation::PluginActivate { version, allow_removal } => {
                self.activate_plugin(&version, allow_removal).await
            }
            Operation::PluginRollback { family } => self.roll_back_plugin(family).await,
            Operation::PluginDisable { family } => self.disable_family(family).await,
            Operation::PluginEnable { family } => self.enable_family(family).await,
            Operation::PluginUninstall { family } => self.uninstall_family(family).await,
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
        let cause = PriceCause::present("reload");
        let outcome = on_blocking_thread(move || configuration.reload(&cause)).await?;
        self.keep_price_books().await;
        for deployed in self.configuration.take_deployed() {
            self.keep_deployment(&deployed).await;
        }
        outcome
    }

    /// Leaves the line of a login link that the listener made, or refused.
    pub(crate) async fn note_login_link(&self, role: Role, refused: Option<&OperationError>) {
        if let Some(about) = line_of(&Operation::ConsoleLink { role }) {
            self.leave_outcome(about, refused, Vec::new()).await;
        }
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

    /// Makes a change for the present actor, with its line in one commit. A refused one leaves a line, too.
    pub(super) async fn send(&self, command: Command) -> Result<Applied, OperationError> {
        self.send_with(command, Vec::new()).await
    }

    /// The same where more is known of what changes than the command says.
    pub(super) async fn send_with(
        &self,
        command: Command,
        changes: Vec<FieldChange>,
    ) -> Result<Applied, OperationError> {
        let (name, object, told) = line_of_change(&command);
        self.send_about(command, (name, object), told.into_iter().chain(changes).collect()).await
    }

    /// The same for a change whose command does not say what it is called and about.
    pub(super) async fn send_about(
        &self,
        command: Command,
        (name, object): (&'static str, String),
        changes: Vec<FieldChange>,
    ) -> Result<Applied, OperationError> {
        let actor = Actor::present();
        if !actor.writes_lines() {
            return self.store.execute(command).await.map_err(store_failed)?.map_err(rejected);
        }
        let audit = self.line(&actor, (name, object.clone()), (200, ""), changes);
        let (change, audit, at) = (Some(Box::new(command)), Box::new(audit), self.clock.now());
        let administered = Command::Administer { change, audit, idempotency: None, at };
        match self.store.execute(administered).await.map_err(store_failed)? {
            Ok(Applied::Administered { change: Some(change), .. }) => {
                actor.recorded();
                Ok(*change)
            }
            Ok(other) => {
                Err(OperationError::Failed(format!("expected what became of a change, got {other:?}")))
            }
            // The sender may try again on the row as it is by then.
            Err(rejection @ (Rejection::KeyChanged { .. } | Rejection::WebhookChanged { .. })) => {
                Err(rejected(rejection))
            }
            Err(rejection) => {
                let error = rejected(rejection);
                self.leave_outcome((name, object), Some(&error), Vec::new()).await;
                Err(error)
            }
        }
    }

    /// Writes a line for the present actor. What it tells of is done or refused already, so a line that cannot be written
    /// changes nothing of it and is logged.
    pub(crate) async fn leave_line(
        &self,
        about: (&str, String),
        outcome: (u16, &str),
        changes: Vec<FieldChange>,
    ) {
        if let Err(error) = self.try_leave_line(about, outcome, changes).await {
            tracing::error!(%error, "an operation could not be recorded");
        }
    }

    /// The same by what became of it.
    pub(crate) async fn leave_outcome(
        &self,
        about: (&str, String),
        error: Option<&OperationError>,
        changes: Vec<FieldChange>,
    ) {
        let (status, reason) =
            error.map_or_else(|| (200, String::new()), |error| (status_of(error), error.to_string()));
        self.leave_line(about, (status, &reason), changes).await;
    }

    /// Leaves the line of a change that only the console makes, such as the end of a session.
    pub async fn note_page(&self, operation: &'static str, object: String) {
        self.leave_line((operation, object), (200, ""), Vec::new()).await;
    }

    /// The same for a line without which nothing may be shown. Writes none where somebody else does.
    pub(crate) async fn try_leave_line(
        &self,
        about: (&str, String),
        outcome: (u16, &str),
        changes: Vec<FieldChange>,
    ) -> Result<(), OperationError> {
        let actor = Actor::present();
        actor.recorded();
        if !actor.writes_lines() {
            return Ok(());
        }
        let (audit, at) = (Box::new(self.line(&actor, about, outcome, changes)), self.clock.now());
        let command = Command::Administer { change: None, audit, idempotency: None, at };
        self.store.execute(command).await.map_err(store_failed)?.map(drop).map_err(rejected)
    }

    fn line(
        &self,
        actor: &Actor,
        about: (&str, String),
        outcome: (u16, &str),
        changes: Vec<FieldChange>,
    ) -> AuditedRequest {
        let id = RequestId::new(self.clock.now(), self.seed.as_ref());
        actor.line(id, about, outcome, changes)
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
