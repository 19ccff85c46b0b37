//! An operator who settles ambiguous tasks: looks up at the provider what became of each call, and rules.

use gatehouse_driver::{CallRuling, RulingError};
use gatehouse_model::{Call, Payload, Phase, Target, Task};
use gatehouse_sample::at_once;
use gatehouse_tasks::Rejection;
use serde_json::{Value, json};

use crate::plan::actions::OperatorRuling;
use crate::simulation::Simulation;
use crate::system::under_test::System;

/// Rules on every task that is ambiguous now.
pub(crate) async fn rule(system: &System, kind: OperatorRuling) -> Result<(), String> {
    let live = system.simulation.outage.observe(|| at_once(system.store.live_tasks(None)));
    let live = live.unwrap_or_default().into_iter();
    let lost: Vec<Task> = live.filter(|task| task.phase.ambiguous_call().is_some()).collect();
    for task in lost {
        let Phase::Ambiguous { call, .. } = &task.phase else { continue };
        let ruling = match kind {
            OperatorRuling::Fail => CallRuling::Fail,
            OperatorRuling::Truth => truth(&system.simulation, call),
        };
        settle(system, &task, ruling).await?;
    }
    Ok(())
}

/// What the provider's record says of a call. Anything but a submission is given up.
fn truth(simulation: &Simulation, call: &Call) -> CallRuling {
    let path = match &call.target {
        Target::Path(path) | Target::Url(path) => path,
    };
    let Payload::Json(body) = &call.body else { return CallRuling::Fail };
    let request: Value = serde_json::from_slice(body).unwrap_or_default();
    let Some(prompt) = request["prompt"].as_str().filter(|_| !path.ends_with("/patch")) else {
        return CallRuling::Fail;
    };
    let provider = simulation.provider();
    match provider.jobs.iter().position(|job| job.prompt == prompt) {
        None => CallRuling::Resend,
        Some(job) => {
            let url = format!("http://region.provider.test/v1/get_result?id={job}");
            let body = json!({"id": job.to_string(), "polling_url": url});
            let (content_type, body) = ("application/json".to_owned(), body.to_string().into());
            CallRuling::Adopt { status: 200, content_type, body }
        }
    }
}

async fn settle(system: &System, task: &Task, ruling: CallRuling) -> Result<(), String> {
    let simulation = &system.simulation;
    let what = match &ruling {
        CallRuling::Adopt { .. } => "an operator handed in a reply",
        CallRuling::Fail => "an operator gave a task up",
        CallRuling::Resend => "an operator had a call sent again",
    };
    let (id, seen) = (task.id, Some(task.revision));
    let (store, rulings) = (system.driver.store(), &system.driver.rulings);
    let again = ruling.clone();
    let prepared = match rulings.prepare_ruling(id, seen, ruling, "looked it up".to_owned()).await {
        Ok(prepared) => prepared,
        Err(RulingError::Store(_)) => return Ok(()),
        Err(error) => return Err(format!("{}: a ruling cannot be made: {error}", task.id)),
    };
    let answer = store.execute(prepared.command.clone()).await;
    let is_committed = matches!(answer, Ok(Ok(_)));
    if is_committed && system.is_open() {
        simulation.log(format_args!("operator: {} {what}", task.id));
        simulation.count(what);
    }
    // The store may be closed meanwhile; the next start goes on from what is on disk.
    rulings.ruled(prepared, is_committed).await;
    if !system.is_open() {
        return Ok(());
    }
    match answer {
        Ok(Ok(_)) => {}
        // Its time was over, or it was ended before.
        Ok(Err(Rejection::Final(_) | Rejection::RulingTooLate(_) | Rejection::Stale { .. })) | Err(_) => {
            return Ok(());
        }
        Ok(Err(other)) => return Err(format!("{}: a ruling was refused: {other}", task.id)),
    }
    // The same once more: what the operator saw is settled.
    let Ok(prepared) = rulings.prepare_ruling(id, seen, again, "once more".to_owned()).await else {
        return Ok(());
    };
    let answer = store.execute(prepared.command.clone()).await;
    rulings.ruled(prepared, false).await;
    match answer {
        Ok(Ok(_)) => Err(format!("I13: {} was ruled on twice", task.id)),
        _ => Ok(()),
    }
}
