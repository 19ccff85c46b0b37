//! Answers a plugin's probe: fetches or opens the media and returns the facts. And looks at the results of an earlier task for one that
//! follows it up.
//!
//! Every failure is a text that a client may read; nothing here is an error of the gateway but a store
//! that fails.

use std::io;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::stream::{BoxStream, StreamExt};
use gatehouse_contract::{Payload, payload};
use gatehouse_model::{BlobId, CustomerId, Facts, Finding, Media, Probe};
use gatehouse_upstream::{FetchError, OpenBlob};
use url::Url;

use crate::edit::locate::SourceError;
use crate::ingest::extract::NewBlob;
use crate::links;
use crate::links::Checked;
use crate::look::remote::RemoteFile;
use crate::media_store::{MediaStore, TaskBlobs, blob_path};
use crate::probe::cut::facts_of_all;
use crate::probe::facts::facts;
use crate::storage::objects::{Error, Reading};

/// Bytes of a blob that are looked at; a larger one has the facts of its beginning.
const LOOKED_AT: usize = 64 * 1024 * 1024;

/// Between the name of a blob and the pixels of the PNG that is wanted of it.
const PNG: &str = ":png:";

/// Characters of an unusable source that its finding repeats.
const SHOWN: usize = 100;

impl MediaStore {
    /// Looks at one piece of media. What it keeps of it, [`TaskBlobs::kept`] names.
    ///
    /// # Errors
    /// Only when the store fails; everything else is part of the finding.
    pub async fn probe(&self, probe: &Probe, blobs: &TaskBlobs) -> Result<Finding, Error> {
        let source = probe.source.as_str();
        let outcome = match source.strip_prefix("blob:") {
            Some(name) => match name.split_once(PNG) {
                None => self.look_at_blob(name, blobs).await,
                Some((name, pixels)) => self.scale_blob(name, pixels, blobs).await,
            },
            None => self.look_at(source, probe.keep, blobs).await,
        };
        let found = match outcome {
            Ok(facts) => Ok(facts),
            Err(SourceError::Unfit(reason)) => Err(reason),
            Err(SourceError::Store(error)) => return Err(error),
        };
        Ok(Finding { source: source.to_owned(), found })
    }

    async fn look_at_blob(&self, name: &str, blobs: &TaskBlobs) -> Result<Facts, SourceError> {
        let (id, blob) = own(name, blobs).await?;
        Ok(facts_of_blob(id, blob).await?)
    }

    /// Keeps a picture of the task once more, as a PNG of other pixels.
    async fn scale_blob(&self, name: &str, pixels: &str, blobs: &TaskBlobs) -> Result<Facts, SourceError> {
        let sides = pixels
            .split_once('x')
            .and_then(|(width, height)| Some((width.parse::<u32>().ok()?, height.parse::<u32>().ok()?)));
        let sides = sides.ok_or_else(|| unusable("its pixels must be <width>x<height>"))?;
        let (_, blob) = own(name, blobs).await?;
        let png = self.0.editor.scaled(beginning(blob.body).await?, sides).await?;
        self.kept(png.into(), blobs).await
    }

    /// A result as a new blob that another task may use, with its facts; `None` when the result is gone. In a local
    /// folder the copy is a link, so it costs no space.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn adopt(&self, media: &Media) -> Result<Option<(BlobId, Facts)>, Error> {
        let id = BlobId::new(self.0.clock.now(), &*self.0.seed);
        let from = links::path(&links::name(media.id, &media.mime), media.expires);
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

    /// The facts of a blob of any owner; `None` when it is gone.
    async fn facts_of(&self, id: BlobId) -> Result<Option<Facts>, Error> {
        match self.open_blob(id).await? {
            Some(blob) => facts_of_blob(id, blob).await.map(Some),
            None => Ok(None),
        }
    }

    async fn look_at(&self, source: &str, keep: bool, blobs: &TaskBlobs) -> Result<Facts, SourceError> {
        let customer = blobs.customer.as_ref();
        if let (false, Ok(url)) = (keep, Url::parse(source))
            && matches!(url.scheme(), "http" | "https")
        {
            return match self.own_link(&url) {
                Some(own) => self.facts_of_result(&own).await,
                None => self.remote(&url, customer).facts().await.map_err(|why| not_fetched(&why)),
            };
        }
        let bytes = self.bytes_of(source, customer).await?;
        if !keep {
            return Ok(facts_of_all(&bytes));
        }
        self.kept(bytes, blobs).await
    }

    /// The bytes as a new blob of the task.
    async fn kept(&self, bytes: Bytes, blobs: &TaskBlobs) -> Result<Facts, SourceError> {
        let blob = NewBlob::new(BlobId::new(self.0.clock.now(), &*self.0.seed), bytes);
        blobs.begin_keeping(blob.id);
        match &blobs.customer {
            Some(customer) => self.keep_for(customer, std::slice::from_ref(&blob)).await?,
            None => self.keep(std::slice::from_ref(&blob)).await?,
        }
        blobs.add(blob.id);
        Ok(blob.facts)
    }

    /// Whether a provider may be told to fetch a link: where the gateway would, or a result of its own.
    ///
    /// # Errors
    /// Why not, as if it had been fetched here.
    pub(crate) fn check_link_for_provider(&self, link: &str) -> Result<(), String> {
        if Url::parse(link).is_ok_and(|url| self.own_link(&url).is_some()) {
            return Ok(());
        }
        self.0.upstream.fetcher().check_url(link).map_err(|why| fetch_failed(&why))
    }

    async fn bytes_of(&self, source: &str, customer: Option<&CustomerId>) -> Result<Bytes, SourceError> {
        if source.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("data:")) {
            let payload = payload(source.as_bytes());
            let otherwise = match payload.is_said {
                true => "the data: URI does not hold valid base64",
                false => "a data: URI must be data:<type>;base64,<data>",
            };
            return self.decoded(payload, otherwise);
        }
        match Url::parse(source) {
            Ok(url) if matches!(url.scheme(), "http" | "https") => self.fetched(&url, customer).await,
            Ok(url) if url.has_host() => Err(unusable(&no_source(source))),
            _ => self.decoded(payload(source.as_bytes()), &no_source(source)),
        }
    }

    fn decoded(&self, payload: Payload<'_>, otherwise: &str) -> Result<Bytes, SourceError> {
        let max = self.0.config.max_blob();
        if payload.base64.len() as u64 / 4 * 3 > max + 3 {
            return Err(SourceError::Unfit(format!("it is larger than {} MiB", self.0.config.max_blob_mib)));
        }
        payload.file().map(Bytes::from).ok_or_else(|| unusable(otherwise))
    }

    /// A result of this gateway is on its disk: no limit but that of what is looked at.
    async fn facts_of_result(&self, own: &Checked) -> Result<Facts, SourceError> {
        let found = self.result(own).await?;
        let (bytes, begin) = (found.length, beginning(found.body).await?);
        Ok(Facts { bytes, ..facts(&begin) })
    }

    async fn result(&self, own: &Checked) -> Result<Reading, SourceError> {
        let gone = || unusable("could not be fetched: the link no longer works");
        self.0.objects.read(&own.path).await?.ok_or_else(gone)
    }

    async fn fetched(&self, url: &Url, customer: Option<&CustomerId>) -> Result<Bytes, SourceError> {
        let max = self.0.config.max_probe();
        if let Some(own) = self.own_link(url) {
            let found = self.result(&own).await?;
            if found.length > max {
                return Err(not_fetched(&FetchError::TooLarge(max)));
            }
            return Ok(beginning(found.body).await?);
        }
        self.remote(url, customer).whole().await.map_err(|why| not_fetched(&why))
    }

    fn remote<'a>(&'a self, url: &'a Url, customer: Option<&'a CustomerId>) -> RemoteFile<'a> {
        let timeout = Duration::from_secs(self.0.config.probe_timeout_seconds.into());
        RemoteFile { upstream: &self.0.upstream, url, customer, max: self.0.config.max_probe(), timeout }
    }
}

/// Opens the blob of this name, which must be the task's own.
async fn own(name: &str, blobs: &TaskBlobs) -> Result<(BlobId, OpenBlob), SourceError> {
    blobs.named(name).await?.ok_or_else(|| unusable("it is not a file of this task"))
}

async fn facts_of_blob(id: BlobId, blob: OpenBlob) -> Result<Facts, Error> {
    let bytes = beginning(blob.body).await?;
    let is_all = bytes.len() as u64 == blob.length;
    let found = if is_all { facts_of_all(&bytes) } else { facts(&bytes) };
    Ok(Facts { blob: Some(format!("blob:{id}")), bytes: blob.length, ..found })
}

fn no_source(source: &str) -> String {
    let shown: String = source.chars().take(SHOWN).collect();
    format!("expected an http(s) URL, a data: URI or base64, got {shown:?}")
}

fn unusable(reason: &str) -> SourceError {
    SourceError::Unfit(reason.to_owned())
}

fn not_fetched(why: &FetchError) -> SourceError {
    SourceError::Unfit(fetch_failed(why))
}

fn fetch_failed(why: &FetchError) -> String {
    format!("could not be fetched: {why}")
}

/// All of it, unless it is larger than what is ever looked at.
async fn beginning(mut body: BoxStream<'static, io::Result<Bytes>>) -> Result<Bytes, Error> {
    let mut bytes = BytesMut::new();
    while bytes.len() < LOOKED_AT
        && let Some(piece) = body.next().await
    {
        bytes.extend_from_slice(&piece?);
    }
    Ok(bytes.freeze())
}
