//! Task clients: what they send, and what they may expect of each answer. An answer after a crash was not received.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use gatehouse_driver::{
    CancelError, Cancelled, CheckedBody, RequestReport, SubmitError, SubmitRequest, TaskFilter,
};
use gatehouse_model::{Status, Task, TaskId};
use gatehouse_sample::at_once;
use gatehouse_store::StoreError;
use serde_json::json;

use crate::clients::{is_away, references, until_reached};
use crate::customers::{KEY_COUNT, keys, payer};
use crate::memory::{Promise, Seen, brief};
use crate::oracle::ends::opens;
use crate::plan::requests::{QuiltFields, Submission, SubmissionKind};
use crate::simulation::Simulation;
use crate::system::under_test::System;

fn request(submission: &Submission, follows: Option<TaskId>) -> SubmitRequest {
    let body = match submission.kind {
        SubmissionKind::Good("quilt-1") => json!({
            "model": "quilt-1",
            "prompt": submission.prompt,
            "name": submission.quilt.name,
            "uses": submission.quilt.uses,
            "follows": follows.map(|task| task.to_string()),
        }),
        SubmissionKind::Good(model) => json!({"model": model, "prompt": submission.prompt}),
        SubmissionKind::Doomed => {
            json!({"model": "ctx-pro", "prompt": submission.prompt, "safety_tolerance": 9})
        }
        SubmissionKind::Invalid => json!({"model": "ctx-pro"}),
        SubmissionKind::Unknown => json!({"model": "ctx-none", "prompt": submission.prompt}),
    };
    SubmitRequest {
        key: Arc::clone(&keys()[submission.key]),
        surface: "images.generate",
        parent: None,
        body: CheckedBody::parse(Bytes::from(body.to_string()), None).expect("a JSON object"),
        idempotency: submission.token.clone(),
        report: RequestReport::default(),
    }
}

/// Submits; the task if the client received a receipt.
pub(crate) async fn submit(system: &System, submission: Submission) -> Result<Option<TaskId>, String> {
    let simulation = &system.simulation;
    let was_revoked = simulation.memory().revoked.contains(&submission.key);
    let Some(before) = references::before(system, &submission) else { return Ok(None) };
    let asked = || system.driver.intake.submit(request(&submission, before.follows));
    let outcome = until_reached(asked, is_away).await;
    if !system.is_open() {
        simulation.count("the answer to a submission was lost in a crash");
        return Ok(None);
    }
    simulation.log(format_args!("client: {:?} -> {outcome:?}", submission.prompt));
    match outcome {
        Ok(receipt) => {
            if !matches!(submission.kind, SubmissionKind::Good(_) | SubmissionKind::Doomed) {
                return Err(format!("{submission:?} was accepted"));
            }
            if was_revoked && !receipt.repeated {
                return Err(format!("{submission:?} was accepted although its key is revoked"));
            }
            before.accepted(system, &submission)?;
            accepted(simulation, submission, receipt.task, receipt.repeated)?;
            return Ok(Some(receipt.task));
        }
        Err(SubmitError::NotFound(_)) if before.refers(&submission) => before.unknown(system)?,
        Err(SubmitError::Invalid { .. }) if before.follows.is_some() => before.unfinished(system)?,
        Err(SubmitError::Invalid { .. }) if submission.kind == SubmissionKind::Invalid => {}
        Err(SubmitError::UnknownModel(_)) if submission.kind == SubmissionKind::Unknown => {}
        Err(SubmitError::IdempotencyConflict) if submission.token.is_some() => {
            simulation.count("a token was reused for another request");
        }
        Err(error) if may_come(simulation, &error) => {}
        Err(error) => return Err(format!("{submission:?} was refused: {error}")),
    }
    Ok(None)
}

/// Whether an accepted request may be refused like that: it is not paid for, its key is gone, or the system stops.
pub(crate) fn may_come(simulation: &Simulation, error: &SubmitError) -> bool {
    match error {
        SubmitError::KeyGone | SubmitError::Draining | SubmitError::Store(_) => true,
        SubmitError::InsufficientBalance { needed, available } if needed > available => {
            simulation.count("an account could not pay");
            true
        }
        SubmitError::QuotaExceeded(short) if short.needed > short.remaining => {
            simulation.count(if short.resets.is_some() {
                "a quota was used up until it resets"
            } else {
                "a quota was used up"
            });
            true
        }
        _ => false,
    }
}

/// A client has its receipt: from now on the task is promised (I9), and its token stands for it (I5).
fn accepted(
    simulation: &Simulation,
    submission: Submission,
    task: TaskId,
    repeated: bool,
) -> Result<(), String> {
    let mut memory = simulation.memory();
    if !memory.seen.contains_key(&task) {
        return Err(format!("I9: {task} was promised before it was durable"));
    }
    if let Some(token) = submission.token {
        let first = *memory.tokens.entry((submission.key, token.clone())).or_insert(task);
        if first != task {
            return Err(format!("I5: {token:?} made {first} and then {task}"));
        }
        if repeated {
            simulation.count("a submission was repeated");
        }
    }
    if let Some(seen) = memory.seen.get_mut(&task) {
        if seen.prompt.as_ref().is_some_and(|prompt| *prompt != submission.prompt) {
            return Err(format!(
                "{task} was promised for {:?} and is about {:?}",
                submission.prompt, seen.prompt
            ));
        }
        seen.prompt.get_or_insert_with(|| submission.prompt.clone());
    }
    let known = memory.promises.entry(submission.prompt).or_insert(Promise { task, key: submission.key });
    // Without a token, or with another key, it is another task; the first one is followed.
    if repeated && known.task != task && known.key == submission.key {
        return Err(format!("I5: {} and {task} are the same submission", known.task));
    }
    Ok(())
}

/// What its owner reads: at least as new as what was seen on disk, and hidden from other customers (I9-I11).
pub(crate) fn read_task(system: &System, promise: &Promise) -> Result<Task, String> {
    let Promise { task: id, key } = promise;
    let owner = payer(*key);
    let mut found = None;
    for other in 0..KEY_COUNT {
        let read =
            system.simulation.outage.observe(|| at_once(system.driver.tasks.task(&keys()[other], *id)));
        let read = read.map_err(|error| error.to_string())?;
        match (read, payer(other) == owner) {
            (Some(task), true) => found = Some(task),
            (None, false) => {}
            (None, true) => return Err(format!("I9: {id} was promised and cannot be read")),
            (Some(_), false) => return Err(format!("I9: {id} can be read by key {other}")),
        }
    }
    let task = found.ok_or("no owner")?;
    let memory = system.simulation.memory();
    match memory.seen.get(id) {
        Some(seen) if seen.task.revision > task.revision || seen.task.status > task.status => {
            Err(format!("I11: {id} was read older than it had been seen: {:?}", task.status))
        }
        _ => Ok(task),
    }
}

pub(crate) fn promise(system: &System, prompt: &str) -> Option<Promise> {
    system.simulation.memory().promises.get(prompt).cloned()
}

pub(crate) fn read(system: &System, prompt: &str) -> Result<(), String> {
    let Some(promise) = promise(system, prompt) else { return Ok(()) };
    read_task(system, &promise).map(|_| ())
}

pub(crate) async fn wait(system: &System, prompt: &str, patience: Duration) -> Result<(), String> {
    let Some(promise) = promise(system, prompt) else { return Ok(()) };
    let simulation = &system.simulation;
    let before = simulation.clock.elapsed();
    let asked = || system.driver.tasks.task_when_over(&keys()[promise.key], promise.task, patience);
    let found = until_reached(asked, |error| *error == StoreError::Unavailable).await;
    if !system.is_open() {
        return Ok(());
    }
    let task =
        found.map_err(|error| error.to_string())?.ok_or_else(|| format!("I9: {} is gone", promise.task))?;
    let waited = u128::from(simulation.clock.elapsed() - before);
    if !task.status.is_final() && waited < patience.as_millis() && system.driver.process.is_ready() {
        return Err(format!("a wait for {} ended after {waited} ms with {:?}", task.id, task.status));
    }
    read_task(system, &promise).map(|_| ())
}

pub(crate) async fn list(system: &System, key: usize) -> Result<(), String> {
    let filter = TaskFilter { limit: 100, ..TaskFilter::default() };
    let page = system.driver.tasks.tasks(&keys()[key], &filter).await.map_err(|error| error.to_string())?;
    let (tasks, more) = (page.tasks, page.more);
    let mine = |seen: &&Seen| seen.task.customer == keys()[key].customer;
    let expected = system.simulation.memory().seen.values().filter(mine).count();
    if more || tasks.len() != expected || tasks.iter().any(|task| task.customer != keys()[key].customer) {
        return Err(format!("I9: key {key} lists {} tasks of {expected}", tasks.len()));
    }
    for status in Status::ALL {
        let filter = TaskFilter { status: Some(status), ..filter.clone() };
        let page =
            system.driver.tasks.tasks(&keys()[key], &filter).await.map_err(|error| error.to_string())?;
        if !page.tasks.iter().eq(tasks.iter().filter(|task| task.status == status)) {
            return Err(format!("I9: key {key} lists other tasks when asked for those {}", status.as_str()));
        }
    }
    Ok(())
}

pub(crate) async fn cancel(system: &System, prompt: &str) -> Result<(), String> {
    let Some(promise) = promise(system, prompt) else { return Ok(()) };
    let simulation = &system.simulation;
    let stranger = keys().iter().find(|key| key.customer != keys()[promise.key].customer);
    let theirs = system.driver.cancels.cancel(stranger.ok_or("one account only")?, promise.task).await;
    let is_hidden =
        matches!(theirs, Err(CancelError::NotFound | CancelError::Store(StoreError::Unavailable)));
    if system.is_open() && !is_hidden {
        return Err(format!("I9: a stranger's cancel was answered {theirs:?}"));
    }
    let asked = || system.driver.cancels.cancel(&keys()[promise.key], promise.task);
    let is_away = |error: &CancelError| matches!(error, CancelError::Store(StoreError::Unavailable));
    let outcome = until_reached(asked, is_away).await;
    if !system.is_open() {
        return Ok(());
    }
    let shown = match &outcome {
        Ok(Cancelled::Ended(task) | Cancelled::Asked(task)) => Ok(task.status),
        Err(error) => Err(error.to_string()),
    };
    simulation.log(format_args!("client: cancel {prompt:?} -> {shown:?}"));
    let task = read_task(system, &promise)?;
    match outcome {
        Ok(Cancelled::Ended(ended)) if ended.status == Status::Failed && task == ended => Ok(()),
        Ok(Cancelled::Ended(ended)) => Err(format!("cancelled as {:?}", ended.status)),
        Ok(Cancelled::Asked(_)) => {
            simulation.count("a provider was asked to stop");
            Ok(())
        }
        Err(CancelError::Over(_)) if task.status.is_final() => Ok(()),
        Err(CancelError::Running) => {
            simulation.count("a cancel came too late");
            Ok(())
        }
        Err(CancelError::Store(_)) => Ok(()),
        Err(error) => Err(format!("a cancel of {} was refused: {error}", promise.task)),
    }
}

/// At the end the system still works: one more task succeeds.
pub(crate) async fn last_task(system: &System) -> Result<(), String> {
    let simulation = &system.simulation;
    let prompt = format!("the last one, at {}", simulation.clock.elapsed());
    let submission = Submission {
        key: 0,
        kind: SubmissionKind::Good("ctx-pro"),
        prompt: prompt.clone(),
        token: None,
        quilt: QuiltFields::default(),
    };
    let task = submit(system, submission).await?;
    wait(system, &prompt, Duration::from_secs(100)).await?;
    let status = task.and_then(|task| simulation.memory().seen.get(&task).map(|seen| seen.task.status));
    match status {
        Some(Status::Completed) => Ok(()),
        _ if !system.is_open() => Ok(()),
        other => Err(format!("I19: at the end a task is {other:?} instead of completed")),
    }
}

/// Every promise and every end once more, as its owner reads it.
pub(crate) fn read_everything(system: &System) -> Result<(), String> {
    let simulation = &system.simulation;
    let (promises, seen) = {
        let memory = simulation.memory();
        (memory.promises.values().cloned().collect::<Vec<_>>(), memory.seen.clone())
    };
    for promise in &promises {
        read_task(system, promise)?;
    }
    let now = simulation.clock.elapsed();
    for (id, seen) in seen {
        let task = simulation.outage.observe(|| at_once(system.driver.store().task(id)));
        let task = task.map_err(|error| error.to_string())?;
        let task = task.ok_or_else(|| format!("I9: {id} is gone"))?;
        if task != seen.task || !task.status.is_final() {
            return Err(format!(
                "I10, I14: it was last seen as {}, and is {}",
                brief(&seen.task),
                brief(&task)
            ));
        }
        if task.status == Status::Completed {
            let expired = task.media.iter().any(|media| media.expires <= simulation.clock.now());
            if !expired {
                opens(&system.driver, &task).map_err(|what| format!("I15: {id}: {what}"))?;
            }
        } else if seen.prompt.is_some_and(|prompt| simulation.provider().success(&prompt, now).is_some()) {
            simulation.count("a success came too late");
        }
    }
    Ok(())
}
