//! Cutting files out of requests: what is cut, what stays, and that nothing is lost.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use gatehouse_model::MediaKind;
use proptest::prelude::*;

use super::*;
use crate::ingest::extract;
use crate::ingest::extract::{Author, ExtractError, Extracted};

const MAX: u64 = 1024 * 1024;

fn cut_text(json: &str) -> Result<Extracted, ExtractError> {
    cut_text_of(Author::Client, json)
}

fn cut_text_of(author: Author, json: &str) -> Result<Extracted, ExtractError> {
    let clock = TestClock::skipping_pauses_at(NEW_YEAR);
    extract::extract(&json.into(), author, MAX, &*clock, &TestSeed::default())
}

fn uri(bytes: &[u8]) -> String {
    format!("data:image/png;base64,{}", STANDARD.encode(bytes))
}

/// The request with every blob written back as a `data:` URI.
fn restored(cut: &Extracted) -> String {
    let mut json = cut.json.to_string();
    for blob in &cut.blobs {
        let whole = format!("data:{};base64,{}", blob.facts.mime, STANDARD.encode(&blob.bytes));
        json = json.replace(&format!("blob:{}", blob.id), &whole);
    }
    json
}

#[test]
fn long_files_are_cut_however_they_are_written() {
    let bytes = picture(40_000);
    let base64 = STANDARD.encode(&bytes);
    let wrapped: Vec<&str> =
        base64.as_bytes().chunks(76).map(|line| std::str::from_utf8(line).unwrap()).collect();
    for text in [
        uri(&bytes),
        uri(&bytes).replace('/', "\\/"),
        uri(&bytes).replace('+', "\\u002b"),
        format!("DATA:;BASE64,{base64}"),
        format!(" data:text/plain;charset=utf-8; base64 , {base64}"),
        format!("data:image/png,{base64}"),
        base64.clone(),
        base64.trim_end_matches('=').to_owned(),
        URL_SAFE_NO_PAD.encode(&bytes),
        wrapped.join("\\n"),
        wrapped.join("\\r\\n"),
    ] {
        let cut = cut_text(&format!(r#"{{"image":"{text}","n":1}}"#)).unwrap();
        let [blob] = &cut.blobs[..] else { panic!("{}", &text[..60]) };
        assert_eq!(blob.bytes, bytes, "{}", &text[..60]);
        assert_eq!(cut.json, format!(r#"{{"image":"blob:{}","n":1}}"#, blob.id));
        assert_eq!(blob.facts.blob, Some(format!("blob:{}", blob.id)));
        assert_eq!(
            (blob.facts.kind, blob.facts.width, blob.facts.height),
            (MediaKind::Image, Some(3), Some(2))
        );
    }
}

#[test]
fn everything_else_stays() {
    let long = "a long story, ".repeat(4000);
    let key = "k".repeat(40_000);
    let signature = STANDARD.encode(vec![0x5a; 40_000]);
    let svg = format!("data:image/svg+xml,{}", "<svg/>".repeat(8000));
    for json in [
        String::new(),
        "{}".to_owned(),
        format!(r#"{{"prompt":"{long}"}}"#),
        format!(r#"{{"prompt":"{}"}}"#, "a".repeat(50_000)),
        format!(r#"{{"signature":"{signature}"}}"#),
        format!(r#"{{"image":"{svg}"}}"#),
        format!(r#"{{"{key}":1}}"#),
        format!(r#"{{"{}" : 1}}"#, uri(&picture(40_000))),
        format!(r#"{{"image":"{}"}}"#, uri(&picture(2_000))),
        format!(r#"{{"image":"{}"#, uri(&picture(40_000))),
        format!("\u{feff}{long}"),
    ] {
        let cut = cut_text(&json).unwrap();
        assert_eq!((cut.blobs.len(), cut.json), (0, json.into()));
    }
}

#[test]
fn what_does_not_decode_is_known_to_be_no_picture() {
    let broken = format!("data:image/png;base64,{}*", STANDARD.encode(picture(40_000)));
    let cut = cut_text(&format!("[\"{broken}\"]")).unwrap();
    assert_eq!(cut.blobs[0].facts.kind, MediaKind::Other);
    assert_eq!(cut.blobs[0].facts.mime, "application/octet-stream");
    assert_eq!(cut.blobs[0].facts.bytes, 0, "its text is no file");
    let broken = broken.replace("image/png", "application/pdf");
    assert_eq!(cut_text(&format!("[\"{broken}\"]")).unwrap().blobs[0].facts.mime, "application/octet-stream");
}

/// Without it a small picture is refused for what is mended in a large one.
#[test]
fn a_short_file_is_written_as_a_long_one_would_be() {
    let bytes = picture(600);
    let plain = STANDARD.encode(&bytes);
    let expected = format!(r#"["{}"]"#, uri(&bytes));
    for written in [
        format!("data:image/png;base64,{}\\n{}", &plain[..76], &plain[76..]),
        format!("data:image/png;base64,{}", URL_SAFE_NO_PAD.encode(&bytes)),
        format!("data:image/jpeg;base64,{plain}"),
        format!("DATA:IMAGE/PNG;BASE64,{plain}"),
        format!(" data:image/png; base64, {plain}\\n"),
        format!("\\tdata:image/png;charset=x;base64 ,{}", plain.replace('=', "%3D")),
        format!("data:image/png;base64,{plain}"),
        format!("data:image/png,{plain}"),
        format!("data:base64,{plain}"),
    ] {
        let cut = cut_text(&format!(r#"["{written}"]"#)).unwrap();
        assert_eq!((cut.blobs.len(), &*cut.json), (0, expected.as_str()), "{written}");
    }
    for kept in [
        r#"["data:image/png;base64,*"]"#,
        r#"["data: a kite","data:,x"]"#,
        r#"["data:text/plain;charset=utf-8;base64,aGVsbG8="]"#,
    ] {
        assert_eq!(&*cut_text(kept).unwrap().json, kept);
    }
}

/// Without it a file that no program opens is accepted, and its task fails at the provider.
#[test]
fn a_file_that_is_cut_short_is_no_medium_at_any_size() {
    for length in [600, 40_000] {
        let file = [&b"RIFF"[..], &1_000_000_u32.to_le_bytes(), b"WEBPVP8 ", &vec![7; length]].concat();
        let base64 = STANDARD.encode(&file);
        for text in [uri(&file), base64.clone(), URL_SAFE_NO_PAD.encode(&file)] {
            let cut = cut_text(&format!(r#"{{"image":"{text}"}}"#)).unwrap();
            let [blob] = &cut.blobs[..] else { panic!("{length}: {}", cut.json) };
            let known = (blob.facts.kind, blob.facts.mime.as_str(), blob.facts.bytes);
            assert_eq!(known, (MediaKind::Other, "application/x-truncated-webp", file.len() as u64));
        }
        let reply = cut_text_of(Author::Provider, &format!(r#"["{}"]"#, uri(&file)));
        assert!(reply.unwrap().blobs.iter().all(|blob| blob.facts.kind == MediaKind::Image));
    }
    let text = format!(r#"{{"text":"{}"}}"#, &STANDARD.encode(picture(600))[..400]);
    assert_eq!(&*cut_text(&text).unwrap().json, text, "a text is a text");
}

/// Without it a provider fetches for a client what the gateway itself would not.
#[tokio::test]
async fn links_that_no_provider_is_handed_are_told() {
    let server = serve(|_| (200, "image/png", png(1, 1))).await;
    let test = TestMedia::new(&[server.address]);
    let own = test.media.link("http://127.0.0.1:8080", &saved(&test, &png(64, 48)).await);
    let links = [&server.url(), &own, "https://example.com/a.png", "http://10.0.0.1/", "http://[kite/a.png"];
    let cut = test.media.extract(serde_json::json!({"image_urls": links}).to_string().into()).await.unwrap();
    let told: Vec<_> = cut.bad_links.iter().map(|bad| (bad.field.as_str(), bad.reason.as_str())).collect();
    assert_eq!(
        told,
        [
            ("image_urls[3]", "could not be fetched: 10.0.0.1 is not a public address or does not exist"),
            ("image_urls[4]", "could not be fetched: not a URL that can be fetched: it does not parse"),
        ]
    );
    assert_eq!(cut.bad_links[0].link, "http://10.0.0.1/");
}

/// Without it a client's text is taken for a file of the gateway when it is sent, and the request fails as if a plugin were at fault.
#[test]
fn a_text_that_is_a_blobs_name_is_refused() {
    let id = NewBlob::new(BlobId::new(UnixMs(NEW_YEAR), &TestSeed::default()), Bytes::new()).id;
    let escaped: String = format!("blob:{id}").bytes().map(|byte| format!("\\u{byte:04x}")).collect();
    for text in [
        format!("blob:{id}"),
        format!("blob:{id}:base64"),
        format!("blob:{id}:text"),
        format!("\\u0062lob:{id}"),
        escaped,
    ] {
        let json = format!("{{\"prompt\":\"{text}\"}}");
        assert_eq!(cut_text(&json), Err(ExtractError::BlobName), "{text}");
        let answer = cut_text_of(Author::Provider, &json);
        assert_eq!(answer.map(|cut| cut.json), Ok(json.into()), "a provider's is left");
    }
    for text in [
        format!("see blob:{id}"),
        format!("blob:{id}0"),
        "blob:x".to_owned(),
        "blob:blob_short".to_owned(),
        format!("blob_{id}"),
    ] {
        let json = format!("{{\"blob:{id}\":\"{text}\"}}");
        assert_eq!(cut_text(&json).map(|cut| cut.json), Ok(json.into()), "{text}");
    }
}

/// Without it a document leaves for the provider under a type that it refuses.
#[test]
fn a_document_keeps_its_type() {
    let pdf = [b"%PDF-1.7\n".as_slice(), &[7; 9_000]].concat();
    let svg = [b"<svg xmlns='http://www.w3.org/2000/svg'>".as_slice(), &[b' '; 9_000]].concat();
    let drawn = [b"<?xml version='1.0'?>\n<!-- drawn -->".as_slice(), &svg].concat();
    for (declared, bytes, mime) in [
        ("application/pdf", &pdf, "application/pdf"),
        ("application/octet-stream", &pdf, "application/pdf"),
        ("image/png", &svg, "image/svg+xml"),
        ("image/svg+xml", &drawn, "image/svg+xml"),
        ("Text/Plain;charset=utf-8", &vec![b'a'; 9_000], "text/plain"),
        ("image/png", &vec![b'a'; 9_000], "application/octet-stream"),
        ("", &vec![b'a'; 9_000], "application/octet-stream"),
    ] {
        let cut = cut_text(&format!("[\"data:{declared};base64,{}\"]", STANDARD.encode(bytes))).unwrap();
        assert_eq!(cut.blobs[0].facts.mime, mime, "{declared}");
    }
}

#[test]
fn limits_hold_on_both_sides() {
    let largest = uri(&picture(usize::try_from(MAX).unwrap()));
    assert_eq!(cut_text(&format!("[\"{largest}\"]")).unwrap().blobs.len(), 1);
    let larger = uri(&picture(usize::try_from(MAX).unwrap() + 4));
    assert_eq!(cut_text(&format!("[\"{larger}\"]")), Err(ExtractError::TooLarge(MAX)));
    assert_eq!(ExtractError::TooLarge(MAX).to_string(), "an embedded file is larger than 1 MiB");
    let one = format!("\"{}\"", uri(&picture(30_000)));
    assert_eq!(cut_text(&format!("[{}]", vec![one.as_str(); 64].join(","))).unwrap().blobs.len(), 64);
    assert_eq!(cut_text(&format!("[{}]", vec![one.as_str(); 65].join(","))), Err(ExtractError::TooMany(64)));
}

#[tokio::test]
async fn large_requests_are_cut_the_same_way() {
    let test = TestMedia::new(&[]);
    let json = format!("[\"{0}\",\"{0}\"]", uri(&picture(700_000)));
    let cut = test.media.extract(json.clone().into()).await.unwrap();
    assert_eq!(cut.blobs.len(), 2);
    assert_ne!(cut.blobs[0].id, cut.blobs[1].id);
    assert_eq!(restored(&cut), json);
}

fn value() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        "[\"\\\\/:,{}a\u{e9}\n]{0,12}".prop_map(serde_json::Value::from),
        any::<i64>().prop_map(serde_json::Value::from),
        (24_600_usize..30_000).prop_map(|length| uri(&picture(length)).into()),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(serde_json::Value::from),
            proptest::collection::btree_map("[\"\\\\:a]{0,4}", inner, 0..4)
                .prop_map(|fields| fields.into_iter().collect::<serde_json::Map<_, _>>().into()),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Extracted and written back, a request is the same, byte by byte; what is left is valid JSON.
    #[test]
    fn cutting_loses_nothing(value in value()) {
        let json = value.to_string();
        let cut = cut_text(&json).unwrap();
        serde_json::from_str::<serde_json::Value>(&cut.json).unwrap();
        prop_assert!(cut.json.len() < 32 * 1024 + 4096);
        prop_assert_eq!(restored(&cut), json);
    }

    #[test]
    fn broken_requests_do_no_harm(value in value(), at in any::<proptest::sample::Index>(), byte: u8) {
        let mut json = value.to_string().into_bytes();
        let at = at.index(json.len());
        json[at] = byte;
        let cut = |json: &[u8]| drop(cut_text(&String::from_utf8_lossy(json)));
        cut(&json);
        json.truncate(at);
        cut(&json);
    }
}
