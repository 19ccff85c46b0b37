//! API keys: create, list, show, revoke. The secret of a key is in the result of its creation and nowhere else.

use gatehouse_model::{ApiKey, ChatFormat, Credits, CustomerId, Key, KeyId};
use gatehouse_store::{KeyQuery, RowPage};
use gatehouse_tasks::Command;

use super::admin_service::{AdminService, on_blocking_thread, store_failed};
use crate::api::error::OperationError;
use crate::api::operation::NewKey;
use crate::api::result::{KeyView, OperationResult, Revealed};

impl AdminService {
    pub(super) async fn create_key(&self, new: NewKey) -> Result<OperationResult, OperationError> {
        let (key, secret) = self.mint_key(new)?;
        self.send(Command::AddKey { key: Box::new(key.clone()) }).await?;
        Ok(OperationResult::KeyCreated { key: KeyView::from(key), secret })
    }

    /// A new key and its secret, which are not in the store yet.
    pub(crate) fn mint_key(&self, new: NewKey) -> Result<(Key, Revealed), OperationError> {
        let now = self.clock.now();
        check_policy(&new, now)?;
        let secret = ApiKey::mint(self.seed.as_ref());
        let key = Key {
            id: secret.id(),
            customer: new.customer,
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
        Ok((key, Revealed(secret.reveal().to_owned())))
    }

    /// A page of keys by id, after that one.
    ///
    /// # Errors
    /// The store's.
    pub async fn keys_page(
        &self,
        query: KeyQuery,
        after: Option<KeyId>,
        limit: usize,
    ) -> Result<RowPage<Key, KeyId>, OperationError> {
        self.store.list_keys(query, after, limit).await.map_err(store_failed)
    }

    /// One key.
    ///
    /// # Errors
    /// The store's.
    pub fn key(&self, id: &KeyId) -> Result<Option<Key>, OperationError> {
        self.store.key(id).map_err(store_failed)
    }

    pub(super) async fn list_keys(
        &self,
        customer: Option<&CustomerId>,
        revoked: bool,
    ) -> Result<OperationResult, OperationError> {
        let store = self.store.clone();
        let keys = on_blocking_thread(move || store.keys()).await?.map_err(store_failed)?;
        let mut keys: Vec<KeyView> = keys.into_iter().map(KeyView::from).collect();
        keys.retain(|key| {
            customer.is_none_or(|customer| key.customer == *customer) && (revoked || key.revoked.is_none())
        });
        keys.sort_by(|left, right| (left.created, &left.id).cmp(&(right.created, &right.id)));
        Ok(OperationResult::Keys { keys })
    }

    pub(super) fn show_key(&self, key: &KeyId) -> Result<OperationResult, OperationError> {
        let found = self.store.key(key).map_err(store_failed)?;
        let found = found.ok_or_else(|| OperationError::NotFound(format!("no key {key}")))?;
        Ok(OperationResult::Key(KeyView::from(found)))
    }

    /// Whether `secret` is a key that works now and has that form of chat completions.
    ///
    /// # Errors
    /// The store's.
    pub fn accepts(&self, secret: &str, chat_format: ChatFormat) -> Result<bool, OperationError> {
        let Ok(secret) = ApiKey::parse(secret) else { return Ok(false) };
        let found = self.store.key_by_digest(&secret.digest(&self.pepper)).map_err(store_failed)?;
        let now = self.clock.now();
        Ok(found.is_some_and(|key| {
            key.chat_format == chat_format
                && key.revoked.is_none()
                && key.expires.is_none_or(|expires| expires > now)
        }))
    }

    pub(super) async fn revoke_key(&self, key: KeyId) -> Result<OperationResult, OperationError> {
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
