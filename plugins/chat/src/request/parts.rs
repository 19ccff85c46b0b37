//! The content of a message: text, images, sounds, documents. An image is a link, a `data:` URI or a blob the
//! host cut out of this request. Any other blob name comes from the client and is refused.

use std::borrow::Cow;
use std::ops::Range;

use gatehouse_sdk::Facts;
use gatehouse_sdk::source::{self, Embedded};
use serde_json::value::RawValue;

use gatehouse_text_protocols::check::{
    Checked, choice, instead, nonempty_string, object, objects, required, required_choice, string, wrong,
};
use gatehouse_text_protocols::files::{
    FILE_ID, FILE_URL, MAX_PAGES, decoded_bytes, no_file_id, no_file_url, pages, pictures_of_sound,
};
use gatehouse_text_protocols::json::{JsonString, Object, quoted};
use gatehouse_text_protocols::path::Path;
use gatehouse_text_protocols::rules::Rules;

use super::InputEstimate;
use super::messages::ECHOES;

pub(crate) const TEXT_ONLY: [&str; 1] = ["text"];
pub(crate) const USER_PARTS: [&str; 4] = ["text", "image_url", "input_audio", "file"];
pub(crate) const TOOL_PARTS: [&str; 2] = ["text", "image_url"];
pub(crate) const MODEL_PARTS: [&str; 2] = ["text", "refusal"];

const IMAGE: &str = "an http(s) URL or a base64 `data:` URI of an image";

#[derive(Debug)]
pub(crate) enum Content<'a> {
    Text(JsonString<'a>),
    Parts(Vec<Part<'a>>),
}

/// A field of Messages that chat clients send too: of parts, of messages, of calls, of tools.
pub(super) const CACHE: &str = "cache_control";

impl<'a> Content<'a> {
    /// The content of a message with that `cache_control`, which Messages has at blocks alone: it is the last one's.
    pub(super) fn cached(self, cache: Option<&'a RawValue>) -> Self {
        if cache.is_none() {
            return self;
        }
        let mut parts = match self {
            Self::Text(text) => vec![Part { kind: PartKind::Text(text), cache: None }],
            Self::Parts(parts) => parts,
        };
        if let Some(last) = parts.last_mut() {
            last.cache = last.cache.or(cache);
        }
        Self::Parts(parts)
    }

    /// All of its text.
    pub(crate) fn text(&self) -> String {
        let parts = match self {
            Self::Text(text) => return text.decoded().into_owned(),
            Self::Parts(parts) => parts,
        };
        let texts = parts.iter().filter_map(|part| match part.kind {
            PartKind::Text(text) | PartKind::Refusal(text) => Some(text.decoded()),
            _ => None,
        });
        texts.collect()
    }

    /// Whether it has nothing but white space.
    pub(crate) fn is_blank(&self) -> bool {
        match self {
            Self::Text(text) => text.is_blank(),
            Self::Parts(parts) => parts.iter().all(Part::is_blank),
        }
    }
}

/// One part.
#[derive(Debug)]
pub(crate) struct Part<'a> {
    pub(crate) kind: PartKind<'a>,
    pub(crate) cache: Option<&'a RawValue>,
}

impl Part<'_> {
    pub(crate) fn is_blank(&self) -> bool {
        matches!(self.kind, PartKind::Text(text) | PartKind::Refusal(text) if text.is_blank())
    }
}

#[derive(Debug)]
pub(crate) enum PartKind<'a> {
    Text(JsonString<'a>),
    /// A refusal of the model.
    Refusal(JsonString<'a>),
    Image(Source<'a>),
    Audio,
    File {
        source: Option<Source<'a>>,
        name: Option<JsonString<'a>>,
    },
}

/// The data of an image or a document.
#[derive(Debug)]
pub(crate) enum Source<'a> {
    /// A link, its scheme in lower case.
    Url(String),
    /// A `data:` URI: its media type and its base64.
    Data { mime: Cow<'a, str>, base64: Cow<'a, str> },
    /// Kept by the host: the media type of its bytes, and `blob:<id>`.
    Blob { mime: String, blob: String },
}

/// Reads a content that may have these `kinds` of parts.
pub(crate) fn read<'a>(
    reader: &mut ContentReader<'_, 'a>,
    path: &Path<'_>,
    raw: &'a RawValue,
    kinds: &[&'static str],
) -> Checked<Content<'a>> {
    if let Some(text) = JsonString::of(raw) {
        reader.estimate.count(text);
        return Ok(Content::Text(text));
    }
    if !raw.get().starts_with('[') {
        return Err(wrong(path, "a string or an array of parts", Some(raw)));
    }
    let all = objects(path, raw)?;
    // A model, or a tool, may have nothing to say.
    if all.is_empty() && (kinds == USER_PARTS || kinds == TEXT_ONLY) {
        return Err(wrong(path, "a string or an array of at least one part", Some(raw)));
    }
    reader.estimate.is_odd |= all.is_empty();
    let parts = all.iter().enumerate().map(|(at, part)| reader.part(&path.index(at), part, kinds));
    parts.collect::<Checked<_>>().map(Content::Parts)
}

/// Reads messages and parts, and estimates the input.
pub(crate) struct ContentReader<'t, 'a> {
    pub(crate) rules: &'t Rules,
    pub(crate) estimate: &'t mut InputEstimate<'a>,
}

impl<'a> ContentReader<'_, 'a> {
    fn part(&mut self, path: &Path<'_>, part: &Object<'a>, kinds: &[&'static str]) -> Checked<Part<'a>> {
        self.estimate.is_odd |= part.iter().any(|(name, _)| ECHOES.contains(&name));
        let kind = required_choice(path, part, "type", kinds)?;
        let child = path.key(kind);
        let kind = match kind {
            "text" | "refusal" => {
                let text = string(&child, required(path, part, kind, "a string")?)?;
                self.estimate.count(text);
                if kind == "text" { PartKind::Text(text) } else { PartKind::Refusal(text) }
            }
            // Some clients write the address alone.
            "image_url" if part.string(kind).is_some() => {
                let source = self.source(&child, required(path, part, kind, "an object")?, IMAGE)?;
                let image = self.picture(&child, source)?;
                if let Some(written) = part.string(kind) {
                    let files = &mut self.estimate.files;
                    let known = files
                        .iter()
                        .position(|(known, _)| known.raw().get().as_ptr() == written.raw().get().as_ptr());
                    let url = known.map_or_else(|| written.quoted().to_owned(), |at| files.remove(at).1);
                    files.push((written, format!("{{\"url\":{url}}}")));
                }
                image
            }
            kind => {
                let described = object(&child, required(path, part, kind, "an object")?)?;
                match kind {
                    "image_url" => self.image(&child, &described)?,
                    "input_audio" => self.audio(&child, &described)?,
                    _ => self.file(&child, &described)?,
                }
            }
        };
        Ok(Part { kind, cache: part.get(CACHE) })
    }

    fn image(&mut self, path: &Path<'_>, image: &Object<'a>) -> Checked<PartKind<'a>> {
        if let Some(detail) = image.get("detail") {
            choice(&path.key("detail"), detail, &["auto", "low", "high", "original"])?;
        }
        let child = path.key("url");
        let raw = required(path, image, "url", "an http(s) URL or a base64 `data:` URI")?;
        let source = self.source(&child, raw, IMAGE)?;
        self.picture(&child, source)
    }

    fn picture(&mut self, path: &Path<'_>, source: Source<'a>) -> Checked<PartKind<'a>> {
        let is_image = match &source {
            Source::Url(_) => true,
            Source::Data { mime, .. } => mime.starts_with("image/"),
            Source::Blob { mime, .. } => mime.starts_with("image/"),
        };
        if !is_image {
            return Err(wrong_media(path, "an image", &source));
        }
        self.count_pictures(1);
        Ok(PartKind::Image(source))
    }

    fn audio(&mut self, path: &Path<'_>, audio: &Object<'a>) -> Checked<PartKind<'a>> {
        let (child, expected) = (path.key("data"), "a WAV or MP3 file as base64");
        let raw = required(path, audio, "data", expected)?;
        let data = nonempty_string(&child, raw)?;
        // The host writes a `data:` URI for a blob, and a sound is bare base64.
        let (facts, bare) = match blob(self.estimate.blobs, data.inner()) {
            Some(cut) => (cut.clone(), format!("\"{}:base64\"", data.inner())),
            None => {
                let file =
                    Embedded::read(&data.decoded()).ok_or_else(|| wrong(&child, expected, Some(raw)))?;
                (file.facts(), quoted(&file.base64))
            }
        };
        self.sent_as(data, bare);
        let named = required(path, audio, "format", "`wav` or `mp3`")?;
        let format = match (facts.mime.as_str(), choice(&path.key("format"), named, &["wav", "mp3"])?) {
            ("audio/wav", _) => "wav",
            ("audio/mpeg", _) => "mp3",
            // Bytes that tell no type are for the provider to judge.
            (UNKNOWN, format) if facts.bytes > 0 => format,
            (UNKNOWN, _) => return Err(instead(&child, expected, NOT_BASE64)),
            (mime, _) => return Err(instead(&child, expected, mime)),
        };
        if let Some(named) = JsonString::of(named) {
            self.sent_as(named, quoted(format));
        }
        self.count_pictures(pictures_of_sound(format, facts.bytes));
        Ok(PartKind::Audio)
    }

    fn file(&mut self, path: &Path<'_>, file: &Object<'a>) -> Checked<PartKind<'a>> {
        for name in ["file_id", "filename"] {
            if let Some(raw) = file.get(name) {
                string(&path.key(name), raw)?;
            }
        }
        let expected = "a base64 `data:` URI";
        if let Some(raw) = file.get("file_id").filter(|_| !self.rules.chat_passes(FILE_ID)) {
            return Err(no_file_id(&path.key("file_id"), raw));
        }
        let source = match (file.get("file_data"), file.get("file_id")) {
            (Some(raw), _) => Some(self.source(&path.key("file_data"), raw, expected)?),
            (None, Some(_)) => None,
            (None, None) => return Err(instead(path, "`file_data` in it", "none")),
        };
        if matches!(source, Some(Source::Url(_))) && !self.rules.chat_passes(FILE_URL) {
            return Err(no_file_url(&path.key("file_data")));
        }
        let named = file.get("file_id").map_or(0, |_| MAX_PAGES);
        self.count_pictures(named);
        if let Some(source) = &source {
            self.count_file(source);
        }
        Ok(PartKind::File { source, name: file.string("filename") })
    }

    fn count_pictures(&mut self, pictures: u32) {
        self.estimate.pictures = self.estimate.pictures.saturating_add(pictures);
    }

    /// Counts a document: a text by its bytes, anything else by its pages.
    fn count_file(&mut self, source: &Source<'_>) {
        let (mime, bytes) = match source {
            Source::Url(_) => return self.count_pictures(MAX_PAGES),
            Source::Data { mime, base64 } => (mime.as_ref(), decoded_bytes(base64.len() as u64)),
            Source::Blob { mime, blob: name } => {
                (mime.as_str(), blob(self.estimate.blobs, name).map_or(0, |facts| facts.bytes))
            }
        };
        match mime.split('/').next() {
            Some("text") => self.estimate.input_bytes += bytes,
            Some("image") => self.count_pictures(1),
            _ => self.count_pictures(pages(bytes)),
        }
    }

    /// What a chat provider is sent in place of a file's string, if that differs.
    fn sent_as(&mut self, written: JsonString<'a>, sent: String) {
        if sent != written.quoted() {
            let place = |text: JsonString<'_>| text.quoted().as_ptr();
            // A client may write the format of a sound before its data.
            let files = &mut self.estimate.files;
            let at = files.partition_point(|(known, _)| place(*known) < place(written));
            files.insert(at, (written, sent));
        }
    }

    fn source(&mut self, path: &Path<'_>, raw: &'a RawValue, expected: &str) -> Checked<Source<'a>> {
        let written = string(path, raw)?;
        let url = written.decoded();
        if let Some(source::Source::Link(_)) = source::Source::of(&url) {
            let link = source::normalised(&url);
            if link != url {
                self.sent_as(written, quoted(&link));
            }
            return Ok(Source::Url(link));
        }
        if let Some(facts) = blob(self.estimate.blobs, &url) {
            if facts.bytes == 0 {
                return Err(instead(path, expected, NOT_BASE64));
            }
            return Ok(Source::Blob { mime: facts.mime.clone(), blob: url.into_owned() });
        }
        let file = Embedded::read(&url).ok_or_else(|| wrong(path, expected, Some(raw)))?;
        let Some((mime, data)) = plain_uri(&url) else {
            let mime = file.mime.ok_or_else(|| wrong(path, expected, Some(raw)))?;
            self.sent_as(written, quoted(&file.uri()));
            return Ok(Source::Data { mime: Cow::Borrowed(mime), base64: Cow::Owned(file.base64) });
        };
        // What is called a picture, a film or a sound is one by its bytes, or none.
        let is_media =
            |kind: &str| url[mime.clone()].get(..kind.len()).is_some_and(|it| it.eq_ignore_ascii_case(kind));
        if file.mime.is_none() && ["image/", "video/", "audio/"].into_iter().any(is_media) {
            return Ok(Source::Data { mime: Cow::Borrowed(UNKNOWN), base64: Cow::Owned(file.base64) });
        }
        Ok(match url {
            Cow::Borrowed(url) => {
                Source::Data { mime: Cow::Borrowed(&url[mime]), base64: Cow::Borrowed(&url[data]) }
            }
            Cow::Owned(url) => Source::Data {
                mime: Cow::Owned(url[mime].to_owned()),
                base64: Cow::Owned(url[data].to_owned()),
            },
        })
    }
}

/// The type that nothing tells.
const UNKNOWN: &str = "application/octet-stream";
/// A long text whose base64 does not decode: the host has cut it out as an empty file.
const NOT_BASE64: &str = "base64 that does not decode";

/// Where the type and the base64 of a `data:` URI stand that needs no repair. Parameters such as `;charset=` are left out.
fn plain_uri(url: &str) -> Option<(Range<usize>, Range<usize>)> {
    let (head, tail) = url.split_once(',')?;
    let (start, end) = ("data:".len(), head.len().checked_sub(";base64".len())?);
    let is_uri = head.get(..start).is_some_and(|it| it.eq_ignore_ascii_case("data:"));
    let is_said = head.get(end..).is_some_and(|it| it.eq_ignore_ascii_case(";base64"));
    let is_plain = tail.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte));
    let type_end = head[..end].find(';').unwrap_or(end).max(start);
    (is_uri && is_said && is_plain).then_some((start..type_end, head.len() + 1..url.len()))
}

/// A refusal of media by its type; the data is not repeated.
pub(crate) fn wrong_media(path: &Path<'_>, expected: &str, source: &Source<'_>) -> gatehouse_sdk::Refusal {
    let came = match source {
        Source::Url(_) => "a link",
        Source::Data { mime, .. } => mime.as_ref(),
        Source::Blob { mime, .. } => mime.as_str(),
    };
    let came = if came.is_empty() { "data of no type" } else { came };
    gatehouse_sdk::Refusal::invalid(path.to_string(), format!("expected {expected}, got {came}"))
}

/// The file that the host cut out under that name.
pub(super) fn blob<'f>(blobs: &'f [Facts], name: &str) -> Option<&'f Facts> {
    if !name.starts_with("blob:") {
        return None;
    }
    blobs.iter().find(|facts| facts.blob.as_deref() == Some(name))
}
