//! The audit of requests that are not safe: each leaves one line, also when it is refused.
//!
//! A request that changes the store writes its line in the commit of the change ([`Call::commit`](crate::http::call::Call)). For
//! any other the router writes the line once the answer is known.

use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use gatehouse_model::RequestId;
use gatehouse_tasks::{AuditedRequest, FieldChange};
use serde_json::Value;

use crate::access::Caller;

/// The longest reason in a line, in bytes.
const MAX_REASON: usize = 500;

/// What is known so far of a request's line.
#[derive(Debug, Default)]
pub(crate) struct AuditTrail(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    object: Option<String>,
    changes: Vec<FieldChange>,
    written: bool,
}

impl AuditTrail {
    /// What the request is about and what it changes, for a change that is not in the store.
    pub(crate) fn describe(&self, object: String, changes: Vec<FieldChange>) {
        let mut state = self.state();
        (state.object, state.changes) = (Some(object), changes);
    }

    /// The line was written with the change.
    pub(crate) fn written(&self) {
        self.state().written = true;
    }

    /// What an answered request is about and what it changed, unless its line is written already.
    pub(crate) fn rest(&self) -> Option<(Option<String>, Vec<FieldChange>)> {
        let mut state = self.state();
        if state.written {
            return None;
        }
        state.written = true;
        Some((state.object.take(), std::mem::take(&mut state.changes)))
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a change sets, where nothing is told of what was there before.
pub(crate) fn told(field: &str, value: impl Into<Value>) -> FieldChange {
    FieldChange { field: field.to_owned(), before: None, after: Some(value.into().to_string()) }
}

/// The request that a line is about: who sent it, if that is known, and from where.
#[derive(Clone, Copy)]
pub(crate) struct SentRequest<'a> {
    pub(crate) id: RequestId,
    pub(crate) caller: Option<&'a Caller>,
    pub(crate) address: IpAddr,
}

impl<'a> SentRequest<'a> {
    pub(crate) fn of(id: RequestId, caller: &'a Caller) -> Self {
        Self { id, caller: Some(caller), address: caller.address }
    }
}

/// A line of the audit record.
pub(crate) fn line(
    SentRequest { id, caller, address }: SentRequest<'_>,
    operation: &str,
    object: String,
    status: u16,
    reason: &str,
    changes: Vec<FieldChange>,
) -> AuditedRequest {
    AuditedRequest {
        id,
        who: caller.map(|caller| caller.who.clone()).unwrap_or_default(),
        role: caller.map(|caller| caller.role.to_string()).unwrap_or_default(),
        address: address.to_string(),
        operation: operation.to_owned(),
        object,
        status,
        reason: reason[..reason.floor_char_boundary(MAX_REASON)].to_owned(),
        changes,
    }
}
