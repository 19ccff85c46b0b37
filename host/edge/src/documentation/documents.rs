//! Documents and pages by what they describe: the loaded versions and the models that the caller may use. A swap of a
//! plugin or of the text models is another document, so nothing here can be stale.

use std::sync::Arc;

use bytes::Bytes;
use gatehouse_docs::{Api, Operation, Page, document, page};
use gatehouse_model::{Digest, FamilyListing};
use http::HeaderValue;
use moka::sync::Cache;

use crate::documentation::operations;
use crate::response::SharedBody;
use crate::routing::table::RouteTable;

/// Documents kept: one for callers without a key, and those of keys with lists of models.
const MAX_DOCUMENTS: u64 = 64;
/// Bytes of a digest that tell one version of a body from another.
const ETAG_BYTES: usize = 16;
/// The path of the page's style sheet.
const STYLE: &str = "/docs/style.css";

/// The documents made so far.
#[derive(Clone)]
pub(crate) struct Documents(Cache<Digest, Arc<Built>>);

/// One document and its page.
pub(crate) struct Built {
    pub(crate) json: Bytes,
    pub(crate) etag: HeaderValue,
    /// The page's parts; the address of the gateway goes between each two.
    pub(crate) page: Arc<[Bytes]>,
}

impl Default for Documents {
    fn default() -> Self {
        Self(Cache::new(MAX_DOCUMENTS))
    }
}

impl Documents {
    /// The document of these families and routes. One that is not kept is made on a blocking thread, in milliseconds, and once
    /// for all that ask meanwhile: nobody needs a key for it.
    pub(crate) async fn of(
        &self,
        families: Vec<FamilyListing>,
        table: &RouteTable,
    ) -> Result<Arc<Built>, String> {
        let key = identity(&families, table);
        if let Some(built) = self.0.get(&key) {
            return Ok(built);
        }
        let (kept, operations) = (self.0.clone(), operations::all(table));
        let building = move || kept.get_with(key, || Arc::new(Built::of(families, operations)));
        tokio::task::spawn_blocking(building).await.map_err(|error| error.to_string())
    }
}

impl Built {
    fn of(families: Vec<FamilyListing>, operations: Vec<Operation>) -> Self {
        let api = Api { operations, families, errors: operations::errors() };
        let document = document(&api);
        let json = Bytes::from(document.to_string());
        let page = page(&document, STYLE);
        let parts = page.parts().map(|part| Bytes::copy_from_slice(part.as_bytes())).collect();
        Self { etag: etag(&json), page: parts, json }
    }

    /// The page for a gateway at `base`, and its version. Nothing is rendered or copied but the address.
    pub(crate) fn page_at(&self, base: &str) -> (SharedBody, HeaderValue) {
        let address = Bytes::from(Page::address(base));
        let version = etag(&[self.etag.as_bytes(), &address].concat());
        (SharedBody::with(Arc::clone(&self.page), address), version)
    }
}

/// The strong version of a body.
pub(crate) fn etag(body: &[u8]) -> HeaderValue {
    let text = format!("\"{}\"", Digest::of(body).prefix(ETAG_BYTES));
    HeaderValue::from_str(&text).expect("hex digits in quotes")
}

/// What a document depends on: a version's schemas and words go with its digest.
fn identity(families: &[FamilyListing], table: &RouteTable) -> Digest {
    let mut text = String::new();
    for row in table.rows() {
        text += &format!("{} {} {} {:?}\n", row.method, row.pattern, row.surface, row.endpoint);
    }
    for family in families {
        text += &format!("{} {} {}\n", family.family, family.version, family.digest);
        for surface in &family.surfaces {
            let default = surface.default_model.as_deref().unwrap_or_default();
            text += &format!(" {} {default} {}\n", surface.name, surface.models.join(" "));
        }
    }
    Digest::of(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without it each of the requests that come at once after a swap has the document made, which takes milliseconds, without a key.
    #[tokio::test]
    async fn what_many_ask_for_at_once_is_made_once() {
        let (documents, table) = (Documents::default(), RouteTable::of(&Arc::default()));
        let asked = futures_util::future::join_all((0..16).map(|_| documents.of(Vec::new(), &table))).await;
        let made: Vec<_> = asked.into_iter().map(Result::unwrap).collect();
        assert!(made.iter().all(|built| Arc::ptr_eq(built, &made[0])));
    }

    #[test]
    fn a_page_is_copied_for_no_address() {
        let built = Built::of(Vec::new(), Vec::new());
        for base in ["http://one.test", "http://other.test"] {
            let (body, _) = built.page_at(base);
            assert!(body.shares(&built.page), "{base}");
        }
    }
}
