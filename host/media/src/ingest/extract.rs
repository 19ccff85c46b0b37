//! Takes embedded files out of a request: long `data:` URIs and base64 become `blob:<id>`. Short `data:` URIs stay, written
//! as the host writes those of a blob: base64 without line breaks, of the usual alphabet, under the type of its bytes.
//!
//! So a 20 MB picture never enters a plugin, and costs the gateway one pass, one decode and one write. The
//! files are only in memory; [`crate::MediaStore::keep`] writes them once the request is accepted.

use bytes::Bytes;
use gatehouse_contract::{Payload, decode_base64, encode_base64, payload, type_of};
use gatehouse_model::{BlobId, Clock, Facts, Json, MediaKind, Seed};

use crate::ingest::linked::BadLink;
use crate::ingest::scan;
use crate::probe::cut::{facts_of_all, is_cut};
use crate::probe::facts::{UNKNOWN, facts, kind};

/// Strings up to this length stay where they are: short enough that the few a request may hold fit a task's
/// state (64 KiB) together.
const THRESHOLD: usize = 4 * 1024;
/// Bytes of the shortest `data:` URI with base64.
const SHORTEST: usize = "data:;base64,AA".len();
/// Characters enough to know media by their first bytes.
const HEAD: usize = 64;
/// Files one request may embed.
const MAX_FILES: usize = 64;

/// A request without its embedded files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extracted {
    /// The same JSON, `blob:<id>` in place of each file. Not parsed: valid if the original was.
    pub json: Json,
    /// The files, in order.
    pub blobs: Vec<NewBlob>,
    /// Links that must not be handed on to a provider.
    pub bad_links: Vec<BadLink>,
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
    /// A text of a client is the name of a blob. It would be read as one when it is sent.
    #[error("a text is a name that this gateway gives to files (`blob:<id>`), send the file itself")]
    BlobName,
    /// The host could not finish the work.
    #[error("the request could not be read")]
    Interrupted,
}

/// The writer of a JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Author {
    Client,
    Provider,
}

/// Extracts the files of `json`; `max` is the largest file in bytes.
pub(crate) fn extract(
    json: &Json,
    author: Author,
    max: u64,
    clock: &dyn Clock,
    seed: &dyn Seed,
) -> Result<Extracted, ExtractError> {
    let mut blobs: Vec<NewBlob> = vec![];
    let mut left = String::new();
    let mut done = 0;
    for range in scan::strings(json.as_bytes(), SHORTEST) {
        let found = if range.len() > THRESHOLD {
            file(json.as_bytes(), range.clone(), max)?
        } else if author == Author::Client && is_blob_name(json.as_bytes(), range.clone()) {
            return Err(ExtractError::BlobName);
        } else {
            match short(json.as_bytes(), range.clone()) {
                Some(Short::Mended(text)) => {
                    left.push_str(&json[done..range.start]);
                    left.push_str(&text);
                    done = range.end;
                    None
                }
                Some(Short::Cut(bytes)) if author == Author::Client => Some((bytes, None)),
                _ => None,
            }
        };
        let Some((bytes, declared)) = found else { continue };
        if blobs.len() == MAX_FILES {
            return Err(ExtractError::TooMany(MAX_FILES));
        }
        let id = BlobId::new(clock.now(), seed);
        let blob = match author {
            Author::Client => NewBlob::new(id, bytes.into()).declared(declared.as_deref()),
            // Whether a result is whole shows when it is copied.
            Author::Provider => NewBlob::of(id, bytes.into(), facts).declared(declared.as_deref()),
        };
        // A string begins and ends at a quote, so both are borders of characters.
        left.push_str(&json[done..range.start]);
        left.push_str(&format!("blob:{}", blob.id));
        done = range.end;
        blobs.push(blob);
    }
    if done == 0 {
        return Ok(Extracted { json: json.clone(), blobs, bad_links: vec![] });
    }
    left.push_str(&json[done..]);
    Ok(Extracted { json: left.into(), blobs, bad_links: vec![] })
}

impl NewBlob {
    /// A file of a client.
    pub(crate) fn new(id: BlobId, bytes: Bytes) -> Self {
        Self::of(id, bytes, facts_of_all)
    }

    fn of(id: BlobId, bytes: Bytes, facts: fn(&[u8]) -> Facts) -> Self {
        let facts = Facts { blob: Some(format!("blob:{id}")), ..facts(&bytes) };
        Self { id, bytes, facts }
    }

    /// Takes the client's word where the bytes do not tell the type, so that a document keeps its own. Pictures, films and
    /// sounds are known by their bytes alone: the client's word does not make one.
    fn declared(mut self, mime: Option<&str>) -> Self {
        let is_media = |mime: &str| ["image/", "video/", "audio/"].iter().any(|kind| mime.starts_with(kind));
        if self.facts.mime == UNKNOWN
            && let Some(mime) = mime.filter(|mime| !is_media(mime) && !self.bytes.is_empty())
        {
            mime.clone_into(&mut self.facts.mime);
        }
        self
    }
}

/// Whether a text is the name of a blob, in one of the forms in which a call may have it.
fn is_blob_name(json: &[u8], range: std::ops::Range<usize>) -> bool {
    // Each letter may be escaped.
    const LONGEST: usize = 6 * 64;
    let raw = &json[range.clone()];
    if raw.len() > LONGEST || !(raw.starts_with(b"blob:") || raw.contains(&b'\\')) {
        return false;
    }
    let Ok(text) = serde_json::from_slice::<String>(&json[range.start - 1..=range.end]) else { return false };
    let name = text.strip_prefix("blob:").map(|name| name.split_once(':').map_or(name, |(name, _)| name));
    name.is_some_and(|name| name.parse::<BlobId>().is_ok())
}

/// What becomes of a short text.
enum Short {
    /// A `data:` URI, as the host writes it.
    Mended(String),
    /// A file that ends too early; as a blob its family knows it by its facts.
    Cut(Vec<u8>),
}

/// A short `data:` URI that differs from what the host would write, or a file that is cut short. What does not decode is the
/// family's to judge.
fn short(json: &[u8], range: std::ops::Range<usize>) -> Option<Short> {
    // White space before it may be escaped.
    let raw = &json[range.clone()];
    let may_be = |raw: &[u8]| raw.get(..5).is_some_and(|head| head.eq_ignore_ascii_case(b"data:"));
    let is_bare = !may_be(raw) && !matches!(raw.first(), Some(b' ' | b'\\'));
    if is_bare && !is_bare_media(json, range.clone()) {
        return None;
    }
    let text: String = serde_json::from_slice(&json[range.start - 1..=range.end]).ok()?;
    let payload = payload(text.as_bytes());
    if !is_bare && !payload.is_uri() {
        return None;
    }
    let bytes = payload.file()?;
    let known = type_of(&bytes).map(str::to_owned);
    if known.as_ref().is_some_and(|mime| kind(mime) != MediaKind::Other && is_cut(&bytes, mime)) {
        return Some(Short::Cut(bytes));
    }
    if is_bare {
        return None;
    }
    let mime = known.or_else(|| payload.declared()).unwrap_or_default();
    // Parameters stay where all else of the head is as the host writes it.
    let plain = format!("data:{mime};");
    let is_plain = payload.head.starts_with(plain.as_bytes()) && payload.head.ends_with(b";base64");
    let head = if is_plain { String::from_utf8_lossy(payload.head).into_owned() } else { plain + "base64" };
    let mended = format!("{head},{}", encode_base64(&bytes));
    // Heads and base64 have no letter that JSON escapes.
    (mended != text && !mended.contains(['"', '\\'])).then_some(Short::Mended(mended))
}

/// How base64 begins whose bytes are a picture, a film or a sound.
const BEGINNINGS: [&[u8]; 9] =
    [b"iVBORw0KGgo", b"/9j/", b"R0lGODlh", b"R0lGODdh", b"UklGR", b"AAAA", b"SUQz", b"T2dnUw", b"ZkxhQw"];
/// Fields whose value is a text, whatever it looks like.
const TEXTS: [&[u8]; 7] = [b"text", b"content", b"prompt", b"input", b"thinking", b"arguments", b"signature"];

/// Whether a text outside of a `data:` URI may be a file.
fn is_bare_media(json: &[u8], range: std::ops::Range<usize>) -> bool {
    if !BEGINNINGS.iter().any(|begin| json[range.clone()].starts_with(begin)) {
        return false;
    }
    let before = json[..range.start - 1].trim_ascii_end();
    let name = before.strip_suffix(b":").and_then(|before| before.trim_ascii_end().strip_suffix(b"\""));
    let is_text = |name: &[u8]| {
        TEXTS.iter().any(|text| name.strip_suffix(*text).is_some_and(|rest| rest.ends_with(b"\"")))
    };
    !name.is_some_and(is_text)
}

/// A file, and the type that it is declared to have.
type Found = Option<(Vec<u8>, Option<String>)>;

/// The file a string embeds, if it embeds one.
fn file(json: &[u8], range: std::ops::Range<usize>, max: u64) -> Result<Found, ExtractError> {
    let raw = &json[range.clone()];
    if memchr::memchr(b'\\', raw).is_none() {
        return decoded(&payload(raw), max);
    }
    // Some encoders write `\/` or `\u002b` inside base64; few do, so this path may cost a copy.
    match serde_json::from_slice::<String>(&json[range.start - 1..=range.end]) {
        Ok(text) => decoded(&payload(text.as_bytes()), max),
        Err(_) => Ok(None),
    }
}

/// Where nothing says that a text is base64 it is taken only when it is media: signatures and encrypted reasoning are long
/// base64 too, and must reach the provider as they are.
fn decoded(payload: &Payload<'_>, max: u64) -> Result<Found, ExtractError> {
    if !payload.is_said && decoded_head(payload.base64).is_none_or(|head| type_of(&head).is_none()) {
        return Ok(None);
    }
    if payload.base64.len() as u64 / 4 * 3 > max + 3 {
        return Err(ExtractError::TooLarge(max));
    }
    match decode_base64(payload.base64) {
        Some(bytes) => Ok(Some((bytes, payload.declared()))),
        // An empty file: whether that refuses or dooms the request is for the family to decide.
        None if payload.is_said => Ok(Some((Vec::new(), None))),
        None => Ok(None),
    }
}

/// The first bytes of what may be base64, without decoding all of it.
fn decoded_head(text: &[u8]) -> Option<Vec<u8>> {
    let head: Vec<u8> = text.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).take(HEAD).collect();
    decode_base64(&head)
}
