//! Copies of results: whole, typed by their bytes, or not there at all; and a cut request arriving whole upstream.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use gatehouse_model::{Call, Media, Payload, Product, Reading, Replay, Target};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;

async fn save(test: &TestMedia, source: &str, mime: Option<&str>) -> Result<Media, String> {
    let product = Product { source: source.to_owned(), mime: mime.map(str::to_owned), edit: None };
    super::save(test, &product).await
}

#[tokio::test]
async fn a_result_is_copied_whole_whatever_its_size() {
    let server = serve(|path| (200, "application/octet-stream", picture(path[1..].parse().unwrap()))).await;
    let test = TestMedia::new(&[server.address]);
    for size in [100, 64 * 1024, 5 * 1024 * 1024 - 1, 5 * 1024 * 1024, 7 * 1024 * 1024] {
        let media = save(&test, &format!("{}/{size}", server.url()), Some("image/jpeg")).await.unwrap();
        assert_eq!((media.mime.as_str(), media.bytes), ("image/png", size as u64));
        assert_eq!(media.expires, UnixMs(NEW_YEAR + 24 * HOUR));
        assert!(content(&test, &media).await == picture(size), "{size}");
    }
    let files = test.files();
    assert_eq!(files.len(), 5);
    assert!(
        files.iter().all(|file| file.starts_with("media/20455/1767312000-m_") && file.ends_with(".png")),
        "{files:?}"
    );
}

/// The customer would pay for a picture that no program opens.
#[tokio::test]
async fn a_file_that_is_not_whole_is_lost_and_nothing_is_kept() {
    let test = TestMedia::new(&[]);
    let cut = &picture(3_000)[..2_000];
    let mut empty = png(9, 9);
    empty[16..24].copy_from_slice(&[0x80, 0, 0, 0, 0x80, 0, 0, 0]);
    for file in [cut, empty.as_slice()] {
        let source = format!("data:image/png;base64,{}", STANDARD.encode(file));
        let error = save(&test, &source, None).await.unwrap_err();
        assert!(error.starts_with("the result is not whole"), "{error}");
    }
    assert!(test.files().is_empty());
}

#[tokio::test]
async fn a_result_in_hand_is_copied_too() {
    let test = TestMedia::new(&[]);
    let source = format!("data:image/webp;base64,{}", STANDARD.encode(png(9, 9)));
    let media = save(&test, &source, None).await.unwrap();
    assert_eq!((media.mime.as_str(), content(&test, &media).await), ("image/png", png(9, 9)));
}

#[tokio::test]
async fn what_is_no_result_is_lost_with_a_reason() {
    let cut_at = serve_connections(|mut stream| async move {
        let mut head = [0; 4096];
        let _ = stream.read(&mut head).await;
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 9000000\r\n\r\n").await;
        let _ = stream.write_all(&picture(6_000_000)).await;
    })
    .await;
    let server = serve(|path| match path {
        "/page" => (200, "image/png", b"<!doctype html><title>expired</title>".to_vec()),
        "/empty" => (200, "image/png", vec![]),
        "/dead" => (403, "application/xml", b"<Error/>".to_vec()),
        _ => (200, "image/png", picture(7 * 1024 * 1024 + 1)),
    })
    .await;
    let test = TestMedia::new(&[server.address]);
    let broken = TestMedia::with(&[cut_at], Config::default());
    for (test, source, reason) in [
        (&test, (server.url() + "/page"), "the result is not image/png: its bytes are of no known kind".to_owned()),
        (&test, (server.url() + "/empty"), "the result is empty".to_owned()),
        (&test, (server.url() + "/dead"), "the result could not be fetched: the server answered 403".to_owned()),
        (&test, (server.url() + "/large"), "the result could not be fetched: it is larger than 7 MiB".to_owned()),
        (
            &test,
            format!("http://{cut_at}/"),
            format!("the result could not be fetched: http://{cut_at} is not among the provider's media origins"),
        ),
        (
            &test,
            "http://169.254.169.254/".to_owned(),
            "the result could not be fetched: http://169.254.169.254:80 is not among the provider's media origins".to_owned(),
        ),
        (
            &broken,
            format!("http://{cut_at}/"),
            "for now: the result could not be fetched: the connection broke before all of it had arrived".to_owned(),
        ),
        (&test, "data:image/png;base64,@@".to_owned(), "the result is not valid base64".to_owned()),
        (&test, "blob:blob_x".to_owned(), "the result is not a file of this task".to_owned()),
    ] {
        assert_eq!(save(test, &source, Some("image/png")).await, Err(reason), "{source}");
    }
    assert_eq!((test.files(), broken.files()), (vec![], vec![]));
}

#[tokio::test]
async fn a_cut_request_arrives_whole_at_the_provider() {
    let provider = Provider::start(|_| reply(200, &[], "")).await;
    let test = TestMedia::new(&[provider.address]);
    for size in [24_600, 100_000, 700_001, 700_002] {
        let uri = format!("data:image/png;base64,{}", STANDARD.encode(picture(size)));
        let json = format!(r#"{{"input":"{uri}","more":["{uri}"],"prompt":"x"}}"#);
        let cut = test.media.extract(json.clone().into()).await.unwrap();
        assert_eq!(cut.blobs.len(), 2);
        test.media.keep(&cut.blobs).await.unwrap();
        let call = Call {
            provider: "p".to_owned(),
            method: "POST".to_owned(),
            target: Target::Path("/".to_owned()),
            headers: vec![],
            body: Payload::Json(cut.json.clone().into_bytes()),
            timeout_ms: 20_000,
            replay: Replay::Once,
            affinity: None,
            reading: Reading::Whole,
            credentials: true,
            shared: None,
        };
        let upstream = &test.media.0.upstream;
        let blobs = test.media.blobs_of(cut.blobs.iter().map(|blob| blob.id));
        let slot = upstream.acquire_call("p", "main").unwrap();
        slot.call(&call, &blobs, UnixMs(u64::MAX)).await.unwrap();
        assert!(provider.received().last().unwrap().body == json, "{size}");
    }
}
