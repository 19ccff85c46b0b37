//! Simulated providers in place of real ones, and the account that tries them.
//!
//! The only code that knows both the simulation's addresses and the configuration's shape. A family whose
//! provider has a simulation is one entry in `point`; the text providers stand ready before any family names them.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use gatehouse_admin::{NewKey, Operation, OperationError, Outcome};
use gatehouse_model::{AccountId, Credits, Secret};
use gatehouse_sandbox::{Sandbox, Settings};
use gatehouse_upstream::{AccountConfig, ProviderConfig, SecretRef};

use crate::config::{Config, SandboxConfig};
use crate::operations::Desk;

/// What the simulated providers accept.
const PROVIDER_KEY: &str = "sandbox-key";
const ACCOUNT: &str = "sandbox";
/// By this name the key of an earlier start is found and revoked, so that keys do not pile up.
const KEY_NAME: &str = "printed at start";
/// Filled up to this at each start.
const CREDIT: Credits = Credits(1000 * Credits::UNIT);

/// Starts the simulated providers.
///
/// # Errors
/// A listener cannot be bound.
pub(crate) async fn start(config: &SandboxConfig) -> io::Result<Sandbox> {
    let settings = Settings {
        keys: vec![PROVIDER_KEY.to_owned()],
        job_time: Duration::from_millis(config.job_ms),
        link_life: Duration::from_secs(config.link_seconds),
        ..Settings::default()
    };
    Sandbox::start(settings).await
}

/// Points the configuration's providers at the simulations; accounts of real ones are not used.
pub(crate) fn point(config: &mut Config, running: &Sandbox) {
    let context = running.context();
    if let Some(provider) = config.providers.get_mut("bfl") {
        provider.base_url.clone_from(&context.submit);
        provider.origins = vec![context.poll.clone()];
        provider.media_origins = vec![context.delivery.clone()];
        provider.accounts = account();
    }
    for (name, auth, origin) in [
        ("anthropic", "{ header = \"x-api-key\" }", &running.messages().origin),
        ("openai", "\"bearer\"", &running.chat().origin),
    ] {
        let provider = config.providers.entry(name.to_owned()).or_insert_with(|| bare(auth));
        provider.base_url.clone_from(origin);
        provider.origins = vec![];
        provider.accounts = account();
    }
    // So that the sample pictures can be used as references.
    let samples = context.samples.trim_start_matches("http://").to_owned();
    config.fetch.allow_private.push(samples);
}

/// The one account the simulations know.
fn account() -> BTreeMap<String, AccountConfig> {
    let secret = Some(SecretRef::Given(Secret::new(PROVIDER_KEY.to_owned())));
    BTreeMap::from([("sandbox".to_owned(), AccountConfig { secret, ..AccountConfig::default() })])
}

/// A provider that no family brought and no operator wrote down, with the defaults of one that is.
fn bare(auth: &str) -> ProviderConfig {
    let text = format!("base_url = \"\"\nauth = {auth}\naccounts = {{}}\n");
    toml::from_str(&text).expect("a base URL, a way to sign in and accounts make a provider")
}

/// An account with credit and a fresh key for it; the key printed by an earlier start ends.
///
/// # Errors
/// The store refused or failed.
pub(crate) async fn welcome(desk: &Desk) -> Result<String, OperationError> {
    let account = AccountId::from(ACCOUNT);
    fill_up(desk, &account).await?;
    let list = Operation::KeyList { account: Some(account.clone()), revoked: false };
    if let Outcome::Keys { keys } = desk.perform(list).await? {
        for key in keys.into_iter().filter(|key| key.name == KEY_NAME) {
            desk.perform(Operation::KeyRevoke { key: key.id }).await?;
        }
    }
    let new = NewKey {
        account,
        name: KEY_NAME.to_owned(),
        quota: None,
        models: vec![],
        networks: vec![],
        expires: None,
    };
    match desk.perform(Operation::KeyCreate(new)).await? {
        Outcome::KeyCreated { secret, .. } => Ok(secret.0),
        other => Err(OperationError::Failed(format!("expected a new key, got {other:?}"))),
    }
}

async fn fill_up(desk: &Desk, account: &AccountId) -> Result<(), OperationError> {
    let shown = match desk.perform(Operation::AccountShow { account: account.clone() }).await {
        Err(OperationError::NotFound(_)) => {
            desk.perform(Operation::AccountOpen { account: account.clone() }).await?
        }
        other => other?,
    };
    let Outcome::Account(found) = shown else {
        return Err(OperationError::Failed(format!("expected account {account}, got {shown:?}")));
    };
    match CREDIT.checked_sub(found.available) {
        Some(amount) if amount > Credits::ZERO => {
            let (account, memo) = (account.clone(), "to try with".to_owned());
            desk.perform(Operation::AccountDeposit { account, amount, memo }).await.map(drop)
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use gatehouse_upstream::Auth;

    use super::*;

    #[tokio::test]
    async fn every_provider_is_pointed_at_its_simulation() {
        let running = Sandbox::start(Settings::default()).await.expect("starts");
        let mut config = Config::default();
        config.providers.insert("openai".to_owned(), bare("\"none\""));
        point(&mut config, &running);
        let anthropic = &config.providers["anthropic"];
        assert_eq!(anthropic.base_url, running.messages().origin);
        assert!(matches!(&anthropic.auth, Auth::Header(name) if name.as_str() == "x-api-key"));
        assert_eq!(config.providers["openai"].base_url, running.chat().origin);
        assert!(
            matches!(config.providers["openai"].auth, Auth::None),
            "how to sign in is the family's to say"
        );
        for (name, provider) in &config.providers {
            assert!(provider.accounts["sandbox"].secret.is_some(), "{name}");
        }
    }
}
