//! Deletes blobs and results that have expired. Object keys contain their time, so no index is needed; tasks that end
//! delete their blobs themselves, and this catches what a crash left behind. No gateway that lives writes still what would have expired
//! by now, so the same times tell which unfinished uploads nobody ends any more.

use std::time::Duration;

use futures_util::stream::StreamExt;
use gatehouse_model::{BlobId, UnixMs};
use object_store::path::Path;

use crate::storage::bucket::said;
use crate::storage::objects::{Error, Location, Objects};
use crate::storage::uploads::Uploads;

/// How long a result outlives its link, for downloads under way.
const GRACE: Duration = Duration::from_secs(3600);
/// How long a blob may live: longer than any task.
const BLOB_LIFE: Duration = Duration::from_secs(26 * 3600);
/// Days after which a day's folder holds nothing but what broken uploads left.
const LEFTOVER_DAYS: u32 = 2;
/// How often a sweep asks for unfinished uploads of one kind: a service answers with a thousand at most.
const ROUNDS: usize = 10;

/// What a sweep deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Results.
    pub media: u64,
    /// Blobs.
    pub blobs: u64,
}

/// Deletes what has expired.
pub(crate) async fn sweep(objects: &Objects, now: UnixMs) -> Result<Swept, Error> {
    let media = sweep_folder(objects, "media", now, media_ends).await?;
    let blobs = sweep_folder(objects, "blobs", now, blob_file_ends).await?;
    if let Location::Bucket(bucket, uploads) = &objects.location {
        let media = end_uploads(uploads, "media", now, media_ends).await;
        if let Err(error) = media.and(end_uploads(uploads, "blobs", now, blob_file_ends).await) {
            let said = said(&error);
            tracing::warn!(
                bucket,
                said,
                "unfinished uploads were not ended; a rule of the bucket can do that"
            );
        }
    }
    Ok(Swept { media, blobs })
}

/// Ends uploads of objects that would have expired.
async fn end_uploads(
    uploads: &Uploads,
    folder: &str,
    now: UnixMs,
    ends: impl Fn(&str) -> Option<UnixMs>,
) -> object_store::Result<()> {
    for _ in 0..ROUNDS {
        let listed = uploads.first(folder).await?;
        let is_over = |file| ends(file).is_some_and(|end| end <= now);
        let over: Vec<_> = listed.uploads.iter().filter(|upload| is_over(upload.file())).collect();
        for upload in &over {
            uploads.abort(upload).await?;
        }
        if !listed.is_truncated || over.is_empty() {
            break;
        }
    }
    Ok(())
}

async fn sweep_folder(
    objects: &Objects,
    folder: &str,
    now: UnixMs,
    ends: impl Fn(&str) -> Option<UnixMs>,
) -> Result<u64, Error> {
    let mut deleted = 0;
    for (day, path) in objects.days(folder).await? {
        if day > now.day() {
            continue;
        }
        let mut listed = objects.list(&path);
        while let Some(object) = listed.next().await.transpose()? {
            let end = object.location.filename().and_then(&ends);
            if end.is_some_and(|end| end <= now) {
                objects.delete(&object.location).await?;
                deleted += 1;
            }
        }
        if day.saturating_add(LEFTOVER_DAYS) < now.day() {
            clear_leftovers(objects, &path).await?;
        }
    }
    Ok(deleted)
}

/// Uploads that a crash interrupted leave files that no listing shows.
async fn clear_leftovers(objects: &Objects, day: &Path) -> Result<(), Error> {
    let Location::Folder(root) = &objects.location else { return Ok(()) };
    match tokio::fs::remove_dir_all(root.join(day.as_ref())).await {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}

fn media_ends(file: &str) -> Option<UnixMs> {
    let seconds: u64 = file.split_once('-')?.0.parse().ok()?;
    Some(UnixMs(seconds.checked_mul(1000)?).plus(GRACE))
}

fn blob_file_ends(file: &str) -> Option<UnixMs> {
    file.parse().ok().map(blob_ends)
}

/// When the sweep may delete a blob.
pub(crate) fn blob_ends(blob: BlobId) -> UnixMs {
    blob.timestamp().plus(BLOB_LIFE)
}
