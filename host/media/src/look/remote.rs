//! Looks at a file behind a URL without fetching all of it.
//!
//! The first request asks for the beginning. A file that is not longer is known then, and a picture whose size stands there;
//! another one that is no film is fetched whole, within the limit. Of a film only the boxes that describe it
//! are read, wherever they stand: `moov` may be at the end, behind hundreds of MiB, and of a fragmented file
//! every `moof` counts. A server that ignores ranges sends all of it, which is read up to the limit.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use gatehouse_contract::{SNIFFED, sniff};
use gatehouse_model::{CustomerId, Facts, MediaKind};
use gatehouse_upstream::{FetchError, Fetched, Origins, Policy, Upstream};
use url::Url;

use crate::probe::cut::{facts_of_all, truncated};
use crate::probe::facts::{facts, kind};
use crate::probe::mp4::{word32, word64};
use crate::probe::orientation;

/// Bytes of the first request, and of each later one at least.
const PIECE: u64 = 256 * 1024;
/// Bytes of tables that are read at most.
const MAX_TABLES: u64 = 16 * 1024 * 1024;
/// Requests for one film at most; a fragmented one of a minute has about 30 fragments.
const MAX_REQUESTS: u32 = 64;

/// A part of the file.
struct Piece {
    first: u64,
    bytes: Bytes,
}

/// A file behind a URL, and the bounds of its fetch.
#[derive(Clone, Copy)]
pub(super) struct RemoteFile<'a> {
    pub(super) upstream: &'a Upstream,
    pub(super) url: &'a Url,
    /// With whose permits it is fetched.
    pub(super) customer: Option<&'a CustomerId>,
    /// Bytes that are fetched at most.
    pub(super) max: u64,
    pub(super) timeout: Duration,
}

/// A film that is read in parts.
struct Film<'a> {
    file: RemoteFile<'a>,
    total: u64,
    piece: Piece,
    requests: u32,
}

impl<'a> RemoteFile<'a> {
    /// All of it.
    pub(super) async fn whole(self) -> Result<Bytes, FetchError> {
        let fetched = self.upstream.fetcher().fetch(self.url.as_str(), &self.policy(self.max)).await?;
        fetched.collect().await
    }

    /// What it is.
    pub(super) async fn facts(self) -> Result<Facts, FetchError> {
        let max = self.max;
        let part = self.policy(max).part(0, PIECE - 1);
        let mut fetched = self.upstream.fetcher().fetch(self.url.as_str(), &part).await?;
        let total = fetched.total;
        if fetched.first != 0 {
            return Err(FetchError::Broken);
        }
        let mut begin = BytesMut::new();
        let is_over = read(&mut fetched, &mut begin, PIECE).await?;
        let length = begin.len() as u64;
        if is_over && !fetched.is_part || total.is_some_and(|total| total <= length) {
            return Ok(facts_of_all(&begin));
        }
        let known = sniff(&begin[..begin.len().min(SNIFFED)]);
        if let (Some(total), Some(MediaKind::Image)) = (total, known.map(kind)) {
            let found = facts(&begin);
            let is_clear = !orientation::may_follow(&begin, &found.mime);
            if is_clear && found.width.is_some_and(|width| width > 0) {
                return Ok(Facts { bytes: total, ..found });
            }
        }
        // Where no length is told, it shows when the file ends; past the limit the fetch fails.
        let Some(total) = total.filter(|total| fetched.is_part || *total > max) else {
            read(&mut fetched, &mut begin, max + 1).await?;
            return Ok(facts_of_all(&begin));
        };
        let is_film = matches!(known, Some("video/mp4" | "video/quicktime" | "audio/mp4"));
        if total > max && !is_film {
            return Err(FetchError::TooLarge(max));
        }
        drop(fetched);
        if is_film {
            let piece = Piece { first: 0, bytes: begin.freeze() };
            return Film { file: self, total, piece, requests: 1 }.facts().await;
        }
        Ok(facts_of_all(&self.whole().await?))
    }

    fn policy(self, max_bytes: u64) -> Policy<'a> {
        Policy { customer: self.customer, ..Policy::new(Origins::User, max_bytes, self.timeout) }
    }
}

/// Reads up to `length` bytes; whether that was the end of the answer.
async fn read(fetched: &mut Fetched, bytes: &mut BytesMut, length: u64) -> Result<bool, FetchError> {
    while (bytes.len() as u64) < length {
        match fetched.next().await? {
            Some(piece) => bytes.extend_from_slice(&piece),
            None => return Ok(true),
        }
    }
    Ok(false)
}

impl Film<'_> {
    /// The facts of a film, from the boxes that describe it.
    async fn facts(mut self) -> Result<Facts, FetchError> {
        let (mut tables, mut at) = (BytesMut::new(), 0_u64);
        while at + 8 <= self.total {
            let head = self.bytes(at, 16.min(self.total - at)).await?;
            let Some((name, length)) = box_head(&head, self.total - at) else { break };
            if length > self.total - at {
                return Ok(self.cut(&tables));
            }
            if matches!(&name, b"ftyp" | b"moov" | b"moof") {
                if length > MAX_TABLES - tables.len() as u64 {
                    break;
                }
                tables.extend_from_slice(&self.bytes(at, length).await?);
            }
            // What is not fragmented is known with its `moov`.
            if name == *b"moov" && facts(&tables).milliseconds.is_some_and(|length| length > 0) {
                let (next, left) = (at + length, self.total - at - length);
                let head = self.piece.part(next, left.min(16)).and_then(|head| box_head(&head, left));
                if head.is_some_and(|(_, length)| length > left) {
                    return Ok(self.cut(&tables));
                }
                break;
            }
            at = at.saturating_add(length);
        }
        Ok(Facts { bytes: self.total, ..facts(&tables) })
    }

    /// The facts of a film that says it is longer than its file.
    fn cut(&self, tables: &[u8]) -> Facts {
        truncated(Facts { bytes: self.total, ..facts(tables) })
    }

    /// A part of the file, from the last piece or by a request.
    async fn bytes(&mut self, at: u64, length: u64) -> Result<Bytes, FetchError> {
        if let Some(part) = self.piece.part(at, length) {
            return Ok(part);
        }
        self.requests += 1;
        if self.requests > MAX_REQUESTS {
            return Err(FetchError::Timeout);
        }
        let wanted = length.max(PIECE).min(self.total - at);
        let policy = self.file.policy(wanted).part(at, at + wanted - 1);
        let mut fetched = self.file.upstream.fetcher().fetch(self.file.url.as_str(), &policy).await?;
        if fetched.first != at || fetched.total != Some(self.total) {
            // It ignores ranges, or the file has changed meanwhile.
            return Err(FetchError::TooLarge(self.file.max));
        }
        let mut bytes = BytesMut::new();
        read(&mut fetched, &mut bytes, wanted).await?;
        self.piece = Piece { first: at, bytes: bytes.freeze() };
        self.piece.part(at, length).ok_or(FetchError::Broken)
    }
}

impl Piece {
    fn part(&self, at: u64, length: u64) -> Option<Bytes> {
        let from = usize::try_from(at.checked_sub(self.first)?).ok()?;
        let to = from.checked_add(usize::try_from(length).ok()?)?;
        (to <= self.bytes.len()).then(|| self.bytes.slice(from..to))
    }
}

/// Name and whole length of a box, behind whose beginning are `left` bytes of the file: it may have been longer.
fn box_head(head: &[u8], left: u64) -> Option<([u8; 4], u64)> {
    let name: [u8; 4] = head.get(4..8)?.try_into().ok()?;
    let length = match word32(head, 0)? {
        0 => left,
        1 => word64(head, 8)?,
        length => length.into(),
    };
    (length >= 8 && name.is_ascii()).then_some((name, length))
}
