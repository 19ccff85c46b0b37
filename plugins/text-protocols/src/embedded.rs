//! Files in short strings of a request. The host cuts the long ones out, and tells the type of their bytes; the short ones
//! stay, and are read here in the same way: base64 of either alphabet, with line breaks, with the head of a `data:` URI or
//! without, under any label.

use base64::Engine as _;
use base64::alphabet::{STANDARD, URL_SAFE};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

/// As clients write it: padding optional, stray bits at the end ignored.
const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_padding_mode(DecodePaddingMode::Indifferent)
    .with_decode_allow_trailing_bits(true);
const ENGINES: [GeneralPurpose; 2] =
    [GeneralPurpose::new(&STANDARD, LENIENT), GeneralPurpose::new(&URL_SAFE, LENIENT)];

/// A file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Embedded {
    /// The type that its bytes tell: of pictures, drawings and PDF documents.
    pub mime: Option<&'static str>,
    /// Its bytes in the usual alphabet, without line breaks.
    pub base64: String,
}

impl Embedded {
    /// The file that a text is, or has behind the head of a `data:` URI; `None` where it is no base64.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let is_uri = text.get(..5).is_some_and(|head| head.eq_ignore_ascii_case("data:"));
        let payload = if is_uri { text.split_once(',')?.1 } else { text };
        let tight: String = payload.split_ascii_whitespace().collect();
        let bytes = ENGINES.iter().find_map(|engine| engine.decode(&tight).ok())?;
        let mime = mime(&bytes);
        (!bytes.is_empty())
            .then(|| Self { mime, base64: base64::engine::general_purpose::STANDARD.encode(bytes) })
    }

    /// The same, of a text without the head of a `data:` URI, which may be a word: its bytes have to tell a type.
    #[must_use]
    pub fn read_bare(text: &str) -> Option<(&'static str, String)> {
        let Self { mime, base64 } = Self::read(text)?;
        Some((mime?, base64))
    }
}

/// The type that bytes tell.
fn mime(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        [b'%', b'P', b'D', b'F', b'-', ..] => Some("application/pdf"),
        // Pictures that hardly a model reads: one that is called by another name is refused by its own.
        [b'B', b'M', _, _, _, _, 0, 0, 0, 0, ..] => Some("image/bmp"),
        [b'I', b'I', 42, 0, ..] | [b'M', b'M', 0, 42, ..] => Some("image/tiff"),
        [_, _, _, _, b'f', b't', b'y', b'p', brand @ ..] => match brand.get(..4)? {
            b"avif" | b"avis" => Some("image/avif"),
            b"heic" | b"heix" | b"heim" | b"heis" | b"mif1" | b"msf1" => Some("image/heic"),
            _ => None,
        },
        _ => is_svg(bytes).then_some("image/svg+xml"),
    }
}

/// A drawing, as the host knows it: a text, perhaps behind the declaration of XML.
fn is_svg(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(1 << 10)]);
    let head = text.trim_start_matches('\u{feff}').trim_start();
    let may_be = ["<?xml", "<!--", "<!DOCTYPE svg"].iter().any(|begin| head.starts_with(begin));
    head.starts_with("<svg") || (may_be && head.contains("<svg"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without it a small picture is refused that a large one is not.
    #[test]
    fn a_short_file_is_read_as_people_write_it() {
        let png = "iVBORw0KGgoAAAANSUhEUg==";
        for (text, mime, base64) in [
            (png, Some("image/png"), png),
            ("iVBORw0KGgoAAAAN\nSUhEUg", Some("image/png"), png),
            ("data:image/jpeg;base64,iVBORw0KGgoAAAANSUhEUg", Some("image/png"), png),
            ("DATA:;base64,_9j_4A", Some("image/jpeg"), "/9j/4A=="),
            ("JVBERi0xLjQ=", Some("application/pdf"), "JVBERi0xLjQ="),
            ("Qk0QAAAAAAAAADYA", Some("image/bmp"), "Qk0QAAAAAAAAADYA"),
            ("SUkqAAgAAAA", Some("image/tiff"), "SUkqAAgAAAA="),
            ("AAAAGGZ0eXBhdmlm", Some("image/avif"), "AAAAGGZ0eXBhdmlm"),
            ("AAAAGGZ0eXBoZWlj", Some("image/heic"), "AAAAGGZ0eXBoZWlj"),
            ("PHN2Zy8+", Some("image/svg+xml"), "PHN2Zy8+"),
            ("data:image/png;base64,PD94bWw/Pgo8c3ZnLz4=", Some("image/svg+xml"), "PD94bWw/Pgo8c3ZnLz4="),
            ("aGVsbG8", None, "aGVsbG8="),
        ] {
            assert_eq!(Embedded::read(text), Some(Embedded { mime, base64: base64.to_owned() }), "{text}");
            assert_eq!(Embedded::read_bare(text).map(|(mime, _)| mime), mime, "{text}");
        }
        for text in ["", "data:image/png;base64,", "data:image/png", "no, a text", "aGVs*G8="] {
            assert_eq!(Embedded::read(text), None, "{text}");
        }
    }
}
