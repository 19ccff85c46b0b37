//! Does the actions of a plan: those of clients by the files beside this one, those of operators here.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use gatehouse_driver::MediaRefusal;
use gatehouse_model::Status;
use gatehouse_tasks::Command;
use object_store::ObjectStore;

use crate::clients::{joins, rulings, tasks, texts};
use crate::customers::keys;
use crate::oracle::ends::opens;
use crate::plan::actions::Action;
use crate::plugins::versions;
use crate::system::under_test::System;

/// Does one action.
pub(crate) async fn run(system: Arc<System>, action: Action) {
    let simulation = Arc::clone(&system.simulation);
    let outcome = match action {
        Action::Submit(submission) => tasks::submit(&system, submission).await.map(|_| ()),
        Action::Join(patch) => joins::join(&system, patch).await,
        Action::Text(text) => texts::run(&system, text).await.map(|_| ()),
        Action::Read(prompt) => tasks::read(&system, &prompt),
        Action::Await(prompt, ms) => tasks::wait(&system, &prompt, Duration::from_millis(ms)).await,
        Action::List(key) => tasks::list(&system, key).await,
        Action::Cancel(prompt) => tasks::cancel(&system, &prompt).await,
        Action::Activate(version) => {
            simulation.count("a version was activated");
            simulation.log(format_args!("operator: activates version {version}"));
            system.plugins.activate(&versions()[version]).map(|_| ()).map_err(|error| error.to_string())
        }
        Action::RollBack(family) => {
            simulation.count("a version was rolled back");
            simulation.log(format_args!("operator: rolls {family} back"));
            system.plugins.roll_back(family).map(|_| ()).map_err(|error| error.to_string())
        }
        Action::Rule(ruling) => rulings::rule(&system, ruling).await,
        Action::Revoke(key) => revoke(&system, key).await,
        Action::ExpectExpired(prompt) => expired(&system, &prompt).await,
        Action::SetClock(ms) => {
            simulation.log(format_args!("the clock is set by {ms} ms"));
            simulation.count("the clock was set");
            simulation.clock.jump(ms);
            Ok(())
        }
        // The loop of the plan does this one.
        Action::Restart(_) => Ok(()),
    };
    if let Err(what) = outcome
        && system.is_open()
    {
        simulation.fail(what);
    }
}

/// I15, the other half: an expired link is refused, and its object is deleted.
async fn expired(system: &System, prompt: &str) -> Result<(), String> {
    let Some(promise) = tasks::promise(system, prompt) else { return Ok(()) };
    let task = tasks::read_task(system, &promise)?;
    if task.status != Status::Completed {
        return Ok(());
    }
    let kept = system.simulation.objects.list(None).count().await;
    match opens(&system.driver, &task) {
        Err(why) if why.ends_with(&MediaRefusal::Expired.to_string()) && kept == 0 => Ok(()),
        other => Err(format!("I15: the link has expired: {other:?}, {kept} objects are kept")),
    }
}

async fn revoke(system: &System, key: usize) -> Result<(), String> {
    let (id, at) = (keys()[key].id.clone(), system.simulation.clock.now());
    let outcome = system.driver.store().execute(Command::RevokeKey { id, at }).await;
    if system.is_open() && matches!(outcome, Ok(Ok(_))) {
        system.simulation.count("a key was revoked");
        system.simulation.memory().revoked.insert(key);
    }
    Ok(())
}
