//! The invariants of the reliability reference, checked against the store's own reads and the provider's truth
//! after every commit: I1-I4, I6, I8 (the doctor, and sums of our own), I9, I10, I12-I15.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::FutureExt;
use gatehouse_driver::Driver;
use gatehouse_model::{Credits, FailureKind, Phase, Replay, Status, Task, TaskId};
use gatehouse_store::Store;
use gatehouse_tasks::lost_answer;

use crate::book::{Book, Seen, brief, prompt_of, sum};
use crate::customers::{ACCOUNTS, account, credits};
use crate::house::PLACES;
use crate::shelf::reads;
use crate::world::World;

/// How late a time limit may be noticed (goal G9).
const LATE: Duration = Duration::from_secs(10);
/// The same after the wall clock was set: a poll under way measures its own time, and so does a submission.
const LATE_AFTER_JUMP: Duration = Duration::from_secs(45);
const LATE_WHILE_SENT: Duration = Duration::from_secs(130);

impl Book {
    /// Looks at everything that may have changed.
    ///
    /// # Errors
    /// The first thing that must not be.
    pub(crate) fn look(
        &mut self,
        world: &World,
        store: &Store,
        driver: Option<&Driver>,
    ) -> Result<(), String> {
        self.looks += 1;
        let told = |error: gatehouse_store::StoreError| format!("the store cannot be read: {error}");
        let report = store.examine().map_err(told)?;
        if !report.is_clean() {
            return Err(format!("the doctor finds {:?}, imbalance {}", report.findings, report.imbalance));
        }
        if report.entries < self.rows {
            return Err(format!("I6: the ledger had {} rows and has {}", self.rows, report.entries));
        }
        let grown = report.entries > self.rows;
        self.rows = report.entries;
        let live: Vec<Task> = store.live_tasks().collect::<Result<_, _>>().map_err(told)?;
        if grown {
            self.check_talks(world, store).map_err(|what| format!("text: {what}"))?;
        }
        check_accounts(store, &live, &self.held_by_texts).map_err(|what| format!("money: {what}"))?;
        let gone: Vec<TaskId> = self
            .seen
            .values()
            .filter(|seen| !seen.task.status.is_final() && !live.iter().any(|task| task.id == seen.task.id))
            .map(|seen| seen.task.id)
            .collect();
        for id in gone {
            let task = store.task(id).map_err(told)?.ok_or_else(|| format!("I9: {id} is gone"))?;
            self.observe(world, task)?;
        }
        for task in live {
            self.observe(world, task)?;
        }
        self.check_endings(world, store, driver)?;
        let truth = world.truth();
        for prompt in truth.arrivals.keys() {
            let (repeated, audited) = (truth.repeated(prompt), self.resends(store, prompt));
            if repeated > audited {
                let all = &truth.arrivals[prompt];
                return Err(format!("I13: {prompt:?} was sent again, audited {audited} times: {all:?}"));
            }
            if truth.taken(prompt) > 1 {
                return Err(format!("I13: {prompt:?} was taken {} times", truth.taken(prompt)));
            }
        }
        Ok(())
    }

    /// How often the audit record says that this prompt's call is sent again.
    fn resends(&self, store: &Store, prompt: &str) -> usize {
        let Some(id) = self.task_of(prompt).map(|seen| seen.task.id) else { return 0 };
        let notes = store.audit(None, 1_000).unwrap_or_default();
        notes.iter().filter(|note| note.task == Some(id) && note.text.ends_with(": resend")).count()
    }

    /// A task as the disk has it now.
    fn observe(&mut self, world: &World, task: Task) -> Result<(), String> {
        let id = task.id;
        if let Some(seen) = self.seen.get_mut(&id) {
            if task == seen.task {
                return on_time(world, &task);
            }
            follows(&seen.task, &task).map_err(|what| format!("{id}: {what}"))?;
            if seen.task.digest != task.digest {
                world.count("a state was migrated");
                if seen.prompt.as_ref().is_some_and(|prompt| prompt.ends_with(['1', '3', '5', '7', '9'])) {
                    return Err(format!("{id}: its state cannot be read by the build it is on now"));
                }
            }
            if seen.task.status != task.status {
                world.say(format_args!(
                    "house: {id} {} -> {}",
                    seen.task.status.as_str(),
                    task.status.as_str()
                ));
            }
            seen.task = task;
        } else {
            let price = world.prices().get(&task.model).copied().unwrap_or(Credits::ZERO);
            let limit = Duration::from_secs(world.plan.limit_s.into());
            if task.held != price || task.unit_price != price {
                return Err(format!("{id}: {} credits are held at a price of {price}", task.held));
            }
            if task.deadline != task.created.plus(limit) {
                return Err(format!("I8: {id} was made at {} and ends at {}", task.created, task.deadline));
            }
            world.say(format_args!("house: {id} is made"));
            let prompt = prompt_of(&task);
            self.seen.insert(id, Seen { task, prompt, opened: false });
        }
        let task = &self.seen[&id].task;
        on_time(world, task)
    }

    /// Every end seen for the first time.
    fn check_endings(&mut self, world: &World, store: &Store, driver: Option<&Driver>) -> Result<(), String> {
        for seen in self.seen.values_mut().filter(|seen| seen.task.status.is_final() && !seen.opened) {
            let Some(driver) = driver else { return Ok(()) };
            seen.opened = true;
            let taken = seen.prompt.as_deref().map_or(0, |prompt| world.truth().taken(prompt));
            let task = &seen.task;
            check_end(task, taken).map_err(|what| format!("{}: {what}", task.id))?;
            let lost = task.failure.as_ref() == Some(&lost_answer());
            let notes = store.audit(Some(task.id), 1_000).map_err(|error| error.to_string())?;
            if lost && notes.is_empty() {
                return Err(format!("I13: {} was given up without an audit record", task.id));
            }
            let late =
                task.failure.as_ref().is_some_and(|fault| fault.kind == FailureKind::Timeout) && taken > 0;
            let booked = notes.iter().filter(|note| note.text.ends_with("is the operator's cost")).count();
            if late && booked != 1 {
                return Err(format!("I14: {} is late and booked {booked} times: {notes:?}", task.id));
            }
            world.count(match &task.failure {
                _ if lost => "an ambiguous call was given up",
                None => "a task was completed",
                Some(fault) => match fault.kind {
                    FailureKind::Cancelled => "a task was cancelled",
                    FailureKind::Timeout => "a task ran out of time",
                    FailureKind::Request => "a task was doomed",
                    FailureKind::Moderation => "a picture was stopped",
                    FailureKind::Upstream => "a task failed at its provider",
                    FailureKind::Internal => return Err(format!("{}: {fault:?}", task.id)),
                },
            });
            if task.status == Status::Completed {
                opens(driver, task).map_err(|what| format!("I15: {}: {what}", task.id))?;
            }
        }
        Ok(())
    }
}

/// Balances against what was paid in and what is live (I1, I2, I4).
fn check_accounts(store: &Store, live: &[Task], texts: &[Credits]) -> Result<(), String> {
    for (number, (name, paid)) in ACCOUNTS.iter().enumerate() {
        let id = account(number);
        let found = store.customer(&id).map_err(|error| error.to_string())?;
        let found = found.ok_or_else(|| format!("account {name} is gone"))?;
        let tasks = live.iter().filter(|task| task.customer == id).map(|task| task.held);
        let held = sum(tasks.chain([texts[number]]));
        let whole = sum([found.available, found.reserved, found.spent].into_iter());
        if found.available < Credits::ZERO || found.reserved != held || whole != credits(*paid) {
            return Err(format!("{found:?} with {held} held by live tasks and texts"));
        }
    }
    let mut seats = BTreeMap::<&str, usize>::new();
    for seat in live.iter().filter_map(|task| task.assignment.as_ref()) {
        *seats.entry(&seat.account).or_default() += 1;
    }
    match PLACES.iter().find(|(name, places)| seats.get(name).is_some_and(|taken| taken > places)) {
        Some((name, places)) => Err(format!("{} tasks at {name}, which has {places} places", seats[name])),
        None => Ok(()),
    }
}

/// Whether the task may have become that (I10), one durable step at a time.
fn follows(old: &Task, new: &Task) -> Result<(), String> {
    let steady = old.customer == new.customer
        && old.key == new.key
        && old.created == new.created
        && old.deadline == new.deadline
        && old.held == new.held
        && old.unit_price == new.unit_price
        && old.model == new.model
        && old.seed == new.seed
        // A task ends on the build that admitted it, or on one that reads its state.
        && ((old.digest == new.digest && old.state_version == new.state_version)
            || reads(&old.digest, &new.digest));
    if !steady {
        return Err(format!("what never changes has changed: {} -> {}", brief(old), brief(new)));
    }
    if old.status.is_final() {
        return Err(format!("I10, I14: it had ended: {} -> {}", brief(old), brief(new)));
    }
    if new.status < old.status || new.progress < old.progress || new.revision <= old.revision {
        let show = |task: &Task| (task.status, task.progress, task.revision);
        return Err(format!("I10: it went back: {:?} -> {:?}", show(old), show(new)));
    }
    match (&old.phase, &new.phase) {
        // The outcome of a call is on record before a plugin sees it; and nothing is sent without a record.
        (Phase::Sent { .. }, Phase::Run(_) | Phase::Over) => Ok(()),
        // Only what its provider recognises is sent again.
        (Phase::Sent { .. }, Phase::Call(call)) if call.replay == Replay::Token => Ok(()),
        (Phase::Sent { .. }, other) => Err(format!("from Sent to {other:?}")),
        _ => Ok(()),
    }
}

/// I12, the later half: nobody waits much longer than the limit.
fn on_time(world: &World, task: &Task) -> Result<(), String> {
    let (now, set) = (world.time.now(), world.time.set());
    let late = match task.phase {
        _ if set.0 == 0 => LATE,
        Phase::Sent { .. } | Phase::Run(_) => LATE_WHILE_SENT,
        _ => LATE_AFTER_JUMP,
    };
    let due = task.deadline.max(set).max(world.house_since());
    let end = task.finished.unwrap_or(now);
    if task.status.is_final() || end <= due.plus(late) {
        return Ok(());
    }
    Err(format!("I12: {} should have ended at {} and is {:?} at {now}", task.id, task.deadline, task.status))
}

/// What an end must be like (I4, I12 the earlier half, I13).
fn check_end(task: &Task, taken: usize) -> Result<(), String> {
    let Some(finished) = task.finished else { return Err("it ended at no time".to_owned()) };
    match (&task.status, &task.failure) {
        (Status::Completed, None) => {
            if task.cost != Some(task.held) {
                return Err(format!("I4: it cost {:?} of {} held", task.cost, task.held));
            }
            if task.media.is_empty() {
                return Err("I15: it is completed and has nothing to show".to_owned());
            }
        }
        (Status::Failed, Some(fault)) => {
            if task.cost != Some(Credits::ZERO) {
                return Err(format!("I4: it failed and cost {:?}", task.cost));
            }
            if fault.kind == FailureKind::Timeout && finished < task.deadline {
                return Err(format!("I12: out of time at {finished}, before {}", task.deadline));
            }
            if fault.kind == FailureKind::Cancelled && taken > 0 {
                return Err("it was cancelled while its provider works on it".to_owned());
            }
        }
        other => return Err(format!("it ended as {other:?}")),
    }
    Ok(())
}

/// I15: the links of a completed task open, now.
pub(crate) fn opens(driver: &Driver, task: &Task) -> Result<(), String> {
    let result = driver.result(task, "http://house").ok_or("no result")?;
    let result: serde_json::Value = serde_json::from_slice(&result).map_err(|error| error.to_string())?;
    let link = result["images"][0]["url"][0].as_str().ok_or_else(|| format!("no link in {result}"))?;
    let (name, query) = link.rsplit_once('/').and_then(|(_, file)| file.split_once('?')).ok_or("no query")?;
    let value = |key: &str| query.split('&').find_map(|pair| pair.strip_prefix(key)).unwrap_or_default();
    let file = driver.media(name, value("expires="), value("signature="), None).now_or_never();
    match file {
        Some(Ok(file)) if file.length == task.media[0].bytes && file.length > 0 => Ok(()),
        Some(Ok(file)) => Err(format!("{link} has {} bytes", file.length)),
        Some(Err(error)) => Err(format!("{link}: {error}")),
        None => Err(format!("{link} takes its time")),
    }
}
