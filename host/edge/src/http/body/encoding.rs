//! What a request's head announces of its body: its type, and how it is compressed; and its bytes as they were before. Decodes
//! piece by piece, and never more than a body may have, however small the compressed one is.

use std::io::{self, Write};

use bytes::{Bytes, BytesMut};
use flate2::write::MultiGzDecoder;
use http::{HeaderMap, HeaderValue, header};
use zstd::stream::{raw, zio};
use zstd::zstd_safe::DParameter;

use crate::errors::{Kind, Refusal};
use crate::http::query::quoted;

/// What a client may use, as `Accept-Encoding` says it.
const ACCEPTED: &str = "gzip, zstd";
/// The largest window of a zstd frame, as a power of two: 8 MiB, which RFC 9659 sets for HTTP. It is memory that a frame asks for.
const WINDOW_LOG: u32 = 23;

/// Compressed bytes that are decoded at once: gzip makes about a megabyte of them at most, zstd what a body may have.
const MAX_PART: usize = 1024;

/// A `Content-Encoding`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Encoding {
    #[default]
    Identity,
    Gzip,
    Zstd,
}

impl Encoding {
    /// Of a request.
    ///
    /// # Errors
    /// 415 with what is accepted, where it is another, or several.
    pub(crate) fn of(headers: &HeaderMap) -> Result<Self, Refusal> {
        let mut given = headers.get_all(header::CONTENT_ENCODING).iter();
        let (encoding, more) = (given.next(), given.next());
        match (encoding.map(HeaderValue::as_bytes), more) {
            (None, _) => Ok(Self::Identity),
            (Some(name), None) => Self::named(name.trim_ascii()).ok_or_else(|| not_accepted(name)),
            (Some(name), Some(_)) => Err(not_accepted(name)),
        }
    }

    fn named(name: &[u8]) -> Option<Self> {
        let is = |names: &[&str]| names.iter().any(|known| name.eq_ignore_ascii_case(known.as_bytes()));
        if is(&["identity"]) {
            Some(Self::Identity)
        } else if is(&["gzip", "x-gzip"]) {
            Some(Self::Gzip)
        } else {
            is(&["zstd"]).then_some(Self::Zstd)
        }
    }
}

fn not_accepted(name: &[u8]) -> Refusal {
    let name = quoted(&String::from_utf8_lossy(name));
    let message = format!("Content-Encoding: expected one of gzip and zstd, or none, not {name}");
    Refusal::new(Kind::WrongMediaType, message).with_header(header::ACCEPT_ENCODING, ACCEPTED)
}

/// A body as it arrives.
pub(super) enum Decoder {
    /// A single piece is never copied.
    Identity(Pieces),
    Gzip(Box<MultiGzDecoder<Limited>>),
    Zstd(Box<zio::Writer<Limited, raw::Decoder<'static>>>),
}

/// What was decoded, up to its limit.
pub(super) struct Limited {
    bytes: Vec<u8>,
    max: usize,
}

/// Why a piece cannot be decoded.
#[derive(Debug)]
pub(super) enum Undecodable {
    /// It has more bytes than a body may have.
    TooLarge,
    Refused(Refusal),
}

impl Decoder {
    /// For a body of at most `max` bytes.
    pub(super) fn new(encoding: Encoding, max: usize) -> io::Result<Self> {
        let out = Limited { bytes: Vec::new(), max };
        Ok(match encoding {
            Encoding::Identity => Self::Identity(Pieces::default()),
            Encoding::Gzip => Self::Gzip(Box::new(MultiGzDecoder::new(out))),
            Encoding::Zstd => {
                let mut decoder = raw::Decoder::new()?;
                decoder.set_parameter(DParameter::WindowLogMax(WINDOW_LOG))?;
                Self::Zstd(Box::new(zio::Writer::new(out, decoder)))
            }
        })
    }

    /// Bytes of a piece that are taken at once.
    pub(super) const fn longest_part(&self) -> usize {
        match self {
            Self::Identity(_) => usize::MAX,
            Self::Gzip(_) | Self::Zstd(_) => MAX_PART,
        }
    }

    /// Takes the next piece as it came; the bytes that the body has by now.
    ///
    /// # Errors
    /// When it is damaged, or has more than the limit.
    pub(super) fn push(&mut self, piece: Bytes) -> Result<usize, Undecodable> {
        let (written, length) = match self {
            Self::Identity(pieces) => {
                pieces.push(piece);
                return Ok(pieces.len());
            }
            Self::Gzip(decoder) => (decoder.write_all(&piece), decoder.get_ref().bytes.len()),
            Self::Zstd(decoder) => (decoder.write_all(&piece), decoder.writer().bytes.len()),
        };
        written.map(|()| length).map_err(|error| self.undecodable(&error))
    }

    /// The whole body.
    ///
    /// # Errors
    /// When its end is missing, or it is larger than the limit after all.
    pub(super) fn finish(mut self) -> Result<Bytes, Undecodable> {
        let ended = match &mut self {
            Self::Identity(pieces) => return Ok(std::mem::take(pieces).join()),
            Self::Gzip(decoder) => {
                decoder.try_finish().map(|()| std::mem::take(&mut decoder.get_mut().bytes))
            }
            Self::Zstd(decoder) => decoder
                .flush()
                .and_then(|()| decoder.finish())
                .map(|()| std::mem::take(&mut decoder.writer_mut().bytes)),
        };
        ended.map(Bytes::from).map_err(|error| self.undecodable(&error))
    }

    fn undecodable(&self, error: &io::Error) -> Undecodable {
        if error.kind() == io::ErrorKind::FileTooLarge {
            return Undecodable::TooLarge;
        }
        let name = if matches!(self, Self::Gzip(_)) { "gzip" } else { "zstd" };
        let message = format!("Content-Encoding: the body is no whole {name}, it is damaged or cut short");
        Undecodable::Refused(Refusal::new(Kind::Invalid, message))
    }
}

impl Write for Limited {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        if piece.len() > self.max - self.bytes.len() {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.bytes.extend_from_slice(piece);
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Pieces of a body; a single piece is never copied.
#[derive(Default)]
pub(super) struct Pieces {
    first: Bytes,
    rest: BytesMut,
}

impl Pieces {
    fn push(&mut self, piece: Bytes) {
        if self.first.is_empty() {
            self.first = piece;
        } else {
            if self.rest.is_empty() {
                self.rest.extend_from_slice(&self.first);
            }
            self.rest.extend_from_slice(&piece);
        }
    }

    fn len(&self) -> usize {
        self.first.len().max(self.rest.len())
    }

    fn join(self) -> Bytes {
        if self.rest.is_empty() { self.first } else { self.rest.freeze() }
    }
}

/// How a body is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum MediaType {
    Json,
    /// `multipart/form-data`, with its boundary.
    Form(String),
}

/// Refuses a head that does not announce plain JSON.
pub(crate) fn check_type(headers: &HeaderMap) -> Result<(), Refusal> {
    media_type(headers, false).map(drop)
}

/// What a head announces: JSON, or a form where `takes_forms` says so.
pub(crate) fn media_type(headers: &HeaderMap, takes_forms: bool) -> Result<MediaType, Refusal> {
    Encoding::of(headers)?;
    let announced = headers.get(header::CONTENT_TYPE).map(|value| value.to_str().unwrap_or_default());
    let essence = announced.and_then(|text| text.split(';').next()).unwrap_or_default().trim();
    if essence.eq_ignore_ascii_case("application/json") {
        return Ok(MediaType::Json);
    }
    let boundary = announced.filter(|_| takes_forms).and_then(|text| multer::parse_boundary(text).ok());
    if let Some(boundary) = boundary.filter(|boundary| !boundary.is_empty()) {
        return Ok(MediaType::Form(boundary));
    }
    let received = announced.map_or_else(|| "none".to_owned(), quoted);
    let forms = if takes_forms { " or multipart/form-data with its boundary" } else { "" };
    let message = format!("Content-Type: expected application/json{forms}, not {received}");
    Err(Refusal::new(Kind::WrongMediaType, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX: usize = 1 << 20;

    fn compressed(encoding: Encoding, bytes: &[u8]) -> Vec<u8> {
        match encoding {
            Encoding::Identity => bytes.to_vec(),
            Encoding::Gzip => {
                let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
                out.write_all(bytes).unwrap();
                out.finish().unwrap()
            }
            Encoding::Zstd => zstd::encode_all(bytes, 3).unwrap(),
        }
    }

    fn decoded(encoding: Encoding, bytes: &[u8], piece: usize) -> Result<Bytes, Undecodable> {
        let mut decoder = Decoder::new(encoding, MAX).unwrap();
        for piece in bytes.chunks(piece) {
            decoder.push(Bytes::copy_from_slice(piece))?;
        }
        decoder.finish()
    }

    #[test]
    fn what_was_compressed_comes_back_in_pieces_of_any_size() {
        let text: String = (0..20_000).map(|number| format!("{number},")).collect();
        for text in ["", "{}", &text] {
            for encoding in [Encoding::Identity, Encoding::Gzip, Encoding::Zstd] {
                let sent = compressed(encoding, text.as_bytes());
                for piece in [1, 7, 4096, 1 << 20] {
                    let whole = decoded(encoding, &sent, piece).unwrap();
                    assert_eq!(whole, text.as_bytes(), "{encoding:?} {piece}");
                }
            }
        }
    }

    /// Without it a few kilobytes of a client are gigabytes of the gateway's memory.
    #[test]
    fn no_more_is_decoded_than_a_body_may_have() {
        let bomb = vec![b' '; MAX + 1];
        for encoding in [Encoding::Gzip, Encoding::Zstd] {
            assert_eq!(decoded(encoding, &compressed(encoding, &bomb[1..]), 4096).unwrap().len(), MAX);
            let error = decoded(encoding, &compressed(encoding, &bomb), 1 << 20).unwrap_err();
            assert!(matches!(error, Undecodable::TooLarge), "{encoding:?} {error:?}");
        }
    }

    #[test]
    fn a_damaged_body_is_refused_whatever_is_wrong_with_it() {
        for encoding in [Encoding::Gzip, Encoding::Zstd] {
            let sound = compressed(encoding, br#"{"model": "sea"}"#);
            // A frame whose window is larger than 8 MiB.
            let wide = [0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xa0, 0x01, 0x00, 0x00];
            for wrong in [&sound[..sound.len() - 3], &sound[..4], b"{}", &wide] {
                let error = decoded(encoding, wrong, 3).unwrap_err();
                let Undecodable::Refused(refusal) = error else { panic!("{encoding:?} {error:?}") };
                assert_eq!(refusal.kind(), Kind::Invalid);
            }
        }
    }

    #[test]
    fn an_encoding_is_one_of_three() {
        for (given, expected) in [
            (&[][..], Some(Encoding::Identity)),
            (&["identity"], Some(Encoding::Identity)),
            (&["GZIP"], Some(Encoding::Gzip)),
            (&["x-gzip"], Some(Encoding::Gzip)),
            (&[" zstd "], Some(Encoding::Zstd)),
            (&["br"], None),
            (&["deflate"], None),
            (&["gzip, zstd"], None),
            (&["gzip", "gzip"], None),
            (&[""], None),
        ] {
            let mut headers = HeaderMap::new();
            for value in given {
                headers.append(header::CONTENT_ENCODING, value.parse().unwrap());
            }
            assert_eq!(Encoding::of(&headers).ok(), expected, "{given:?}");
        }
    }

    #[test]
    fn only_json_is_accepted() {
        for (kind, encoding, fits) in [
            (Some("application/json"), None, true),
            (Some("Application/JSON ; charset=utf-8"), None, true),
            (Some("application/json"), Some("identity"), true),
            (Some("application/json"), Some("gzip"), true),
            (Some("application/json"), Some("br"), false),
            (Some("text/json"), None, false),
            (Some("application/jsonl"), None, false),
            (Some("multipart/form-data; boundary=x"), None, false),
            (Some(""), None, false),
            (None, None, false),
        ] {
            let mut headers = HeaderMap::new();
            kind.map(|kind| headers.insert(header::CONTENT_TYPE, kind.parse().unwrap()));
            encoding.map(|encoding| headers.insert(header::CONTENT_ENCODING, encoding.parse().unwrap()));
            assert_eq!(check_type(&headers).is_ok(), fits, "{kind:?} {encoding:?}");
        }
    }
}
