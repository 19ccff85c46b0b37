//! Results of an earlier task for a task that follows it up. Copies an object, and looks at its beginning only.

use gatehouse_model::{BlobId, Facts, Media};

use crate::links::signed_link;
use crate::storage::media_store::{MediaStore, blob_path};
use crate::storage::objects::Error;

impl MediaStore {
    /// A result as a new blob that another task may use, with its facts; `None` when the result is gone. In a local
    /// folder the copy is a link, so it costs no space.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn adopt(&self, media: &Media) -> Result<Option<(BlobId, Facts)>, Error> {
        let id = BlobId::new(self.0.clock.now(), &*self.0.seed);
        let from = signed_link::path(&signed_link::name(media.id, &media.mime), media.expires);
        if !self.0.objects.copy(&from, &blob_path(id)).await? {
            return Ok(None);
        }
        match self.facts_of(id).await {
            Ok(Some(facts)) => Ok(Some((id, facts))),
            unread => {
                self.drop_blobs(&[id]).await;
                unread.map(|_| None)
            }
        }
    }
}
