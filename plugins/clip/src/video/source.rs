//! Where a reference comes from, as the client writes it: a URL, an embedded file, or an asset of the library.

use gatehouse_sdk::params::{link_or_file, rule};
use gatehouse_sdk::source::Source;

use crate::names::SCHEME;

/// Whether it is an asset of the library. The host looks names up as they are written, so the scheme counts in lower
/// case only.
pub(crate) fn is_asset(source: &str) -> bool {
    match Source::of(source) {
        Some(Source::Other { scheme, rest }) => scheme == SCHEME && rest.starts_with("//") && rest.len() > 2,
        _ => false,
    }
}

/// A rule for an image or an audio file.
pub(crate) fn check_file(source: &str, (): &()) -> garde::Result {
    let fits = link_or_file(source, &()).is_ok() || is_asset(source);
    rule(fits, "expected an http(s) URL, a base64 `data:` URI, base64 or `asset://<asset_id>`")
}

/// A rule for a video. The provider takes none as a `data:` URI.
pub(crate) fn check_video(source: &str, (): &()) -> garde::Result {
    let fits = matches!(Source::of(source), Some(Source::Link(_))) || is_asset(source);
    rule(fits, "expected an http(s) URL or `asset://<asset_id>` (a video cannot be embedded)")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_takes_links_and_assets_and_some_take_files() {
        for (source, alone, embedded) in [
            ("https://example.com/a.png", true, true),
            ("HTTP://example.com/a.png", true, true),
            ("https://example.com/a\u{1}.png", false, false),
            ("https:///a.png", false, false),
            ("ftp://example.com/a.png", false, false),
            ("data:image/png;base64,AAAA", false, true),
            ("DATA:image/png;Base64,AAAA", false, true),
            ("data:image/png,AAAA", false, false),
            ("data:image/png,iVBORw0KGgo=", false, true),
            ("data:image/png;base64,!!", false, false),
            ("blob:blob_1", false, true),
            ("asset://asset-1", true, true),
            ("ASSET://asset-1", false, false),
            ("asset://", false, false),
            ("asset:asset-1", false, false),
            ("asset://a b", false, false),
            ("", false, false),
            ("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ", false, true),
        ] {
            assert_eq!(check_video(source, &()).is_ok(), alone, "{source}");
            assert_eq!(check_file(source, &()).is_ok(), embedded, "{source}");
        }
    }
}
