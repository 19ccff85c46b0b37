//! The modal: finishes a task that waits for its prompt and mask, under the same id.

use super::answer::{Answer, is_answered, receipt_fault};
use super::body::{Body, given};
use super::draft::{Origin, judge};
use super::image::{InputArea, mask};
use crate::midjourney::engine::prompt::Prompt;
use crate::midjourney::faults::Faults;
use crate::midjourney::refusal::Refusal;
use crate::midjourney::tasks::task::{MODAL_MS, Plan, Task};

pub(super) async fn modal(mut origin: Origin<'_>, body: Body) -> Result<Answer, Refusal> {
    let id = body.task_id()?.to_owned();
    let painted = match given(&body.mask_base64) {
        Some(text) => Some(mask(text).await?),
        None => None,
    };
    if let Some(painted) = &painted {
        origin.sent["maskBase64"] = painted.record.clone();
    }
    let now = origin.provider.now();
    let mut tasks = origin.provider.table();
    let waiting = tasks.task(origin.account, &id).ok_or_else(Refusal::not_found)?;
    if waiting.plan != Plan::Modal {
        return Err(Refusal::invalid("关联任务状态错误"));
    }
    if now.saturating_sub(waiting.record.at) > MODAL_MS {
        waiting.failure = Some("任务提交超时".to_owned());
        waiting.plan = Plan::Runs { from: now, end: Some(now) };
        return Err(Refusal::invalid("任务提交超时"));
    }
    // If this modal is refused, the task still waits, as if it had not come.
    let mut task = waiting.clone();
    take_over(&origin, &mut task, &body, painted.as_ref());
    tasks.strike(&task, &id)?;
    let fault = receipt_fault(&task);
    task.record.answered = is_answered(fault);
    task.record.modal = Some(origin.sent.clone());
    let admitted = tasks.resume(task, now)?;
    Ok(Answer::accepted(&admitted, origin.account, fault))
}

/// Gives the task the modal's prompt, or the one it inherits, and judges it.
fn take_over(origin: &Origin<'_>, task: &mut Task, body: &Body, painted: Option<&InputArea>) {
    let (prompt, steps) = match given(&body.prompt) {
        Some(own) => (own.to_owned(), 0),
        None => (task.inherited.clone(), task.steps + 1),
    };
    task.faults = Faults::after_steps(&prompt, steps);
    let parsed = Prompt::parse(&task.faults.rest);
    let (version, failure) = judge(&parsed, false, Some(task.version));
    task.version = version;
    task.failure = task.faults.ending().map(str::to_owned).or(failure);
    if painted.is_some_and(|painted| painted.size != task.record.size) {
        let (width, height) = task.record.size;
        task.failure = Some(format!("[Invalid parameter] The mask must have {width}x{height} pixels"));
    }
    let is_zoom = task.record.custom_id.as_deref().is_some_and(|id| id.starts_with("MJ::CustomZoom"));
    if is_zoom && parsed.flag("zoom").is_none() {
        task.failure = Some("[Invalid parameter] `--zoom` is missing".to_owned());
    }
    if origin.speed.is_some() {
        task.record.mode = origin.mode(body, &parsed).to_owned();
    }
    (task.record.prompt, task.final_prompt, task.inherited) = (prompt.clone(), prompt.clone(), prompt);
    task.steps = steps;
}
