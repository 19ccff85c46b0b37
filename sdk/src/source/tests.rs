//! Tables: the form of every source, base64, a provider's URLs.

use super::*;
use crate::contract::media::MediaKind;

fn link(is_https: bool, rest: &str) -> Option<Source<'_>> {
    Some(Source::Link(Link { is_https, rest }))
}

fn data<'a>(mime: &'a str, payload: &'a str) -> Option<Source<'a>> {
    Some(Source::Data(Data { mime, payload }))
}

#[test]
fn every_source_has_one_form() {
    let base64 = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ";
    let padded = format!("{base64}==");
    let overlong = format!("{base64}===");
    for (source, expected) in [
        ("https://example.com/a.png", link(true, "example.com/a.png")),
        ("HTTP://example.com", link(false, "example.com")),
        ("hTTps://Example.com/A", link(true, "Example.com/A")),
        ("https://?", link(true, "?")),
        ("https://", None),
        ("https:", None),
        ("https:/example.com", None),
        ("https:///a.png", None),
        ("https://example.com/a b", None),
        ("https://example.com/a\u{a0}b", None),
        ("data:image/png;base64,AAAA", data("image/png", "AAAA")),
        ("DATA:image/PNG;Base64,AAAA", data("image/PNG", "AAAA")),
        ("data:image/png;charset=x;base64,AAAA", data("image/png", "AAAA")),
        ("data:;base64,", data("", "")),
        ("data:;base64,a,b", data("", "a,b")),
        ("data:base64,AAAA", None),
        ("data:image/png,AAAA", None),
        ("data:image/png;base64", None),
        ("data:image/png;xbase64,AAAA", None),
        ("data:image/svg+xml,<svg/>", None),
        ("blob:01ARZ3NDEKTSV4RRFFQ69G5FAV", Some(Source::Blob)),
        ("asset://k7", Some(Source::Other { scheme: "asset", rest: "//k7" })),
        ("ASSET://k7", Some(Source::Other { scheme: "ASSET", rest: "//k7" })),
        ("BLOB:1", Some(Source::Other { scheme: "BLOB", rest: "1" })),
        ("asset://a b", None),
        ("asset:", None),
        ("1a:b", None),
        (":b", None),
        (base64, Some(Source::Base64)),
        (&padded, Some(Source::Base64)),
        (&overlong, None),
        ("tooshort", None),
        ("cat.png", None),
        ("", None),
    ] {
        assert_eq!(Source::of(source), expected, "{source}");
    }
}

#[test]
fn base64_is_of_either_alphabet() {
    for text in ["A", "AA==", "AAA=", "ab+/", "ab-_", "iVBORw0KGgo="] {
        assert!(is_base64(text), "{text}");
    }
    for text in ["", "=", "==", "A===", "A=A", "a b", "a,b", "\u{e9}"] {
        assert!(!is_base64(text), "{text}");
    }
}

#[test]
fn control_characters_are_told() {
    let plain = |source: &str| matches!(Source::of(source), Some(Source::Link(link)) if link.is_plain());
    assert!(plain("https://example.com/a"));
    assert!(!plain("https://example.com/a\u{1}"));
}

#[test]
fn a_blob_is_one_of_this_request() {
    let own = Facts { blob: Some("blob:1".to_owned()), ..Facts::new(MediaKind::Image, "image/png", 9) };
    let blobs = [Facts::new(MediaKind::Image, "image/png", 1), own];
    assert_eq!(blob("blob:1", &blobs).map(|facts| facts.bytes), Some(9));
    assert_eq!(blob("blob:2", &blobs), None);
    assert_eq!(blob("BLOB:1", &blobs), None);
}

#[test]
fn a_providers_url_has_a_scheme_and_no_gaps() {
    for (text, expected) in [
        ("https://cdn.example.com/a.png", true),
        ("http://cdn.example.com/a.png?x=1", true),
        ("HTTPS://cdn.example.com/a.png", false),
        ("//cdn.example.com/a.png", false),
        ("https://cdn.example.com/a b", false),
        ("https://cdn.example.com\\@e.com", false),
        ("https://cdn.example.com/\u{7f}", false),
        ("blob:1", false),
        ("", false),
    ] {
        assert_eq!(is_url(text), expected, "{text}");
    }
}

/// Without it a result that was paid is lost for the way its link is written.
#[test]
fn a_result_is_found_however_its_link_is_written() {
    for (text, expected) in [
        (" https://cdn.example.com/a.png\n", Some("https://cdn.example.com/a.png")),
        ("HTTPS://cdn.example.com/A.png", Some("https://cdn.example.com/A.png")),
        ("https://cdn.example.com/my film.mp4?s=a+b", Some("https://cdn.example.com/my%20film.mp4?s=a+b")),
        (
            "https://cdn.example.com/\u{98ce}\u{7b5d}.mp4",
            Some("https://cdn.example.com/\u{98ce}\u{7b5d}.mp4"),
        ),
        ("//cdn.example.com/a.png", Some("https://cdn.example.com/a.png")),
        ("blob:7", Some("blob:7")),
        ("DATA:image/png;base64,AAAA", Some("data:image/png;base64,AAAA")),
        ("/a.png", None),
        ("a.png", None),
        ("ftp://cdn.example.com/a.png", None),
        ("https://cdn.example.com/\u{7f}", None),
        ("", None),
    ] {
        assert_eq!(result(text).as_deref(), expected, "{text}");
    }
}
