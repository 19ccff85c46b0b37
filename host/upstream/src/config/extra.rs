//! `headers` and `query` of a provider: checked, with their secrets resolved.

use std::collections::BTreeMap;

use gatehouse_contract::is_host_header;
use gatehouse_model::Secret;
use http::HeaderName;

use crate::auth::credential::sensitive;
use crate::auth::extra::Extra;
use crate::auth::redact::is_telling;
use crate::auth::scheme::Auth;
use crate::config::check::Account;
use crate::config::credential::Secrets;
use crate::config::settings::{ConfigError, ExtraValue, ProviderConfig, error};

/// Entries of one table.
const MAX_ENTRIES: usize = 32;

/// Checks what is sent along with every call of a provider.
pub(super) fn check(
    provider: &str,
    config: &ProviderConfig,
    accounts: &[Account],
    secrets: Secrets<'_>,
) -> Result<Extra, ConfigError> {
    let mut found = Vec::new();
    let mut all = |field: &str, values: &BTreeMap<String, ExtraValue>| {
        if values.len() > MAX_ENTRIES {
            let problem = format!("expected at most {MAX_ENTRIES} entries, got {}", values.len());
            return Err(error(format!("providers.{provider}.{field}"), problem));
        }
        values
            .iter()
            .map(|(name, value)| {
                let key = format!("providers.{provider}.{field}.{name}");
                let value = match value {
                    ExtraValue::Plain(text) => Secret::new(text.clone()),
                    ExtraValue::Secret(secret) => {
                        let secret = secrets(secret).map_err(|problem| error(key.clone(), problem))?;
                        found.push(secret.clone());
                        secret
                    }
                };
                Ok((key, name.clone(), value))
            })
            .collect::<Result<Vec<_>, ConfigError>>()
    };
    let (named_headers, named_query) = (all("headers", &config.headers)?, all("query", &config.query)?);
    let mut headers = Vec::with_capacity(named_headers.len());
    for (key, name, value) in named_headers {
        let wrong = |problem: &str| error(key.clone(), problem);
        let name = HeaderName::try_from(&name).map_err(|_| wrong("expected the name of a header"))?;
        let is_credential = accounts.iter().any(|account| account.credential.owns(name.as_str()));
        if is_credential || is_host_header(name.as_str()) {
            return Err(wrong("expected a header that neither the gateway nor the accounts' `auth` sets"));
        }
        let value = sensitive(value.expose());
        let value = value.ok_or_else(|| wrong("the value holds characters that cannot be sent"))?;
        headers.push((name, value));
    }
    let auths = config.accounts.values().filter_map(|account| account.auth.as_ref()).chain([&config.auth]);
    let taken: Vec<&String> =
        auths.filter_map(|auth| if let Auth::Query(name) = auth { Some(name) } else { None }).collect();
    let mut query = Vec::with_capacity(named_query.len());
    for (key, name, value) in named_query {
        if name.is_empty() || taken.contains(&&name) {
            return Err(error(key, "expected a parameter that the accounts' `auth` does not set"));
        }
        query.push((name, value));
    }
    Ok(Extra::new(headers, query, &found))
}

/// The keys of secrets that are too short or too uniform to be found in an answer.
pub(super) fn weak(provider: &str, config: &ProviderConfig, secrets: Secrets<'_>) -> Vec<String> {
    let tables = [("headers", &config.headers), ("query", &config.query)];
    let all = tables.into_iter().flat_map(|(field, values)| values.iter().map(move |entry| (field, entry)));
    let is_weak = |value: &ExtraValue| match value {
        ExtraValue::Plain(_) => false,
        ExtraValue::Secret(secret) => {
            secrets(secret).is_ok_and(|secret| !is_telling(secret.expose().as_bytes()))
        }
    };
    let weak = all.filter(|(_, (_, value))| is_weak(value));
    weak.map(|(field, (name, _))| format!("providers.{provider}.{field}.{name}")).collect()
}
