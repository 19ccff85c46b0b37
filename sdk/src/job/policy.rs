//! How patient a family is, and what its clients read when patience ends.

use std::time::Duration;

use crate::contract::failure::Failure;
use crate::contract::submission::Event;
use crate::log;

/// A family's limits and sentences, a constant of its crate.
///
/// ```
/// use gatehouse_sdk::job::Policy;
///
/// const POLICY: Policy = Policy {
///     failed: "the upstream failed to paint",
///     uncopied: "the finished painting could not be fetched from the upstream",
///     ..Policy::DEFAULT
/// };
/// assert_eq!(POLICY.unavailable().message, "No available upstream, please retry later");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// How often a submission that was not taken is sent again.
    pub retries: u32,
    /// How long it is sent again while the provider cannot be reached.
    pub unreachable: Duration,
    /// Unreadable answers to polls in a row before the task fails with `failed`.
    pub faults: u32,
    /// Answers in a row that do not know the task, before it fails with `failed`: one server may lag behind another.
    pub misses: u32,
    /// New polls for a result that could not be copied, before the task fails with `uncopied`.
    pub losses: u32,
    /// The provider cannot be used: it is unreachable, or refuses the operator's account.
    pub unavailable: &'static str,
    /// The provider did not finish the task.
    pub failed: &'static str,
    /// The answer to a submission was lost. It may have been taken, so it is not sent again.
    pub lost: &'static str,
    /// The result was made and could not be copied.
    pub uncopied: &'static str,
    /// A cancel before anything was sent.
    pub cancelled: &'static str,
    /// An event came that no step asked for.
    pub interrupted: &'static str,
}

impl Policy {
    /// Busy providers are tried until the task's deadline, unreachable ones for five minutes.
    pub const DEFAULT: Self = Self {
        retries: u32::MAX,
        unreachable: Duration::from_secs(5 * 60),
        faults: 8,
        misses: 5,
        losses: 3,
        unavailable: "No available upstream, please retry later",
        failed: "the upstream failed to finish the task",
        lost: "the upstream's answer was lost, please submit the task again",
        uncopied: "the finished result could not be fetched from the upstream",
        cancelled: "cancelled before it was sent",
        interrupted: "the task was interrupted, please submit it again",
    };

    /// The same sentence where the provider refused the operator's account: the host passes it over, and makes a submission at
    /// the next one. Its code goes to the operator's log.
    #[must_use]
    pub fn account(&self) -> Failure {
        Failure::account(self.unavailable)
    }

    /// The failure with the sentence `unavailable`. Why goes to the operator's log.
    #[must_use]
    pub fn unavailable(&self) -> Failure {
        Failure::upstream(self.unavailable)
    }

    /// The failure with the sentence `failed`.
    #[must_use]
    pub fn failed(&self) -> Failure {
        Failure::upstream(self.failed)
    }

    /// The failure with the sentence `cancelled`.
    #[must_use]
    pub fn cancelled(&self) -> Failure {
        Failure::request(self.cancelled)
    }

    /// The end after an event that no step asked for: the task fails, so that it does not hang.
    #[must_use]
    pub fn unexpected(&self, event: &Event) -> Failure {
        log::error("an event came that nothing asked for", &[("event", event.name())]);
        Failure::upstream(self.interrupted)
    }
}
