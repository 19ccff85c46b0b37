//! The parts of a content, written as parts of a chat message.

use crate::check::{Checked, array, choice, instead, object, required, string, wrong};
use crate::json::{JsonString, Object, Raw, Writer, quote};
use crate::path::Path;

const FILES: &str = "nothing, there is no Files API here; send the data itself";

/// A content as chat parts.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    /// Text parts, JSON each.
    pub(crate) texts: Vec<String>,
    /// All parts in their order, JSON each.
    pub(crate) all: Vec<String>,
    /// Whether one of them is no text.
    pub(crate) has_media: bool,
}

impl Parts {
    /// Reads a content: a text, or parts.
    pub(crate) fn read(path: &Path<'_>, raw: Raw<'_>) -> Checked<Self> {
        let mut parts = Self::default();
        if let Some(text) = JsonString::of(raw) {
            parts.text(text);
            return Ok(parts);
        }
        if !raw.get().starts_with('[') {
            return Err(wrong(path, "a string or an array of parts", Some(raw)));
        }
        for (at, raw) in array(path, raw)?.into_iter().enumerate() {
            let path = path.index(at);
            parts.part(&path, &object(&path, raw)?)?;
        }
        Ok(parts)
    }

    /// The content of a chat message: the one text, or all parts.
    pub(crate) fn content(&self) -> String {
        format!("[{}]", self.all.join(","))
    }

    fn text(&mut self, text: JsonString<'_>) {
        // Some providers refuse an empty text.
        if text.is_empty() {
            return;
        }
        let part = format!("{{\"type\":\"text\",\"text\":{}}}", text.quoted());
        self.texts.push(part.clone());
        self.all.push(part);
    }

    fn part(&mut self, path: &Path<'_>, part: &Object<'_>) -> Checked<()> {
        const KINDS: &str =
            "`input_text`, `input_image`, `input_file`, `input_audio`, `output_text` or `refusal`";
        let kind = required(path, part, "type", KINDS)?;
        let kind = string(&path.key("type"), kind)?.decoded();
        let media = match kind.as_ref() {
            "input_text" | "output_text" | "text" | "summary_text" | "reasoning_text" => {
                let text = required(path, part, "text", "a string")?;
                self.text(string(&path.key("text"), text)?);
                return Ok(());
            }
            "refusal" => {
                let text = required(path, part, "refusal", "a string")?;
                self.text(string(&path.key("refusal"), text)?);
                return Ok(());
            }
            "input_image" => image(path, part)?,
            "input_file" => file(path, part)?,
            "input_audio" => {
                let audio = required(path, part, "input_audio", "an object")?;
                object(&path.key("input_audio"), audio)?;
                format!("{{\"type\":\"input_audio\",\"input_audio\":{}}}", audio.get())
            }
            _ => return Err(wrong(&path.key("type"), KINDS, part.get("type"))),
        };
        self.has_media = true;
        self.all.push(media);
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

/// The output of a tool, as the text for its message and the media for the message behind it.
pub(crate) fn output(path: &Path<'_>, item: &Object<'_>) -> Checked<(String, Vec<String>)> {
    let raw = required(path, item, "output", "a string or an array of parts")?;
    let child = path.key("output");
    if raw.get().starts_with('{') {
        return Err(instead(&child, "a string or an array of parts", "an object"));
    }
    if let Some(text) = JsonString::of(raw) {
        return Ok((text.quoted().to_owned(), Vec::new()));
    }
    let parts = Parts::read(&child, raw)?;
    let media: Vec<String> = parts.all.iter().filter(|part| !parts.texts.contains(part)).cloned().collect();
    let text = match parts.texts.as_slice() {
        [] if media.is_empty() => "\"\"".to_owned(),
        [] => "\"The output is attached below.\"".to_owned(),
        texts => format!("[{}]", texts.join(",")),
    };
    Ok((text, media))
}
