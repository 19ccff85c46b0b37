//! Bytes written as text: `data:` URIs and bare base64. Pure.

use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

/// As providers and clients write it: padding optional, stray bits at the end ignored.
const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_padding_mode(DecodePaddingMode::Indifferent)
    .with_decode_allow_trailing_bits(true);
const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);
const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT);

/// Characters enough to know media by their first bytes.
const HEAD: usize = 64;

/// The head, up to its comma, and the base64 text of a `data:<type>;base64,<text>` URI. White space around its parts does no
/// harm.
pub(crate) fn uri(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let text = text.trim_ascii();
    let scheme = text.get(..5)?;
    if !scheme.eq_ignore_ascii_case(b"data:") {
        return None;
    }
    // The head is a type and parameters; a comma further on belongs to something else.
    let comma = memchr::memchr(b',', &text[..text.len().min(512)])?;
    let head = text[5..comma].trim_ascii_end();
    let before = head.len().checked_sub(6).filter(|at| head[*at..].eq_ignore_ascii_case(b"base64"))?;
    head[..before].trim_ascii_end().ends_with(b";").then(|| text.split_at(comma + 1))
}

/// The base64 text of a `data:<type>;base64,<text>` URI.
pub(crate) fn uri_payload(text: &[u8]) -> Option<&[u8]> {
    uri(text).map(|(_, payload)| payload)
}

/// The media type that a `data:` URI declares, in lower case.
pub(crate) fn declared(text: &[u8]) -> Option<String> {
    let mime = uri(text)?.0.get(5..)?.split(|byte| matches!(byte, b';' | b',')).next()?;
    // Some encoders write `\/`.
    let mime = std::str::from_utf8(mime).ok()?.trim().replace("\\/", "/").to_ascii_lowercase();
    let is_token = |letter: char| letter.is_ascii_alphanumeric() || "!#$&-^_.+/".contains(letter);
    (mime.contains('/') && mime.chars().all(is_token)).then_some(mime)
}

/// Decodes base64 of either alphabet; line breaks, blanks and the escapes of addresses in it do no harm.
pub(crate) fn decode(text: &[u8]) -> Option<Vec<u8>> {
    decode_plain(text).or_else(|| {
        let tight: Vec<u8> = text.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect();
        let tight = unescaped(tight);
        if tight.len() == text.len() { None } else { decode_plain(&tight) }
    })
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

fn decode_plain(text: &[u8]) -> Option<Vec<u8>> {
    STANDARD.decode(text).or_else(|_| URL_SAFE.decode(text)).ok()
}

/// The first bytes of what may be base64, without decoding all of it.
pub(crate) fn decoded_head(text: &[u8]) -> Option<Vec<u8>> {
    let head: Vec<u8> = text.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).take(HEAD).collect();
    decode_plain(&head)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_base64_uris_have_a_payload() {
        for (text, payload) in [
            ("data:image/png;base64,AAAA", Some("AAAA")),
            ("DATA:image/png;charset=x;BASE64,AA", Some("AA")),
            ("data:;base64,", Some("")),
            ("data:image/svg+xml,<svg/>", None),
            (" data:image/png; base64 ,AAAA\n", Some("AAAA")),
            ("data:image/png;name=base64,AAAA", None),
            ("data:base64,AAAA", None),
            ("https://x/data:;base64,", None),
            ("dat", None),
            ("data:image/png;base64", None),
        ] {
            assert_eq!(uri_payload(text.as_bytes()), payload.map(str::as_bytes), "{text}");
        }
    }

    #[test]
    fn base64_is_read_as_people_write_it() {
        for (text, bytes) in [
            ("aGVsbG8=", Some("hello")),
            ("aGVsbG8", Some("hello")),
            ("aGVs\nbG8=\n", Some("hello")),
            ("aGVsbG8%3D", Some("hello")),
            ("fn5%2bfn5%2F", Some("~~~~~\u{7f}")),
            ("fn5-fn5_", Some("~~~~~\u{7f}")),
            ("fn5+fn5/", Some("~~~~~\u{7f}")),
            ("", Some("")),
            ("a", None),
            ("aGVs*G8=", None),
            ("hello world, this is text.", None),
        ] {
            assert_eq!(decode(text.as_bytes()).as_deref(), bytes.map(str::as_bytes), "{text}");
        }
    }
}
