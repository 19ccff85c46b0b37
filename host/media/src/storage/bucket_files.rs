//! Files that an operator keeps in a bucket, such as backups: written in parts and read in pieces, each with its digest, so that memory
//! stays bounded whatever their length. Nothing of media is in here, no days and no links.
//!
//! An upload that fails is aborted. One that ends with its process leaves parts that no listing shows: a rule of the bucket ends them.

use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use futures_util::StreamExt as _;
use gatehouse_model::{Digest, Digester};
use gatehouse_upstream::{OutgoingRoute, ServiceClient};
use object_store::path::Path;
use object_store::{
    GetOptions, GetRange, MultipartUpload, ObjectStore, ObjectStoreExt as _, PutMode, PutPayload,
};
use tokio::fs::File;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::storage::bucket::{Bucket, OF_FILES, S3Config, SCHEME, said};
use crate::storage::objects::Error;

/// Bytes of a part, one of which is in memory.
const PART: u64 = 8 << 20;
/// A service takes 10,000 parts of one object.
const PARTS: u64 = 9_000;
/// How often the rest of a file is asked for that stopped coming.
const RESUMES: usize = 100;

/// What a bucket holds below an address.
pub struct BucketFiles {
    store: Arc<dyn ObjectStore>,
    address: String,
}

/// Why a file is not there, or not in the bucket.
#[derive(Debug, thiserror::Error)]
pub enum BucketFileError {
    /// The bucket refused, or gave no answer.
    #[error("{address}: the bucket {said}")]
    Bucket {
        /// Of the file, or of all.
        address: String,
        /// What it said.
        said: String,
    },
    /// An object is longer than it may be.
    #[error("{address}: expected at most {most} bytes, found {found}")]
    TooLong {
        /// Of the object.
        address: String,
        /// What is read.
        most: u64,
        /// What there is.
        found: u64,
    },
    /// An object is not as long as it was.
    #[error("{address}: expected {expected} bytes, found {found}")]
    OtherLength {
        /// Of the object.
        address: String,
        /// What was written.
        expected: u64,
        /// What there is, or has come so far.
        found: u64,
    },
    /// A file of this machine cannot be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl BucketFiles {
    /// What is below `address`, an `s3://` one. Its service is as the `table` of the configuration says. Nothing is sent yet.
    ///
    /// # Errors
    /// What cannot be used, with its key.
    pub fn open(
        address: &str,
        s3: &S3Config,
        table: &'static str,
        route: &OutgoingRoute<'_>,
    ) -> Result<Self, Error> {
        let bucket = Bucket::at(address, s3, table, route.secrets)?;
        let (store, _) = bucket.open(|endpoint| ServiceClient::on_route(route, endpoint), OF_FILES)?;
        Ok(Self { store, address: address.trim_end_matches('/').to_owned() })
    }

    /// Whether an address is one of a bucket.
    #[must_use]
    pub fn is_address(text: &str) -> bool {
        text.starts_with(SCHEME)
    }

    /// The address of the file of that name.
    #[must_use]
    pub fn address_of(&self, name: &str) -> String {
        format!("{}/{name}", self.address)
    }

    /// Whether there is nothing below the address.
    ///
    /// # Errors
    /// [`BucketFileError::Bucket`].
    pub async fn is_empty(&self) -> Result<bool, BucketFileError> {
        let first = self.store.list(None).next().await.transpose();
        first.map(|first| first.is_none()).map_err(|error| Self::failed(self.address.clone(), &error))
    }

    /// Writes a file; it is there, and durable, or it is not. `sent` is told the bytes of each part. What was sent.
    ///
    /// # Errors
    /// See [`BucketFileError`].
    pub async fn upload(
        &self,
        name: &str,
        file: &FilePath,
        sent: &(dyn Fn(u64) + Sync),
    ) -> Result<(u64, Digest), BucketFileError> {
        let read = |source| BucketFileError::File { path: file.to_owned(), source };
        let failed = |error| Self::failed(self.address_of(name), &error);
        let path = Path::from(name);
        let mut source = File::open(file).await.map_err(read)?;
        let part = part_of(source.metadata().await.map_err(read)?.len());
        let (mut bytes, mut digester) = (0, Digester::default());
        let mut take = |part: &Bytes| {
            digester.update(part);
            bytes += part.len() as u64;
        };
        let mut next = next_part(&mut source, part).await.map_err(read)?;
        if next.len() < part {
            take(&next);
            let length = next.len() as u64;
            self.store.put(&path, PutPayload::from_bytes(next)).await.map_err(failed)?;
            sent(length);
            return Ok((bytes, digester.finish()));
        }
        let mut upload = self.store.put_multipart(&path).await.map_err(failed)?;
        let outcome = async {
            while !next.is_empty() {
                take(&next);
                let length = next.len() as u64;
                upload.put_part(PutPayload::from_bytes(next)).await.map_err(failed)?;
                sent(length);
                next = next_part(&mut source, part).await.map_err(read)?;
            }
            upload.complete().await.map_err(failed).map(drop)
        }
        .await;
        if let Err(error) = outcome {
            self.abort(name, upload).await;
            return Err(error);
        }
        Ok((bytes, digester.finish()))
    }

    /// Writes a short file under a name that is free, as far as the service can tell; false where another file has it.
    ///
    /// # Errors
    /// [`BucketFileError::Bucket`].
    pub async fn create(&self, name: &str, content: Vec<u8>) -> Result<bool, BucketFileError> {
        let (path, content) = (Path::from(name), Bytes::from(content));
        let payload = || PutPayload::from_bytes(content.clone());
        let mut tries = 0;
        loop {
            tries += 1;
            let created = self.store.put_opts(&path, payload(), PutMode::Create.into()).await;
            let Err(error) = created else { return Ok(true) };
            let told = said(&error);
            if matches!(error, object_store::Error::AlreadyExists { .. }) {
                // It may be this one, whose answer was lost.
                let found = self.read(name, content.len() as u64).await;
                return Ok(found.is_ok_and(|found| found == content));
            }
            if told.contains("answered 501") || told.contains("NotImplemented") {
                let put = self.store.put(&path, payload()).await;
                return put.map(|_| true).map_err(|error| Self::failed(self.address_of(name), &error));
            }
            // Such a request is not sent again by itself, since it is not the same the second time.
            if tries > 2 {
                return Err(Self::failed(self.address_of(name), &error));
            }
        }
    }

    async fn abort(&self, name: &str, mut upload: Box<dyn MultipartUpload>) {
        if let Err(error) = upload.abort().await {
            let address = self.address_of(name);
            tracing::warn!(address, said = said(&error), "a broken upload was not aborted");
        }
    }

    /// Reads a file of `expected` bytes into a new one at `to`, which only its owner reads, durably. What came. The rest of one that stops
    /// coming is asked for again, as long as every answer brings something.
    ///
    /// # Errors
    /// See [`BucketFileError`].
    pub async fn download(
        &self,
        name: &str,
        to: &FilePath,
        expected: u64,
    ) -> Result<(u64, Digest), BucketFileError> {
        let written = |source| BucketFileError::File { path: to.to_owned(), source };
        let failed = |error| Self::failed(self.address_of(name), &error);
        let length_of = |found: u64| match found == expected {
            true => Ok(()),
            false => Err(BucketFileError::OtherLength { address: self.address_of(name), expected, found }),
        };
        let path = Path::from(name);
        let found = self.store.get(&path).await.map_err(failed)?;
        length_of(found.meta.size)?;
        let etag = found.meta.e_tag.clone();
        let mut pieces = found.into_stream();
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        let mut file = tokio::fs::OpenOptions::from(options).open(to).await.map_err(written)?;
        let (mut bytes, mut digester) = (0, Digester::default());
        let (mut has_brought, mut resumes) = (false, 0);
        while let Some(piece) = pieces.next().await {
            match piece {
                Ok(piece) => {
                    bytes += piece.len() as u64;
                    if bytes > expected {
                        length_of(bytes)?;
                    }
                    has_brought |= !piece.is_empty();
                    digester.update(&piece);
                    file.write_all(&piece).await.map_err(written)?;
                }
                Err(_) if bytes == expected => break,
                Err(_) if has_brought && resumes < RESUMES => {
                    let range = Some(GetRange::Bounded(bytes..expected));
                    let options = GetOptions { range, if_match: etag.clone(), ..GetOptions::default() };
                    let rest = self.store.get_opts(&path, options).await.map_err(failed)?;
                    (pieces, has_brought) = (rest.into_stream(), false);
                    resumes += 1;
                }
                Err(error) => return Err(failed(error)),
            }
        }
        file.flush().await.map_err(written)?;
        file.sync_all().await.map_err(written)?;
        Ok((bytes, digester.finish()))
    }

    /// Reads a short file whole.
    ///
    /// # Errors
    /// See [`BucketFileError`].
    pub async fn read(&self, name: &str, most: u64) -> Result<Bytes, BucketFileError> {
        let failed = |error| Self::failed(self.address_of(name), &error);
        let found = self.store.get(&Path::from(name)).await.map_err(failed)?;
        match found.meta.size {
            found if found > most => {
                Err(BucketFileError::TooLong { address: self.address_of(name), most, found })
            }
            _ => found.bytes().await.map_err(failed),
        }
    }

    /// Deletes what was written under these names, the last one first. Where `index`, which names the others, cannot be deleted,
    /// they stay: none may be missing beside it.
    pub async fn take_back(&self, written: &[String], index: &str) {
        for name in written.iter().rev() {
            if let Err(error) = self.store.delete(&Path::from(name.as_str())).await {
                let address = self.address_of(name);
                tracing::warn!(
                    address,
                    said = said(&error),
                    "what was written to the bucket was not removed"
                );
                if name == index {
                    return;
                }
            }
        }
    }

    fn failed(address: String, error: &object_store::Error) -> BucketFileError {
        BucketFileError::Bucket { address, said: said(error) }
    }
}

/// Bytes of each part of a file that is so long.
fn part_of(length: u64) -> usize {
    usize::try_from(PART.max(length.div_ceil(PARTS))).unwrap_or(usize::MAX)
}

/// As many bytes, or what is left.
async fn next_part(file: &mut File, bytes: usize) -> io::Result<Bytes> {
    let mut part = BytesMut::with_capacity(bytes);
    let mut limited = file.take(bytes as u64);
    while part.len() < bytes && limited.read_buf(&mut part).await? > 0 {}
    Ok(part.freeze())
}

#[cfg(test)]
mod tests;
