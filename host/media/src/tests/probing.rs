//! Probes: the facts, and the words a client reads when there are none.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use gatehouse_model::{BlobId, Facts, Finding, MediaKind, Probe};

use super::*;
use crate::media_store::TaskBlobs;

async fn probe(test: &TestMedia, source: &str, keep: bool, blobs: &TaskBlobs) -> Finding {
    test.media.probe(&Probe { source: source.to_owned(), keep }, blobs).await.unwrap()
}

async fn facts(test: &TestMedia, source: &str) -> Result<Facts, String> {
    let blobs = test.media.blobs_of([]);
    let Finding { source: named, found } = probe(test, source, false, &blobs).await;
    assert_eq!(named, source);
    assert!(blobs.kept().is_empty(), "{source}");
    found
}

#[tokio::test]
async fn facts_come_from_wherever_the_bytes_are() {
    let server = serve(|_| (200, "text/plain", png(40, 30))).await;
    let test = TestMedia::new(&[server.address]);
    let base64 = STANDARD.encode(png(40, 30));
    for source in [(server.url() + "/a.png"), format!("data:text/plain;base64,{base64}"), base64.clone()] {
        let facts = facts(&test, &source).await.unwrap();
        assert_eq!((facts.kind, facts.mime.as_str()), (MediaKind::Image, "image/png"));
        assert_eq!((facts.width, facts.height, facts.blob), (Some(40), Some(30), None));
        assert_eq!(facts.bytes, png(40, 30).len() as u64);
    }
    assert_eq!(test.files(), Vec::<String>::new());
}

#[tokio::test]
async fn what_is_kept_is_the_tasks_own() {
    let server = serve(|_| (200, "image/png", png(40, 30))).await;
    let test = TestMedia::new(&[server.address]);
    let blobs = test.media.blobs_of([]);
    let found = probe(&test, &(server.url() + "/"), true, &blobs).await.found.unwrap();
    let id = blobs.kept()[0];
    assert_eq!(found.blob, Some(format!("blob:{id}")));
    let again = probe(&test, &format!("blob:{id}"), true, &blobs).await;
    assert_eq!((again.found, blobs.kept()), (Ok(found), vec![id]));
    let stranger = probe(&test, &format!("blob:{id}"), false, &test.media.blobs_of([])).await;
    assert_eq!(stranger.found, Err("it is not a file of this task".to_owned()));
}

/// Without it a client's picture of another size could not be sent to a provider that takes one size only.
#[tokio::test]
async fn a_picture_of_the_task_is_kept_in_other_pixels() {
    let server = serve(|_| (200, "image/png", png(40, 30))).await;
    let test = TestMedia::new(&[server.address]);
    let blobs = test.media.blobs_of([]);
    let name = probe(&test, &(server.url() + "/"), true, &blobs).await.found.unwrap().blob.unwrap();
    let found = probe(&test, &format!("{name}:png:64x48"), true, &blobs).await.found.unwrap();
    assert_eq!((found.mime.as_str(), found.width, found.height), ("image/png", Some(64), Some(48)));
    let scaled = found.blob.unwrap();
    let kept: Vec<_> = blobs.kept().iter().map(|id| format!("blob:{id}")).collect();
    assert_eq!(kept, [name.as_str(), scaled.as_str()]);
    let again = probe(&test, &scaled, true, &blobs).await;
    assert_eq!(again.found.unwrap().width, Some(64), "it is a blob of the task");
    for (source, blobs, reason) in [
        (format!("{name}:png:64"), &blobs, "its pixels must be <width>x<height>"),
        (format!("{name}:png:0x1"), &blobs, "a picture of 0 x 1 pixels cannot be made"),
        (format!("{name}:png:8x8"), &test.media.blobs_of([]), "it is not a file of this task"),
        ("blob:x:png:8x8".to_owned(), &blobs, "it is not a file of this task"),
    ] {
        let finding = probe(&test, &source, true, blobs).await;
        assert_eq!(finding.found, Err(reason.to_owned()), "{source}");
    }
}

#[tokio::test]
async fn what_cannot_be_had_is_told_in_plain_words() {
    let server = serve(|path| match path {
        "/gone" => (404, "text/html", b"<html>".to_vec()),
        "/page" => (200, "image/png", b"<html>".to_vec()),
        _ => (200, "audio/flac", [b"fLaC".to_vec(), vec![0; 1024 * 1024]].concat()),
    })
    .await;
    let test = TestMedia::new(&[server.address]);
    let unusable = |source: &str| format!("expected an http(s) URL, a data: URI or base64, got {source:?}");
    let stranger = format!("blob:{}", BlobId::new(UnixMs(NEW_YEAR), &TestSeed::default()));
    let too_large = STANDARD.encode(vec![0; 1024 * 1024 + 4]);
    for (source, reason) in [
        ((server.url() + "/gone").as_str(), "could not be fetched: the server answered 404"),
        (&(server.url() + "/large"), "could not be fetched: it is larger than 1 MiB"),
        ("http://127.0.0.1/x", "could not be fetched: 127.0.0.1 is not a public address or does not exist"),
        (
            "http://example.com:22/",
            "could not be fetched: not a URL that can be fetched: only ports 80 and 443 are allowed",
        ),
        ("ftp://example.com/a.png", &unusable("ftp://example.com/a.png")),
        ("file:///etc/passwd", &unusable("file:///etc/passwd")),
        ("no picture at all!", &unusable("no picture at all!")),
        ("", &unusable("")),
        ("data:image/png;base64,@@@@", "the data: URI does not hold valid base64"),
        ("data:image/png;base64,", "the data: URI does not hold valid base64"),
        ("data:image/svg+xml,<svg/>", "a data: URI must be data:<type>;base64,<data>"),
        (&too_large, "it is larger than 1 MiB"),
        (&stranger, "it is not a file of this task"),
        ("blob:../../etc/passwd", "it is not a file of this task"),
    ] {
        assert_eq!(facts(&test, source).await, Err(reason.to_owned()), "{}", &source[..source.len().min(60)]);
    }
    // Not media, but there: that is for the family to judge.
    assert_eq!(facts(&test, &(server.url() + "/page")).await.unwrap().kind, MediaKind::Other);
}

#[tokio::test]
async fn our_own_links_are_read_without_a_request() {
    let server = serve(|_| (200, "image/png", png(1, 1))).await;
    let test = TestMedia::new(&[server.address]);
    let media = saved(&test, &png(64, 48)).await;
    for base in ["http://127.0.0.1:9", "https://gateway.example.com"] {
        let link = test.media.link(base, &media);
        assert_eq!(facts(&test, &link).await.unwrap().width, Some(64), "{base}");
    }
    // What may be fetched elsewhere is less (1 MiB here).
    let mut large = png(64, 48);
    large.resize((2 << 20) - 8, 0);
    large.extend(b"IEND\xae\x42\x60\x82");
    let link = test.media.link("http://127.0.0.1", &saved(&test, &large).await);
    let found = facts(&test, &link).await.unwrap();
    assert_eq!((found.width, found.bytes), (Some(64), 2 << 20));
    // A link that is not ours is fetched like any other.
    let forged = test.media.link(&server.url(), &media).replace("signature=", "signature=0");
    assert_eq!(facts(&test, &forged).await.unwrap().width, Some(1));
    assert_eq!(server.received().len(), 1);
    test.clock.advance_ms(24 * HOUR);
    let ended = facts(&test, &test.media.link("http://127.0.0.1", &media)).await;
    assert_eq!(
        ended,
        Err("could not be fetched: 127.0.0.1 is not a public address or does not exist".to_owned())
    );
}
