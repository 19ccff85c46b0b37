//! Tables: the form of every source, files in texts, a provider's URLs.

use super::*;
use crate::contract::media::MediaKind;

fn link(is_https: bool, rest: &str) -> Option<Source<'_>> {
    Some(Source::Link(Link { is_https, rest }))
}

const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ";

fn png() -> Option<Source<'static>> {
    let file = Embedded::read(PNG).expect("base64");
    assert_eq!((file.mime, file.base64.as_str(), file.bytes), (Some("image/png"), PNG, 33));
    Some(Source::Embedded(file))
}

#[test]
fn every_source_has_one_form() {
    for (source, expected) in [
        ("https://example.com/a.png", link(true, "example.com/a.png")),
        ("HTTP://example.com", link(false, "example.com")),
        ("hTTps://Example.com/A", link(true, "Example.com/A")),
        ("https://?", None),
        ("https://#a", None),
        ("https://:443/a", None),
        ("https://@e.com/a", None),
        ("https://example.com/a\u{1}", None),
        ("https://example.com\\@e.com/a", None),
        ("https://example.com/a.png\n", None),
        ("https://", None),
        ("https:", None),
        ("https:/example.com", None),
        ("https:///a.png", None),
        ("https://example.com/a b", None),
        ("https://example.com/a\u{a0}b", None),
        ("blob:01ARZ3NDEKTSV4RRFFQ69G5FAV", Some(Source::Blob)),
        ("asset://k7", Some(Source::Other { scheme: "asset", rest: "//k7" })),
        ("ASSET://k7", Some(Source::Other { scheme: "ASSET", rest: "//k7" })),
        ("BLOB:1", Some(Source::Other { scheme: "BLOB", rest: "1" })),
        ("asset://a b", None),
        ("asset:", None),
        ("1a:b", None),
        (":b", None),
        ("tooshort", None),
        ("cat.png", None),
        ("", None),
    ] {
        assert_eq!(Source::of(source), expected, "{source}");
    }
}

/// Without it a small file is refused, or fails its task, where a large one is taken, or the reverse.
#[test]
fn a_file_is_read_as_people_write_it() {
    let broken = format!("{}\r\n{}\r\n", &PNG[..20], &PNG[20..]);
    for source in [
        PNG.to_owned(),
        broken.clone(),
        format!("data:image/png;base64,{PNG}"),
        format!("DATA:image/JPEG;Base64,{PNG}"),
        format!("data:;base64,{broken}"),
        format!(" data:text/plain;charset=utf-8; base64 , {PNG}\n"),
        format!("data:image/png,{PNG}"),
        format!("data:base64,{PNG}"),
    ] {
        assert_eq!(Source::of(&source), png(), "{source}");
    }
    for source in [
        format!("{PNG}A"),
        format!("data:image/png;base64,{PNG}A"),
        format!("data:image/png;base64,{PNG}*"),
        "data:image/png;base64,".to_owned(),
        "data:image/png;base64".to_owned(),
        "data:image/png,AAAA".to_owned(),
        "data:image/svg+xml,<svg/>".to_owned(),
        // It tells no type, so it may be a word.
        "abcdefghijklmnopqrstuvwxyzabcdefghijklmnop".to_owned(),
    ] {
        assert_eq!(Source::of(&source), None, "{source}");
    }
    let text = Embedded::read("data:image/png;base64,aGVsbG8").expect("base64");
    assert_eq!(text.uri(), "data:application/octet-stream;base64,aGVsbG8=");
    assert_eq!(text.facts(), Facts::new(MediaKind::Other, "application/octet-stream", 5));
    for (base64, mime, kind) in [
        ("iVBORw0KGgo", "image/png", MediaKind::Image),
        ("Qk0QAAAAAAAAADYA", "image/bmp", MediaKind::Image),
        ("AAAAGGZ0eXBoZWlj", "image/heic", MediaKind::Image),
        ("AAAAGGZ0eXBpc29t", "video/mp4", MediaKind::Video),
        ("UklGRiQAAABXQVZF", "audio/wav", MediaKind::Audio),
        ("PHN2Zy8+", "image/svg+xml", MediaKind::Other),
        ("JVBERi0xLjQ", "application/pdf", MediaKind::Other),
    ] {
        let facts = Embedded::read(base64).expect("base64").facts();
        assert_eq!((facts.mime.as_str(), facts.kind), (mime, kind));
    }
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
