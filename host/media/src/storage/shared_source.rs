//! Sources that several products of one result name: a grid picture and its tiles. Each is fetched once and kept as a blob
//! until all of its products are copied; a crash on the way leaves it to the sweep.

use std::collections::HashMap;

use gatehouse_model::{BlobId, Media, Product};

use crate::storage::copy_result::is_fetched;
use crate::storage::media_store::MediaStore;
use crate::storage::source::SaveError;
use crate::storage::task_blobs::TaskBlobs;

/// The sources of one result.
pub struct ResultSources {
    blobs: TaskBlobs,
    /// Those that several products name, with their blobs once they are fetched.
    shared: HashMap<String, Option<BlobId>>,
}

impl ResultSources {
    /// The sources of `products`; `blobs` are those of the task.
    #[must_use]
    pub fn new(products: &[Product], blobs: TaskBlobs) -> Self {
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for product in products.iter().filter(|product| is_fetched(&product.source)) {
            *counts.entry(&product.source).or_default() += 1;
        }
        let shared = counts.into_iter().filter(|(_, count)| *count > 1);
        Self { blobs, shared: shared.map(|(source, _)| (source.to_owned(), None)).collect() }
    }
}

impl MediaStore {
    /// As [`MediaStore::save`], with a source that other products share fetched once.
    ///
    /// # Errors
    /// See [`SaveError`]; nothing of this product is kept then.
    pub async fn save_one_of(
        &self,
        sources: &mut ResultSources,
        product: &Product,
        provider: &str,
    ) -> Result<Media, SaveError> {
        let ResultSources { blobs, shared } = sources;
        let Some(kept) = shared.get_mut(&product.source) else {
            return self.save(product, provider, blobs).await;
        };
        let id = match *kept {
            Some(id) => id,
            None => {
                let id = self.keep_source(product, provider, blobs).await?;
                blobs.add(id);
                *kept.insert(id)
            }
        };
        let product = Product { source: format!("blob:{id}"), ..product.clone() };
        self.save(&product, provider, blobs).await
    }

    /// Drops what was kept of shared sources.
    pub async fn drop_sources(&self, sources: ResultSources) {
        let kept: Vec<_> = sources.shared.into_values().flatten().collect();
        self.drop_blobs(&kept).await;
    }
}
