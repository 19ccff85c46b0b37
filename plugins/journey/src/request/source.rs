//! One picture of a request: the forms in which it may come, the form the host takes, and what the host found.

use gatehouse_sdk::params::came;
use gatehouse_sdk::source::{self, Source};
use gatehouse_sdk::{Facts, Failure, Finding, InvalidParam, MediaKind};
use serde_json::Value;

/// The largest picture, in bytes.
pub(crate) const MAX_BYTES: u64 = 12 * 1024 * 1024;

/// What the provider reads.
const TYPES: [&str; 4] = ["image/png", "image/jpeg", "image/webp", "image/gif"];

/// In the host's form: a scheme in lower case, a file as a `data:` URI. A `blob:` must be one the host cut out of this
/// request; any other comes from the client and is refused, and so is a file the host already knows to be none.
pub(crate) fn checked(field: &str, source: &str, blobs: &[Facts]) -> Result<String, InvalidParam> {
    let refused = |problem: String| Err(InvalidParam::at(Some(field), problem));
    let expected = "expected an http(s) URL, a base64 `data:` URI or base64";
    match Source::of(source) {
        Some(Source::Link(_)) => Ok(source::normalised(source)),
        Some(Source::Embedded(file)) => picture(&file.facts()).map(|()| file.uri()).or_else(refused),
        Some(Source::Blob) => match source::blob(source, blobs) {
            None => refused(format!("{expected}, got a blob of another request")),
            Some(facts) => picture(facts).map(|()| source.to_owned()).or_else(refused),
        },
        _ => refused(format!("{expected}, got {}", came(Some(&Value::from(source))))),
    }
}

/// Whether a file is a picture that the provider takes.
fn picture(facts: &Facts) -> Result<(), String> {
    if facts.kind != MediaKind::Image || !TYPES.contains(&facts.mime.as_str()) {
        return Err(format!("expected a PNG, JPEG, WebP or GIF image, got {}", facts.mime));
    }
    if facts.bytes > MAX_BYTES {
        return Err(format!("expected at most {MAX_BYTES} bytes (12 MiB), got {}", facts.bytes));
    }
    Ok(())
}

/// What the host found at a source: the blob or the source to send.
///
/// # Errors
/// A sentence for the client.
pub(crate) fn found<'a>(field: &str, finding: &'a Finding) -> Result<(&'a Facts, String), String> {
    let facts = finding.found.as_ref().map_err(|reason| Failure::unavailable(field, reason).message)?;
    picture(facts).map_err(|problem| format!("`{field}`: {problem}"))?;
    Ok((facts, facts.blob.clone().unwrap_or_else(|| finding.source.clone())))
}
