//! Takes embedded files out of a request: long `data:` URIs and base64 become `blob:<id>`.
//!
//! So a 20 MB picture never enters a plugin, and costs the gateway one pass, one decode and one write. The
//! files are only in memory; [`crate::MediaStore::keep`] writes them once the request is accepted.

use bytes::Bytes;
use gatehouse_model::{BlobId, Clock, Facts, Json, Seed};

use crate::ingest::{data_url, scan};
use crate::probe::facts::{self, facts};

/// Strings up to this length stay where they are: short enough that the few a request may hold fit a task's
/// state (64 KiB) together.
const THRESHOLD: usize = 4 * 1024;
/// Files one request may embed.
const MAX_FILES: usize = 64;

/// A request without its embedded files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extracted {
    /// The same JSON, `blob:<id>` in place of each file. Not parsed: valid if the original was.
    pub json: Json,
    /// The files, in order.
    pub blobs: Vec<NewBlob>,
}

/// A blob that has not been written yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewBlob {
    /// Its id.
    pub id: BlobId,
    /// Its content.
    pub bytes: Bytes,
    /// What is known of it; `blob` names it.
    pub facts: Facts,
}

/// Why the files of a request cannot be extracted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExtractError {
    /// One file is too large.
    #[error("an embedded file is larger than {} MiB", .0 / (1024 * 1024))]
    TooLarge(u64),
    /// There are too many.
    #[error("a request may embed at most {0} files")]
    TooMany(usize),
    /// The host could not finish the work.
    #[error("the request could not be read")]
    Interrupted,
}

/// Extracts the files of `json`; `max` is the largest file in bytes.
pub(crate) fn extract(
    json: &Json,
    max: u64,
    clock: &dyn Clock,
    seed: &dyn Seed,
) -> Result<Extracted, ExtractError> {
    let mut blobs: Vec<NewBlob> = vec![];
    let mut left = String::new();
    let mut done = 0;
    for range in scan::strings(json.as_bytes(), THRESHOLD) {
        let Some(bytes) = file(json.as_bytes(), range.clone(), max)? else { continue };
        if blobs.len() == MAX_FILES {
            return Err(ExtractError::TooMany(MAX_FILES));
        }
        let blob = NewBlob::new(BlobId::new(clock.now(), seed), bytes.into());
        // A string begins and ends at a quote, so both are borders of characters.
        left.push_str(&json[done..range.start]);
        left.push_str(&format!("blob:{}", blob.id));
        done = range.end;
        blobs.push(blob);
    }
    if blobs.is_empty() {
        return Ok(Extracted { json: json.clone(), blobs });
    }
    left.push_str(&json[done..]);
    Ok(Extracted { json: left.into(), blobs })
}

impl NewBlob {
    pub(crate) fn new(id: BlobId, bytes: Bytes) -> Self {
        let facts = Facts { blob: Some(format!("blob:{id}")), ..facts(&bytes) };
        Self { id, bytes, facts }
    }
}

/// The file a string embeds, if it embeds one.
fn file(json: &[u8], range: std::ops::Range<usize>, max: u64) -> Result<Option<Vec<u8>>, ExtractError> {
    let raw = &json[range.clone()];
    if memchr::memchr(b'\\', raw).is_none() {
        return decoded(raw, max);
    }
    // Some encoders write `\/` or `\u002b` inside base64; few do, so this path may cost a copy.
    match serde_json::from_slice::<String>(&json[range.start - 1..=range.end]) {
        Ok(text) => decoded(text.as_bytes(), max),
        Err(_) => Ok(None),
    }
}

fn decoded(text: &[u8], max: u64) -> Result<Option<Vec<u8>>, ExtractError> {
    let check = |payload: &[u8]| {
        if payload.len() as u64 / 4 * 3 > max + 3 { Err(ExtractError::TooLarge(max)) } else { Ok(()) }
    };
    if let Some(payload) = data_url::uri_payload(text) {
        check(payload)?;
        // What does not decode is kept as it is written: its facts then say that it is no picture, and whether
        // that refuses or dooms the request is for the family to decide.
        return Ok(Some(data_url::decode(payload).unwrap_or_else(|| payload.to_vec())));
    }
    // Bare base64 is taken only when it is media: signatures and encrypted reasoning are long base64 too, and
    // must reach the provider as they are.
    let is_media = data_url::decoded_head(text).is_some_and(|head| facts::sniff(&head).is_some());
    if !is_media {
        return Ok(None);
    }
    check(text)?;
    Ok(data_url::decode(text))
}
