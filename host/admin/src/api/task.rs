//! Tasks for commands: a line of the list, and an operator's ruling about an ambiguous call.

use gatehouse_driver::ambiguous_exchange;
use gatehouse_model::{Credits, CustomerId, Status, Task, TaskId, UnixMs};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What an operator says of an ambiguous call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RulingWord {
    /// It is sent once more.
    Resend,
    /// It is given up: the task fails and is refunded.
    Fail,
    /// The provider answered so: the task goes on with `reply`.
    Adopt,
}

/// What the provider answered, as its own records show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AdoptedReply {
    /// The HTTP status, 200 to 599.
    pub status: u16,
    /// The body, JSON.
    pub body: Value,
}

/// A ruling about the ambiguous call of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskRuling {
    /// "resend", "fail" or "adopt".
    pub ruling: RulingWord,
    /// For the audit record; the client of a task that fails reads it too. 1 to 500 bytes.
    pub reason: String,
    /// The provider's reply; with "adopt" only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply: Option<AdoptedReply>,
    /// Only if the task has this revision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<u64>,
}

/// A task in a list of commands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskSummary {
    /// Its id.
    pub id: TaskId,
    /// The customer.
    pub customer: CustomerId,
    /// Canonical model.
    pub model: String,
    /// Its state.
    pub status: Status,
    /// When it was accepted.
    pub created: UnixMs,
    /// When it is failed at the latest.
    pub deadline: UnixMs,
    /// What is or was held.
    pub held: Credits,
    /// The call that waits for a ruling.
    pub ambiguous: Option<AmbiguousCall>,
}

/// A call that left, or may have left, and has no reply.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AmbiguousCall {
    /// When it was about to leave.
    pub at: UnixMs,
    /// The provider.
    pub provider: String,
    /// The account there.
    pub account: String,
    /// POST, ...
    pub method: String,
    /// Path or URL, the values of its query left out.
    pub url: String,
    /// How it was lost: "timeout", "broken" or "too_large"; none when the gateway stopped meanwhile.
    pub outage: Option<String>,
}

impl RulingWord {
    /// As it is written.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Resend => "resend",
            Self::Fail => "fail",
            Self::Adopt => "adopt",
        }
    }
}

impl From<&Task> for TaskSummary {
    fn from(task: &Task) -> Self {
        Self {
            id: task.id,
            customer: task.customer.clone(),
            model: task.model.clone(),
            status: task.status,
            created: task.created,
            deadline: task.deadline,
            held: task.held,
            ambiguous: ambiguous_exchange(task).map(|(at, exchange)| AmbiguousCall {
                at,
                provider: exchange.provider,
                account: exchange.account,
                method: exchange.method,
                url: exchange.url,
                outage: exchange.outage,
            }),
        }
    }
}
