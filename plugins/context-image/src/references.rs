//! Reference images: the allowed entries of `image_urls`, and the 9 MP rule after the host has probed them.

use gatehouse_sdk::{Facts, Failure, Finding, InvalidParam, MediaKind, Probe};

use crate::sizes::{Size, nearest};

/// 9 MP: nine pictures of 1024x1024, output included.
const MAX_PIXELS: u64 = 9 * 1024 * 1024;

/// No image is shorter than this in base64.
const MIN_BASE64: usize = 32;

/// A rule for one entry of `image_urls`.
pub(crate) fn check(source: &str, (): &()) -> garde::Result {
    if Kind::of(source).is_some() {
        return Ok(());
    }
    Err(garde::Error::new("expected an http(s) URL, a base64 `data:` URI or base64"))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Url,
    Data,
    Blob,
    Base64,
}

impl Kind {
    fn of(source: &str) -> Option<Self> {
        let starts_with =
            |prefix: &str| source.get(..prefix.len()).is_some_and(|head| head.eq_ignore_ascii_case(prefix));
        if starts_with("https://") || starts_with("http://") {
            let host = source.split_once("//").map_or("", |(_, host)| host);
            let is_valid =
                !host.is_empty() && !host.starts_with('/') && !source.contains(char::is_whitespace);
            return is_valid.then_some(Self::Url);
        }
        if starts_with("data:") {
            let (head, data) = source.split_once(',')?;
            let encoded = head.to_ascii_lowercase().ends_with(";base64") && is_base64(data);
            return encoded.then_some(Self::Data);
        }
        if starts_with("blob:") {
            return Some(Self::Blob);
        }
        is_base64(source).then_some(Self::Base64)
    }
}

fn is_base64(text: &str) -> bool {
    let digits = text.trim_end_matches('=');
    text.len() >= MIN_BASE64
        && text.len() - digits.len() <= 2
        && digits.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/-_".contains(&byte))
}

/// The sources to probe, in the host's form: a scheme in lower case, base64 as a `data:` URI. A `blob:` must be
/// one the host cut out of this request; any other comes from the client and is refused.
pub(crate) fn sources(entries: Vec<String>, blobs: &[Facts]) -> Result<Vec<String>, InvalidParam> {
    let known = |entry: &str| blobs.iter().any(|facts| facts.blob.as_deref() == Some(entry));
    let source = |(index, entry): (usize, String)| match Kind::of(&entry) {
        Some(Kind::Base64) => Ok(format!("data:application/octet-stream;base64,{entry}")),
        Some(Kind::Blob) if !known(&entry) => Err(InvalidParam::at(
            Some(&format!("image_urls[{index}]")),
            "expected an http(s) URL, a base64 `data:` URI or base64, got a blob of another request"
                .to_owned(),
        )),
        Some(Kind::Url | Kind::Data) => Ok(in_lower_case_scheme(&entry)),
        Some(Kind::Blob) | None => Ok(entry),
    };
    entries.into_iter().enumerate().map(source).collect()
}

fn in_lower_case_scheme(source: &str) -> String {
    match source.split_once(':') {
        Some((scheme, rest)) => format!("{}:{rest}", scheme.to_ascii_lowercase()),
        None => source.to_owned(),
    }
}

/// The probes. The host keeps the bytes, so the provider never depends on a client's server.
pub(crate) fn probes(references: &[String]) -> Vec<Probe> {
    references.iter().map(Probe::keep).collect()
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
    let facts = finding.found.as_ref().map_err(|reason| {
        Failure::request(format!("dependency unavailable: `image_urls[{index}]`: {reason}"))
    })?;
    if facts.kind != MediaKind::Image {
        return Err(Failure::request(format!(
            "`image_urls[{index}]`: expected an image, got {}",
            facts.mime
        )));
    }
    match (facts.width, facts.height) {
        (Some(width @ 1..), Some(height @ 1..)) => Ok((facts, width, height)),
        _ => Err(Failure::request(format!(
            "`image_urls[{index}]`: expected an image, got {} of unreadable size",
            facts.mime
        ))),
    }
}

#[cfg(test)]
mod tests;
