//! Reference images: the entries of `image_urls` in the host's form, and the 9 MP rule after the host has probed them.

use gatehouse_sdk::params::LINK_OR_FILE;
use gatehouse_sdk::source::{self, Source};
use gatehouse_sdk::{Facts, Failure, Finding, InvalidParam, MediaKind};

use crate::sizes::{Size, nearest};

/// 9 MP: nine pictures of 1024x1024, output included.
const MAX_PIXELS: u64 = 9 * 1024 * 1024;

/// What the provider reads.
const TYPES: [&str; 3] = ["image/png", "image/jpeg", "image/webp"];

/// The sources to probe, in the host's form: a scheme in lower case, a file as a `data:` URI. A `blob:` must be
/// one the host cut out of this request; any other comes from the client and is refused.
pub(crate) fn sources(entries: Vec<String>, blobs: &[Facts]) -> Result<Vec<String>, InvalidParam> {
    let source = |(index, entry): (usize, String)| match Source::of(&entry) {
        Some(Source::Embedded(file)) => Ok(file.uri()),
        Some(Source::Blob) if source::blob(&entry, blobs).is_none() => Err(InvalidParam::at(
            Some(&format!("image_urls[{index}]")),
            format!("{LINK_OR_FILE}, got a blob of another request"),
        )),
        _ => Ok(source::normalised(&entry)),
    };
    entries.into_iter().enumerate().map(source).collect()
}

/// Checks the findings; returns the inputs of the call.
pub(crate) fn settle(size: Size, findings: &[Finding]) -> Result<Vec<String>, Failure> {
    let mut sum = 0_u64;
    let mut first = None;
    let mut inputs = Vec::with_capacity(findings.len());
    for (index, finding) in findings.iter().enumerate() {
        let (facts, width, height) = picture(index, finding)?;
        sum = sum.saturating_add(u64::from(width) * u64::from(height));
        first = first.or(Some((width, height)));
        inputs.push(match &facts.blob {
            Some(blob) => format!("{blob}:base64"),
            None => finding.source.clone(),
        });
    }
    let output = match (size, first) {
        (Size::Ratio(ratio), _) => ratio.pixels(),
        (Size::Auto, Some((width, height))) => nearest(width, height).pixels(),
        (Size::Auto, None) => 0,
    };
    if output.saturating_add(sum) > MAX_PIXELS {
        return Err(Failure::request(format!(
            "`image_urls`: expected output and references to have at most {MAX_PIXELS} pixels together \
             (9 MP), got {output} for the output and {sum} for the references"
        )));
    }
    Ok(inputs)
}

/// The facts and the size of one reference.
fn picture(index: usize, finding: &Finding) -> Result<(&Facts, u32, u32), Failure> {
    let facts = finding.found.as_ref();
    let facts = facts.map_err(|reason| Failure::unavailable(&format!("image_urls[{index}]"), reason))?;
    let expected = format!("`image_urls[{index}]`: expected a PNG, JPEG or WebP image");
    if facts.kind != MediaKind::Image || !TYPES.contains(&facts.mime.as_str()) {
        return Err(Failure::request(format!("{expected}, got {}", facts.mime)));
    }
    match (facts.width, facts.height) {
        (Some(width @ 1..), Some(height @ 1..)) => Ok((facts, width, height)),
        _ => Err(Failure::request(format!("{expected}, got {} of unreadable size", facts.mime))),
    }
}

#[cfg(test)]
mod tests;
