//! Files inside of JSON, as base64: read and encoded piece by piece, so that a request holds no picture whole.

use std::io;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use futures_util::stream::{self, BoxStream};
use futures_util::{StreamExt as _, TryStreamExt as _};

/// The bytes of a file, in pieces.
type Pieces = BoxStream<'static, io::Result<Bytes>>;

/// A body that is made of texts and of files.
#[derive(Default)]
pub(super) struct Encoded {
    parts: Vec<Pieces>,
    bytes: u64,
}

impl Encoded {
    /// Adds a text as it is.
    pub(super) fn text(&mut self, text: impl Into<Bytes>) {
        let text = text.into();
        self.bytes += text.len() as u64;
        self.parts.push(stream::iter([Ok(text)]).boxed());
    }

    /// Adds a file of that many bytes.
    pub(super) fn file(&mut self, length: u64, pieces: Pieces) {
        self.bytes += length.div_ceil(3) * 4;
        self.parts.push(base64_of(pieces));
    }

    /// The pieces, and the bytes that they have in all.
    pub(super) fn into_pieces(self) -> (Pieces, u64) {
        (stream::iter(self.parts).flatten().boxed(), self.bytes)
    }
}

/// Each piece encoded, but for the bytes that the next one completes.
fn base64_of(pieces: Pieces) -> Pieces {
    let encoded = stream::try_unfold(Some((pieces, Vec::new())), |state| async move {
        let Some((mut pieces, mut left)) = state else { return Ok::<_, io::Error>(None) };
        let Some(piece) = pieces.try_next().await? else {
            return Ok(Some((Bytes::from(STANDARD.encode(&left)), None)));
        };
        left.extend_from_slice(&piece);
        let rest = left.split_off(left.len() / 3 * 3);
        Ok(Some((Bytes::from(STANDARD.encode(&left)), Some((pieces, rest)))))
    });
    encoded.try_filter(|piece| std::future::ready(!piece.is_empty())).boxed()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without it a picture is broken where one piece of it ends, or the length of the answer is wrong.
    #[tokio::test]
    async fn pieces_of_any_length_are_one_text() {
        let file: Vec<u8> = (0..=255).collect();
        for length in [1, 2, 3, 4, 7, 64, 256] {
            for total in [0, 1, 2, 3, 100, 256] {
                let file = &file[..total];
                let pieces: Vec<_> =
                    file.chunks(length).map(|piece| Ok(Bytes::copy_from_slice(piece))).collect();
                let mut encoded = Encoded::default();
                encoded.text("<");
                encoded.file(total as u64, stream::iter(pieces).boxed());
                encoded.text(">");
                let (pieces, bytes) = encoded.into_pieces();
                let all: Vec<Bytes> = pieces.try_collect().await.unwrap();
                let expected = format!("<{}>", STANDARD.encode(file));
                assert_eq!((all.concat(), bytes), (expected.clone().into_bytes(), expected.len() as u64));
            }
        }
    }
}
