//! Finds the head of a film that lies in the store: two small boxes among large ones, wherever they stand.

use std::ops::Range;

use bytes::{Bytes, BytesMut};
use futures_util::TryStreamExt as _;
use object_store::path::Path;

use crate::edit::clip::plan::Film;
use crate::probe::mp4::{word32, word64};
use crate::storage::objects::{Error, Objects};

/// Boxes of a file that are looked at: each takes one read. Real files have fewer than ten.
const MAX_BOXES: u32 = 100;
const MAX_FTYP: u64 = 4096;
/// The tables of four hours of film take less.
const MAX_MOOV: u64 = 16 * 1024 * 1024;

/// Why nothing comes of a source.
pub(crate) enum SourceError {
    /// It does not allow it, or cannot be had; in words a client may read.
    Unfit(String),
    /// Our own store failed.
    Store(Error),
}

impl From<Error> for SourceError {
    fn from(error: Error) -> Self {
        Self::Store(error)
    }
}

/// Reads a film's head; `length` is that of the whole file.
pub(crate) async fn film(objects: &Objects, path: &Path, length: u64) -> Result<Film, SourceError> {
    let (mut ftyp, mut moov) = (None, None);
    let mut at = 0;
    for _ in 0..MAX_BOXES {
        if at + 8 > length || (ftyp.is_some() && moov.is_some()) {
            break;
        }
        let head = read(objects, path, at..length.min(at + 16)).await?;
        let Some((name, content)) = content(&head, at, length) else {
            return Err(unfit(format!("it has a broken box at byte {at}")));
        };
        let (found, most) = match &name {
            b"moof" => {
                return Err(unfit("it is a fragmented file, only a progressive one can be cut".to_owned()));
            }
            b"ftyp" => (&mut ftyp, MAX_FTYP),
            b"moov" => (&mut moov, MAX_MOOV),
            _ => {
                at = content.end;
                continue;
            }
        };
        at = content.end;
        if content.end > length || content.end - content.start > most {
            let (size, name) = (content.end - content.start, String::from_utf8_lossy(&name));
            return Err(unfit(format!(
                "its {name} box of {size} bytes is too large, at most {most} bytes of a file of {length}"
            )));
        }
        *found = Some(read(objects, path, content).await?);
    }
    let ftyp = ftyp.ok_or_else(|| unfit("it has no ftyp box".to_owned()))?;
    let moov = moov.ok_or_else(|| unfit("it has no moov box".to_owned()))?;
    Ok(Film { ftyp, moov, length })
}

/// Name and content of the box that begins like this at a position of the file.
fn content(head: &[u8], at: u64, length: u64) -> Option<([u8; 4], Range<u64>)> {
    let name = head.get(4..8)?.try_into().ok()?;
    // 0 means "to the end", 1 that a 64-bit length follows.
    let (start, size) = match word32(head, 0)? {
        0 => (8, length - at),
        1 => (16, word64(head, 8)?),
        size => (8, u64::from(size)),
    };
    let (start, end) = (at + start, at.checked_add(size)?);
    (start <= end).then_some((name, start..end))
}

/// A part of an object, in memory.
pub(crate) async fn read(objects: &Objects, path: &Path, part: Range<u64>) -> Result<Bytes, Error> {
    let body = objects.read_part(path, part).await?;
    Ok(body.try_collect::<BytesMut>().await?.freeze())
}

fn unfit(reason: String) -> SourceError {
    SourceError::Unfit(reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_box_says_where_it_ends() {
        let head = |size: u32, long: u64| [&size.to_be_bytes()[..], b"moov", &long.to_be_bytes()].concat();
        for (head, at, length, expected) in [
            (head(20, 0), 100, 500, Some(108..120)),
            (head(8, 0), 100, 500, Some(108..108)),
            (head(0, 0), 100, 500, Some(108..500)),
            (head(1, 50), 100, 500, Some(116..150)),
            (head(1, 16), 100, 500, Some(116..116)),
            (head(1, 15), 100, 500, None),
            (head(7, 0), 100, 500, None),
            (head(1, u64::MAX), 100, 500, None),
            // Longer than the file: the caller's question.
            (head(u32::MAX, 0), 100, 500, Some(108..100 + u64::from(u32::MAX))),
            (head(1, 50)[..12].to_vec(), 100, 500, None),
        ] {
            let found = content(&head, at, length).map(|(_, content)| content);
            assert_eq!(found, expected, "{head:?}");
        }
    }
}
