//! Makes an edit of what the store holds: bytes that are new, and parts of the source that follow them.
//!
//! A clip needs its film's head only, a tile the whole picture; both are worked on by a blocking thread, few at once,
//! and a decoder that panics has lost its result, nothing else.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream::StreamExt;
use gatehouse_contract::{SNIFFED, sniff};
use gatehouse_model::Edit;
use object_store::path::Path;
use tokio::sync::Semaphore;

use crate::edit::clip::plan::{Edited, plan};
use crate::edit::locate::{self, SourceError, read};
use crate::edit::scale::scaled;
use crate::edit::tile::tile;
use crate::storage::objects::{Error, Objects};
use crate::storage::writer::Writer;

/// Edits of results computed at the same time: each may hold a decoded picture of the largest size.
const AT_ONCE: usize = 2;

/// Parts of a source that are closer than this are read in one go.
const GAP: u64 = 256 * 1024;

/// A source in the store.
pub(crate) struct Stored {
    pub(crate) path: Path,
    pub(crate) length: u64,
}

/// Edits what the store holds.
pub(crate) struct Editor {
    objects: Objects,
    /// Permits for edits under way.
    permits: Arc<Semaphore>,
    /// Bytes of an edited result, or of a decoded picture.
    most: u64,
}

impl Editor {
    pub(crate) fn new(objects: Objects, most: u64) -> Self {
        Self { objects, permits: Arc::new(Semaphore::new(AT_ONCE)), most }
    }

    /// Computes an edit. Nothing is written.
    pub(crate) async fn edit(&self, source: &Stored, edit: &Edit) -> Result<Edited, SourceError> {
        // Closed only with the store itself; then the work below ends too.
        let permit = Arc::clone(&self.permits).acquire_owned().await;
        let objects = &self.objects;
        match *edit {
            Edit::Tile(wanted) => {
                let picture = read(objects, &source.path, 0..source.length).await?;
                let most = self.most;
                let head = blocking(permit, move || tile(&picture, &wanted, most)).await?;
                Ok(Edited { head, parts: vec![] })
            }
            Edit::Clip(wanted) => {
                let head = read(objects, &source.path, 0..source.length.min(SNIFFED as u64)).await?;
                let came = sniff(&head);
                if !matches!(came, Some("video/mp4" | "video/quicktime" | "audio/mp4")) {
                    let came = came.unwrap_or("bytes of no known kind");
                    return Err(SourceError::Unfit(format!("only an MP4 file has clips, got {came}")));
                }
                let film = locate::film(objects, &source.path, source.length).await?;
                blocking(permit, move || plan(&film, &wanted)).await
            }
        }
    }

    /// A picture as a PNG of those pixels. Nothing is written.
    pub(crate) async fn scaled(&self, picture: Bytes, pixels: (u32, u32)) -> Result<Vec<u8>, SourceError> {
        let permit = Arc::clone(&self.permits).acquire_owned().await;
        let most = self.most;
        blocking(permit, move || scaled(&picture, pixels, most)).await
    }

    /// Writes parts of a source, in ascending order.
    pub(crate) async fn copy_parts(
        &self,
        source: &Stored,
        parts: &[Range<u64>],
        writer: &mut Writer,
    ) -> Result<(), Error> {
        for run in parts.chunk_by(|before, after| after.start - before.end <= GAP) {
            let (Some(first), Some(last)) = (run.first(), run.last()) else { continue };
            let mut at = first.start;
            let mut rest = run;
            let mut body = self.objects.read_part(&source.path, first.start..last.end).await?;
            while let Some(piece) = body.next().await.transpose()? {
                let end = at + piece.len() as u64;
                while let Some((part, later)) = rest.split_first().filter(|(part, _)| part.start < end) {
                    let (from, to) = (part.start.max(at) - at, part.end.min(end) - at);
                    writer.write(&piece[from as usize..to as usize]).await?;
                    if part.end > end {
                        break;
                    }
                    rest = later;
                }
                at = end;
            }
        }
        Ok(())
    }
}

/// Runs an edit on a blocking thread. The permit goes with it: what nobody waits for any more still takes its memory.
async fn blocking<T: Send + 'static>(
    permit: impl Send + 'static,
    edit: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, SourceError> {
    let edited = tokio::task::spawn_blocking(move || {
        let _permit = permit;
        edit()
    });
    match edited.await {
        Ok(edited) => edited.map_err(SourceError::Unfit),
        Err(error) => {
            tracing::error!(%error, "an edit panicked");
            Err(SourceError::Unfit("its bytes cannot be read".to_owned()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_edit_that_panics_has_lost_its_result_only() {
        let permits = Arc::new(Semaphore::new(1));
        for _ in 0..2 {
            let permit = Arc::clone(&permits).acquire_owned().await;
            let edited = blocking(permit, || -> Result<(), String> { panic!("a decoder's error") }).await;
            let Err(SourceError::Unfit(reason)) = edited else { panic!("an edit that panicked") };
            assert_eq!(reason, "its bytes cannot be read");
        }
    }
}
