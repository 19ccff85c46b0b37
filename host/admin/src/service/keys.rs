//! API keys: made, listed, found, and what an edit may say. The secret of a key is in the result of its creation and nowhere
//! else. Owns the making of secrets; asks the store, and the running gateway for the names of models.

use std::collections::BTreeMap;

use gatehouse_model::{
    ApiKey, ChatFormat, Credits, CustomerId, Key, KeyDigest, KeyPolicy, Limits, Pepper, UnixMs,
};

use super::commands::Commands;
use crate::api::error::OperationError;
use crate::api::values::Revealed;

/// A key to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NewKey {
    /// The customer that pays.
    pub(crate) customer: CustomerId,
    /// What it may do.
    pub(crate) policy: KeyPolicy,
    /// Its models may come later: names that are not served now are taken.
    pub(crate) force: bool,
}

/// API keys.
pub struct Keys {
    pub(super) commands: Commands,
    pub(super) pepper: Pepper,
}

impl Keys {
    /// A new key and its secret, which are not in the store yet.
    pub(crate) fn mint(&self, new: NewKey) -> Result<(Key, Revealed), OperationError> {
        let (NewKey { customer, policy, force }, now) = (new, self.commands.clock.now());
        check_policy(&policy, None, now)?;
        self.check_models(&policy.models, &[], force)?;
        let model_limits = self.own_names(policy.model_limits, &BTreeMap::new())?;
        let policy = KeyPolicy { model_limits, ..policy };
        let (secret, digest) = self.mint_secret();
        let key = Key::new(secret.id(), customer, digest, now, policy);
        Ok((key, Revealed(secret.reveal().to_owned())))
    }

    /// A secret that no key has yet, and its digest.
    pub(crate) fn mint_secret(&self) -> (ApiKey, KeyDigest) {
        let secret = ApiKey::mint(self.commands.seed.as_ref());
        let digest = secret.digest(&self.pepper);
        (secret, digest)
    }

    /// The policy of a key that is edited, with models by their own ids.
    pub(crate) fn check_edit(
        &self,
        policy: KeyPolicy,
        row: &Key,
        force: bool,
    ) -> Result<KeyPolicy, OperationError> {
        check_policy(&policy, row.expires, self.commands.clock.now())?;
        self.check_models(&policy.models, &row.models, force)?;
        let model_limits = self.own_names(policy.model_limits, &row.model_limits)?;
        Ok(KeyPolicy { model_limits, ..policy })
    }

    /// Whether `secret` is a key that works now and has that form of chat completions.
    pub async fn accepts(&self, secret: &str, chat_format: ChatFormat) -> Result<bool, OperationError> {
        let Ok(secret) = ApiKey::parse(secret) else { return Ok(false) };
        let found = self.commands.store.key_by_digest(&secret.digest(&self.pepper)).await?;
        let now = self.commands.clock.now();
        Ok(found.is_some_and(|key| {
            key.chat_format == chat_format
                && key.revoked.is_none()
                && key.expires.is_none_or(|expires| expires > now)
        }))
    }

    /// Refuses a name that no served model has, unless it is in the key already: a key with a misspelt one could use
    /// nothing. Where nothing is served, nothing is known of names.
    fn check_models(&self, models: &[String], present: &[String], force: bool) -> Result<(), OperationError> {
        let Some(driver) = self.commands.gateway.driver() else { return Ok(()) };
        if force || models.iter().all(|model| present.contains(model)) {
            return Ok(());
        }
        let known = driver.models.model_names();
        let is_known = |model: &&String| known.is_empty() || known.contains(model) || present.contains(model);
        match models.iter().find(|model| !is_known(model)) {
            Some(unknown) => Err(OperationError::Invalid(unknown_model(unknown, &known))),
            None => Ok(()),
        }
    }

    /// By the models' own ids: requests count by them, whatever name a client uses. A name that the key has limits for
    /// is one, also if its model is gone.
    pub(crate) fn own_names<T>(
        &self,
        limits: BTreeMap<String, T>,
        present: &BTreeMap<String, Limits>,
    ) -> Result<BTreeMap<String, T>, OperationError> {
        let wrong = |text: String| Err(OperationError::Invalid(format!("model_limits: {text}")));
        let mut own = BTreeMap::new();
        for (name, value) in limits {
            let known = || present.contains_key(&name).then(|| name.clone());
            let served = self.commands.gateway.driver().and_then(|driver| driver.models.model_id(&name));
            let model = served.or_else(known);
            let Some(model) = model else {
                return wrong(format!("expected a model that the running gateway serves, not {name:?}"));
            };
            if own.insert(model.clone(), value).is_some() {
                return wrong(format!("{name:?} is another name of {model:?}, which is listed too"));
            }
        }
        Ok(own)
    }
}

/// The known name that `name` may have been meant to be.
#[must_use]
pub fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let (distance, near) = known.map(|known| (strsim::levenshtein(name, known), known)).min()?;
    (distance <= 1 + name.len() / 4).then_some(near)
}

/// What is said of a name that no model has, with the nearest one that a model has.
fn unknown_model(name: &str, known: &[String]) -> String {
    let near = nearest(name, known.iter().map(String::as_str));
    let near = near.map_or_else(String::new, |near| format!("; did you mean {near:?}?"));
    format!(
        "models: expected the name of a model that is served, got {name:?}{near} (--force takes one that comes later)"
    )
}

/// `expires`: of the key as it is, which a change of other fields keeps.
fn check_policy(policy: &KeyPolicy, expires: Option<UnixMs>, now: UnixMs) -> Result<(), OperationError> {
    let wrong = |text: String| Err(OperationError::Invalid(text));
    let name = &policy.name;
    if name.trim().is_empty() || name.len() > 100 || name.chars().any(char::is_control) {
        return wrong("name: expected 1 to 100 bytes of plain text".to_owned());
    }
    if let Some(quota) = policy.quota.filter(|quota| *quota < Credits::ZERO) {
        return wrong(format!("quota: expected zero or more credits, not {quota}"));
    }
    if let Some(model) = policy.models.iter().find(|model| model.is_empty() || model.len() > 200) {
        return wrong(format!("model {model:?}: expected a model's id or alias"));
    }
    if policy.models.len() > 200 || policy.networks.len() > 200 || policy.model_limits.len() > 200 {
        return wrong("expected at most 200 models, 200 networks and 200 models with limits".to_owned());
    }
    if policy.expires != expires && policy.expires.is_some_and(|expires| expires <= now) {
        return wrong("expires: expected a moment in the future".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without it an operator would have to guess which letter is wrong.
    #[test]
    fn a_misspelt_name_has_a_suggestion() {
        let known = ["ctx-pro", "ctx-max", "clip-2.0-fast"].map(str::to_owned);
        for (name, near) in [
            ("ctx-prp", Some("ctx-pro")),
            ("ctxmax", Some("ctx-max")),
            ("clip-2.0-fats", Some("clip-2.0-fast")),
            ("journey", None),
        ] {
            let text = unknown_model(name, &known);
            let meant = near.map(|near| format!("did you mean {near:?}?"));
            assert_eq!(meant.as_ref().is_some_and(|meant| text.contains(meant)), meant.is_some(), "{text}");
            assert_eq!(text.contains("did you mean"), near.is_some(), "{text}");
        }
    }
}
