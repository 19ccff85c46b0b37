//! Sources of media in a request: http(s) URLs, `data:` URIs, and files the host cut out of the request.

use gatehouse_sdk::source::{self, Source};
use gatehouse_sdk::{Facts, InvalidParam, MediaKind};

/// What the provider reads of pictures.
const TYPES: [&str; 4] = ["image/jpeg", "image/png", "image/bmp", "image/webp"];
const EXPECTED: &str = "expected an http(s) URL or a base64 `data:` URI";

/// A rule for a source.
pub(crate) fn check(source: &str, (): &()) -> garde::Result {
    match Source::of(source) {
        Some(Source::Link(_) | Source::Blob) => Ok(()),
        Some(Source::Data(data)) if data.is_encoded() => Ok(()),
        _ => Err(garde::Error::new(EXPECTED)),
    }
}

/// A rule for a source that must be an http(s) URL.
pub(crate) fn check_url(source: &str, (): &()) -> garde::Result {
    match Source::of(source) {
        Some(Source::Link(_)) => Ok(()),
        _ => Err(garde::Error::new("expected an http(s) URL")),
    }
}

/// A source in the host's form, and its facts when the host has them already. A file of another kind, or a `blob:` the host
/// did not cut out of this request, is refused.
pub(crate) fn settle<'a>(
    field: &str,
    source: String,
    kind: MediaKind,
    blobs: &'a [Facts],
) -> Result<(String, Option<&'a Facts>), InvalidParam> {
    if Source::of(&source) != Some(Source::Blob) {
        return Ok((source::normalised(&source), None));
    }
    let Some(facts) = source::blob(&source, blobs) else {
        return Err(InvalidParam::at(Some(field), format!("{EXPECTED}, got a file of another request")));
    };
    is_of_kind(kind, facts).map_err(|problem| InvalidParam::at(Some(field), problem))?;
    Ok((source, Some(facts)))
}

/// Whether media are what they should be; otherwise what was expected and what came.
pub(crate) fn is_of_kind(kind: MediaKind, facts: &Facts) -> Result<(), String> {
    let is_read = kind != MediaKind::Image || TYPES.contains(&facts.mime.as_str());
    let expected = match kind {
        _ if facts.kind == kind && is_read => return Ok(()),
        MediaKind::Image => "a JPEG, PNG, BMP or WebP image",
        MediaKind::Video => "a video",
        MediaKind::Audio => "a sound file",
        MediaKind::Other => "a file",
    };
    Err(format!("expected {expected}, got {}", facts.mime))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_urls_data_or_files() {
        for (source, url, any) in [
            ("https://e.com/a.png", true, true),
            ("HTTP://e.com/a.png", true, true),
            ("https://", false, false),
            ("https:///a.png", false, false),
            ("https://e.com/a b.png", false, false),
            ("ftp://e.com/a.png", false, false),
            ("a.png", false, false),
            ("", false, false),
            ("data:image/png;base64,iVBORw0KGgo=", false, true),
            ("DATA:image/png;BASE64,iVBORw0KGgo=", false, true),
            ("data:image/png;base64,", false, false),
            ("data:image/png;base64,iVB ORw", false, false),
            ("data:image/svg+xml,<svg/>", false, false),
            ("blob:01ARZ3NDEKTSV4RRFFQ69G5FAV", false, true),
            ("oss://bucket/a.png", false, false),
        ] {
            assert_eq!(check_url(source, &()).is_ok(), url, "{source}");
            assert_eq!(check(source, &()).is_ok(), any, "{source}");
        }
    }

    #[test]
    fn schemes_are_written_in_lower_case() {
        let settled = |source: &str| settle("image_urls[0]", source.to_owned(), MediaKind::Image, &[]);
        assert_eq!(settled("HTTPS://E.com/A").map(|(source, _)| source).as_deref(), Ok("https://E.com/A"));
    }
}
