//! The invariants of tasks and money, checked after every commit against the store's own reads and the provider's
//! record: I1-I4, I6, I8 (the doctor, and sums of our own), I9, I10, I12-I15.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::FutureExt as _;
use gatehouse_driver::Driver;
use gatehouse_model::{Credits, Event, FailureKind, Phase, Price, Replay, Status, Task, TaskId};
use gatehouse_sample::at_once;
use gatehouse_store::{AuditQuery, Store};
use gatehouse_tasks::AuditRecord;

use crate::customers::{CUSTOMERS, credits, customer};
use crate::memory::{Memory, Seen, brief, prompt_of, sum};
use crate::oracle::ends::check_endings;
use crate::oracle::joins::{check_task_rows, joins_of};
use crate::oracle::names::check_names;
use crate::oracle::texts::{check_texts, ledger_rows};
use crate::plugins::reads;
use crate::record::ACCOUNT_LIMITS;
use crate::simulation::Simulation;

/// How late a time limit may be noticed (goal G9).
const LATE: Duration = Duration::from_secs(10);
/// The same after the wall clock was set: a poll under way measures its own time, and so does a submission.
const LATE_AFTER_JUMP: Duration = Duration::from_secs(45);
const LATE_WHILE_SENT: Duration = Duration::from_secs(130);

/// Checks everything that may have changed.
///
/// # Errors
/// The first broken invariant.
pub(crate) fn check(
    memory: &mut Memory,
    simulation: &Simulation,
    store: &Store,
    driver: Option<&Driver>,
) -> Result<(), String> {
    memory.checks += 1;
    let unreadable = |error: gatehouse_store::StoreError| format!("the store cannot be read: {error}");
    let report = store.examine().map_err(unreadable)?;
    if !report.is_clean() {
        return Err(format!("the doctor finds {:?}, imbalance {}", report.findings, report.imbalance));
    }
    if report.entries < memory.rows {
        return Err(format!("I6: the ledger had {} rows and has {}", memory.rows, report.entries));
    }
    let grown = report.entries > memory.rows;
    memory.rows = report.entries;
    let live: Vec<Task> = at_once(store.live_tasks(None)).map_err(unreadable)?;
    let rows: Vec<_> = if grown {
        (0..CUSTOMERS.len()).map(|number| ledger_rows(store, number)).collect::<Result<_, _>>()?
    } else {
        Vec::new()
    };
    if grown {
        check_texts(memory, simulation, &rows).map_err(|what| format!("text: {what}"))?;
    }
    check_balances(store, &live, &memory.held_by_texts).map_err(|what| format!("money: {what}"))?;
    let gone: Vec<TaskId> = memory
        .seen
        .values()
        .filter(|seen| !seen.task.status.is_final() && !live.iter().any(|task| task.id == seen.task.id))
        .map(|seen| seen.task.id)
        .collect();
    for id in gone {
        let task = at_once(store.task(id)).map_err(unreadable)?.ok_or_else(|| format!("I9: {id} is gone"))?;
        observe(memory, simulation, store, task)?;
    }
    for task in live {
        observe(memory, simulation, store, task)?;
    }
    check_task_rows(memory, &rows)?;
    check_names(memory, simulation, store).map_err(|what| format!("names: {what}"))?;
    check_endings(memory, simulation, store, driver)?;
    let provider = simulation.provider();
    for prompt in provider.arrivals.keys() {
        let patches = memory.task_of(prompt).and_then(|seen| seen.quilt.as_ref()).map(|quilt| &quilt.patches);
        let patches = patches.into_iter().flatten().map(|patch| provider.patch_repeated(patch));
        let repeated = provider.repeated(prompt) + patches.sum::<usize>();
        let audited = resends(memory, store, prompt);
        if repeated > audited {
            let all = &provider.arrivals[prompt];
            return Err(format!("I13: {prompt:?} was sent again, audited {audited} times: {all:?}"));
        }
        if provider.taken(prompt) > 1 {
            return Err(format!("I13: {prompt:?} was taken {} times", provider.taken(prompt)));
        }
    }
    if let Some(patch) = provider.patches.keys().find(|patch| provider.patch_taken(patch) > 1) {
        return Err(format!("I13: patch {patch:?} was taken {} times", provider.patch_taken(patch)));
    }
    Ok(())
}

/// How often the audit record says that this prompt's call is sent again.
fn resends(memory: &Memory, store: &Store, prompt: &str) -> usize {
    let Some(id) = memory.task_of(prompt).map(|seen| seen.task.id) else { return 0 };
    let notes = lines_about(store, id).unwrap_or_default();
    notes.iter().filter(|note| is_resend(&note.text)).count()
}

/// A task as the disk has it now.
fn observe(memory: &mut Memory, simulation: &Simulation, store: &Store, task: Task) -> Result<(), String> {
    let id = task.id;
    if memory.seen.get(&id).is_some_and(|seen| seen.task == task) {
        return on_time(simulation, &task);
    }
    let quilt = joins_of(memory, simulation, &task).map_err(|what| format!("{id}: {what}"))?;
    if let Phase::SaveFailed(ending) = &task.phase
        && ending.products.is_empty()
    {
        return Err(format!("{id}: an end without products has a commit before it: {}", brief(&task)));
    }
    let limit = Duration::from_secs(simulation.plan.limit_s.into());
    if let Some(seen) = memory.seen.get_mut(&id) {
        if task.status == Status::Failed && task.progress > seen.task.progress {
            simulation.count("a failing step raised the progress");
        }
        follows(&seen.task, &task, simulation.plan.asks).map_err(|what| format!("{id}: {what}"))?;
        if task.phase.ambiguous_call().is_some() && seen.task.phase.ambiguous_call().is_none() {
            simulation.count("an operator was asked about a call");
        }
        if seen.task.phase.ambiguous_call().is_some() && !has_ruling(store, &seen.task, &task)? {
            return Err(format!("I13: {id} went on without a ruling: {}", brief(&task)));
        }
        let last = simulation.clock.now().plus(limit);
        if task.deadline != seen.task.deadline && task.deadline > last {
            return Err(format!("{id}: what joined has time until {}, after {last}", task.deadline));
        }
        if seen.task.digest != task.digest {
            simulation.count("a state was migrated");
            if seen.prompt.as_ref().is_some_and(|prompt| prompt.ends_with(['1', '3', '5', '7', '9'])) {
                return Err(format!("{id}: its state cannot be read by its present version"));
            }
        }
        if seen.task.status != task.status {
            simulation.log(format_args!(
                "system: {id} {} -> {}",
                seen.task.status.as_str(),
                task.status.as_str()
            ));
        }
        (seen.task, seen.quilt) = (task, quilt);
    } else {
        let price = simulation.prices().get(&task.model).copied().unwrap_or(Credits::ZERO);
        if task.prices != [Price::each(price)] || task.charge.0[0].quantity != 1 {
            return Err(format!("{id}: {:?} are its prices, not {price}", task.prices));
        }
        if task.deadline != task.created.plus(limit) {
            return Err(format!("I8: {id} was made at {} and ends at {}", task.created, task.deadline));
        }
        simulation.log(format_args!("system: {id} is created"));
        let prompt = prompt_of(&task);
        memory.seen.insert(id, Seen { task, prompt, end_checked: false, quilt });
    }
    let task = &memory.seen[&id].task;
    on_time(simulation, task)
}

/// After a crash by the policy of the call, or by a ruling.
fn is_resend(text: &str) -> bool {
    text.ends_with(": resend") || (text.starts_with("ruled by an operator") && text.contains(": resend: "))
}

/// Balances against deposits and live tasks (I1, I2, I4).
fn check_balances(store: &Store, live: &[Task], texts: &[Credits]) -> Result<(), String> {
    for (number, (name, deposit)) in CUSTOMERS.iter().enumerate() {
        let id = customer(number);
        let found = at_once(store.customer(&id)).map_err(|error| error.to_string())?;
        let found = found.ok_or_else(|| format!("customer {name} is gone"))?;
        let tasks = live.iter().filter(|task| task.customer == id).map(|task| task.held);
        let held = sum(tasks.chain([texts[number]]));
        let whole = sum([found.available, found.reserved, found.spent].into_iter());
        if found.available < Credits::ZERO || found.reserved != held || whole != credits(*deposit) {
            return Err(format!("{found:?} with {held} held by live tasks and texts"));
        }
    }
    let mut assigned = BTreeMap::<&str, usize>::new();
    for assignment in live.iter().filter_map(|task| task.assignment.as_ref()) {
        *assigned.entry(&assignment.account).or_default() += 1;
    }
    match ACCOUNT_LIMITS.iter().find(|(name, limit)| assigned.get(name).is_some_and(|tasks| tasks > limit)) {
        Some((name, limit)) => Err(format!("{} tasks at {name}, whose limit is {limit}", assigned[name])),
        None => Ok(()),
    }
}

/// Whether the task may have become that (I10), one durable step at a time.
fn follows(old: &Task, new: &Task, asks: bool) -> Result<(), String> {
    let steady = old.customer == new.customer
        && old.key == new.key
        && old.created == new.created
        // What joins has a time limit of its own.
        && (old.deadline == new.deadline || (old.deadline < new.deadline && old.joined_held < new.joined_held))
        && old.prices == new.prices
        && old.model == new.model
        && old.seed == new.seed
        // A task ends on the version that admitted it, or on one that reads its state.
        && ((old.digest == new.digest && old.state_version == new.state_version)
            || reads(&old.digest, &new.digest));
    if !steady {
        return Err(format!("a constant field has changed: {} -> {}", brief(old), brief(new)));
    }
    if old.status.is_final() {
        return Err(format!("I10, I14: it had ended: {} -> {}", brief(old), brief(new)));
    }
    if new.revision == old.revision {
        // A request that joins leaves the rest of the task as it is, but for its time.
        let (joined, held, joined_held, deadline) =
            (old.joined.clone(), old.held, old.joined_held, old.deadline);
        let is_join = new.held > held && Task { joined, held, joined_held, deadline, ..new.clone() } == *old;
        let same = || format!("changed at one revision: {} -> {}", brief(old), brief(new));
        return if is_join { Ok(()) } else { Err(same()) };
    }
    if new.status < old.status || new.progress < old.progress || new.revision < old.revision {
        let show = |task: &Task| (task.status, task.progress, task.revision);
        return Err(format!("I10: it went back: {:?} -> {:?}", show(old), show(new)));
    }
    match (&old.phase, &new.phase) {
        // The outcome of a call is recorded before a plugin sees it, and nothing is sent without a record.
        (Phase::Sent { .. }, Phase::Run(_) | Phase::Over) => Ok(()),
        // Only a call its provider recognises is sent again.
        (Phase::Sent { .. }, Phase::Call(call)) if call.replay == Replay::Token => Ok(()),
        // Where the operator wants to be asked about one that it does not recognise, it waits for a ruling.
        (Phase::Sent { .. }, Phase::Ambiguous { call, .. }) if asks && call.replay == Replay::Once => Ok(()),
        (Phase::Ambiguous { call: old, .. }, Phase::Call(new)) if old == new => Ok(()),
        (Phase::Ambiguous { .. }, Phase::Run(Event::Reply(_)) | Phase::Over) => Ok(()),
        (Phase::Ambiguous { .. }, other) => Err(format!("from Ambiguous to {other:?}")),
        (Phase::Sent { .. }, other) => Err(format!("from Sent to {other:?}")),
        _ => Ok(()),
    }
}

/// Whether what followed an ambiguous call is on record: a ruling, or the end of its time.
fn has_ruling(store: &Store, old: &Task, new: &Task) -> Result<bool, String> {
    if new.revision == old.revision {
        // A request joined it.
        return Ok(true);
    }
    let notes = lines_about(store, new.id)?;
    let is_timeout = new.failure.as_ref().is_some_and(|failure| failure.kind == FailureKind::Timeout);
    Ok(is_timeout || notes.iter().any(|note| note.text.starts_with("ruled by an operator")))
}

/// I12, the later half: no task lives much longer than its limit.
fn on_time(simulation: &Simulation, task: &Task) -> Result<(), String> {
    let (now, last_set) = (simulation.clock.now(), simulation.clock.last_set());
    let late = match task.phase {
        _ if last_set.0 == 0 => LATE,
        Phase::Sent { .. } | Phase::Run(_) => LATE_WHILE_SENT,
        _ => LATE_AFTER_JUMP,
    };
    let due = task
        .deadline
        .plus(simulation.clock.skipped(task.created))
        .max(last_set)
        .max(simulation.process_start());
    let end = task.finished.unwrap_or(now);
    // A process that stops ends nothing more; the next one does, in time from its start.
    if task.status.is_final() || end <= due.plus(late) || simulation.is_stopping() {
        return Ok(());
    }
    Err(format!("I12: {} should have ended at {} and is {:?} at {now}", task.id, task.deadline, task.status))
}

/// All lines of the audit record about a task, newest first.
pub(super) fn lines_about(store: &Store, task: TaskId) -> Result<Vec<AuditRecord>, String> {
    /// Lines of one read.
    const LINES: usize = 1_000;
    let query = AuditQuery { task: Some(task), ..AuditQuery::default() };
    let (mut lines, mut before) = (Vec::new(), None);
    loop {
        // A store whose writer the simulation runs reads in place.
        let page = store.list_audit(query.clone(), before, LINES).now_or_never();
        let page =
            page.ok_or("the audit record was not read in place")?.map_err(|error| error.to_string())?;
        lines.extend(page.rows.into_iter().map(|(_, line)| line));
        before = page.next;
        if before.is_none() {
            return Ok(lines);
        }
    }
}
