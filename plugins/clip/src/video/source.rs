//! Where a reference comes from, as the client writes it: a URL, an embedded file, or an asset of the library.

use gatehouse_sdk::Facts;

/// The scheme of assets.
pub(crate) const ASSET: &str = "asset://";

/// The way to a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SourceKind {
    Url,
    /// A `data:` URI.
    Data,
    /// A file the host has cut out of the request.
    Blob,
    Asset,
}

impl SourceKind {
    /// Of a text; `None` when it is no source.
    pub(crate) fn of(source: &str) -> Option<Self> {
        let starts_with =
            |prefix: &str| source.get(..prefix.len()).is_some_and(|head| head.eq_ignore_ascii_case(prefix));
        let is_plain = !source.contains(|letter: char| letter.is_whitespace() || letter.is_control());
        if starts_with("https://") || starts_with("http://") {
            let host = source.split_once("//").map_or("", |(_, host)| host);
            return (is_plain && !host.is_empty() && !host.starts_with('/')).then_some(Self::Url);
        }
        if starts_with("data:") {
            let head = source.split_once(',').map_or("", |(head, _)| head);
            return head.to_ascii_lowercase().ends_with(";base64").then_some(Self::Data);
        }
        if source.starts_with("blob:") {
            return Some(Self::Blob);
        }
        // The host looks names up as they are written, so the scheme counts in lower case only.
        let id = source.strip_prefix(ASSET)?;
        (is_plain && !id.is_empty()).then_some(Self::Asset)
    }
}

/// A rule for an image.
pub(crate) fn check_image(source: &str, (): &()) -> garde::Result {
    check(source, true)
}

/// A rule for a video. The provider takes none as a `data:` URI.
pub(crate) fn check_video(source: &str, (): &()) -> garde::Result {
    check(source, false)
}

/// A rule for an audio file.
pub(crate) fn check_audio(source: &str, (): &()) -> garde::Result {
    check(source, true)
}

fn check(source: &str, may_be_embedded: bool) -> garde::Result {
    match SourceKind::of(source) {
        Some(SourceKind::Url | SourceKind::Asset) => Ok(()),
        Some(SourceKind::Data | SourceKind::Blob) if may_be_embedded => Ok(()),
        _ if may_be_embedded => {
            Err(garde::Error::new("expected an http(s) URL, a base64 `data:` URI or `asset://<asset_id>`"))
        }
        _ => Err(garde::Error::new(
            "expected an http(s) URL or `asset://<asset_id>` (a video cannot be embedded)",
        )),
    }
}

/// The facts of a blob of this request; `None` when it is another's.
pub(crate) fn blob<'a>(source: &str, blobs: &'a [Facts]) -> Option<&'a Facts> {
    blobs.iter().find(|facts| facts.blob.as_deref() == Some(source))
}

/// The source with its scheme in lower case, as the host and the provider expect it.
pub(crate) fn normalised(source: &str) -> String {
    match source.split_once(':') {
        Some((scheme, rest)) => format!("{}:{rest}", scheme.to_ascii_lowercase()),
        None => source.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_told_apart() {
        for (source, expected) in [
            ("https://example.com/a.png", Some(SourceKind::Url)),
            ("HTTP://example.com/a.png", Some(SourceKind::Url)),
            ("https://", None),
            ("https:///a.png", None),
            ("https://example.com/a b.png", None),
            ("ftp://example.com/a.png", None),
            ("data:image/png;base64,AAAA", Some(SourceKind::Data)),
            ("DATA:image/png;Base64,AAAA", Some(SourceKind::Data)),
            ("data:image/png,AAAA", None),
            ("data:image/png;base64", None),
            ("blob:blob_1", Some(SourceKind::Blob)),
            ("asset://asset-1", Some(SourceKind::Asset)),
            ("ASSET://asset-1", None),
            ("asset://", None),
            ("asset://a b", None),
            ("", None),
            ("a.png", None),
        ] {
            assert_eq!(SourceKind::of(source), expected, "{source}");
        }
        assert_eq!(normalised("HTTPS://Example.com/A"), "https://Example.com/A");
    }
}
