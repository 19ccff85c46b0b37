//! Simulated providers in place of real ones, and the account that tries them.
//!
//! The only code that knows both the simulation's addresses and the configuration's shape. A family whose
//! provider has a simulation is one entry in `point`.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use gatehouse_admin::{NewKey, Operation, OperationError, Outcome};
use gatehouse_driver::ModelConfig;
use gatehouse_model::{ChatFormat, Credits, CustomerId, Secret};
use gatehouse_sandbox::{Sandbox, Settings};
use gatehouse_upstream::{AccountConfig, SecretRef};

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

/// Text models of the simulated chat completions, besides those the families come with.
const CHAT_MODELS: &str = r#"
[sim-chat]
provider = "openai"
protocol = "chat"
upstream = "gpt-sim"
prices = { input = "1", output = "4", cached = "0.1" }
rules = { max_output = 16384 }

[sim-reasoning]
provider = "openai"
protocol = "chat"
upstream = "gpt-sim-reasoning"
prices = { input = "2", output = "8", cached = "0.2" }
rules = { max_output = 128000, sampling = "none" }

[sim-clone]
provider = "openai"
protocol = "chat"
upstream = "clone-sim"
prices = { input = "1", output = "2" }
rules = { max_output = 8192, max_tokens_field = "max_tokens", include_usage = false }
"#;

/// Points the configuration's providers at the simulations; accounts of real ones are not used.
pub(crate) fn point(config: &mut Config, sandbox: &Sandbox) {
    let context = sandbox.context();
    let text = |origin: &str| (origin.to_owned(), vec![], vec![]);
    let places = [
        ("bfl", (context.submit.clone(), vec![context.poll.clone()], vec![context.delivery.clone()])),
        ("anthropic", text(&sandbox.messages().origin)),
        ("openai", text(&sandbox.chat().origin)),
    ];
    for (name, (base, origins, media)) in places {
        let Some(provider) = config.providers.get_mut(name) else { continue };
        (provider.base_url, provider.origins, provider.media_origins) = (base, origins, media);
        let secret = Some(SecretRef::Given(Secret::new(PROVIDER_KEY.to_owned())));
        let account = AccountConfig { secret, ..AccountConfig::default() };
        provider.accounts = BTreeMap::from([("sandbox".to_owned(), account)]);
    }
    let models: BTreeMap<String, ModelConfig> = toml::from_str(CHAT_MODELS).expect("a test parses it");
    for (id, model) in models {
        config.models.entry(id).or_insert(model);
    }
    // So that the sample pictures can be used as references.
    let samples = context.samples.trim_start_matches("http://").to_owned();
    config.fetch.allow_private.push(samples);
}

/// An account with credit and a fresh key for it; the key printed by an earlier start ends.
///
/// # Errors
/// The store refused or failed.
pub(crate) async fn welcome(desk: &Desk) -> Result<String, OperationError> {
    let account = CustomerId::from(ACCOUNT);
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
        chat_format: ChatFormat::Wrapped,
    };
    match desk.perform(Operation::KeyCreate(new)).await? {
        Outcome::KeyCreated { secret, .. } => Ok(secret.0),
        other => Err(OperationError::Failed(format!("expected a new key, got {other:?}"))),
    }
}

async fn fill_up(desk: &Desk, account: &CustomerId) -> Result<(), OperationError> {
    let shown = match desk.perform(Operation::AccountShow { account: account.clone() }).await {
        Err(OperationError::NotFound(_)) => {
            desk.perform(Operation::AccountOpen { account: account.clone() }).await?
        }
        other => other?,
    };
    let Outcome::Customer(found) = shown else {
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
    use super::*;

    #[test]
    fn the_simulated_models_can_be_used() {
        let models: BTreeMap<String, ModelConfig> = toml::from_str(CHAT_MODELS).unwrap();
        assert_eq!(gatehouse_driver::check_models(&models), Ok(()));
        assert!(models.values().all(|model| model.provider == "openai"));
    }
}
