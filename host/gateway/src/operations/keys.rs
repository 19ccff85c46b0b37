//! API keys: minted, listed, ended. The key itself is seen once, in the answer to its making.

use gatehouse_admin::{KeyView, NewKey, OperationError, Outcome, Revealed};
use gatehouse_model::{ApiKey, Credits, CustomerId, Key, KeyId};
use gatehouse_tasks::Command;

use super::{Desk, broken};

impl Desk {
    pub(super) async fn create_key(&self, new: NewKey) -> Result<Outcome, OperationError> {
        let now = self.clock.now();
        check_policy(&new, now)?;
        let secret = ApiKey::mint(self.seed.as_ref());
        let key = Key {
            id: secret.id(),
            customer: new.account,
            name: new.name,
            digest: secret.digest(&self.pepper),
            created: now,
            quota: new.quota,
            used: Credits::ZERO,
            models: new.models,
            networks: new.networks,
            expires: new.expires,
            revoked: None,
            chat_format: new.chat_format,
        };
        self.send(Command::AddKey { key: Box::new(key.clone()) }).await?;
        Ok(Outcome::KeyCreated { key: KeyView::from(key), secret: Revealed(secret.reveal().to_owned()) })
    }

    pub(super) fn list_keys(
        &self,
        account: Option<&CustomerId>,
        revoked: bool,
    ) -> Result<Outcome, OperationError> {
        let mut keys: Vec<KeyView> =
            self.store.keys().map_err(broken)?.into_iter().map(KeyView::from).collect();
        keys.retain(|key| {
            account.is_none_or(|account| key.account == *account) && (revoked || key.revoked.is_none())
        });
        keys.sort_by(|left, right| (left.created, &left.id).cmp(&(right.created, &right.id)));
        Ok(Outcome::Keys { keys })
    }

    pub(super) fn show_key(&self, key: &KeyId) -> Result<Outcome, OperationError> {
        let found = self.store.key(key).map_err(broken)?;
        let found = found.ok_or_else(|| OperationError::NotFound(format!("no key {key}")))?;
        Ok(Outcome::Key(KeyView::from(found)))
    }

    pub(super) async fn revoke_key(&self, key: KeyId) -> Result<Outcome, OperationError> {
        self.send(Command::RevokeKey { id: key.clone(), at: self.clock.now() }).await?;
        self.show_key(&key)
    }
}

fn check_policy(new: &NewKey, now: gatehouse_model::UnixMs) -> Result<(), OperationError> {
    let wrong = |text: String| Err(OperationError::Invalid(text));
    if new.name.trim().is_empty() || new.name.len() > 100 || new.name.chars().any(char::is_control) {
        return wrong("name: expected 1 to 100 bytes of plain text".to_owned());
    }
    if let Some(quota) = new.quota.filter(|quota| *quota < Credits::ZERO) {
        return wrong(format!("quota: expected zero or more credits, not {quota}"));
    }
    if let Some(model) = new.models.iter().find(|model| model.is_empty() || model.len() > 200) {
        return wrong(format!("model {model:?}: expected a model's id or alias"));
    }
    if new.models.len() > 200 || new.networks.len() > 200 {
        return wrong("expected at most 200 models and 200 networks".to_owned());
    }
    if new.expires.is_some_and(|expires| expires <= now) {
        return wrong("expires: expected a moment in the future".to_owned());
    }
    Ok(())
}
