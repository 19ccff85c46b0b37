//! Providers on standard output: a row an account, then who waits and the last errors.

use std::io::{self, Write};

use gatehouse_admin::{BreakerView, ProviderAccountView, ProviderView};

use super::table::{rfc3339, table};

/// Every account, and what is to be said of each provider.
pub(super) fn list(out: &mut dyn Write, providers: &[ProviderView]) -> io::Result<()> {
    let all: Vec<ProviderAccountView> =
        providers.iter().flat_map(|provider| provider.accounts.iter().cloned()).collect();
    accounts(out, &all)?;
    for provider in providers.iter().filter(|provider| provider.waiting > 0) {
        let pace = provider.pace_ms.map_or_else(String::new, |ms| format!(", one permit every {ms} ms"));
        writeln!(out, "\n{}: {} wait{pace}", provider.name, provider.waiting)?;
        for customer in &provider.waiting_by_customer {
            writeln!(out, "  {:<24} {}", customer.customer.0, customer.waiting)?;
        }
    }
    Ok(())
}

/// A row an account, and the last errors of each.
pub(super) fn accounts(out: &mut dyn Write, accounts: &[ProviderAccountView]) -> io::Result<()> {
    let row = |account: &ProviderAccountView| {
        vec![
            account.provider.clone(),
            account.account.clone(),
            health(account),
            format!("{}/{}", account.in_flight, account.limit),
            breaker(account),
            account.priority.to_string(),
            account.weight.to_string(),
            account.rate_per_second.map_or_else(|| "-".to_owned(), |rate| format!("{rate}/s")),
        ]
    };
    let heads = ["PROVIDER", "ACCOUNT", "HEALTH", "PERMITS", "BREAKER", "PRIORITY", "WEIGHT", "RATE"];
    table(out, &heads, accounts.iter().map(row))?;
    for account in accounts {
        for error in &account.last_errors {
            let (provider, name) = (&account.provider, &account.account);
            writeln!(out, "  {} {provider}/{name} {}", rfc3339(error.at), error.text)?;
        }
    }
    Ok(())
}

fn health(account: &ProviderAccountView) -> String {
    let word = account.health.as_str();
    let until = match account.health {
        gatehouse_admin::AccountHealth::Paused => account.paused_until,
        gatehouse_admin::AccountHealth::Refused => account.refused_until,
        _ => None,
    };
    let health = until.map_or_else(|| word.to_owned(), |until| format!("{word} until {}", rfc3339(until)));
    match account.rate_limited_since {
        Some(since) => format!("{health}, too many requests since {}", rfc3339(since)),
        None => health,
    }
}

fn breaker(account: &ProviderAccountView) -> String {
    match (account.breaker, account.open_until) {
        (BreakerView::Open, Some(until)) => format!("open until {}", rfc3339(until)),
        (breaker, _) => breaker.as_str().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use gatehouse_admin::{AccountErrorView, AccountHealth, WaitingView};
    use gatehouse_model::UnixMs;

    use super::*;

    #[test]
    fn accounts_errors_and_who_waits_are_told() {
        let account = ProviderAccountView {
            provider: "bfl".to_owned(),
            account: "main".to_owned(),
            health: AccountHealth::Paused,
            drained: false,
            priority: 1,
            weight: 2,
            in_flight: 3,
            limit: 4,
            reserve: 0,
            rate_per_second: Some(2.5),
            breaker: BreakerView::Open,
            open_until: Some(UnixMs(60_000)),
            paused_until: Some(UnixMs(30_000)),
            rate_limited_since: None,
            refused_until: None,
            last_errors: vec![AccountErrorView { at: UnixMs(0), text: "429: too many requests".to_owned() }],
        };
        let provider = ProviderView {
            name: "bfl".to_owned(),
            accounts: vec![account],
            waiting: 5,
            waiting_by_customer: vec![WaitingView { customer: "acme".into(), waiting: 5 }],
            pace_ms: Some(40),
        };
        let mut out = Vec::new();
        list(&mut out, &[provider]).unwrap();
        let expected = "\
PROVIDER  ACCOUNT  HEALTH                             PERMITS  BREAKER                          PRIORITY  WEIGHT  RATE
bfl       main     paused until 1970-01-01T00:00:30Z  3/4      open until 1970-01-01T00:01:00Z  1         2       2.5/s
  1970-01-01T00:00:00Z bfl/main 429: too many requests

bfl: 5 wait, one permit every 40 ms
  acme                     5
";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
