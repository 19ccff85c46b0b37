//! Files that stand in a text: base64 as clients write it, and the type that bytes tell. The host takes long ones out of a
//! request and families read short ones, so both ask here: a file is the same at every size, and under every label. Pure.

use base64::Engine as _;
use base64::alphabet::{STANDARD, URL_SAFE};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

/// As providers and clients write it: padding optional, stray bits at the end ignored.
const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_padding_mode(DecodePaddingMode::Indifferent)
    .with_decode_allow_trailing_bits(true);
const ENGINES: [GeneralPurpose; 2] =
    [GeneralPurpose::new(&STANDARD, LENIENT), GeneralPurpose::new(&URL_SAFE, LENIENT)];

/// Bytes of a `data:` URI before its comma, at most. A comma further on belongs to something else.
const MAX_HEAD: usize = 512;
/// Bytes that are looked at for an element of a drawing.
const DRAWING_HEAD: usize = 1 << 10;
/// Bytes that [`sniff`] wants to see when there are as many: brands and names of formats stand there.
pub const SNIFFED: usize = 64;

/// What of a text may be base64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Payload<'a> {
    /// The text itself, or what stands behind the comma of a `data:` URI.
    pub base64: &'a [u8],
    /// The head of the `data:` URI, up to its comma; empty without one.
    pub head: &'a [u8],
    /// Whether the head says that it is base64. Where nothing says so, it is a file only if its bytes tell a type.
    pub is_said: bool,
}

/// Finds the base64 in a text. White space around its parts does no harm.
#[must_use]
pub fn payload(text: &[u8]) -> Payload<'_> {
    let text = text.trim_ascii();
    let bare = Payload { base64: text, head: &[], is_said: false };
    if !text.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case(b"data:")) {
        return bare;
    }
    let Some(comma) = text.iter().take(MAX_HEAD).position(|byte| *byte == b',') else { return bare };
    let (head, base64) = (&text[..comma], &text[comma + 1..]);
    let last = head[5..].trim_ascii_end();
    let before = last.len().checked_sub(6).filter(|at| last[*at..].eq_ignore_ascii_case(b"base64"));
    let is_said = before.is_some_and(|end| last[..end].trim_ascii_end().ends_with(b";"));
    Payload { base64, head, is_said }
}

impl Payload<'_> {
    /// Whether it stands in a `data:` URI.
    #[must_use]
    pub fn is_uri(&self) -> bool {
        !self.head.is_empty()
    }

    /// The media type that the head declares, in lower case.
    #[must_use]
    pub fn declared(&self) -> Option<String> {
        let mime = self.head.get(5..)?.split(|byte| *byte == b';').next()?;
        // Some encoders write `\/`.
        let mime = std::str::from_utf8(mime).ok()?.trim().replace("\\/", "/").to_ascii_lowercase();
        let is_token = |letter: char| letter.is_ascii_alphanumeric() || "!#$&-^_.+/".contains(letter);
        (mime.contains('/') && mime.chars().all(is_token)).then_some(mime)
    }

    /// The file; `None` where the text has no file, or nothing tells that it is one.
    #[must_use]
    pub fn file(&self) -> Option<Vec<u8>> {
        let bytes = decode_base64(self.base64).filter(|bytes| !bytes.is_empty())?;
        (self.is_said || type_of(&bytes).is_some()).then_some(bytes)
    }
}

/// Decodes base64 of either alphabet; line breaks, blanks and the escapes of addresses in it do no harm.
#[must_use]
pub fn decode_base64(text: &[u8]) -> Option<Vec<u8>> {
    let plain = |text: &[u8]| ENGINES.iter().find_map(|engine| engine.decode(text).ok());
    plain(text).or_else(|| {
        let tight: Vec<u8> = text.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect();
        let tight = unescaped(tight);
        if tight.len() == text.len() { None } else { plain(&tight) }
    })
}

/// Bytes in the usual alphabet, with padding and without line breaks.
#[must_use]
pub fn encode_base64(bytes: &[u8]) -> String {
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

/// Base64 whose signs were escaped as in an address.
fn unescaped(text: Vec<u8>) -> Vec<u8> {
    if !text.contains(&b'%') {
        return text;
    }
    let mut text = String::from_utf8_lossy(&text).into_owned();
    for (escape, sign) in [("%2B", "+"), ("%2F", "/"), ("%3D", "="), ("%2b", "+"), ("%2f", "/"), ("%3d", "=")]
    {
        text = text.replace(escape, sign);
    }
    text.into_bytes()
}

/// The type that bytes tell by their beginning: of pictures, films and sounds, of a document that providers read, and of a
/// drawing, which is called by its name so that a refusal can name it.
#[must_use]
pub fn type_of(bytes: &[u8]) -> Option<&'static str> {
    if bytes.starts_with(b"%PDF-") {
        return Some("application/pdf");
    }
    sniff(bytes).or_else(|| is_drawing(bytes).then_some("image/svg+xml"))
}

/// The type of pictures, films and sounds that begin like this; `None` when they are of no kind known here.
#[must_use]
pub fn sniff(head: &[u8]) -> Option<&'static str> {
    let at = |offset: usize, magic: &[u8]| head.get(offset..offset + magic.len()) == Some(magic);
    Some(match head {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => "image/png",
        [0xff, 0xd8, 0xff, ..] => "image/jpeg",
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => "image/gif",
        [b'R', b'I', b'F', b'F', ..] if at(8, b"WEBP") => "image/webp",
        [b'R', b'I', b'F', b'F', ..] if at(8, b"WAVE") => "audio/wav",
        // Two letters are too little to go by; the reserved field behind the size is zero in every real file.
        [b'B', b'M', ..] if at(6, &[0; 4]) => "image/bmp",
        [b'I', b'I', 42, 0, ..] | [b'M', b'M', 0, 42, ..] => "image/tiff",
        [_, _, _, _, b'f', b't', b'y', b'p', brands @ ..] => brand_type(head, brands)?,
        [0x1a, 0x45, 0xdf, 0xa3, ..] => {
            let webm = head[..head.len().min(SNIFFED)].windows(4).any(|word| word == b"webm");
            if webm { "video/webm" } else { "video/x-matroska" }
        }
        [b'I', b'D', b'3', ..] => "audio/mpeg",
        // MPEG audio frame sync: layer III of MPEG 1, 2 and 2.5.
        [0xff, 0xfa | 0xfb | 0xf2 | 0xf3 | 0xe2 | 0xe3, ..] => "audio/mpeg",
        [0xff, 0xf0 | 0xf1 | 0xf8 | 0xf9, ..] => "audio/aac",
        [b'f', b'L', b'a', b'C', ..] => "audio/flac",
        [b'O', b'g', b'g', b'S', ..] => "audio/ogg",
        _ => return None,
    })
}

/// ISO base media files, by their major brand; of pictures whose major brand is that of the container, by the others.
fn brand_type(head: &[u8], brands: &[u8]) -> Option<&'static str> {
    let is_avif = |brand: &[u8]| matches!(brand, b"avif" | b"avis");
    let length = head.first_chunk().map_or(0, |length| u32::from_be_bytes(*length) as usize);
    Some(match brands.get(..4)? {
        b"qt  " => "video/quicktime",
        b"M4A " | b"M4B " => "audio/mp4",
        brand if is_avif(brand) => "image/avif",
        b"mif1" | b"msf1" => {
            let others = head.get(16..length.min(head.len()).min(SNIFFED)).unwrap_or_default();
            if others.chunks(4).any(is_avif) { "image/avif" } else { "image/heic" }
        }
        b"heic" | b"heix" | b"heim" | b"heis" => "image/heic",
        _ => "video/mp4",
    })
}

/// A drawing is a text, perhaps behind the declaration of XML.
fn is_drawing(bytes: &[u8]) -> bool {
    let head = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes).trim_ascii_start();
    let may_be = [&b"<?xml"[..], b"<!--", b"<!DOCTYPE svg"].iter().any(|begin| head.starts_with(begin));
    let element = b"<svg";
    head.starts_with(element)
        || (may_be && head[..head.len().min(DRAWING_HEAD)].windows(4).any(|word| word == element))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_known_by_their_first_bytes() {
        for (head, mime) in [
            (&b"\x89PNG\r\n\x1a\n"[..], Some("image/png")),
            (b"\xff\xd8\xff\xe0", Some("image/jpeg")),
            (b"GIF89a..", Some("image/gif")),
            (b"RIFF\0\0\0\0WEBPVP8 ", Some("image/webp")),
            (b"RIFF\0\0\0\0WAVEfmt ", Some("audio/wav")),
            (b"RIFF\0\0\0\0AVI LIST", None),
            (b"BM\x10\0\0\0\0\0\0\0\x36", Some("image/bmp")),
            (b"BM is a car maker", None),
            (b"II*\0\x08\0\0\0", Some("image/tiff")),
            (b"\0\0\0\x18ftypisom", Some("video/mp4")),
            (b"\0\0\0\x18ftypqt  ", Some("video/quicktime")),
            (b"\0\0\0\x18ftypM4A ", Some("audio/mp4")),
            (b"\0\0\0\x18ftypavif", Some("image/avif")),
            (b"\0\0\0\x18ftypheic\0\0\0\0mif1heic", Some("image/heic")),
            (b"\0\0\0\x1cftypmif1\0\0\0\0mif1avifmiaf", Some("image/avif")),
            (b"\0\0\0\x18ftypmif1\0\0\0\0mif1heicavif", Some("image/heic")),
            (b"\0\0\0\x18ftyp", None),
            (b"\x1a\x45\xdf\xa3\x01\0\0\0\x42\x82\x84webm", Some("video/webm")),
            (b"\x1a\x45\xdf\xa3\x01\0\0\0\x42\x82\x88matroska", Some("video/x-matroska")),
            (b"ID3\x04", Some("audio/mpeg")),
            (b"\xff\xfb\x90", Some("audio/mpeg")),
            (b"\xff\xf1\x50", Some("audio/aac")),
            (b"fLaC", Some("audio/flac")),
            (b"OggS", Some("audio/ogg")),
            (b"<svg xmlns='x'/>", Some("image/svg+xml")),
            (b"\xef\xbb\xbf<?xml version='1.0'?>\n<svg/>", Some("image/svg+xml")),
            (b"<?xml version='1.0'?><html/>", None),
            (b"%PDF-1.7", Some("application/pdf")),
            (b"%PD", None),
            (b"<!doctype html>", None),
            (b"{\"detail\":1}", None),
            (b"", None),
        ] {
            assert_eq!(type_of(head), mime, "{head:?}");
        }
    }

    #[test]
    fn base64_is_found_and_read_as_people_write_it() {
        const PNG: &str = "iVBORw0KGgoAAAAN";
        let png = decode_base64(PNG.as_bytes()).unwrap();
        for (text, file) in [
            ("data:image/png;base64,aGVsbG8=", Some(&b"hello"[..])),
            ("DATA:image/png;charset=x;BASE64,aGVsbG8", Some(b"hello")),
            (" data:image/png; base64 ,aGVs\nbG8=\n", Some(b"hello")),
            ("data:;base64,aGVsbG8%3D", Some(b"hello")),
            ("data:;base64,fn5%2bfn5%2F", Some(b"~~~~~\x7f")),
            ("data:;base64,fn5-fn5_", Some(b"~~~~~\x7f")),
            ("data:;base64,", None),
            ("data:;base64,a", None),
            ("data:;base64,aGVs*G8=", None),
            ("data:image/png;base64", None),
            // Where nothing says that it is base64, the bytes do.
            (PNG, Some(&png)),
            ("iVBORw0K\r\nGgoAAAAN\r\n", Some(&png)),
            ("data:image/png,iVBORw0KGgoAAAAN", Some(&png)),
            ("data:image/png;name=base64,iVBORw0KGgoAAAAN", Some(&png)),
            ("data:base64,iVBORw0KGgoAAAAN", Some(&png)),
            ("data:text/plain,aGVsbG8=", None),
            ("data:image/svg+xml,<svg/>", None),
            ("aGVsbG8=", None),
            ("hello world, this is text.", None),
            ("https://x/data:;base64,aGVsbG8=", None),
            ("", None),
        ] {
            assert_eq!(payload(text.as_bytes()).file().as_deref(), file, "{text}");
        }
    }

    #[test]
    fn a_head_declares_one_type() {
        for (text, mime) in [
            ("data:Image/PNG;charset=x;base64,", Some("image/png")),
            ("data: text/plain ;base64,", Some("text/plain")),
            ("data:image\\/png;base64,", Some("image/png")),
            ("data:;base64,", None),
            ("data:a b/c;base64,", None),
            ("iVBORw0KGgo=", None),
        ] {
            assert_eq!(payload(text.as_bytes()).declared().as_deref(), mime, "{text}");
        }
    }
}
