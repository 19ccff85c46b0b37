//! Clients whose requests join a task: what they send, and what they may expect of each answer.

use std::sync::Arc;

use bytes::Bytes;
use gatehouse_driver::{CheckedBody, RequestReport, SubmitError, SubmitRequest};
use gatehouse_model::TaskId;
use serde_json::json;

use crate::clients::tasks::{may_come, promise, read_task};
use crate::clients::{is_away, until_reached};
use crate::customers::{keys, payer};
use crate::plan::requests::PatchCall;
use crate::system::under_test::System;

fn request(patch: &PatchCall, key: usize, task: TaskId) -> SubmitRequest {
    let body = json!({"model": "quilt-1", "prompt": patch.prompt, "joins": task.to_string()});
    SubmitRequest {
        key: Arc::clone(&keys()[key]),
        surface: "videos.generate",
        parent: None,
        body: CheckedBody::parse(Bytes::from(body.to_string()), None).expect("a JSON object"),
        idempotency: patch.token.clone(),
        report: RequestReport::default(),
    }
}

/// Sends a patch for a quilt whose receipt its client has.
pub(crate) async fn join(system: &System, patch: PatchCall) -> Result<(), String> {
    let simulation = &system.simulation;
    let Some(parent) = promise(system, &patch.joins) else { return Ok(()) };
    if payer(parent.key) != payer(patch.key) {
        return stranger(system, &patch, parent.task).await;
    }
    let (was_in, was_revoked) = {
        let mut memory = simulation.memory();
        memory.patches.insert(patch.prompt.clone(), parent.task);
        (memory.quilt_with(&patch.prompt).is_some(), memory.revoked.contains(&patch.key))
    };
    let asked = || system.driver.intake.submit(request(&patch, patch.key, parent.task));
    let outcome = until_reached(asked, is_away).await;
    if !system.is_open() {
        simulation.count("the answer to a joining request was lost in a crash");
        return Ok(());
    }
    simulation.log(format_args!("client: {:?} joins {:?} -> {outcome:?}", patch.prompt, patch.joins));
    match outcome {
        Ok(receipt) => {
            let memory = simulation.memory();
            let seen = memory.seen.get(&parent.task).ok_or("I9: its task is gone")?;
            let quilt = seen.quilt.as_ref().ok_or("it joined another task")?;
            let is_in = quilt.patches.contains(&patch.prompt) || quilt.released_at_once > 0;
            if receipt.task != parent.task || !is_in {
                return Err(format!("I9: {patch:?} has a receipt, and is not in {seen:?}"));
            }
            if was_in && !receipt.repeated {
                return Err(format!("I5: {patch:?} was accepted twice"));
            }
            if was_revoked && !receipt.repeated {
                return Err(format!("{patch:?} was accepted although its key is revoked"));
            }
            if receipt.repeated {
                simulation.count("a joining request was repeated");
            }
            Ok(())
        }
        Err(SubmitError::Invalid { .. }) if patch.has_rival => {
            if simulation.memory().quilt_with(&patch.prompt).is_none() {
                return Err(format!("{patch:?} was refused, and its rival has not joined"));
            }
            simulation.count("of two rivals one joined");
            Ok(())
        }
        // The same request under the same token has its first receipt, however its task ended.
        Err(error) if was_in && !patch.has_rival => {
            Err(format!("I5: {patch:?} had joined, and is refused: {error}"))
        }
        Err(SubmitError::ParentOver { .. }) => {
            let task = read_task(system, &parent)?;
            if !task.status.is_final() {
                return Err(format!("{patch:?} was refused, and its task goes on: {:?}", task.status));
            }
            simulation.count("a request came too late to join");
            Ok(())
        }
        Err(error) if may_come(simulation, &error) => Ok(()),
        Err(error) => Err(format!("{patch:?} was refused: {error}")),
    }
}

/// A task of another customer is as unknown as one that never existed.
async fn stranger(system: &System, patch: &PatchCall, task: TaskId) -> Result<(), String> {
    let outcome = system.driver.intake.submit(request(patch, patch.key, task)).await;
    match outcome {
        _ if !system.is_open() => Ok(()),
        Err(SubmitError::NotFound(_) | SubmitError::KeyGone | SubmitError::Draining) => {
            system.simulation.count("a stranger's request did not join");
            Ok(())
        }
        other => Err(format!("I9: a stranger's {patch:?} was answered {other:?}")),
    }
}
