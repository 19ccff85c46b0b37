//! Who an operation is done for, as the audit record and the histories name it. Set by what accepts a request, for the
//! time of that request; without one it is the gateway itself.
//!
//! It travels with the task that serves the request, not with a thread or a task that this one starts.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use gatehouse_model::RequestId;
use gatehouse_tasks::{AuditedRequest, FieldChange};

use crate::http::access::caller::{Caller, Role};

/// The longest reason in a line, in bytes.
const MAX_REASON: usize = 500;

tokio::task_local! {
    static PRESENT: Actor;
}

/// Who an operation is done for.
#[derive(Clone, Debug)]
pub struct Actor {
    who: String,
    role: Role,
    address: String,
    /// Whether the operation has left its line. Shared with the caller that looks whether one is missing.
    recorded: Arc<AtomicBool>,
    /// Whether somebody else writes the lines: the router of the admin API does.
    is_silent: bool,
}

impl Actor {
    /// The sender of a request.
    #[must_use]
    pub fn of(caller: &Caller) -> Self {
        let Caller { who, role, address } = caller.clone();
        Self { role, ..Self::named(&who, &address.to_string()) }
    }

    /// A part of this machine, such as a command that found no gateway running.
    #[must_use]
    pub fn local(who: &str) -> Self {
        Self::named(who, "")
    }

    fn named(who: &str, address: &str) -> Self {
        Self {
            who: who.to_owned(),
            role: Role::Operator,
            address: address.to_owned(),
            recorded: Arc::default(),
            is_silent: false,
        }
    }

    /// The same where somebody else writes the lines.
    pub(crate) fn silent(self) -> Self {
        Self { is_silent: true, ..self }
    }

    /// Does `work` for this actor. It is boxed: an operation is larger than what is worth moving about.
    pub fn during<F: Future>(self, work: F) -> impl Future<Output = F::Output> {
        PRESENT.scope(self, Box::pin(work))
    }

    /// Who it is done for at present.
    pub(crate) fn present() -> Self {
        PRESENT.try_with(Self::clone).unwrap_or_else(|_| Self::local("gateway"))
    }

    /// Whether anybody said who it is done for.
    pub(crate) fn is_set() -> bool {
        PRESENT.try_with(|_| ()).is_ok()
    }

    /// Its name.
    pub(crate) fn who(&self) -> &str {
        &self.who
    }

    /// Whether lines are to be written here.
    pub(crate) fn writes_lines(&self) -> bool {
        !self.is_silent
    }

    /// Another operation begins, which has no line yet.
    pub(crate) fn begin(&self) {
        self.recorded.store(false, Ordering::Relaxed);
    }

    /// The operation has its line.
    pub(crate) fn recorded(&self) {
        self.recorded.store(true, Ordering::Relaxed);
    }

    /// Whether the operation has its line.
    pub(crate) fn has_recorded(&self) -> bool {
        self.recorded.load(Ordering::Relaxed)
    }

    /// A line of the audit record.
    pub(crate) fn line(
        &self,
        id: RequestId,
        (operation, object): (&str, String),
        (status, reason): (u16, &str),
        changes: Vec<FieldChange>,
    ) -> AuditedRequest {
        AuditedRequest {
            id,
            who: self.who.clone(),
            role: self.role.to_string(),
            address: self.address.clone(),
            operation: operation.to_owned(),
            object,
            status,
            reason: reason[..reason.floor_char_boundary(MAX_REASON)].to_owned(),
            changes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_operation_is_the_gateways_own_unless_somebody_asked() {
        assert_eq!(Actor::present().who(), "gateway");
        assert!(!Actor::is_set());
        let seen = Actor::local("someone").during(async {
            Actor::present().recorded();
            (Actor::present().who().to_owned(), Actor::present().has_recorded())
        });
        assert_eq!(seen.await, ("someone".to_owned(), true));
        assert_eq!(Actor::present().who(), "gateway");
    }
}
