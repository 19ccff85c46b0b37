//! Sample films and sounds, by file name, and how they are served: whole, in parts, padded to any size.
//!
//! | name | file |
//! |---|---|
//! | `<W>x<H>-<time>.<mp4 or mov>` | a film with sound |
//! | `<W>x<H>-<time>-silent.<mp4 or mov>` | a film without sound |
//! | `<time>.<wav or mp3 or m4a>` | silence |
//!
//! `<time>` is `5s` or `5250ms`. `?bytes=N` pads a file (no MP3) to that size. Range requests are answered.

use bytes::Bytes;
use futures_util::stream;
use http::{Response, StatusCode, header};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use sha2::{Digest, Sha256};

use crate::common::server::{Body, reply, with};
use gatehouse_sandbox_files::{Film, Sound, SoundFormat};

const MAX_SIDE: u32 = 8192;
/// What H.264 holds at most.
const MAX_PIXELS: u64 = 35_000_000;
const MAX_MILLISECONDS: u64 = 600_000;
const MAX_BYTES: u64 = 1 << 30;
/// A piece of what files are padded with.
pub(crate) static ZEROS: [u8; 64 << 10] = [0; 64 << 10];

/// A film or a sound that a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SampleMedia {
    Mp4(Film),
    Mov(Film),
    Sound(Sound),
}

impl SampleMedia {
    /// The sample of a file name, if there is one.
    pub(crate) fn named(name: &str) -> Option<Self> {
        let (stem, extension) = name.rsplit_once('.')?;
        let sound = |format| Some(Self::Sound(Sound { format, milliseconds: milliseconds(stem)? }));
        match extension {
            "mp4" => film(stem).map(Self::Mp4),
            "mov" => film(stem).map(Self::Mov),
            "wav" => sound(SoundFormat::Wav),
            "mp3" => sound(SoundFormat::Mp3),
            "m4a" => sound(SoundFormat::M4a),
            _ => None,
        }
    }

    fn mime(self) -> &'static str {
        match self {
            Self::Mp4(_) => "video/mp4",
            Self::Mov(_) => "video/quicktime",
            Self::Sound(sound) => match sound.format {
                SoundFormat::Wav => "audio/wav",
                SoundFormat::Mp3 => "audio/mpeg",
                SoundFormat::M4a => "audio/mp4",
            },
        }
    }

    /// The file, padded to `size`; `None` when that is not possible.
    pub(crate) fn file(self, size: Option<u64>) -> Option<SampleFile> {
        let mut begin = match self {
            Self::Mp4(film) => film.mp4(),
            Self::Mov(film) => film.mov(),
            Self::Sound(sound) => sound.encode(),
        };
        let zeros = match size.filter(|size| *size != begin.len() as u64) {
            Some(size) => {
                let pad = u32::try_from(size.min(MAX_BYTES + 1).checked_sub(begin.len() as u64)?).ok()?;
                let content = pad.checked_sub(8).filter(|_| size <= MAX_BYTES)?;
                match self {
                    Self::Sound(Sound { format: SoundFormat::Mp3, .. }) => return None,
                    Self::Sound(Sound { format: SoundFormat::Wav, .. }) => {
                        begin.extend(b"junk");
                        begin.extend(content.to_le_bytes());
                        let riff = u32::try_from(size - 8).ok()?;
                        begin[4..8].copy_from_slice(&riff.to_le_bytes());
                    }
                    _ => {
                        begin.extend(pad.to_be_bytes());
                        begin.extend(b"free");
                    }
                }
                content.into()
            }
            None => 0,
        };
        Some(SampleFile { mime: self.mime(), begin: begin.into(), zeros })
    }
}

fn film(stem: &str) -> Option<Film> {
    let (stem, sound) = stem.strip_suffix("-silent").map_or((stem, true), |stem| (stem, false));
    let (size, time) = stem.split_once('-')?;
    let (width, height) = size.split_once('x')?;
    let side = |text: &str| text.parse().ok().filter(|side| (1..=MAX_SIDE).contains(side));
    let (width, height): (u32, u32) = (side(width)?, side(height)?);
    let [red, green, blue, ..]: [u8; 32] = Sha256::digest(stem).into();
    let film = Film { width, height, milliseconds: milliseconds(time)?, sound, colour: [red, green, blue] };
    (u64::from(width) * u64::from(height) <= MAX_PIXELS).then_some(film)
}

fn milliseconds(time: &str) -> Option<u64> {
    let time = match time.strip_suffix("ms") {
        Some(milliseconds) => milliseconds.parse::<u64>().ok()?,
        None => time.strip_suffix('s')?.parse::<u64>().ok()?.checked_mul(1000)?,
    };
    (1..=MAX_MILLISECONDS).contains(&time).then_some(time)
}

/// A file that ends in zeros, which are never in memory at once.
#[derive(Clone, Debug)]
pub(crate) struct SampleFile {
    mime: &'static str,
    begin: Bytes,
    zeros: u64,
}

impl SampleFile {
    /// The answer to a request with this `Range` header.
    pub(crate) fn answer(self, range: Option<&str>) -> Response<Body> {
        let length = self.begin.len() as u64 + self.zeros;
        let Some(range) = range.and_then(|range| part(range, length)) else {
            return with(self.part(200, 0, length), "accept-ranges", "bytes");
        };
        let Some((from, to)) = range else {
            let refusal = reply(StatusCode::RANGE_NOT_SATISFIABLE.as_u16(), self.mime, Bytes::new());
            return with(refusal, "content-range", &format!("bytes */{length}"));
        };
        let shown = format!("bytes {from}-{}/{length}", to - 1);
        with(self.part(206, from, to), "content-range", &shown)
    }

    fn part(self, status: u16, from: u64, to: u64) -> Response<Body> {
        let mime = self.mime;
        let frames = stream::unfold(from, move |at| {
            let piece = (at < to).then(|| self.piece(at, to));
            std::future::ready(piece.map(|piece| {
                let next = at + piece.len() as u64;
                (Ok(Frame::data(piece)), next)
            }))
        });
        let response = reply(status, mime, Bytes::new());
        with(response, header::CONTENT_LENGTH.as_str(), &(to - from).to_string())
            .map(|_| BodyExt::boxed_unsync(StreamBody::new(frames)))
    }

    /// Some of the bytes between two places, at least one.
    fn piece(&self, at: u64, to: u64) -> Bytes {
        let begin = self.begin.len() as u64;
        let length = usize::try_from(to.min(if at < begin { begin } else { to }) - at).unwrap_or(usize::MAX);
        match usize::try_from(at) {
            Ok(at) if at < self.begin.len() => self.begin.slice(at..at + length),
            _ => Bytes::from_static(&ZEROS[..length.min(ZEROS.len())]),
        }
    }
}

/// The part a `Range` header asks for, as first byte and the one after the last: `None` when it is to be ignored, `Some(None)`
/// when there is no such part.
fn part(range: &str, length: u64) -> Option<Option<(u64, u64)>> {
    let (from, last) = range.strip_prefix("bytes=")?.split_once('-')?;
    let (from, to) = match (from, last) {
        ("", last) => (length.saturating_sub(last.parse().ok()?), length),
        (from, "") => (from.parse().ok()?, length),
        (from, last) => (from.parse().ok()?, last.parse::<u64>().ok()?.saturating_add(1).min(length)),
    };
    Some((from < to).then_some((from, to)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        let film = |name| match SampleMedia::named(name) {
            Some(SampleMedia::Mp4(film) | SampleMedia::Mov(film)) => {
                Some((film.width, film.height, film.milliseconds, film.sound))
            }
            _ => None,
        };
        #[rustfmt::skip]
        let films = [
            ("1280x720-5s.mp4", Some((1280, 720, 5000, true))), ("64x48-1500ms-silent.mov", Some((64, 48, 1500, false))),
            ("8192x4096-600s.mp4", Some((8192, 4096, 600_000, true))), ("8192x8192-1s.mp4", None), ("0x4-1s.mp4", None),
            ("4x8193-1s.mp4", None), ("4x4-0s.mp4", None), ("4x4-601s.mp4", None), ("4x4.mp4", None), ("4x4-5.mp4", None),
            ("4x4-1s-silence.mp4", None), ("4x4-1s.avi", None), ("x-1s.mp4", None), ("", None),
        ];
        for (name, expected) in films {
            assert_eq!(film(name), expected, "{name}");
        }
        let sound = |format, milliseconds| Some(SampleMedia::Sound(Sound { format, milliseconds }));
        assert_eq!(SampleMedia::named("7s.wav"), sound(SoundFormat::Wav, 7000));
        assert_eq!(SampleMedia::named("30001ms.mp3"), sound(SoundFormat::Mp3, 30_001));
        assert_eq!(SampleMedia::named("2s.m4a"), sound(SoundFormat::M4a, 2000));
        assert_eq!(SampleMedia::named("7.wav"), None);
    }

    async fn body(response: Response<Body>) -> Bytes {
        response.into_body().collect().await.expect("nothing breaks").to_bytes()
    }

    #[tokio::test]
    async fn padded_files_have_the_size_asked_for() {
        for name in ["64x48-1s.mp4", "2s.wav", "2s.m4a"] {
            let sample = SampleMedia::named(name).expect("a sample");
            let plain = body(sample.file(None).expect("a file").answer(None)).await;
            for size in [plain.len(), plain.len() + 8, plain.len() + 100_000] {
                let padded = sample.file(Some(size as u64)).expect("a file").answer(None);
                assert_eq!(padded.headers()["content-length"], size.to_string(), "{name}");
                let padded = body(padded).await;
                assert_eq!(padded.len(), size, "{name}");
                assert_eq!(padded[8..plain.len()], plain[8..], "{name}");
            }
            assert!(sample.file(Some(plain.len() as u64 + 7)).is_none(), "{name}: no room for a header");
            assert!(sample.file(Some(10)).is_none(), "{name}");
            assert!(sample.file(Some(MAX_BYTES + 1)).is_none(), "{name}");
        }
        assert!(SampleMedia::named("2s.mp3").expect("a sample").file(Some(1 << 20)).is_none());
    }

    #[tokio::test]
    async fn parts() {
        let file = SampleMedia::named("64x48-1s.mp4").expect("a sample").file(Some(200_000)).expect("a file");
        let whole = body(file.clone().answer(None)).await;
        let ignored = body(file.clone().answer(Some("lines=1-2"))).await;
        assert_eq!(ignored, whole);
        let begin = file.begin.len();
        for (range, expected, shown) in [
            ("bytes=0-0".to_owned(), 0..1, "bytes 0-0/200000".to_owned()),
            ("bytes=-3".to_owned(), 199_997..200_000, "bytes 199997-199999/200000".to_owned()),
            ("bytes=199999-".to_owned(), 199_999..200_000, "bytes 199999-199999/200000".to_owned()),
            (
                format!("bytes={}-{}", begin - 2, begin + 70_000),
                begin - 2..begin + 70_001,
                format!("bytes {}-{}/200000", begin - 2, begin + 70_000),
            ),
            ("bytes=10-999999".to_owned(), 10..200_000, "bytes 10-199999/200000".to_owned()),
        ] {
            let answer = file.clone().answer(Some(&range));
            assert_eq!(
                (answer.status().as_u16(), answer.headers()["content-range"].to_str().expect("text")),
                (206, shown.as_str())
            );
            assert_eq!(body(answer).await, whole[expected], "{range}");
        }
        let answer = file.answer(Some("bytes=200000-"));
        assert_eq!(
            (answer.status().as_u16(), &answer.headers()["content-range"]),
            (416, &"bytes */200000".parse().expect("ascii"))
        );
    }
}
