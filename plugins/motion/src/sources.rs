//! Sources of media in a request: http(s) URLs, `data:` URIs, and files the host cut out of the request.

use gatehouse_sdk::params::{LINK_OR_FILE, rule};
use gatehouse_sdk::source::{self, Source};
use gatehouse_sdk::{Facts, InvalidParam, MediaKind};

/// What the provider reads of pictures.
const TYPES: [&str; 4] = ["image/jpeg", "image/png", "image/bmp", "image/webp"];

/// A rule for a source that must be an http(s) URL.
pub(crate) fn check_url(source: &str, (): &()) -> garde::Result {
    rule(matches!(Source::of(source), Some(Source::Link(_))), "expected an http(s) URL")
}

/// A source in the host's form, and its facts when the host has them already. A file of another kind, or a `blob:` the host
/// did not cut out of this request, is refused.
pub(crate) fn settle<'a>(
    field: &str,
    source: String,
    kind: MediaKind,
    blobs: &'a [Facts],
) -> Result<(String, Option<&'a Facts>), InvalidParam> {
    let refused = |problem: String| InvalidParam::at(Some(field), problem);
    match Source::of(&source) {
        Some(Source::Embedded(file)) => {
            is_of_kind(kind, &file.facts()).map_err(refused)?;
            Ok((file.uri(), None))
        }
        Some(Source::Blob) => {
            let facts = source::blob(&source, blobs);
            let facts =
                facts.ok_or_else(|| refused(format!("{LINK_OR_FILE}, got a file of another request")))?;
            is_of_kind(kind, facts).map_err(refused)?;
            Ok((source, Some(facts)))
        }
        _ => Ok((source::normalised(&source), None)),
    }
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
    fn a_url_is_http_or_https() {
        for (source, fits) in [
            ("HTTP://e.com/a.png", true),
            ("https:///a.png", false),
            ("oss://bucket/a.png", false),
            ("data:image/png;base64,iVBORw0KGgo=", false),
            ("blob:01ARZ3NDEKTSV4RRFFQ69G5FAV", false),
        ] {
            assert_eq!(check_url(source, &()).is_ok(), fits, "{source}");
        }
    }

    /// Without it a small file of another kind reaches the provider, where a large one is refused.
    #[test]
    fn a_file_is_judged_by_its_bytes_and_sent_under_their_type() {
        let settled =
            |source: &str, kind| settle("a", source.to_owned(), kind, &[]).map(|(source, _)| source);
        let png = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAAB";
        for written in [
            png.to_owned(),
            png.replace("png", "gif"),
            png.replace("data:image/png;base64,", ""),
            png.replace("AAAN", "AA\nAN"),
        ] {
            assert_eq!(settled(&written, MediaKind::Image).as_deref(), Ok(png), "{written}");
            let refused = settled(&written, MediaKind::Audio).expect_err("a picture");
            assert_eq!(refused.to_string(), "`a`: expected a sound file, got image/png");
        }
    }

    #[test]
    fn schemes_are_written_in_lower_case() {
        let settled = |source: &str| settle("image_urls[0]", source.to_owned(), MediaKind::Image, &[]);
        assert_eq!(settled("HTTPS://E.com/A").map(|(source, _)| source).as_deref(), Ok("https://E.com/A"));
    }
}
