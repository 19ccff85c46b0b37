//! A request that is answered at once, as it is played: what is held for it, and the one answer of its provider.

use gatehouse_contract::passes;
use gatehouse_sdk::{Charge, Context, DirectRequest, Plan, Reply};
use serde_json::Value;

use super::checks::{settles, twice};
use crate::machine::Machine;
use crate::written::shown_direct as shown;

/// The call of a request.
pub(super) struct DirectState {
    /// What may be settled.
    held: Option<Charge>,
    passes: Vec<String>,
    state: Vec<u8>,
}

/// Asks the family; a call is under way unless it refused or answered.
pub(super) fn plan(
    machine: &dyn Machine,
    cx: &Context,
    request: &DirectRequest,
) -> Result<(Option<DirectState>, Value), String> {
    let direct = machine.direct()?;
    let verdict = twice(|| direct.plan(cx, request))?;
    let came = shown::planned(&verdict);
    let Ok(Plan::Call(exchange)) = verdict else { return Ok((None, came)) };
    let held = exchange.at_most.or(exchange.charge);
    let state = DirectState { held, passes: exchange.passes, state: exchange.state };
    Ok((Some(state), came))
}

impl DirectState {
    /// What the client gets. An answer that passes is not the family's business: the host hands it on.
    pub(super) fn answer(&self, machine: &dyn Machine, cx: &Context, reply: &Reply) -> Result<Value, String> {
        let mime = reply.header("content-type").unwrap_or_default();
        if reply.is_success() && passes(&self.passes, mime) {
            return Ok(shown::passed(mime));
        }
        let direct = machine.direct()?;
        let answer = twice(|| direct.respond(cx, &self.state, reply))?;
        if let Ok(response) = &answer {
            if !reply.is_success() {
                let status = reply.status;
                return Err(format!(
                    "expected a failure for an answer with the status {status}, got a response"
                ));
            }
            match (&self.held, &response.settle) {
                (Some(held), settle) => settles(&held.lines, settle.as_ref())?,
                (None, Some(_)) => return Err("settle: expected none, for nothing was charged".to_owned()),
                (None, None) => {}
            }
        }
        Ok(shown::responded(&answer))
    }
}
