//! The parts of a content, written as parts of a chat message.

use crate::check::{Checked, array, choice, instead, object, required, string, wrong};
use crate::json::{JsonString, Object, Raw, Writer, quote};
use crate::path::Path;

/// A field of Messages that other clients send too.
pub(crate) const CACHE: &str = "cache_control";
const FILES: &str = "nothing, there is no Files API here; send the data itself";

/// One part of a chat message.
#[derive(Debug)]
pub(crate) struct Part {
    /// The part, JSON.
    pub(crate) json: String,
    /// Where the client wrote it: a text's own path, or that of the data of a file.
    pub(crate) path: String,
    is_text: bool,
    is_cached: bool,
}

/// A content as chat parts, in their order.
#[derive(Debug, Default)]
pub(crate) struct Parts(pub(crate) Vec<Part>);

impl Parts {
    /// Reads a content: a text, or parts.
    pub(crate) fn read(path: &Path<'_>, raw: Raw<'_>) -> Checked<Self> {
        let mut parts = Self::default();
        if let Some(text) = JsonString::of(raw) {
            parts.text(path, text);
            return Ok(parts);
        }
        if !raw.get().starts_with('[') {
            return Err(wrong(path, "a string or an array of parts", Some(raw)));
        }
        for (at, raw) in array(path, raw)?.into_iter().enumerate() {
            let path = path.index(at);
            let part = object(&path, raw)?;
            parts.part(&path, &part)?;
            parts.cache(part.get(CACHE));
        }
        Ok(parts)
    }

    /// The last part is to be cached, as clients of Messages say it: `cache_control`, at parts or whole items.
    pub(crate) fn cache(&mut self, cache: Option<Raw<'_>>) {
        if let Some((last, cache)) = self.0.last_mut().zip(cache).filter(|(last, _)| !last.is_cached) {
            last.is_cached = true;
            last.json.truncate(last.json.len() - 1);
            last.json.push_str(&format!(",\"{CACHE}\":{}}}", cache.get()));
        }
    }

    /// Whether one of them is no text.
    pub(crate) fn has_media(&self) -> bool {
        self.0.iter().any(|part| !part.is_text)
    }

    fn text(&mut self, path: &Path<'_>, text: JsonString<'_>) {
        // Some providers refuse an empty text.
        if text.is_empty() {
            return;
        }
        let json = format!("{{\"type\":\"text\",\"text\":{}}}", text.quoted());
        self.0.push(Part { json, path: path.to_string(), is_text: true, is_cached: false });
    }

    fn part(&mut self, path: &Path<'_>, part: &Object<'_>) -> Checked<()> {
        const KINDS: &str =
            "`input_text`, `input_image`, `input_file`, `input_audio`, `output_text` or `refusal`";
        let kind = required(path, part, "type", KINDS)?;
        let kind = string(&path.key("type"), kind)?.decoded();
        let (json, data) = match kind.as_ref() {
            "input_text" | "output_text" | "text" | "summary_text" | "reasoning_text" | "refusal" => {
                let member = if kind == "refusal" { "refusal" } else { "text" };
                let text = required(path, part, member, "a string")?;
                self.text(path, string(&path.key(member), text)?);
                return Ok(());
            }
            "input_image" => (image(path, part)?, "image_url"),
            "input_file" => (file(path, part)?, "file_data"),
            "input_audio" => {
                let audio = required(path, part, "input_audio", "an object")?;
                object(&path.key("input_audio"), audio)?;
                let json = format!("{{\"type\":\"input_audio\",\"input_audio\":{}}}", audio.get());
                (json, "input_audio")
            }
            _ => return Err(wrong(&path.key("type"), KINDS, part.get("type"))),
        };
        self.0.push(Part { json, path: path.key(data).to_string(), is_text: false, is_cached: false });
        Ok(())
    }
}

fn image(path: &Path<'_>, part: &Object<'_>) -> Checked<String> {
    if let (Some(id), None) = (part.get("file_id"), part.get("image_url")) {
        return Err(wrong(&path.key("file_id"), FILES, Some(id)));
    }
    let url = required(path, part, "image_url", "an http(s) URL or a base64 `data:` URI")?;
    let mut image = Writer::new(url.get().len() + 64);
    image.member("url", string(&path.key("image_url"), url)?.quoted());
    if let Some(detail) = part.get("detail") {
        let detail = choice(&path.key("detail"), detail, &["low", "high", "auto", "original"])?;
        // Chat has no `original`.
        quote(if detail == "original" { "high" } else { detail }, image.name("detail"));
    }
    Ok(format!("{{\"type\":\"image_url\",\"image_url\":{}}}", image.done()))
}

fn file(path: &Path<'_>, part: &Object<'_>) -> Checked<String> {
    for name in ["file_id", "file_url"] {
        if let (Some(raw), None) = (part.get(name), part.get("file_data")) {
            let expected =
                if name == "file_id" { FILES } else { "nothing, send the file itself as `file_data`" };
            return Err(wrong(&path.key(name), expected, Some(raw)));
        }
    }
    let data = required(path, part, "file_data", "a base64 `data:` URI")?;
    let mut file = Writer::new(data.get().len() + 64);
    if let Some(name) = part.get("filename") {
        file.member("filename", string(&path.key("filename"), name)?.quoted());
    }
    file.member("file_data", string(&path.key("file_data"), data)?.quoted());
    Ok(format!("{{\"type\":\"file\",\"file\":{}}}", file.done()))
}

/// Parts as the content of a chat message.
pub(crate) fn content(parts: &[Part]) -> String {
    format!("[{}]", parts.iter().map(|part| part.json.as_str()).collect::<Vec<_>>().join(","))
}

/// The paths of parts.
pub(crate) fn paths(parts: &[Part]) -> Vec<String> {
    parts.iter().map(|part| part.path.clone()).collect()
}

/// What a tool has answered.
#[derive(Debug)]
pub(crate) enum Output {
    /// A text, JSON.
    Text(String),
    Parts(Vec<Part>),
}

impl Output {
    /// The text for the message of the tool, JSON, with the paths of its parts, and the media for the message behind it.
    pub(crate) fn split(self) -> (String, Vec<String>, Vec<Part>) {
        let parts = match self {
            Self::Text(text) => return (text, Vec::new(), Vec::new()),
            Self::Parts(parts) => parts,
        };
        let (texts, media): (Vec<Part>, Vec<Part>) = parts.into_iter().partition(|part| part.is_text);
        let text = match texts.as_slice() {
            [] if media.is_empty() => "\"\"".to_owned(),
            [] => "\"The output is attached below.\"".to_owned(),
            texts => content(texts),
        };
        (text, paths(&texts), media)
    }
}

/// Reads the output of a tool.
pub(crate) fn output(path: &Path<'_>, item: &Object<'_>) -> Checked<Output> {
    let raw = required(path, item, "output", "a string or an array of parts")?;
    let child = path.key("output");
    if raw.get().starts_with('{') {
        return Err(instead(&child, "a string or an array of parts", "an object"));
    }
    if let Some(text) = JsonString::of(raw) {
        return Ok(Output::Text(text.quoted().to_owned()));
    }
    Parts::read(&child, raw).map(|parts| Output::Parts(parts.0))
}
