//! Text clients: what they send, what they receive, and what their money must show after it. A hold always ends:
//! settled, released, or expired after a crash.

use std::future::{pending, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use crate::record::text_outcomes::Protocol;
use gatehouse_driver::{
    CompletionRequest, CompletionResponse, RequestReport, SubmitError, TextError, TextStream,
};
use gatehouse_model::RequestId;
use gatehouse_store::{Store, StoreError};
use gatehouse_tasks::{EntryKind, HoldId};

use crate::clients::until_reached;
use crate::clock::VirtualClock;
use crate::customers::{keys, payer};
use crate::memory::TextRecord;
use crate::oracle::texts::ledger_rows;
use crate::plan::requests::{Client, TextCall};
use crate::simulation::Simulation;
use crate::system::under_test::System;

/// Sends a text request and reads the answer; whether all of it was received.
pub(crate) async fn run(system: &System, text: TextCall) -> Result<bool, String> {
    let simulation = &system.simulation;
    let id = RequestId::new(simulation.clock.now(), &*simulation.seed);
    let known = TextRecord { text: text.clone(), sent: simulation.clock.now(), received: false, ended: None };
    simulation.memory().texts.insert(id, known);
    let request = CompletionRequest {
        id,
        key: Arc::clone(&keys()[text.key]),
        surface: text.client.surface(),
        body: text.client.body(text.protocol.as_str(), &format!("{};", text.prompt), text.streaming),
        headers: vec![],
        report: RequestReport::default(),
    };
    let leaving = async {
        match text.leaves {
            Some(ms) => VirtualClock::pause(Duration::from_millis(ms)).await,
            None => pending().await,
        }
    };
    let received = tokio::select! {
        biased;
        received = receive(system, &text, request) => received,
        () = pin!(leaving) => {
            simulation.count("a client left before the end of its text");
            return Ok(false);
        }
    };
    if !system.is_open() {
        simulation.count("the end of a text was lost in a crash");
        return Ok(false);
    }
    simulation.log(format_args!("client: {:?} -> {received:?}", text.prompt));
    // An answer does not wait for the disk: a crash before the commit loses the charge.
    let asked = || system.driver.store().flush();
    let flushed = until_reached(asked, |error| *error == StoreError::Unavailable).await;
    if flushed.is_err() || !system.is_open() {
        simulation.count("a text's charge was lost in a crash");
        return Ok(false);
    }
    let rows = simulation.outage.observe(|| ledger_rows(&system.rows, payer(text.key)));
    let row = rows?.into_iter().rfind(|row| row.hold == Some(HoldId::Request(id)));
    let end = row.map(|row| row.kind);
    // A clock that was set may have expired the hold early.
    let steady = simulation.clock.last_set().0 == 0;
    let answer = simulation.provider().text_answers.get(&text.prompt).and_then(|all| all.last().copied());
    let delivered = answer.is_some_and(|answer| text.is_delivered(answer));
    match received {
        Ok(()) if end == Some(EntryKind::Settle) || (end == Some(EntryKind::Release) && !steady) => {
            if let Some(known) = simulation.memory().texts.get_mut(&id) {
                known.received = true;
            }
            Ok(true)
        }
        Ok(()) => Err(format!("{text:?} was received whole, and its hold is {end:?}")),
        Err(_) if end == Some(EntryKind::Hold) => Err(format!("{text:?} failed, and its hold is open")),
        Err(_) if end == Some(EntryKind::Release) && steady && delivered => {
            Err(format!("{text:?} was delivered in part and cost nothing"))
        }
        Err(error) => {
            expected(simulation, &error).map(|()| false).map_err(|what| format!("{text:?}: {what}"))
        }
    }
}

async fn receive(system: &System, text: &TextCall, request: CompletionRequest) -> Result<(), TextError> {
    match system.driver.texts.complete(request).await? {
        CompletionResponse::Whole(_) => Ok(()),
        CompletionResponse::Stream(stream) => read(text, stream).await,
        CompletionResponse::DryRun(found) => panic!("a real request was answered with {found:?}"),
    }
}

async fn read(text: &TextCall, mut stream: TextStream) -> Result<(), TextError> {
    let mut whole = false;
    while let Some(batch) = poll_fn(|cx| stream.poll_next(cx)).await {
        whole = batch?.iter().any(|event| text.client.is_last(event.event.as_deref(), &event.data));
    }
    // Only a stopped process ends a stream without its last event.
    if whole { Ok(()) } else { Err(TextError::Refused(SubmitError::Draining)) }
}

/// # Errors
/// An error no client may receive in this simulation.
fn expected(simulation: &Simulation, error: &TextError) -> Result<(), String> {
    match error {
        TextError::Rejected { .. } => simulation.count("a text failed at its provider"),
        TextError::Timeout => simulation.count("a text took too long"),
        TextError::Unavailable { .. } => simulation.count("no account could take a text"),
        TextError::Refused(SubmitError::KeyGone | SubmitError::Draining | SubmitError::Store(_)) => {}
        TextError::Refused(SubmitError::InsufficientBalance { needed, available }) if needed > available => {}
        TextError::Refused(SubmitError::QuotaExceeded(short)) if short.needed > short.remaining => {}
        other => return Err(format!("it was refused: {other}")),
    }
    Ok(())
}

/// Whether any hold is open, asked when no task is live.
pub(crate) fn any_hold(store: &Store) -> Result<bool, String> {
    store.examine().map(|report| report.holds > 0).map_err(|error| error.to_string())
}

/// At the end, where the plan has texts: one more text of each protocol succeeds.
pub(crate) async fn last_texts(system: &System) -> Result<(), String> {
    if system.simulation.plan.text_outcomes.is_empty() {
        return Ok(());
    }
    for protocol in [Protocol::Messages, Protocol::Chat] {
        let mut received = false;
        // Only time ends a pause of the accounts.
        for _ in 0..10 {
            let prompt = format!("prompt {}", 1_000_000 + system.simulation.clock.elapsed());
            let last = TextCall { prompt, ..TextCall::plain(Client::Chat, protocol, true) };
            received = run(system, last).await?;
            if received || !system.is_open() {
                break;
            }
            VirtualClock::pause(Duration::from_secs(60)).await;
        }
        if !received && system.is_open() {
            return Err(format!("I19: at the end no text comes from {protocol:?}"));
        }
    }
    Ok(())
}
