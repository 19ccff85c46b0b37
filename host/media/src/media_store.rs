//! The handle of the crate, and the storage of blobs. What it does with results, links and probes stands where those are: `results`,
//! `links`, `look`.

use std::collections::HashSet;
use std::io;
use std::path::Path as FilePath;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use futures_util::future::{BoxFuture, join_all};
use futures_util::stream::{BoxStream, StreamExt};
use gatehouse_contract::{SNIFFED, sniff};
use gatehouse_model::{BlobId, Clock, CustomerId, Json, Pepper, Seed, UnixMs, metric};
use gatehouse_upstream::{Blobs, OpenBlob, Upstream};
use object_store::ObjectStore;
use object_store::path::Path;
use tokio::sync::oneshot;

use crate::config::Config;
use crate::edit::apply::Editor;
use crate::ingest::extract::{self, Author, ExtractError, Extracted, NewBlob};
use crate::ingest::linked;
use crate::probe::facts::UNKNOWN;
use crate::storage::bucket::{Bucket, Secrets};
use crate::storage::objects::{Error, Location, Objects, Reading};
use crate::storage::shares::{ShareExceeded, Shares};
use crate::storage::sweep::{Swept, blob_ends, sweep};
use crate::storage::writer::{Patience, Writer};

/// Requests up to this size are processed in place; larger ones on a blocking thread.
const EXTRACT_IN_PLACE: usize = 1024 * 1024;

/// All media of the gateway. Cheap to clone.
#[derive(Clone)]
pub struct MediaStore(pub(crate) Arc<MediaState>);

pub(crate) struct MediaState {
    pub(crate) config: Config,
    pub(crate) objects: Objects,
    pub(crate) pepper: Pepper,
    pub(crate) upstream: Upstream,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) seed: Arc<dyn Seed>,
    pub(crate) editor: Editor,
    /// What customers hold of the disk.
    pub(crate) shares: Shares,
}

impl MediaStore {
    /// Opens the store. `data` is the gateway's data folder; links are signed under `pepper`. A bucket is not asked yet: see
    /// [`MediaStore::check`].
    ///
    /// # Errors
    /// When the configured URL is of no known kind, its folder cannot be written, or a secret is missing.
    pub fn open(
        config: Config,
        data: &FilePath,
        secrets: Secrets<'_>,
        pepper: Pepper,
        upstream: Upstream,
        clock: Arc<dyn Clock>,
        seed: Arc<dyn Seed>,
    ) -> Result<Self, Error> {
        let objects = match Bucket::of(config.url.as_deref().unwrap_or_default(), &config.s3, secrets)? {
            Some(bucket) => Objects::in_bucket(&bucket, &upstream)?,
            None => Objects::in_folder(config.url.as_deref(), data)?,
        };
        for counter in [metric::MEDIA_BYTES, metric::MEDIA_BUCKET_ERRORS] {
            metrics::counter!(counter).increment(0);
        }
        Ok(Self::new(config, objects, pepper, upstream, clock, seed))
    }

    /// The same over an object store that is open already, wherever it keeps its bytes.
    #[must_use]
    pub fn over(
        objects: Arc<dyn ObjectStore>,
        config: Config,
        pepper: Pepper,
        upstream: Upstream,
        clock: Arc<dyn Clock>,
        seed: Arc<dyn Seed>,
    ) -> Self {
        let objects = Objects { store: objects, location: Location::Memory };
        Self::new(config, objects, pepper, upstream, clock, seed)
    }

    fn new(
        config: Config,
        objects: Objects,
        pepper: Pepper,
        upstream: Upstream,
        clock: Arc<dyn Clock>,
        seed: Arc<dyn Seed>,
    ) -> Self {
        Self(Arc::new(MediaState {
            editor: Editor::new(objects.clone(), config.max_result()),
            config,
            objects,
            pepper,
            upstream,
            clock,
            seed,
            shares: Shares::default(),
        }))
    }

    /// The folder that media are kept in, where they are kept on a disk of this machine.
    #[must_use]
    pub fn folder(&self) -> Option<&FilePath> {
        match &self.0.objects.location {
            Location::Folder(folder) => Some(folder),
            Location::Bucket(..) | Location::Memory => None,
        }
    }

    /// Checks the settings as [`MediaStore::open`] would, without touching what they name.
    ///
    /// # Errors
    /// What cannot be used, with its key.
    pub fn check_config(config: &Config, secrets: Secrets<'_>) -> Result<(), Error> {
        match Bucket::of(config.url.as_deref().unwrap_or_default(), &config.s3, secrets)? {
            Some(_) => Ok(()),
            None => Objects::check_folder(config.url.as_deref()),
        }
    }

    /// Asks a bucket once whether it takes and gives: writes an object and deletes it.
    ///
    /// # Errors
    /// What it said.
    pub async fn check(&self) -> Result<(), Error> {
        let Location::Bucket(..) = self.0.objects.location else { return Ok(()) };
        // One name for all: a process that ends in between leaves no more than one object, which the next start deletes.
        let path = Path::from("check");
        self.0.objects.write(&path, Bytes::from_static(b"gatehouse")).await?;
        self.0.objects.delete(&path).await
    }

    /// Takes embedded files out of a request's JSON. Nothing is written; see [`MediaStore::keep`].
    ///
    /// # Errors
    /// When a file is too large or there are too many.
    pub async fn extract(&self, json: Json) -> Result<Extracted, ExtractError> {
        self.extract_of(Author::Client, json, self.0.config.max_blob()).await
    }

    /// The same for a provider's reply, whose files are results and may be as large as these.
    ///
    /// # Errors
    /// When a file is too large or there are too many.
    pub async fn extract_results(&self, json: Json) -> Result<Extracted, ExtractError> {
        self.extract_of(Author::Provider, json, self.0.config.max_result()).await
    }

    async fn extract_of(&self, author: Author, json: Json, max: u64) -> Result<Extracted, ExtractError> {
        if json.len() <= EXTRACT_IN_PLACE {
            return self.extract_now(author, &json, max);
        }
        let here = self.clone();
        // A failed join means the runtime is going down.
        tokio::task::spawn_blocking(move || here.extract_now(author, &json, max))
            .await
            .unwrap_or(Err(ExtractError::Interrupted))
    }

    fn extract_now(&self, author: Author, json: &Json, max: u64) -> Result<Extracted, ExtractError> {
        let cut = extract::extract(json, author, max, &*self.0.clock, &*self.0.seed)?;
        let bad_links = match author {
            Author::Client => linked::bad_links(&cut.json, &|link| self.check_link_for_provider(link).err()),
            Author::Provider => vec![],
        };
        Ok(Extracted { bad_links, ..cut })
    }

    /// Counts the files of a customer's new task, which are written next; [`MediaStore::drop_blobs`] ends that. `room` is
    /// what the disk has free for files, where that is known.
    ///
    /// # Errors
    /// The customer's unfinished tasks hold its share of the disk already.
    pub fn reserve(
        &self,
        customer: &CustomerId,
        blobs: &[NewBlob],
        room: Option<u64>,
    ) -> Result<(), ShareExceeded> {
        let blobs: Vec<_> = blobs.iter().map(|blob| (blob.id, blob.bytes.len() as u64)).collect();
        self.0.shares.reserve(customer, &blobs, room)
    }

    /// Counts and writes files of a customer's running task, which are never refused. As [`MediaStore::keep`].
    ///
    /// # Errors
    /// When the store fails.
    pub async fn keep_for(&self, customer: &CustomerId, blobs: &[NewBlob]) -> Result<(), Error> {
        blobs.iter().for_each(|blob| self.0.shares.add(customer, blob.id, blob.bytes.len() as u64));
        let kept = self.keep(blobs).await;
        if kept.is_err() {
            blobs.iter().for_each(|blob| self.0.shares.forget(blob.id));
        }
        kept
    }

    /// Writes the extracted blobs; durable when it returns. Where the caller is cut off, they are deleted once they are written.
    ///
    /// # Errors
    /// When the store fails; then what was written is deleted, but what was reserved still counts until it is dropped.
    pub async fn keep(&self, blobs: &[NewBlob]) -> Result<(), Error> {
        if blobs.is_empty() {
            return Ok(());
        }
        let (here, blobs) = (self.clone(), blobs.to_vec());
        let (answer, written) = oneshot::channel();
        // To its end also where the caller is cut off: a write that has begun cannot be stopped, and would leave its file after the
        // caller has dropped it.
        tokio::spawn(async move {
            let all = here.write_all(&blobs).await;
            if answer.send(all).is_err() {
                let ids: Vec<_> = blobs.iter().map(|blob| blob.id).collect();
                here.drop_blobs(&ids).await;
            }
        });
        written.await.unwrap_or_else(|ended| Err(Error::from(io::Error::other(ended))))
    }

    async fn write_all(&self, blobs: &[NewBlob]) -> Result<(), Error> {
        let write = |blob: &NewBlob| {
            let (path, bytes) = (blob_path(blob.id), blob.bytes.clone());
            async move { self.0.objects.write(&path, bytes).await }
        };
        // To the end also where one fails: what is still being written then would be there after the others were taken back.
        let written = join_all(blobs.iter().map(write)).await;
        let kept = blobs.iter().zip(&written).filter(|(_, written)| written.is_ok()).map(|(blob, _)| blob.id);
        let kept: Vec<_> = kept.collect();
        let all: Result<(), Error> = written.into_iter().collect();
        if all.is_err() {
            self.drop_blobs(&kept).await;
        }
        all
    }

    /// Deletes blobs that no task needs any more. What cannot be deleted now is swept later.
    pub async fn drop_blobs(&self, blobs: &[BlobId]) {
        let MediaState { objects, shares, .. } = &*self.0;
        let delete = |id: BlobId| async move {
            shares.forget(id);
            if let Err(error) = objects.delete(&blob_path(id)).await {
                tracing::warn!(%id, %error, "a blob was not deleted; the sweep will try again");
            }
        };
        // All at once: while a bucket is away, each of them takes a minute.
        join_all(blobs.iter().copied().map(delete)).await;
    }

    /// Deletes results whose links ended more than an hour ago, and blobs older than 26 hours; with them what is left of uploads of such
    /// files that nobody ended.
    ///
    /// # Errors
    /// When the store fails; what was deleted before stays deleted.
    pub async fn sweep(&self) -> Result<Swept, Error> {
        let now = self.0.clock.now();
        let swept = sweep(&self.0.objects, now).await?;
        // Blobs that nobody has dropped are still counted: a step that panicked leaves such blobs.
        self.0.shares.forget_where(|blob| blob_ends(blob) <= now);
        Ok(swept)
    }

    /// The blobs one task may name, for its probes and calls.
    #[must_use]
    pub fn blobs_of(&self, blobs: impl IntoIterator<Item = BlobId>) -> TaskBlobs {
        let own = Mutex::new(blobs.into_iter().collect());
        TaskBlobs { media: self.clone(), customer: None, waits_until: None, own, kept: Mutex::default() }
    }

    /// Opens any blob; whose it is has been asked before.
    pub(crate) async fn open_blob(&self, id: BlobId) -> Result<Option<OpenBlob>, Error> {
        let Some(Reading { length, mut body }) = self.0.objects.read(&blob_path(id)).await? else {
            return Ok(None);
        };
        // Its type is not on record: the first piece shows it and is then put back in front.
        let first = body.next().await.transpose()?.unwrap_or_default();
        let mime = sniff(&first[..first.len().min(SNIFFED)]).unwrap_or(UNKNOWN).to_owned();
        let body = futures_util::stream::iter([Ok(first)]).chain(body).boxed();
        Ok(Some(OpenBlob { mime, length, body }))
    }

    /// Keeps a stream as a new blob. The stream's own error is returned as it came.
    pub(crate) async fn save_blob(
        &self,
        mut body: BoxStream<'_, io::Result<Bytes>>,
        waits_until: Option<UnixMs>,
    ) -> io::Result<BlobId> {
        let id = BlobId::new(self.0.clock.now(), &*self.0.seed);
        let patience = waits_until.map(|until| Patience { clock: Arc::clone(&self.0.clock), until });
        let mut writer = Writer::new(&self.0.objects, blob_path(id)).waiting(patience);
        while let Some(piece) = body.next().await {
            let written = match piece {
                Ok(piece) => writer.write(&piece).await.map_err(io::Error::other),
                Err(error) => Err(error),
            };
            if let Err(error) = written {
                writer.abort().await;
                return Err(error);
            }
        }
        writer.finish().await.map_err(io::Error::other)?;
        Ok(id)
    }
}

/// Where a blob is: its id contains the day of its creation.
pub(crate) fn blob_path(id: BlobId) -> Path {
    Path::from_iter(["blobs".to_owned(), id.timestamp().day().to_string(), id.to_string()])
}

/// See [`MediaStore::blobs_of`]. Blobs saved through it belong to the task from then on.
pub struct TaskBlobs {
    media: MediaStore,
    /// Whose links they are that the task names.
    pub(crate) customer: Option<CustomerId>,
    /// Until when what is saved waits for a store that is away.
    waits_until: Option<UnixMs>,
    own: Mutex<HashSet<BlobId>>,
    /// Those that probes keep, from before they are written.
    kept: Mutex<Vec<BlobId>>,
}

impl TaskBlobs {
    /// The same for that customer's task: its links are fetched with the customer's permits.
    #[must_use]
    pub fn of(self, customer: &CustomerId) -> Self {
        Self { customer: Some(customer.clone()), ..self }
    }

    /// The same, where what is saved waits for a store that is away: it is paid.
    #[must_use]
    pub fn waiting_until(self, moment: UnixMs) -> Self {
        Self { waits_until: Some(moment), ..self }
    }

    /// Opens one of the task's blobs; `None` when it is not among them, or gone.
    async fn read(&self, id: BlobId) -> Result<Option<OpenBlob>, Error> {
        if self.owns(id) { self.media.open_blob(id).await } else { Ok(None) }
    }

    /// The same of the blob of that name.
    pub(crate) async fn named(&self, name: &str) -> Result<Option<(BlobId, OpenBlob)>, Error> {
        let Ok(id) = name.parse() else { return Ok(None) };
        Ok(self.read(id).await?.map(|blob| (id, blob)))
    }

    /// The blobs that probes have kept through this, or have begun to keep; also of probes that failed or were cut off. The caller
    /// drops those that do not become a task's.
    #[must_use]
    pub fn kept(&self) -> Vec<BlobId> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// A probe keeps a blob of that name.
    pub(crate) fn begin_keeping(&self, id: BlobId) {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).push(id);
    }

    pub(crate) fn add(&self, id: BlobId) {
        self.own.lock().unwrap_or_else(PoisonError::into_inner).insert(id);
    }

    fn owns(&self, id: BlobId) -> bool {
        self.own.lock().unwrap_or_else(PoisonError::into_inner).contains(&id)
    }
}

impl Blobs for TaskBlobs {
    fn open(&self, id: BlobId) -> BoxFuture<'_, io::Result<Option<OpenBlob>>> {
        Box::pin(async move { self.read(id).await.map_err(io::Error::other) })
    }

    fn save<'a>(&'a self, body: BoxStream<'a, io::Result<Bytes>>) -> BoxFuture<'a, io::Result<BlobId>> {
        Box::pin(async move {
            let id = self.media.save_blob(body, self.waits_until).await?;
            self.add(id);
            Ok(id)
        })
    }
}
