//! Requests that joined a task: each is in it once from its receipt on, in order, held once, and shown once.

use std::collections::BTreeMap;

use gatehouse_model::{Credits, Event, Phase, Status, Task, TaskId};
use gatehouse_tasks::{EntryKind, HoldId, JournalEntry};
use serde_json::Value;

use crate::memory::{Memory, Seen, SeenQuilt, sum};
use crate::simulation::Simulation;

/// What is known of a task's joined requests after the disk has it like that.
///
/// # Errors
/// A request that is lost, is there twice, is from nobody, or is not held once.
pub(super) fn joins_of(
    memory: &Memory,
    simulation: &Simulation,
    task: &Task,
) -> Result<Option<SeenQuilt>, String> {
    let own = task.terms().hold().ok_or("a price too high")?;
    if task.family != "quilt" {
        let is_alone = task.joined.is_empty() && task.held == own && task.joined_held == Credits::ZERO;
        return if is_alone { Ok(None) } else { Err(format!("nothing can join it: {task:?}")) };
    }
    let before = memory.seen.get(&task.id);
    let mut quilt = before.and_then(|seen| seen.quilt.clone()).unwrap_or_else(|| SeenQuilt::of(task));
    let price = simulation.prices().get("quilt-patch").copied().ok_or("no price of a patch")?;
    if !task.status.is_final() {
        let patches = joined(task);
        if !patches.starts_with(&quilt.patches) {
            return Err(format!("joins: {:?} had joined, and now {patches:?}", quilt.patches));
        }
        for (at, patch) in patches.iter().enumerate().skip(quilt.patches.len()) {
            let is_sent = memory.patches.get(patch) == Some(&task.id);
            if !is_sent || patches[..at].contains(patch) || memory.quilt_with(patch).is_some() {
                return Err(format!("joins: {patch:?} is from nobody, or twice in {patches:?}"));
            }
            quilt.held = sum([quilt.held, price].into_iter());
            simulation.count("a request joined a task");
        }
        quilt.patches = patches;
    }
    if task.status == Status::Failed && task.joined_held > quilt.held {
        // It joined and was released in one commit.
        quilt.held = sum([quilt.held, price].into_iter());
        quilt.released_at_once += 1;
        simulation.count("a request joined in the moment of an end");
    }
    if task.joined_held != quilt.held || task.held != sum([own, quilt.held].into_iter()) {
        return Err(format!(
            "joins: {} credits are held at a price of {own} and {} for {:?}, of which {} are theirs",
            task.held, quilt.held, quilt.patches, task.joined_held
        ));
    }
    quilt.shown = shown(task, before, &quilt)?;
    Ok(Some(quilt))
}

/// Every task is held once, each request that joined adds its part once, and the end takes back all of it.
///
/// # Errors
/// The first task whose rows do not agree with its record.
pub(super) fn check_task_rows(memory: &Memory, rows: &[Vec<JournalEntry>]) -> Result<(), String> {
    let mut by_task = BTreeMap::<TaskId, Vec<&JournalEntry>>::new();
    for row in rows.iter().flatten() {
        if let Some(HoldId::Task(id)) = row.hold {
            by_task.entry(id).or_default().push(row);
        }
    }
    for (id, rows) in by_task {
        let seen = memory.seen.get(&id).ok_or_else(|| format!("{id} is held, and is no task"))?;
        let count = |kind| rows.iter().filter(|row| row.kind == kind).count();
        let joins = seen.quilt.as_ref().map_or(0, |quilt| quilt.patches.len() + quilt.released_at_once);
        let reserved = sum(rows.iter().map(|row| row.movement.reserved));
        let spent = sum(rows.iter().map(|row| row.movement.spent));
        let task = &seen.task;
        let expected = if task.status.is_final() {
            (Credits::ZERO, task.cost.unwrap_or(Credits::ZERO))
        } else {
            (task.held, Credits::ZERO)
        };
        if (count(EntryKind::Hold), count(EntryKind::Join)) != (1, joins) || (reserved, spent) != expected {
            return Err(format!("I3: {id} with {joins} requests that joined has {rows:?}, not {expected:?}"));
        }
    }
    Ok(())
}

/// The requests in a live task, oldest first: those its plugin has, the one it is told of, and those that wait.
fn joined(task: &Task) -> Vec<String> {
    let state: Value = serde_json::from_slice(&task.state).unwrap_or_default();
    let mut all = texts(&state["joined"]);
    if matches!(task.phase, Phase::Run(Event::Joined(_))) {
        all.push(String::from_utf8_lossy(&task.brief).into_owned());
    }
    all.extend(task.joined.iter().map(|request| String::from_utf8_lossy(&request.brief).into_owned()));
    all
}

/// The patches that the client is shown: never fewer than before, also after a failure; at a good end, all.
fn shown(task: &Task, before: Option<&Seen>, quilt: &SeenQuilt) -> Result<Vec<String>, String> {
    let had_result = before.is_some_and(|seen| !seen.task.public.is_empty());
    if had_result && task.public.is_empty() {
        return Err("views: what was shown is gone".to_owned());
    }
    let now = shown_by(task);
    let is_complete = task.status != Status::Completed || now == quilt.patches;
    if !now.starts_with(&quilt.shown) || !quilt.patches.starts_with(&now) || !is_complete {
        let (patches, before) = (&quilt.patches, &quilt.shown);
        return Err(format!("views: {before:?} was shown, now {now:?} is, of {patches:?}"));
    }
    Ok(now)
}

fn shown_by(task: &Task) -> Vec<String> {
    let public: Value = serde_json::from_slice(&task.public).unwrap_or_default();
    texts(if public["left"].is_array() { &public["left"] } else { &public["joined"] })
}

/// Whether the task's end claimed its name: it is completed, or failed with a result of its own.
pub(super) fn ended_with_claims(task: &Task) -> bool {
    let public: Value = serde_json::from_slice(&task.public).unwrap_or_default();
    task.status == Status::Completed || (task.status == Status::Failed && public["left"].is_array())
}

fn texts(list: &Value) -> Vec<String> {
    let items = list.as_array().map(Vec::as_slice).unwrap_or_default();
    items.iter().filter_map(|item| item.as_str().map(str::to_owned)).collect()
}
