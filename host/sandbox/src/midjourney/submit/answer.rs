//! The answers to accepted submits, with their codes.

use serde_json::{Value, json};

use crate::common::faults::Target;
use crate::midjourney::faults::Marker;
use crate::midjourney::refusal::instance;
use crate::midjourney::tasks::table::Admitted;
use crate::midjourney::tasks::task::{Phase, Task};

/// What the client gets.
pub(crate) struct Answer {
    pub(crate) body: Value,
    /// The marker that loses it.
    pub(crate) lost_by: Option<Marker>,
}

/// The fault of a task's receipt.
pub(super) fn receipt_fault(task: &Task) -> Option<Marker> {
    task.faults.fault(Target::Receipt)
}

/// Whether the client gets the id.
pub(super) fn is_answered(fault: Option<Marker>) -> bool {
    !matches!(fault, Some(Marker::NoId | Marker::SubmitGarbage | Marker::SubmitHang | Marker::SubmitCut))
}

impl Answer {
    /// Code 1, or 22 behind a queue.
    pub(super) fn accepted(admitted: &Admitted, account: usize, fault: Option<Marker>) -> Self {
        let queue = admitted.queue.or_else(|| (fault == Some(Marker::Queued)).then_some(1));
        let mut properties = json!({ "discordInstanceId": instance(account) });
        let (code, description) = match queue {
            None => (1, "提交成功".to_owned()),
            Some(waiting) => {
                properties["numberOfQueues"] = waiting.into();
                (22, format!("排队中，前面还有{waiting}个任务"))
            }
        };
        let result = if fault == Some(Marker::NoId) { Value::Null } else { admitted.id.clone().into() };
        let body =
            json!({ "code": code, "description": description, "result": result, "properties": properties });
        Self { body, lost_by: fault }
    }

    /// Code 21: the new task waits for a modal.
    pub(super) fn modal(id: &str, prompt: &str, fault: Option<Marker>) -> Self {
        let properties = json!({ "finalPrompt": prompt, "remix": true });
        let body = json!({
            "code": 21, "description": "Waiting for window confirm", "result": id, "properties": properties,
        });
        Self { body, lost_by: fault }
    }

    /// Code 21: the same button was pressed before.
    pub(super) fn duplicate(earlier: &Task, now: u64) -> Self {
        let status = if earlier.phase(now) == Phase::Success { "SUCCESS" } else { "IN_PROGRESS" };
        let properties = json!({ "status": status, "imageUrl": null });
        let body = json!({
            "code": 21, "description": "任务已存在", "result": earlier.record.id, "properties": properties,
        });
        Self { body, lost_by: None }
    }

    /// Code 1 for what makes no task.
    pub(crate) fn noted(result: &str) -> Self {
        let body = json!({ "code": 1, "description": "成功", "result": result, "properties": {} });
        Self { body, lost_by: None }
    }
}
