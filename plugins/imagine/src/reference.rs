//! The reference of an edit: which entries of `image_urls` are allowed, and which pictures the provider can read.

use gatehouse_sdk::{Facts, Failure, Finding, InvalidParam, MediaKind};

/// What the client may send.
const EXPECTED: &str = "expected an https URL or a `data:image/...;base64,` URI";
/// The path of the one entry.
const FIELD: &str = "image_urls[0]";
/// What the provider reads.
const TYPES: [&str; 3] = ["image/png", "image/jpeg", "image/webp"];

/// A rule for one entry of `image_urls`.
pub(crate) fn check(source: &str, (): &()) -> garde::Result {
    if is_url(source) || is_inline(source) || is_blob(source) {
        return Ok(());
    }
    Err(garde::Error::new(EXPECTED))
}

fn is_blob(source: &str) -> bool {
    source.starts_with("blob:")
}

fn is_url(source: &str) -> bool {
    let Some(rest) = after(source, "https://") else { return false };
    let has_host = !rest.is_empty() && !rest.starts_with(['/', '?', '#', ':']);
    has_host && !source.contains(|letter: char| letter.is_whitespace() || letter.is_control())
}

/// A `data:` URI short enough that the host left it in the request.
fn is_inline(source: &str) -> bool {
    let Some((head, data)) = source.split_once(',') else { return false };
    let head = head.to_ascii_lowercase();
    let digits = data.trim_end_matches('=');
    head.starts_with("data:image/")
        && head.ends_with(";base64")
        && !digits.is_empty()
        && digits.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/-_".contains(&byte))
}

/// What follows `prefix`, in whatever case that is written.
fn after<'a>(source: &'a str, prefix: &str) -> Option<&'a str> {
    let head = source.get(..prefix.len())?;
    head.eq_ignore_ascii_case(prefix).then(|| &source[prefix.len()..])
}

/// The source to probe, its scheme in lower case. The host has put a `blob:` in place of a long file; it must be one
/// of this request, and a picture: any other comes from the client and is refused.
pub(crate) fn source(entry: &str, blobs: &[Facts]) -> Result<String, InvalidParam> {
    if is_blob(entry) {
        let facts = blobs.iter().find(|facts| facts.blob.as_deref() == Some(entry));
        let refused = |came: &str| InvalidParam::at(Some(FIELD), format!("{EXPECTED}, got {came}"));
        let facts = facts.ok_or_else(|| refused("a blob of another request"))?;
        usable(facts).map_err(|problem| InvalidParam::at(Some(FIELD), problem))?;
        return Ok(entry.to_owned());
    }
    Ok(match entry.split_once(':') {
        Some((scheme, rest)) => format!("{}:{rest}", scheme.to_ascii_lowercase()),
        None => entry.to_owned(),
    })
}

/// The input of the call: bytes that the host keeps, so the provider depends on no client's server, which it would
/// wait for no longer than five seconds.
pub(crate) fn input(finding: &Finding) -> Result<String, Failure> {
    let failed = |problem: &str| Failure::request(format!("`{FIELD}`: {problem}"));
    let facts = finding.found.as_ref().map_err(|reason| failed(reason))?;
    usable(facts).map_err(|problem| failed(&problem))?;
    Ok(facts.blob.clone().unwrap_or_else(|| finding.source.clone()))
}

/// Whether the provider can read the picture.
fn usable(facts: &Facts) -> Result<(), String> {
    let expected = "expected a PNG, JPEG or WebP image";
    if facts.kind != MediaKind::Image || !TYPES.contains(&facts.mime.as_str()) {
        return Err(format!("{expected}, got {}", facts.mime));
    }
    match facts.pixels() {
        Some(1..) => Ok(()),
        _ => Err(format!("{expected}, got {} of unreadable size", facts.mime)),
    }
}
