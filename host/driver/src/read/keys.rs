//! Keys of callers, and whether their customers have to share accounts.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use gatehouse_model::{Key, KeyDigest};
use gatehouse_store::StoreError;

use crate::shared::Shared;

/// Looks up keys.
pub struct Keys {
    pub(crate) shared: Arc<Shared>,
    /// Moves with every change of a key.
    pub(crate) generation: AtomicU64,
}

impl Keys {
    /// The key of this digest, straight from the store. Callers cache, and drop what they cached
    /// whenever [`Keys::keys_generation`] has moved.
    pub async fn key(&self, digest: &KeyDigest) -> Result<Option<Key>, StoreError> {
        self.shared.store.key_by_digest(digest).await
    }

    /// Moves whenever a key is made, changed or revoked.
    #[must_use]
    pub fn keys_generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Tells caches that a key was made, changed or revoked.
    pub fn keys_changed(self: &Arc<Self>) {
        self.generation.fetch_add(1, Ordering::AcqRel);
        if !self.shared.upstream.has_several_customers() {
            let keys = Arc::clone(self);
            tokio::spawn(async move { keys.count_customers().await });
        }
    }

    /// Where there are several customers, none of them gets every permit of an account.
    pub(crate) async fn count_customers(&self) {
        match self.shared.when_there(|| self.shared.store.count_customers()).await {
            Ok(customers) if customers > 1 => self.shared.upstream.expect_several_customers(),
            Ok(_) => {}
            Err(error) => tracing::warn!(%error, "customers were not counted"),
        }
    }
}
