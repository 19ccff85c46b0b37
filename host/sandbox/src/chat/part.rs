//! Parts of a message's content: text, images, sound, files.

use serde_json::Value;

use super::refusal::Refusal;
use super::shape::{Judged, Shape, unfit};
use crate::text::answer::words;
use crate::text::input_image::{self, Bad};

/// What counts that cannot be looked into.
const UNSEEN_TOKENS: u64 = 100;

/// A message's content, read.
#[derive(Clone, Debug, Default)]
pub(super) struct Content {
    /// Everything written in it.
    pub(super) text: String,
    pub(super) images: Vec<String>,
    pub(super) tokens: u64,
}

/// Judges `content`: a string, or parts of these kinds.
pub(super) fn judge(message: &Shape<'_>, kinds: &[&str]) -> Judged<Content> {
    let path = message.path("content");
    let value = message.need("content")?;
    let parts = match value {
        Value::String(text) => {
            return Ok(Content { text: text.clone(), tokens: words::count(text), ..Content::default() });
        }
        Value::Array(parts) if parts.is_empty() => {
            let words = format!(
                "Invalid '{path}': empty array. Expected an array with minimum length 1, but got an empty array instead."
            );
            return Err(Refusal::invalid(&path, Some("empty_array"), words));
        }
        Value::Array(parts) => parts,
        other => return Err(unfit(&path, "one of a string or array of objects", other)),
    };
    let mut content = Content::default();
    for (at, part) in parts.iter().enumerate() {
        let part = Shape::of(format!("{path}[{at}]"), part)?;
        match part.need_word("type", kinds)? {
            "text" => {
                part.only(&["type", "text"])?;
                let text = part.need_text("text")?;
                content.text.push_str(text);
                content.tokens += words::count(text);
            }
            "image_url" => {
                part.only(&["type", "image_url"])?;
                let (name, tokens) = picture(&Shape::of(part.path("image_url"), part.need("image_url")?)?)?;
                content.images.push(name);
                content.tokens += tokens;
            }
            "refusal" => {
                part.only(&["type", "refusal"])?;
                content.tokens += words::count(part.need_text("refusal")?);
            }
            "input_audio" => {
                part.only(&["type", "input_audio"])?;
                let audio = Shape::of(part.path("input_audio"), part.need("input_audio")?)?;
                audio.only(&["data", "format"])?;
                audio.need_text("data")?;
                audio.need_word("format", &["wav", "mp3"])?;
                content.tokens += UNSEEN_TOKENS;
            }
            _ => {
                part.only(&["type", "file"])?;
                let file = Shape::of(part.path("file"), part.need("file")?)?;
                file.only(&["file_data", "file_id", "filename"])?;
                content.tokens += UNSEEN_TOKENS;
            }
        }
    }
    Ok(content)
}

fn picture(image: &Shape<'_>) -> Judged<(String, u64)> {
    image.only(&["url", "detail"])?;
    image.word("detail", &["low", "high", "auto"])?;
    let url = image.need_text("url")?;
    let path = image.path("url");
    let Some(uri) = url.strip_prefix("data:") else {
        if url.starts_with("https://") || url.starts_with("http://") {
            return Ok(("an image by url".to_owned(), UNSEEN_TOKENS));
        }
        let words =
            format!("Invalid '{path}'. Expected a valid URL, but got a value with an invalid format.");
        return Err(Refusal::invalid(&path, Some("invalid_value"), words));
    };
    let base64 = || Refusal::invalid(&path, Some("invalid_base64"), "Invalid base64 image_url.");
    let kind = || {
        Refusal::invalid(
            &path,
            Some("invalid_image_format"),
            "You uploaded an unsupported image. Please make sure your image has of one the following formats: \
             ['png', 'jpeg', 'gif', 'webp'].",
        )
    };
    let (mime, data) = uri.split_once(";base64,").ok_or_else(base64)?;
    let seen = input_image::look(data).map_err(|bad| match bad {
        Bad::Base64 => base64(),
        Bad::Broken | Bad::Kind => kind(),
    })?;
    // Only the kind of file counts; a wrong media type beside it is forgiven, one that is no image is not.
    if !mime.starts_with("image/") {
        return Err(kind());
    }
    Ok((seen.name(), seen.tokens()))
}
