//! Sources of images in a request: http(s) URLs, `data:` URIs, and files the host cut out of the request. The provider takes
//! bytes only, so each becomes a blob before it is sent.

use gatehouse_sdk::{Facts, Failure, Finding, InvalidParam, MediaKind};
use serde::{Deserialize, Serialize};

/// The provider's limit for one image.
const MAX_BYTES: u64 = 20 * 1024 * 1024;
const EXPECTED: &str = "expected an http(s) URL or a base64 `data:` URI";

/// An image of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Image {
    pub(crate) field: String,
    pub(crate) source: String,
    /// Its type, once its bytes are a blob: `source` then names it.
    pub(crate) mime: Option<String>,
}

impl Image {
    /// An image the client named; one that is a blob already is judged at once.
    pub(crate) fn read(field: &str, source: String, blobs: &[Facts]) -> Result<Self, InvalidParam> {
        let image = Self { field: field.to_owned(), source, mime: None };
        if !image.source.starts_with("blob:") {
            return Ok(Self { source: in_lower_case_scheme(&image.source), ..image });
        }
        match blobs.iter().find(|facts| facts.blob.as_deref() == Some(&image.source)) {
            Some(facts) => image.with(facts),
            None => Err(image.invalid(format!("{EXPECTED}, got a file of another request"))),
        }
    }

    /// The same once the host has looked at it.
    pub(crate) fn settle(self, finding: &Finding) -> Result<Self, Failure> {
        match &finding.found {
            Ok(facts) => self.with(facts).map_err(Failure::from),
            Err(reason) => {
                Err(Failure::request(format!("dependency unavailable: `{}`: {reason}", self.field)))
            }
        }
    }

    fn with(self, facts: &Facts) -> Result<Self, InvalidParam> {
        if facts.kind != MediaKind::Image || !matches!(facts.mime.as_str(), "image/jpeg" | "image/png") {
            return Err(self.invalid(format!("expected a JPEG or PNG image, got {}", facts.mime)));
        }
        if facts.bytes > MAX_BYTES {
            let problem = format!("expected at most 20 MB ({MAX_BYTES} bytes), got {} bytes", facts.bytes);
            return Err(self.invalid(problem));
        }
        let Some(blob) = &facts.blob else {
            return Err(self.invalid("expected an image that can be kept, got none".to_owned()));
        };
        Ok(Self { source: blob.clone(), mime: Some(facts.mime.clone()), ..self })
    }

    fn invalid(&self, problem: String) -> InvalidParam {
        InvalidParam::at(Some(&self.field), problem)
    }
}

/// A rule for a source.
pub(crate) fn check(source: &str, (): &()) -> garde::Result {
    if is_url(source) || is_data(source) || source.starts_with("blob:") {
        return Ok(());
    }
    Err(garde::Error::new(EXPECTED))
}

fn starts_with(source: &str, prefix: &str) -> bool {
    source.get(..prefix.len()).is_some_and(|head| head.eq_ignore_ascii_case(prefix))
}

fn is_url(source: &str) -> bool {
    let host = source.split_once("://").map_or("", |(_, host)| host);
    let is_http = starts_with(source, "https://") || starts_with(source, "http://");
    is_http && !host.is_empty() && !host.starts_with('/') && !source.contains(char::is_whitespace)
}

fn is_data(source: &str) -> bool {
    let Some((head, data)) = source.split_once(',') else { return false };
    let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=-_".contains(&byte);
    starts_with(head, "data:")
        && head.to_ascii_lowercase().ends_with(";base64")
        && !data.is_empty()
        && data.bytes().all(is_base64)
}

fn in_lower_case_scheme(source: &str) -> String {
    match source.split_once(':') {
        Some((scheme, rest)) => format!("{}:{rest}", scheme.to_ascii_lowercase()),
        None => source.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_urls_data_or_files() {
        for (source, fits) in [
            ("https://e.com/a.png", true),
            ("HTTP://e.com/a.png", true),
            ("https://", false),
            ("https:///a.png", false),
            ("https://e.com/a b.png", false),
            ("gs://bucket/a.png", false),
            ("a.png", false),
            ("", false),
            ("data:image/png;base64,iVBORw0KGgo=", true),
            ("DATA:image/png;BASE64,iVBORw0KGgo=", true),
            ("data:image/png;base64,", false),
            ("data:image/png;base64,iVB ORw", false),
            ("data:image/svg+xml,<svg/>", false),
            ("blob:01ARZ3NDEKTSV4RRFFQ69G5FAV", true),
        ] {
            assert_eq!(check(source, &()).is_ok(), fits, "{source}");
        }
        let read = Image::read("first_frame_image", "HTTPS://E.com/A".to_owned(), &[]);
        assert_eq!(read.map(|image| image.source).as_deref(), Ok("https://E.com/A"));
    }
}
