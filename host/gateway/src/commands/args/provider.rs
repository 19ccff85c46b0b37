//! Options of `provider` and `providers`, the requests they mean, and what is said of the answers.

use std::fmt::Write as _;

use clap::{Args, Subcommand};
use gatehouse_admin::ApiRequest;
use serde_json::Value;

use crate::commands::api::{Api, Performed};
use crate::commands::print::{rows_at, table, text_at};

/// Commands about a provider's account.
#[derive(Debug, Subcommand)]
pub(crate) enum ProviderCommand {
    /// Keep new work away from an account; what is in flight goes on. Ends with the gateway
    #[command(after_help = "Example:\n  gatehouse provider drain bfl main && gatehouse providers")]
    Drain(AccountArgs),
    /// Let new work come to a drained account again
    Resume(AccountArgs),
}

/// An account of a provider.
#[derive(Debug, Args)]
pub(crate) struct AccountArgs {
    /// The provider's name, as the configuration has it
    pub(crate) provider: String,
    /// The account's name
    pub(crate) account: String,
}

const WHY: &str = "only a running one knows the state of its providers";
const FIELDS: &[&str] = &[
    "provider",
    "account",
    "health",
    "until",
    "in flight=in_flight",
    "limit",
    "breaker",
    "open until=open_until",
    "priority",
    "weight",
    "a second=rate_per_second",
];

/// Does what a command about a provider's account means.
pub(in crate::commands) async fn run(command: ProviderCommand, api: &Api<'_>) -> Performed {
    let (AccountArgs { provider, account }, verb) = match command {
        ProviderCommand::Drain(args) => (args, "drain"),
        ProviderCommand::Resume(args) => (args, "resume"),
    };
    api.needs_gateway(WHY)?;
    let switch = ApiRequest::post(&["providers", &provider, "accounts", &account, verb]);
    api.told(switch, |account| accounts(std::slice::from_ref(account))).await
}

/// Every provider with its accounts, and the customers that wait for one.
pub(in crate::commands) async fn list(api: &Api<'_>) -> Performed {
    api.needs_gateway(WHY)?;
    api.listed(ApiRequest::get(&["providers"]), usize::MAX, providers).await
}

fn providers(rows: &[Value]) -> String {
    let all: Vec<Value> = rows.iter().flat_map(|provider| rows_at(provider, "accounts")).cloned().collect();
    let mut text = accounts(&all);
    for provider in rows.iter().filter(|provider| provider["waiting"] != 0) {
        let pace = provider["pace_ms"].as_u64();
        let pace = pace.map_or_else(String::new, |ms| format!(", one permit every {ms} ms"));
        let _ = writeln!(text, "\n{}: {} wait{pace}", text_at(provider, "name"), provider["waiting"]);
        for customer in rows_at(provider, "waiting_by_customer") {
            let _ = writeln!(text, "  {:<24} {}", text_at(customer, "customer"), customer["waiting"]);
        }
    }
    text
}

/// A row an account, and the last errors of each.
fn accounts(accounts: &[Value]) -> String {
    let rows: Vec<Value> = accounts.iter().map(with_end).collect();
    let mut text = table(&rows, FIELDS);
    for account in accounts {
        let (provider, name) = (text_at(account, "provider"), text_at(account, "account"));
        for error in rows_at(account, "last_errors") {
            let _ = writeln!(text, "  {} {provider}/{name} {}", text_at(error, "at"), text_at(error, "text"));
        }
        if let Some(since) = account["rate_limited_since"].as_str() {
            let _ = writeln!(text, "  {since} {provider}/{name} too many requests since then");
        }
    }
    text
}

/// The end of what keeps work away from an account.
fn with_end(account: &Value) -> Value {
    let end = match text_at(account, "health") {
        "paused" => "paused_until",
        "refused" => "refused_until",
        _ => "",
    };
    let mut row = account.clone();
    row["until"] = account.get(end).cloned().unwrap_or_default();
    row
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn accounts_errors_and_the_waiting_are_told() {
        let account = json!({
            "provider": "bfl", "account": "main", "health": "paused", "priority": 1, "weight": 2, "in_flight": 3,
            "limit": 4, "rate_per_second": 2.5, "breaker": "open", "open_until": "1970-01-01T00:01:00.000Z",
            "paused_until": "1970-01-01T00:00:30.000Z",
            "last_errors": [{"at": "1970-01-01T00:00:00.000Z", "text": "429: too many requests"}],
        });
        let provider = json!({
            "name": "bfl", "accounts": [account], "waiting": 5, "pace_ms": 40,
            "waiting_by_customer": [{"customer": "acme", "waiting": 5}],
        });
        let text = providers(&[provider]);
        let row: Vec<&str> = text.lines().nth(1).unwrap().split_whitespace().collect();
        let (until, open) = ("1970-01-01T00:00:30.000Z", "1970-01-01T00:01:00.000Z");
        assert_eq!(row, ["bfl", "main", "paused", until, "3", "4", "open", open, "1", "2", "2.5"]);
        let (_, rest) = text.split_once("2.5\n").unwrap();
        let expected = "  1970-01-01T00:00:00.000Z bfl/main 429: too many requests

bfl: 5 wait, one permit every 40 ms
  acme                     5
";
        assert_eq!(rest, expected);
    }
}
