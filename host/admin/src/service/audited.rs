//! What a change of the store is called in the audit record, and what it is about. The names are those of
//! the admin API's operations, so that one filter finds a change whichever way it came. Pure.

use gatehouse_tasks::{Command, FieldChange};
use serde_json::Value;

use crate::api::error::OperationError;
use crate::http::error::ApiError;
use crate::http::request::merge_patch::created;

/// The path of a provider's account.
pub(crate) fn account_object(provider: &str, account: &str) -> String {
    format!("providers/{provider}/accounts/{account}")
}

/// What somebody wrote may be long.
pub(super) fn shortened(text: String) -> String {
    text.chars().take(200).collect()
}

/// The same of a change of the store, with the fields that the change itself tells of.
pub(super) fn line_of_change(command: &Command) -> (&'static str, String, Vec<FieldChange>) {
    match command {
        Command::AddCustomer { id, .. } => ("createCustomer", format!("customers/{id}"), Vec::new()),
        Command::AddKey { key } => ("createKey", format!("keys/{}", key.id), created(&key.policy())),
        Command::Deposit { customer, amount, memo, .. } => {
            let name = if amount.0 < 0 { "withdraw" } else { "deposit" };
            let changes = vec![told("amount_micro", amount.0), told("memo", memo.as_str())];
            (name, format!("customers/{customer}"), changes)
        }
        Command::RevokeKey { id, at } => {
            ("revokeKey", format!("keys/{id}"), vec![told("revoked", at.to_string())])
        }
        // No operator sends another one.
        _ => ("changeStore", String::new(), Vec::new()),
    }
}

/// What a change sets, where nothing is told of what was there before.
pub(crate) fn told(field: &str, value: impl Into<Value>) -> FieldChange {
    FieldChange { field: field.to_owned(), before: None, after: Some(value.into().to_string()) }
}

/// The status that the admin API answers with for an error.
pub(super) fn status_of(error: &OperationError) -> u16 {
    ApiError::from(error.clone()).status()
}
