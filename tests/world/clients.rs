//! Clients and operators: what they do, and what they may expect of the answer. An answer that comes after the
//! power went was never heard.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use gatehouse_driver::{CancelError, CheckedBody, MediaRefusal, SubmitError, SubmitRequest, TaskFilter};
use gatehouse_model::{Status, Task, TaskId};
use object_store::ObjectStore;
use serde_json::json;

use crate::book::{Promise, brief};
use crate::customers::{keys, payer};
use crate::house::House;
use crate::invariants::opens;
use crate::plan::{Act, KEYS, Kind, Wish};
use crate::shelf::builds;
use crate::talks;
use crate::world::World;

/// Does one thing.
pub(crate) async fn run(house: Arc<House>, act: Act) {
    let world = Arc::clone(&house.world);
    let outcome = match act {
        Act::Submit(wish) => submit(&house, wish).await.map(|_| ()),
        Act::Talk(talk) => talks::talk(&house, talk).await.map(|_| ()),
        Act::Read(prompt) => read(&house, &prompt),
        Act::Await(prompt, ms) => wait(&house, &prompt, Duration::from_millis(ms)).await,
        Act::List(key) => list(&house, key),
        Act::Cancel(prompt) => cancel(&house, &prompt).await,
        Act::Swap(build) => {
            world.count("a build was activated");
            world.say(format_args!("operator: build {build}"));
            house.families.activate(&builds()[build]).map(|_| ()).map_err(|error| error.to_string())
        }
        Act::RollBack(family) => {
            world.count("a build was gone back to");
            world.say(format_args!("operator: back with {family}"));
            house.families.roll_back(family).map(|_| ()).map_err(|error| error.to_string())
        }
        Act::Revoke(key) => revoke(&house, key).await,
        Act::Gone(prompt) => gone(&house, &prompt).await,
        Act::Jump(ms) => {
            world.say(format_args!("the clock is set by {ms} ms"));
            world.count("the clock was set");
            world.time.jump(ms);
            Ok(())
        }
        // Whoever plays the plan does this one.
        Act::Restart(_) => Ok(()),
    };
    if let Err(what) = outcome
        && house.is_open()
    {
        world.fail(what);
    }
}

fn request(wish: &Wish) -> SubmitRequest {
    let body = match wish.kind {
        Kind::Good(model) => json!({"model": model, "prompt": wish.prompt}),
        Kind::Doomed => json!({"model": "ctx-pro", "prompt": wish.prompt, "safety_tolerance": 9}),
        Kind::Invalid => json!({"model": "ctx-pro"}),
        Kind::Unknown => json!({"model": "ctx-none", "prompt": wish.prompt}),
    };
    SubmitRequest {
        key: Arc::clone(&keys()[wish.key]),
        surface: "images.generate",
        parent: None,
        body: CheckedBody::parse(Bytes::from(body.to_string()), None).expect("a JSON object"),
        idempotency: wish.token.clone(),
    }
}

/// Submits; the task if the client heard of one.
async fn submit(house: &House, wish: Wish) -> Result<Option<TaskId>, String> {
    let world = &house.world;
    let was_revoked = world.book().revoked.contains(&wish.key);
    let outcome = house.driver.submit(request(&wish)).await;
    if !house.is_open() {
        world.count("nobody heard the answer to a submission");
        return Ok(None);
    }
    world.say(format_args!("client: {:?} -> {outcome:?}", wish.prompt));
    match outcome {
        Ok(receipt) => {
            if !matches!(wish.kind, Kind::Good(_) | Kind::Doomed) {
                return Err(format!("{wish:?} was accepted"));
            }
            if was_revoked && !receipt.repeated {
                return Err(format!("{wish:?} was accepted although its key is revoked"));
            }
            accepted(world, wish, receipt.task, receipt.repeated)?;
            return Ok(Some(receipt.task));
        }
        Err(SubmitError::Invalid { .. }) if wish.kind == Kind::Invalid => {}
        Err(SubmitError::UnknownModel(_)) if wish.kind == Kind::Unknown => {}
        Err(SubmitError::KeyGone | SubmitError::Draining | SubmitError::Store(_)) => {}
        Err(SubmitError::IdempotencyConflict) if wish.token.is_some() => {
            world.count("a token came with another request");
        }
        Err(SubmitError::InsufficientBalance { needed, available }) if needed > available => {
            world.count("an account could not pay");
        }
        Err(SubmitError::QuotaExceeded { needed, remaining }) if needed > remaining => {
            world.count("a quota was used up");
        }
        Err(error) => return Err(format!("{wish:?} was refused: {error}")),
    }
    Ok(None)
}

/// A client has a receipt in its hands: from now on the task is promised (I9), and its token means it (I5).
fn accepted(world: &World, wish: Wish, task: TaskId, repeated: bool) -> Result<(), String> {
    let mut book = world.book();
    if !book.seen.contains_key(&task) {
        return Err(format!("I9: {task} was promised before it was durable"));
    }
    if let Some(token) = wish.token {
        let first = *book.tokens.entry((wish.key, token.clone())).or_insert(task);
        if first != task {
            return Err(format!("I5: {token:?} made {first} and then {task}"));
        }
        if repeated {
            world.count("a submission was repeated");
        }
    }
    if let Some(seen) = book.seen.get_mut(&task) {
        if seen.prompt.as_ref().is_some_and(|prompt| *prompt != wish.prompt) {
            return Err(format!("{task} was promised for {:?} and is about {:?}", wish.prompt, seen.prompt));
        }
        seen.prompt.get_or_insert_with(|| wish.prompt.clone());
    }
    let known = book.promises.entry(wish.prompt).or_insert(Promise { task, key: wish.key });
    // Without a token, or with another key, it is another task; the first one is followed.
    if repeated && known.task != task && known.key == wish.key {
        return Err(format!("I5: {} and {task} are the same submission", known.task));
    }
    Ok(())
}

/// What its owner reads, at least as new as what was seen on disk, and what nobody else does (I9-I11).
fn read_task(house: &House, promise: &Promise) -> Result<Task, String> {
    let Promise { task: id, key } = promise;
    let owner = payer(*key);
    let mut found = None;
    for other in 0..KEYS {
        let read = house.driver.task(&keys()[other], *id).map_err(|error| error.to_string())?;
        match (read, payer(other) == owner) {
            (Some(task), true) => found = Some(task),
            (None, false) => {}
            (None, true) => return Err(format!("I9: {id} was promised and cannot be read")),
            (Some(_), false) => return Err(format!("I9: {id} can be read by key {other}")),
        }
    }
    let task = found.ok_or("no owner")?;
    let book = house.world.book();
    match book.seen.get(id) {
        Some(seen) if seen.task.revision > task.revision || seen.task.status > task.status => {
            Err(format!("I11: {id} was read older than it had been seen: {:?}", task.status))
        }
        _ => Ok(task),
    }
}

fn promise(house: &House, prompt: &str) -> Option<Promise> {
    house.world.book().promises.get(prompt).cloned()
}

fn read(house: &House, prompt: &str) -> Result<(), String> {
    let Some(promise) = promise(house, prompt) else { return Ok(()) };
    read_task(house, &promise).map(|_| ())
}

async fn wait(house: &House, prompt: &str, patience: Duration) -> Result<(), String> {
    let Some(promise) = promise(house, prompt) else { return Ok(()) };
    let world = &house.world;
    let before = world.time.gone();
    let found = house.driver.task_when_over(&keys()[promise.key], promise.task, patience).await;
    if !house.is_open() {
        return Ok(());
    }
    let task =
        found.map_err(|error| error.to_string())?.ok_or_else(|| format!("I9: {} is gone", promise.task))?;
    let waited = u128::from(world.time.gone() - before);
    if !task.status.is_final() && waited < patience.as_millis() && house.driver.is_ready() {
        return Err(format!("a wait for {} ended after {waited} ms with {:?}", task.id, task.status));
    }
    read_task(house, &promise).map(|_| ())
}

fn list(house: &House, key: usize) -> Result<(), String> {
    let filter = TaskFilter { limit: 100, ..TaskFilter::default() };
    let (tasks, more) = house.driver.tasks(&keys()[key], &filter).map_err(|error| error.to_string())?;
    let book = house.world.book();
    let mine = |seen: &&crate::book::Seen| seen.task.customer == keys()[key].customer;
    let expected = book.seen.values().filter(mine).count();
    if more || tasks.len() != expected || tasks.iter().any(|task| task.customer != keys()[key].customer) {
        return Err(format!("I9: key {key} lists {} tasks of {expected}", tasks.len()));
    }
    Ok(())
}

async fn cancel(house: &House, prompt: &str) -> Result<(), String> {
    let Some(promise) = promise(house, prompt) else { return Ok(()) };
    let world = &house.world;
    let stranger = keys().iter().find(|key| key.customer != keys()[promise.key].customer);
    let theirs = house.driver.cancel(stranger.ok_or("one account only")?, promise.task).await;
    if house.is_open() && !matches!(theirs, Err(CancelError::NotFound)) {
        return Err(format!("I9: a stranger's cancel was answered {theirs:?}"));
    }
    let outcome = house.driver.cancel(&keys()[promise.key], promise.task).await;
    if !house.is_open() {
        return Ok(());
    }
    let words = outcome.as_ref().map(|task| task.status).map_err(ToString::to_string);
    world.say(format_args!("client: cancel {prompt:?} -> {words:?}"));
    let task = read_task(house, &promise)?;
    match outcome {
        Ok(ended) if ended.status == Status::Failed && task == ended => Ok(()),
        Ok(ended) => Err(format!("cancelled as {:?}", ended.status)),
        Err(CancelError::Over(_)) if task.status.is_final() => Ok(()),
        Err(CancelError::Running) => {
            world.count("a cancel came too late");
            Ok(())
        }
        Err(CancelError::Store(_)) => Ok(()),
        Err(error) => Err(format!("a cancel of {} was refused: {error}", promise.task)),
    }
}

/// I15, the other half: after its time a link is refused, and what it led to does not stay.
async fn gone(house: &House, prompt: &str) -> Result<(), String> {
    let Some(promise) = promise(house, prompt) else { return Ok(()) };
    let task = read_task(house, &promise)?;
    if task.status != Status::Completed {
        return Ok(());
    }
    let kept = house.world.objects.list(None).count().await;
    match opens(&house.driver, &task) {
        Err(why) if why.ends_with(&expired()) && kept == 0 => Ok(()),
        other => Err(format!("I15: the link's time is over: {other:?}, {kept} objects are kept")),
    }
}

/// The words for a link that has ended.
fn expired() -> String {
    MediaRefusal::Expired.to_string()
}

async fn revoke(house: &House, key: usize) -> Result<(), String> {
    let (id, at) = (keys()[key].id.clone(), house.world.time.now());
    let outcome = house.driver.store().execute(gatehouse_tasks::Command::RevokeKey { id, at }).await;
    if house.is_open() && matches!(outcome, Ok(Ok(_))) {
        house.world.count("a key was revoked");
        house.world.book().revoked.insert(key);
    }
    Ok(())
}

/// After everything, the house still works: one more task goes all the way.
pub(crate) async fn last_task(house: &House) -> Result<(), String> {
    let world = &house.world;
    let prompt = format!("the last one, at {}", world.time.gone());
    let wish = Wish { key: 0, kind: Kind::Good("ctx-pro"), prompt: prompt.clone(), token: None };
    let task = submit(house, wish).await?;
    wait(house, &prompt, Duration::from_secs(100)).await?;
    let status = task.and_then(|task| world.book().seen.get(&task).map(|seen| seen.task.status));
    match status {
        Some(Status::Completed) => Ok(()),
        _ if !house.is_open() => Ok(()),
        other => Err(format!("I19: after everything a task is {other:?} instead of completed")),
    }
}

/// Every promise and every end once more, as its owner reads it.
pub(crate) fn read_everything(house: &House) -> Result<(), String> {
    let world = &house.world;
    let (promises, seen) = {
        let book = world.book();
        (book.promises.values().cloned().collect::<Vec<_>>(), book.seen.clone())
    };
    for promise in &promises {
        read_task(house, promise)?;
    }
    let now = world.time.gone();
    for (id, seen) in seen {
        let task = house.driver.store().task(id).map_err(|error| error.to_string())?;
        let task = task.ok_or_else(|| format!("I9: {id} is gone"))?;
        if task != seen.task || !task.status.is_final() {
            return Err(format!(
                "I10, I14: it was last seen as {}, and is {}",
                brief(&seen.task),
                brief(&task)
            ));
        }
        if task.status == Status::Completed {
            let expired = task.media.iter().any(|media| media.expires <= world.time.now());
            if !expired {
                opens(&house.driver, &task).map_err(|what| format!("I15: {id}: {what}"))?;
            }
        } else if seen.prompt.is_some_and(|prompt| world.truth().success(&prompt, now).is_some()) {
            world.count("a success came too late");
        }
    }
    Ok(())
}
