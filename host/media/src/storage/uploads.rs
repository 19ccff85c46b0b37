//! Uploads in parts that nobody ends any more, since their process was killed or gave up. No listing of objects shows their parts,
//! which are paid for.
//!
//! `object_store` has no request that lists them: it is made here, signed by what signs all others.

use std::error::Error as StdError;

use hyper::Request;
use object_store::Error;
use object_store::aws::{AmazonS3, AwsAuthorizer};
use object_store::client::{HttpRequestBody, HttpService as _};
use object_store::multipart::MultipartStore as _;
use object_store::path::Path;
use serde::Deserialize;
use url::Url;

use crate::storage::bucket::Connections;

/// A bucket, as far as its unfinished uploads go.
#[derive(Debug)]
pub(crate) struct Uploads {
    pub(crate) store: AmazonS3,
    pub(crate) connections: Connections,
    /// Of the bucket.
    pub(crate) address: Url,
    /// What is before the keys of all objects.
    pub(crate) prefix: Path,
    pub(crate) region: String,
}

/// Some of them, by the keys of their objects.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Listed {
    /// Whether there are more behind these.
    #[serde(default)]
    pub(crate) is_truncated: bool,
    #[serde(default, rename = "Upload")]
    pub(crate) uploads: Vec<Unfinished>,
}

/// One of them.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Unfinished {
    key: String,
    upload_id: String,
}

impl Unfinished {
    /// The name of its object's file.
    pub(crate) fn file(&self) -> &str {
        self.key.rsplit('/').next().unwrap_or_default()
    }
}

impl Uploads {
    /// The first of those whose objects are to be below `folder`.
    pub(crate) async fn first(&self, folder: &str) -> Result<Listed, Error> {
        let mut url = self.address.clone();
        let below = format!("{}/", Path::from_iter(self.prefix.parts().chain([folder.into()])));
        url.query_pairs_mut().append_pair("prefix", &below).append_pair("uploads", "");
        let mut request = Request::get(url.as_str()).body(HttpRequestBody::empty()).map_err(failed)?;
        let credential = self.store.credentials().get_credential().await?;
        AwsAuthorizer::new(&credential, "s3", &self.region).try_authorize(&mut request, None)?;
        let answer = self.connections.call(request).await.map_err(failed)?;
        let status = answer.status();
        let body = answer.into_body().bytes().await.map_err(failed)?;
        let text = String::from_utf8_lossy(&body);
        if !status.is_success() {
            return Err(failed(format!("status code: {status}: {text}")));
        }
        quick_xml::de::from_str(&text).map_err(failed)
    }

    /// Gives up an upload with all its parts; one that is gone already is no error.
    pub(crate) async fn abort(&self, upload: &Unfinished) -> Result<(), Error> {
        // The whole key, as the service has it.
        match self.store.abort_multipart(&Path::parse(&upload.key)?, &upload.upload_id).await {
            Err(Error::NotFound { .. }) => Ok(()),
            aborted => aborted,
        }
    }
}

fn failed(error: impl Into<Box<dyn StdError + Send + Sync>>) -> Error {
    Error::Generic { store: "S3", source: error.into() }
}
