//! Operators' changes on their way to the store. Owns no state of its own; asks the running gateway to drop cached keys.

use std::sync::Arc;

use gatehouse_model::{Clock, RequestId, Seed};
use gatehouse_store::Store;
use gatehouse_tasks::{Applied, Command, FieldChange, Rejection};

use crate::access::Caller;
use crate::api::error::OperationError;
use crate::audit::{SentRequest, line};
use crate::error::ApiError;
use crate::service::gateway::Gateway;

/// Sends what operators change, with its line in the audit record.
#[derive(Clone)]
pub struct Commands {
    pub(super) store: Store,
    pub(super) gateway: Arc<Gateway>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) seed: Arc<dyn Seed>,
}

impl Commands {
    /// Sends an operator's request to the store. Cached keys are dropped where it is about a key.
    pub(crate) async fn administer(
        &self,
        command: Command,
    ) -> Result<Result<Applied, Rejection>, OperationError> {
        let changes_keys = changes_keys(&command);
        let applied = self.store.execute(command).await?;
        if let (true, Some(driver)) = (changes_keys, self.gateway.driver()) {
            driver.keys.keys_changed();
        }
        Ok(applied)
    }

    /// Leaves the line of what no route of the API does, such as the end of a session; with an error, of its refusal.
    pub async fn note(
        &self,
        caller: &Caller,
        operation: &str,
        object: String,
        error: Option<&OperationError>,
        changes: Vec<FieldChange>,
    ) -> Result<(), OperationError> {
        let at = self.clock.now();
        let (status, reason) = match error {
            Some(error) => (ApiError::from(error.clone()).status(), error.to_string()),
            None => (200, String::new()),
        };
        let request = SentRequest::of(RequestId::new(at, self.seed.as_ref()), caller);
        let audit = Box::new(line(request, operation, object, status, &reason, changes));
        self.administer(Command::Administer { change: None, audit, idempotency: None, at }).await??;
        Ok(())
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
