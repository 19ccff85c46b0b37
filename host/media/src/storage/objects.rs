//! Where the bytes are: an object store, which is a local folder or a bucket. Whole objects are written, read, listed and deleted
//! here; what comes in pieces is written by `writer`.

use std::error::Error as StdError;
use std::io::{self, SeekFrom};
use std::ops::Range;
use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use futures_util::TryStreamExt as _;
use futures_util::stream::{self, BoxStream, StreamExt};
use gatehouse_files::{is_disk_full, private_folder};
use gatehouse_model::metric;
use gatehouse_upstream::Upstream;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{
    GetOptions, GetRange, GetResultPayload, ObjectMeta, ObjectStore, ObjectStoreExt, PutPayload,
};
use tokio::io::{AsyncReadExt, AsyncSeekExt};
use url::Url;

use crate::storage::bucket::{Bucket, OF_MEDIA, said};
use crate::storage::uploads::Uploads;

/// Bytes of one piece when an object is read.
const PIECE: usize = 256 * 1024;

/// The service's code for a bucket that is gone.
const NO_BUCKET: &str = "NoSuchBucket";

/// What a media folder holds.
const OWN: &[&str] = &["blobs", "media"];

/// The media store cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A kind of URL that is not known.
    #[error("media.url: expected a folder, a file:// URL or s3://<bucket>/<prefix>, got {0:?}")]
    UnknownUrl(String),
    /// An address without a bucket that may be one.
    #[error(
        "expected s3://<bucket>/<prefix> with 3 to 63 small letters, digits, `-` and `.` in the bucket's name, got {0:?}"
    )]
    BucketAddress(String),
    /// The service of a bucket cannot be used as it is configured.
    #[error("{key}: {why}")]
    S3 {
        /// The whole key.
        key: String,
        /// What was expected.
        why: String,
    },
    /// There is no bucket.
    #[error("media.s3: expected media.url = \"s3://<bucket>\" beside it")]
    StrayS3,
    /// The bucket gave no answer or refused one.
    #[error("the media bucket {name} {said}")]
    Bucket {
        /// Its name.
        name: String,
        /// What it said.
        said: String,
        /// Whether it refuses: there is no such bucket, or its key may not.
        refused: bool,
    },
    /// The folder cannot be made.
    #[error("media.url: the folder {folder} cannot be used: {source}")]
    Folder {
        /// Which folder.
        folder: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The store failed.
    #[error("the media store failed: {0}")]
    Store(#[from] object_store::Error),
    /// Reading or writing failed.
    #[error("the media store failed: {0}")]
    Io(#[from] io::Error),
}

/// Why nothing can be written or read now, though it may go well later without another attempt by anybody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreOutage {
    /// The disk, or the owner's quota on it, has no room.
    DiskFull,
    /// The bucket does not answer, or refuses.
    Bucket,
}

impl Error {
    /// Whether it is an outage, and which.
    #[must_use]
    pub fn outage(&self) -> Option<StoreOutage> {
        let mut source: Option<&(dyn StdError + 'static)> = Some(self);
        while let Some(error) = source {
            if let Some(Self::Bucket { .. }) = error.downcast_ref() {
                return Some(StoreOutage::Bucket);
            }
            if let Some(error) = error.downcast_ref::<io::Error>() {
                if is_disk_full(error) {
                    return Some(StoreOutage::DiskFull);
                }
                // Its own source is what lies below the error that it wraps.
                source = error.get_ref().map(|inner| inner as &(dyn StdError + 'static));
            } else {
                source = error.source();
            }
        }
        None
    }
}

/// The object store, and where it is.
#[derive(Clone, Debug)]
pub(crate) struct Objects {
    pub(crate) store: Arc<dyn ObjectStore>,
    pub(crate) location: Location,
}

/// Where the objects are.
#[derive(Clone, Debug)]
pub(crate) enum Location {
    /// In this folder.
    Folder(PathBuf),
    /// In the bucket of this name, which may have unfinished uploads.
    Bucket(String, Arc<Uploads>),
    /// In memory.
    Memory,
}

/// An object, or a part of it, being read.
pub(crate) struct Reading {
    pub(crate) length: u64,
    pub(crate) body: BoxStream<'static, io::Result<Bytes>>,
}

impl Objects {
    /// The objects of a bucket.
    pub(crate) fn in_bucket(bucket: &Bucket, upstream: &Upstream) -> Result<Self, Error> {
        let (store, uploads) = bucket.open(|endpoint| upstream.service_client(endpoint), OF_MEDIA)?;
        Ok(Self { store, location: Location::Bucket(bucket.name.clone(), Arc::new(uploads)) })
    }

    /// Whether a configured address names a folder.
    pub(crate) fn check_folder(url: Option<&str>) -> Result<(), Error> {
        match url {
            Some(text) if folder(text).is_none() => Err(Error::UnknownUrl(text.to_owned())),
            _ => Ok(()),
        }
    }

    /// Opens the configured folder, or `media` in the data folder.
    pub(crate) fn in_folder(url: Option<&str>, data: &FilePath) -> Result<Self, Error> {
        let root = match url {
            None => data.join("media"),
            Some(text) => folder(text).ok_or_else(|| Error::UnknownUrl(text.to_owned()))?,
        };
        let broken = |source| Error::Folder { folder: root.clone(), source };
        if let Some(mode) = private_folder(&root, OWN).map_err(broken)? {
            tracing::warn!(folder = %root.display(), "others could use the media folder (mode {mode:04o}); now its mode is 0700");
        }
        // Receipts promise that what they refer to survives a crash, hence fsync.
        let store = LocalFileSystem::new_with_prefix(&root)?.with_fsync(true).with_automatic_cleanup(true);
        Ok(Self { store: Arc::new(store), location: Location::Folder(root) })
    }

    /// What an error of the object store is for the callers.
    pub(crate) fn failed(&self, error: object_store::Error) -> Error {
        match &self.location {
            Location::Bucket(name, _) => {
                metrics::counter!(metric::MEDIA_BUCKET_ERRORS).increment(1);
                let refused = matches!(
                    error,
                    object_store::Error::NotFound { .. }
                        | object_store::Error::PermissionDenied { .. }
                        | object_store::Error::Unauthenticated { .. }
                );
                Error::Bucket { name: name.clone(), said: said(&error), refused }
            }
            Location::Folder(_) | Location::Memory => Error::Store(error),
        }
    }

    /// Writes a whole object; it is there, and durable, or it is not.
    pub(crate) async fn write(&self, path: &Path, bytes: Bytes) -> Result<(), Error> {
        self.store.put(path, PutPayload::from_bytes(bytes)).await.map_err(|error| self.failed(error))?;
        Ok(())
    }

    /// The length of an object; `None` when there is none.
    pub(crate) async fn length(&self, path: &Path) -> Result<Option<u64>, Error> {
        match self.store.head(path).await {
            // The answer to a HEAD does not say what is missing, that to a GET does.
            Err(object_store::Error::NotFound { .. }) if matches!(self.location, Location::Bucket(..)) => {
                let options = GetOptions { range: Some(GetRange::Bounded(0..1)), ..GetOptions::default() };
                Ok(self.found(self.store.get_opts(path, options).await)?.map(|found| found.meta.size))
            }
            failed => Ok(self.found(failed)?.map(|meta| meta.size)),
        }
    }

    /// What the store has found; `None` when there is no such object. No object is missing in a bucket that is gone.
    fn found<T>(&self, found: object_store::Result<T>) -> Result<Option<T>, Error> {
        match found {
            Ok(found) => Ok(Some(found)),
            Err(error @ object_store::Error::NotFound { .. }) => match &self.location {
                Location::Bucket(..) if error.to_string().contains(NO_BUCKET) => Err(self.failed(error)),
                _ => Ok(None),
            },
            Err(error) => Err(self.failed(error)),
        }
    }

    /// Opens a whole object; `None` when there is none.
    pub(crate) async fn read(&self, path: &Path) -> Result<Option<Reading>, Error> {
        let Some(found) = self.found(self.store.get(path).await)? else { return Ok(None) };
        let length = found.meta.size;
        let body = self.pieces(path, found.payload, 0..length).await?;
        Ok(Some(Reading { length, body }))
    }

    /// Opens a part of an object that is known to be there and as long.
    pub(crate) async fn read_part(
        &self,
        path: &Path,
        part: Range<u64>,
    ) -> Result<BoxStream<'static, io::Result<Bytes>>, Error> {
        if part.is_empty() {
            return Ok(stream::empty().boxed());
        }
        let payload = self.open_part(path, &part).await?;
        self.pieces(path, payload, part).await
    }

    async fn open_part(&self, path: &Path, part: &Range<u64>) -> Result<GetResultPayload, Error> {
        let range = Some(GetRange::Bounded(part.clone()));
        let options = GetOptions { range, ..GetOptions::default() };
        let found = self.store.get_opts(path, options).await.map_err(|error| self.failed(error))?;
        Ok(found.payload)
    }

    /// Copies an object, in a local folder by a link; false when there is none.
    pub(crate) async fn copy(&self, from: &Path, to: &Path) -> Result<bool, Error> {
        Ok(self.found(self.store.copy(from, to).await)?.is_some())
    }

    /// Deletes an object; one that is gone already is no error.
    pub(crate) async fn delete(&self, path: &Path) -> Result<(), Error> {
        self.found(self.store.delete(path).await).map(|_| ())
    }

    /// The days there are objects of, below `folder`.
    pub(crate) async fn days(&self, folder: &str) -> Result<Vec<(u32, Path)>, Error> {
        let listing = self.store.list_with_delimiter(Some(&Path::from(folder))).await;
        let listing = listing.map_err(|error| self.failed(error))?;
        let day = |path: Path| path.filename()?.parse().ok().map(|day: u32| (day, path.clone()));
        Ok(listing.common_prefixes.into_iter().filter_map(day).collect())
    }

    /// Every object below `folder`.
    pub(crate) fn list(&self, folder: &Path) -> BoxStream<'static, Result<ObjectMeta, Error>> {
        let here = self.clone();
        self.store.list(Some(folder)).map_err(move |error| here.failed(error)).boxed()
    }

    async fn pieces(
        &self,
        path: &Path,
        payload: GetResultPayload,
        part: Range<u64>,
    ) -> Result<BoxStream<'static, io::Result<Bytes>>, Error> {
        match payload {
            GetResultPayload::Stream(stream) => {
                let resumed =
                    Resumed { here: self.clone(), path: path.clone(), part, stream, has_brought: false };
                Ok(stream::try_unfold(resumed, Resumed::next).boxed())
            }
            GetResultPayload::File(file, _) => {
                let mut file = tokio::fs::File::from_std(file);
                file.set_max_buf_size(PIECE);
                file.seek(SeekFrom::Start(part.start)).await?;
                Ok(stream::try_unfold((file, part.end - part.start), |(file, left)| next_piece(file, left))
                    .boxed())
            }
        }
    }
}

/// An object of a service being read. A reader may be slow, since a provider takes one file after another, and the service
/// closes a connection that idles: the rest is asked for again as long as every attempt brings something.
struct Resumed {
    here: Objects,
    path: Path,
    /// What is still to come.
    part: Range<u64>,
    stream: BoxStream<'static, object_store::Result<Bytes>>,
    /// Whether the present attempt has brought something.
    has_brought: bool,
}

impl Resumed {
    async fn next(mut self) -> io::Result<Option<(Bytes, Self)>> {
        loop {
            match self.stream.next().await {
                Some(Ok(piece)) => {
                    self.has_brought |= !piece.is_empty();
                    self.part.start += piece.len() as u64;
                    return Ok(Some((piece, self)));
                }
                None => return Ok(None),
                Some(Err(error)) if !self.has_brought || self.part.is_empty() => {
                    return Err(io::Error::other(self.here.failed(error)));
                }
                Some(Err(_)) => {
                    let payload = self.here.open_part(&self.path, &self.part).await;
                    let GetResultPayload::Stream(stream) = payload.map_err(io::Error::other)? else {
                        return Err(io::Error::other("a service has answered with a file"));
                    };
                    (self.stream, self.has_brought) = (stream, false);
                }
            }
        }
    }
}

fn folder(text: &str) -> Option<PathBuf> {
    match Url::parse(text) {
        Ok(url) if url.scheme() == "file" => url.to_file_path().ok(),
        Ok(_) => None,
        Err(_) => (!text.is_empty()).then(|| PathBuf::from(text)),
    }
}

async fn next_piece(
    mut file: tokio::fs::File,
    left: u64,
) -> io::Result<Option<(Bytes, (tokio::fs::File, u64))>> {
    if left == 0 {
        return Ok(None);
    }
    let wanted = usize::try_from(left).unwrap_or(usize::MAX).min(PIECE);
    let mut piece = BytesMut::with_capacity(wanted);
    let mut limited = (&mut file).take(wanted as u64);
    while piece.len() < wanted {
        if limited.read_buf(&mut piece).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(Some((piece.freeze(), (file, left - wanted as u64))))
}
