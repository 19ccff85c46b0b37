//! The reference of an edit: which entries of `image_urls` are allowed, and which pictures the provider can read.

use gatehouse_sdk::params::rule;
use gatehouse_sdk::source::{self, Source};
use gatehouse_sdk::{Facts, Failure, Finding, InvalidParam, MediaKind};

/// What the client may send.
const EXPECTED: &str = "expected an https URL, a `data:image/...;base64,` URI or base64";
/// The path of the one entry.
const FIELD: &str = "image_urls[0]";
/// What the provider reads.
const TYPES: [&str; 3] = ["image/png", "image/jpeg", "image/webp"];

/// A rule for one entry of `image_urls`.
pub(crate) fn check(source: &str, (): &()) -> garde::Result {
    let is_usable = match Source::of(source) {
        Some(Source::Link(link)) => link.is_https,
        // A short file is one that the host left in the request.
        Some(Source::Embedded(_) | Source::Blob) => true,
        _ => false,
    };
    rule(is_usable, EXPECTED)
}

/// The source to probe, its scheme in lower case. The host has put a `blob:` in place of a long file; it must be one
/// of this request, and a picture: any other comes from the client and is refused.
pub(crate) fn source(entry: &str, blobs: &[Facts]) -> Result<String, InvalidParam> {
    let refused = |problem: String| InvalidParam::at(Some(FIELD), problem);
    match Source::of(entry) {
        Some(Source::Embedded(file)) => {
            readable(&file.facts()).map_err(refused)?;
            Ok(file.uri())
        }
        Some(Source::Blob) => {
            let facts = source::blob(entry, blobs);
            let facts = facts.ok_or_else(|| refused(format!("{EXPECTED}, got a blob of another request")))?;
            usable(facts).map_err(refused)?;
            Ok(entry.to_owned())
        }
        _ => Ok(source::normalised(entry)),
    }
}

/// The input of the call: bytes that the host keeps, so the provider depends on no client's server, which it would
/// wait for no longer than five seconds.
pub(crate) fn input(finding: &Finding) -> Result<String, Failure> {
    let facts = finding.found.as_ref().map_err(|reason| Failure::unavailable(FIELD, reason))?;
    usable(facts).map_err(|problem| Failure::request(format!("`{FIELD}`: {problem}")))?;
    Ok(facts.blob.clone().unwrap_or_else(|| finding.source.clone()))
}

const PICTURE: &str = "expected a PNG, JPEG or WebP image";

/// Whether the provider reads pictures of that type.
fn readable(facts: &Facts) -> Result<(), String> {
    if facts.kind != MediaKind::Image || !TYPES.contains(&facts.mime.as_str()) {
        return Err(format!("{PICTURE}, got {}", facts.mime));
    }
    Ok(())
}

/// Whether the provider can read the picture.
fn usable(facts: &Facts) -> Result<(), String> {
    readable(facts)?;
    match facts.pixels() {
        Some(1..) => Ok(()),
        _ => Err(format!("{PICTURE}, got {} of unreadable size", facts.mime)),
    }
}
