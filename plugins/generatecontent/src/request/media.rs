//! Files of a request: bytes in hand, or a URL that Google fetches.

use gatehouse_sdk::Refusal;
use gatehouse_text_protocols::json::{Object, Writer};

/// Types by the ending of a URL, which Google wants to know.
const TYPES: [(&str, &str); 8] = [
    (".png", "image/png"),
    (".jpg", "image/jpeg"),
    (".jpeg", "image/jpeg"),
    (".webp", "image/webp"),
    (".gif", "image/gif"),
    (".heic", "image/heic"),
    (".pdf", "application/pdf"),
    (".txt", "text/plain"),
];

/// The part of an image or a document of one piece; `None` where its source is text or blocks.
pub(super) fn part(source: &Object<'_>, path: &str) -> Result<Option<String>, Refusal> {
    let mut out = Writer::new(128);
    match source.text("type").as_deref().unwrap_or_default() {
        "base64" => {
            let mut data = Writer::new(128);
            data.member("mimeType", source.get("media_type").map_or("\"\"", |raw| raw.get()));
            data.member("data", source.get("data").map_or("\"\"", |raw| raw.get()));
            out.member("inlineData", &data.done());
        }
        "url" => {
            let url = source.text("url").unwrap_or_default();
            let mut data = Writer::new(url.len() + 64);
            let bare = url.split(['?', '#']).next().unwrap_or_default().to_ascii_lowercase();
            if let Some((_, mime)) = TYPES.iter().find(|(ending, _)| bare.ends_with(ending)) {
                data.string("mimeType", mime);
            }
            data.string("fileUri", &url);
            out.member("fileData", &data.done());
        }
        "text" | "content" => return Ok(None),
        other => {
            let problem = format!("expected `base64`, `url`, `text` or `content`, got {other:?}");
            return Err(Refusal::invalid(format!("{path}.source.type"), problem));
        }
    }
    Ok(Some(out.done()))
}
