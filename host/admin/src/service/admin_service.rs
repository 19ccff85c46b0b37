//! An open store and its plugins; what every operation of an operator does besides: a line in the audit record.

use std::sync::{Arc, OnceLock};

use gatehouse_driver::Driver;
use gatehouse_model::{Boxed, Clock, Pepper, RequestId, Seed};
use gatehouse_runtime::PluginService;
use gatehouse_store::{Store, StoreError};
use gatehouse_tasks::{Applied, AuditedRequest, Command, FieldChange, Rejection};

use crate::api::configuration::{EffectiveView, ReloadView};
use crate::api::error::OperationError;
use crate::service::actor::Actor;
use crate::service::audited::{line_of_change, shortened, status_of};
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
    /// Does `work` for the present [`Actor`], who sees every change that was confirmed to a client. It leaves a line in the
    /// audit record under this name and about this object, also when it is refused before it came to the store.
    pub(super) fn recorded<'a, T: Send + 'a>(
        &'a self,
        (name, object): (&'static str, String),
        work: impl Future<Output = Result<T, OperationError>> + Send + 'a,
    ) -> Boxed<'a, Result<T, OperationError>> {
        Box::pin(async move {
            let recorded = async move {
                let actor = Actor::present();
                actor.begin();
                let outcome = match self.flush().await {
                    Ok(()) => work.await,
                    Err(error) => Err(error),
                };
                if !actor.has_recorded() {
                    let about = (name, shortened(object));
                    self.leave_outcome(about, outcome.as_ref().err(), Vec::new()).await;
                }
                outcome
            };
            if Actor::is_set() { recorded.await } else { Actor::present().during(recorded).await }
        })
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
        let work = async {
            let configuration = Arc::clone(&self.configuration);
            let cause = PriceCause::present("reload");
            let outcome = on_blocking_thread(move || configuration.reload(&cause)).await?;
            self.keep_price_books().await;
            for deployed in self.configuration.take_deployed() {
                self.keep_deployment(&deployed).await;
            }
            outcome
        };
        self.recorded(("reloadConfig", "config".to_owned()), work).await
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
            | Command::EditCustomer { .. }
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
        Rejection::CustomerChanged { .. }
        | Rejection::KeyChanged { .. }
        | Rejection::WebhookChanged { .. } => OperationError::Stale(text),
        _ => OperationError::Refused(text),
    }
}
