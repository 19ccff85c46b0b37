//! Sources of media in a request: http(s) URLs, `data:` URIs, and files the host cut out of the request.

use gatehouse_sdk::{Facts, InvalidParam, MediaKind};

const EXPECTED: &str = "expected an http(s) URL or a base64 `data:` URI";

/// A rule for a source.
pub(crate) fn check(source: &str, (): &()) -> garde::Result {
    if is_url(source) || is_data(source) || source.starts_with("blob:") {
        return Ok(());
    }
    Err(garde::Error::new(EXPECTED))
}

/// A rule for a source that must be an http(s) URL.
pub(crate) fn check_url(source: &str, (): &()) -> garde::Result {
    if is_url(source) { Ok(()) } else { Err(garde::Error::new("expected an http(s) URL")) }
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

/// A source in the host's form, and its facts when the host has them already. A file of another kind, or a `blob:` the host
/// did not cut out of this request, is refused.
pub(crate) fn settle<'a>(
    field: &str,
    source: String,
    kind: MediaKind,
    blobs: &'a [Facts],
) -> Result<(String, Option<&'a Facts>), InvalidParam> {
    if !source.starts_with("blob:") {
        return Ok((in_lower_case_scheme(&source), None));
    }
    let Some(facts) = blobs.iter().find(|facts| facts.blob.as_deref() == Some(&source)) else {
        return Err(InvalidParam::at(Some(field), format!("{EXPECTED}, got a file of another request")));
    };
    is_of_kind(kind, facts).map_err(|problem| InvalidParam::at(Some(field), problem))?;
    Ok((source, Some(facts)))
}

/// Whether media are what they should be; otherwise what was expected and what came.
pub(crate) fn is_of_kind(kind: MediaKind, facts: &Facts) -> Result<(), String> {
    let expected = match kind {
        _ if facts.kind == kind => return Ok(()),
        MediaKind::Image => "an image",
        MediaKind::Video => "a video",
        MediaKind::Audio => "a sound file",
        MediaKind::Other => "a file",
    };
    Err(format!("expected {expected}, got {}", facts.mime))
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
