//! What a message holds: text, pictures, sounds, documents. Pictures come as links, as `data:` URIs or as
//! blobs the host cut out of this very request; a blob by any other name is a client's invention.

use std::borrow::Cow;

use gatehouse_sdk::Facts;
use serde_json::value::RawValue;

use crate::json::{Object, Text};
use crate::messages::Reader;
use crate::read::{Checked, Path, filled, instead, needed, object, objects, text, word, wrong};

pub(crate) const WORDS: [&str; 1] = ["text"];
pub(crate) const OF_USERS: [&str; 4] = ["text", "image_url", "input_audio", "file"];
pub(crate) const OF_MODELS: [&str; 2] = ["text", "refusal"];

#[derive(Debug)]
pub(crate) enum Content<'a> {
    Text(Text<'a>),
    Parts(Vec<Part<'a>>),
}

/// One part; `cache` is not of this protocol, but clients of both write it.
#[derive(Debug)]
pub(crate) struct Part<'a> {
    pub(crate) what: What<'a>,
    pub(crate) cache: Option<&'a RawValue>,
}

#[derive(Debug)]
pub(crate) enum What<'a> {
    Text(Text<'a>),
    /// What a model would not say, and said so.
    Refusal(Text<'a>),
    Image(Source<'a>),
    Audio,
    File {
        source: Option<Source<'a>>,
        name: Option<Text<'a>>,
    },
}

/// Where a picture or a document is.
#[derive(Debug)]
pub(crate) enum Source<'a> {
    /// A link, as written.
    Url(Text<'a>),
    /// Of a `data:` URI: its type, and its base64.
    Data { mime: Cow<'a, str>, base64: Cow<'a, str> },
    /// Kept by the host: its type by its own bytes, and `blob:<id>`.
    Blob { mime: String, blob: String },
}

/// Reads a content; `kinds` of parts may stand in it.
pub(crate) fn read<'a>(
    reader: &mut Reader<'_, 'a>,
    path: &Path<'_>,
    raw: &'a RawValue,
    kinds: &[&'static str],
) -> Checked<Content<'a>> {
    if let Some(text) = Text::of(raw) {
        reader.count(text);
        return Ok(Content::Text(text));
    }
    if !raw.get().starts_with('[') {
        return Err(wrong(path, "a string or an array of parts", Some(raw)));
    }
    let all = objects(path, raw)?;
    if all.is_empty() {
        return Err(wrong(path, "a string or an array of at least one part", Some(raw)));
    }
    let parts = all.iter().enumerate().map(|(at, part)| reader.part(&path.index(at), part, kinds));
    parts.collect::<Checked<_>>().map(Content::Parts)
}

impl<'a> Reader<'_, 'a> {
    /// Text that was cut out as a file was text all the same.
    fn count(&mut self, text: Text<'_>) {
        let cut = blob(self.blobs, text.inner());
        self.tally.read += cut.map_or_else(|| text.len(), |facts| facts.bytes.saturating_mul(4) / 3);
    }

    fn part(&mut self, path: &Path<'_>, part: &Object<'a>, kinds: &[&'static str]) -> Checked<Part<'a>> {
        let kind = needed(path, part, "type", &crate::read::one_of(kinds))?;
        let kind = word(&path.key("type"), kind, kinds)?;
        let place = path.key(kind);
        let what = match kind {
            "text" | "refusal" => {
                let text = text(&place, needed(path, part, kind, "a string")?)?;
                self.count(text);
                if kind == "text" { What::Text(text) } else { What::Refusal(text) }
            }
            kind => {
                let described = object(&place, needed(path, part, kind, "an object")?)?;
                self.tally.pictures = self.tally.pictures.saturating_add(1);
                match kind {
                    "image_url" => self.image(&place, &described)?,
                    "input_audio" => self.audio(&place, &described)?,
                    _ => self.file(&place, &described)?,
                }
            }
        };
        Ok(Part { what, cache: part.get("cache_control") })
    }

    fn image(&mut self, path: &Path<'_>, image: &Object<'a>) -> Checked<What<'a>> {
        if let Some(detail) = image.get("detail") {
            word(&path.key("detail"), detail, &["auto", "low", "high", "original"])?;
        }
        let place = path.key("url");
        let raw = needed(path, image, "url", "an http(s) URL or a base64 `data:` URI")?;
        let source = self.source(&place, raw, "an http(s) URL or a base64 `data:` URI of an image")?;
        let is_image = match &source {
            Source::Url(_) => true,
            Source::Data { mime, .. } => mime.starts_with("image/"),
            Source::Blob { mime, .. } => mime.starts_with("image/"),
        };
        if !is_image {
            return Err(unfit(&place, "an image", &source));
        }
        Ok(What::Image(source))
    }

    fn audio(&mut self, path: &Path<'_>, audio: &Object<'a>) -> Checked<What<'a>> {
        let data = filled(&path.key("data"), needed(path, audio, "data", "base64")?)?;
        if blob(self.blobs, data.inner()).is_some() {
            self.tally.bare.push(data);
        }
        word(&path.key("format"), needed(path, audio, "format", "`wav` or `mp3`")?, &["wav", "mp3"])?;
        Ok(What::Audio)
    }

    fn file(&mut self, path: &Path<'_>, file: &Object<'a>) -> Checked<What<'a>> {
        for name in ["file_id", "filename"] {
            if let Some(raw) = file.get(name) {
                text(&path.key(name), raw)?;
            }
        }
        let expected = "a base64 `data:` URI";
        let source = match (file.get("file_data"), file.get("file_id")) {
            (Some(raw), _) => Some(self.source(&path.key("file_data"), raw, expected)?),
            (None, Some(_)) => None,
            (None, None) => return Err(instead(path, "`file_data` or `file_id` in it", "neither")),
        };
        Ok(What::File { source, name: file.text("filename") })
    }

    fn source(&self, path: &Path<'_>, raw: &'a RawValue, expected: &str) -> Checked<Source<'a>> {
        let written = text(path, raw)?;
        let url = written.decoded();
        let starts = |head: &str| url.get(..head.len()).is_some_and(|it| it.eq_ignore_ascii_case(head));
        if starts("https://") || starts("http://") {
            return Ok(Source::Url(written));
        }
        if let Some(facts) = blob(self.blobs, &url) {
            return Ok(Source::Blob { mime: facts.mime.clone(), blob: url.into_owned() });
        }
        let refused = || wrong(path, expected, Some(raw));
        if !starts("data:") {
            return Err(refused());
        }
        let (head, tail) = url.split_once(',').ok_or_else(refused)?;
        let (start, end) = ("data:".len(), head.len().checked_sub(";base64".len()).ok_or_else(refused)?);
        let is_base64 = head.get(end..).is_some_and(|it| it.eq_ignore_ascii_case(";base64"));
        let base64 = tail.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte));
        if !is_base64 || !base64 || tail.is_empty() {
            return Err(refused());
        }
        // Parameters such as `;charset=` say nothing here.
        let type_end = head[..end].find(';').unwrap_or(end).max(start);
        let (mime, data) = (start..type_end, head.len() + 1..url.len());
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

/// A refusal of media by its type; its content is not repeated.
pub(crate) fn unfit(path: &Path<'_>, expected: &str, source: &Source<'_>) -> gatehouse_sdk::Refusal {
    let came = match source {
        Source::Url(_) => "a link",
        Source::Data { mime, .. } => mime.as_ref(),
        Source::Blob { mime, .. } => mime.as_str(),
    };
    let came = if came.is_empty() { "data of no type" } else { came };
    gatehouse_sdk::Refusal::invalid(path.to_string(), format!("expected {expected}, got {came}"))
}

fn blob<'f>(blobs: &'f [Facts], name: &str) -> Option<&'f Facts> {
    if !name.starts_with("blob:") {
        return None;
    }
    blobs.iter().find(|facts| facts.blob.as_deref() == Some(name))
}
