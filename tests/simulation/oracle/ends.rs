//! How tasks end: status, cost, audit record, and links that open (I4, I12, I13, I14, I15).

use futures_util::FutureExt;
use gatehouse_driver::Driver;
use gatehouse_model::{Credits, FailureKind, Status, Task};
use gatehouse_store::Store;
use gatehouse_tasks::lost_answer;

use crate::memory::{Memory, SeenQuilt};
use crate::oracle::joins::ended_with_claims;
use crate::oracle::tasks::lines_about;
use crate::simulation::Simulation;

/// What the quilt says when the host broke a promise to it.
const BROKEN: &str = "the host broke its word";
/// The progress of a quilt that is moderated; the step that fails it raises it.
const MODERATED: u8 = 30;

/// Checks every end that is seen for the first time.
pub(super) fn check_endings(
    memory: &mut Memory,
    simulation: &Simulation,
    store: &Store,
    driver: Option<&Driver>,
) -> Result<(), String> {
    let names = &memory.names;
    for seen in memory.seen.values_mut().filter(|seen| seen.task.status.is_final() && !seen.end_checked) {
        let Some(driver) = driver else { return Ok(()) };
        seen.end_checked = true;
        let taken = seen.prompt.as_deref().map_or(0, |prompt| simulation.provider().taken(prompt));
        let task = &seen.task;
        let works = seen.prompt.as_deref().map_or(0, |prompt| simulation.provider().works_on(prompt));
        check_end(task, works)
            .and_then(|()| had_its_time(simulation, task))
            .map_err(|what| format!("{}: {what}", task.id))?;
        let lost = task.failure.as_ref() == Some(&lost_answer());
        let notes = lines_about(store, task.id)?;
        if lost && notes.is_empty() {
            return Err(format!("I13: {} was given up without an audit record", task.id));
        }
        let late =
            task.failure.as_ref().is_some_and(|failure| failure.kind == FailureKind::Timeout) && taken > 0;
        let recorded = notes.iter().filter(|note| note.text.ends_with("is the operator's cost")).count();
        if late && recorded != 1 {
            return Err(format!("I14: {} is late and recorded {recorded} times: {notes:?}", task.id));
        }
        simulation.count(match &task.failure {
            _ if lost => "an ambiguous call was given up",
            None => "a task was completed",
            Some(failure) => match failure.kind {
                FailureKind::Cancelled => "a task was cancelled",
                FailureKind::Timeout => "a task ran out of time",
                FailureKind::Request => "a task was doomed",
                FailureKind::Moderation => "a picture was moderated",
                FailureKind::Upstream => "a task failed at its provider",
                FailureKind::Limit => "a limit of the provider was reached",
                FailureKind::Internal => {
                    let name = seen.quilt.as_ref().and_then(|quilt| quilt.name.as_ref());
                    let owner = name.and_then(|name| names.get(name));
                    if owner.is_none_or(|owner| *owner == task.customer) {
                        return Err(format!("{}: {failure:?}", task.id));
                    }
                    "a name of another customer was not claimed"
                }
            },
        });
        if let Some(quilt) = &seen.quilt {
            check_quilt(simulation, task, quilt).map_err(|what| format!("{}: {what}", task.id))?;
        }
        if task.status == Status::Completed {
            opens(driver, task).map_err(|what| format!("I15: {}: {what}", task.id))?;
        }
    }
    Ok(())
}

/// I12, under a clock that is set forward: so much of a task's time has not gone by.
fn had_its_time(simulation: &Simulation, task: &Task) -> Result<(), String> {
    let timed_out = task.failure.as_ref().is_some_and(|failure| failure.kind == FailureKind::Timeout);
    let Some(finished) = task.finished.filter(|_| timed_out) else { return Ok(()) };
    let clock = &simulation.clock;
    let skipped = clock.skipped(task.created).saturating_sub(clock.skipped(finished));
    if finished < task.deadline.plus(skipped) {
        return Err(format!("I12: out of time at {finished}, of which {skipped:?} have not gone by"));
    }
    Ok(())
}

/// What every end must fulfil (I4, I12 the earlier half, I13).
fn check_end(task: &Task, works: usize) -> Result<(), String> {
    let Some(finished) = task.finished else { return Err("it has no end time".to_owned()) };
    match (&task.status, &task.failure) {
        (Status::Completed, None) => {
            if task.cost != Some(task.held) {
                return Err(format!("I4: it cost {:?} of {} held", task.cost, task.held));
            }
            if task.media.is_empty() {
                return Err("I15: it is completed without media".to_owned());
            }
        }
        (Status::Failed, Some(failure)) => {
            if task.cost != Some(Credits::ZERO) {
                return Err(format!("I4: it failed and cost {:?}", task.cost));
            }
            if failure.kind == FailureKind::Timeout && finished < task.deadline {
                return Err(format!("I12: out of time at {finished}, before {}", task.deadline));
            }
            if failure.kind == FailureKind::Cancelled && works > 0 {
                return Err("it was cancelled while its provider works on it".to_owned());
            }
        }
        other => return Err(format!("it ended as {other:?}")),
    }
    Ok(())
}

/// What joined a completed task was made, and a failed task keeps what was shown of it.
fn check_quilt(simulation: &Simulation, task: &Task, quilt: &SeenQuilt) -> Result<(), String> {
    if let Some(failure) = task.failure.as_ref().filter(|failure| failure.message.contains(BROKEN)) {
        return Err(failure.message.clone());
    }
    if task.status == Status::Completed {
        let provider = simulation.provider();
        let made = |patch: &&String| provider.patch_taken(patch) == 1;
        if let Some(patch) = quilt.patches.iter().find(|patch| !made(patch)) {
            return Err(format!(
                "patch {patch:?} was paid for and taken {} times",
                provider.patch_taken(patch)
            ));
        }
        for _ in &quilt.patches {
            simulation.count("a request that joined was made");
        }
        return Ok(());
    }
    let is_moderated = task.failure.as_ref().is_some_and(|failure| failure.kind == FailureKind::Moderation);
    if is_moderated && task.progress != MODERATED {
        return Err(format!("its end lost the progress of its step, and has {} %", task.progress));
    }
    if !quilt.patches.is_empty() {
        simulation.count("a failed task released what had joined it");
    }
    match (ended_with_claims(task), task.public.is_empty()) {
        (true, _) => simulation.count("a failed task left a result"),
        (false, false) => simulation.count("a failed task kept its view"),
        (false, true) => {}
    }
    Ok(())
}

/// I15: the links of a completed task open, now.
pub(crate) fn opens(driver: &Driver, task: &Task) -> Result<(), String> {
    let result = driver.tasks.result(task, "http://gateway").ok_or("no result")?;
    let result: serde_json::Value = serde_json::from_slice(&result).map_err(|error| error.to_string())?;
    let link = result["images"][0]["url"][0].as_str().ok_or_else(|| format!("no link in {result}"))?;
    let (name, query) = link.rsplit_once('/').and_then(|(_, file)| file.split_once('?')).ok_or("no query")?;
    let value = |key: &str| query.split('&').find_map(|pair| pair.strip_prefix(key)).unwrap_or_default();
    let file = driver.files.media(name, value("expires="), value("signature="), None).now_or_never();
    match file {
        Some(Ok(file)) if file.length == task.media[0].bytes && file.length > 0 => Ok(()),
        Some(Ok(file)) => Err(format!("{link} has {} bytes", file.length)),
        Some(Err(error)) => Err(format!("{link}: {error}")),
        None => Err(format!("{link} does not open at once")),
    }
}
