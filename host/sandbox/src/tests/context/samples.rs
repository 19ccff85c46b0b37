//! The sample files, good and bad.

use image::ImageFormat;

use crate::tests::client::{End, TestSandbox, call, fetch};

#[tokio::test]
async fn pictures_of_any_size() {
    let test = TestSandbox::start().await;
    let samples = &test.sandbox.context().samples;
    for (name, kind, width, height) in [
        ("640x480.png", ImageFormat::Png, 640, 480),
        ("1x2000.jpeg", ImageFormat::Jpeg, 1, 2000),
        ("333x77.webp", ImageFormat::WebP, 333, 77),
    ] {
        let file = fetch(&format!("{samples}/samples/{name}")).await;
        assert_eq!(file.header("content-type"), kind.to_mime_type(), "{name}");
        let image = image::load_from_memory_with_format(&file.body, kind).expect("a sound image");
        assert_eq!((image.width(), image.height()), (width, height), "{name}");
        assert_eq!(fetch(&format!("{samples}/samples/{name}")).await.body, file.body);
    }
}

#[tokio::test]
async fn answers() {
    let test = TestSandbox::start().await;
    let samples = &test.sandbox.context().samples;
    let here = |path: &str| format!("{samples}{path}");
    for (path, status, location) in [
        ("/samples/not-an-image", 200, String::new()),
        ("/samples/missing", 404, String::new()),
        ("/samples/", 404, String::new()),
        ("/", 404, String::new()),
        ("/samples/9999x9999.png", 404, String::new()),
        ("/samples/redirect", 302, here("/samples/64x64.png")),
        ("/samples/redirect?n=1", 302, here("/samples/64x64.png")),
        ("/samples/redirect?n=3", 302, here("/samples/redirect?n=2")),
        ("/samples/redirect-to-private", 302, "http://169.254.169.254/latest/meta-data/".to_owned()),
    ] {
        let reply = fetch(&here(path)).await;
        let seen = (reply.status, reply.header("content-type"), reply.header("location"));
        assert_eq!(seen, (status, "text/plain", location.as_str()), "{path}");
    }
    let posted = call("POST", &here("/samples/1x1.png"), &[], "").await.expect("a reply");
    assert_eq!((posted.status, posted.header("allow")), (405, "GET, HEAD"));
}

#[tokio::test]
async fn slow_files_arrive_whole() {
    let test = TestSandbox::start().await;
    let url = format!("{}/samples/slow?ms=40", test.sandbox.context().samples);
    let file = fetch(&url).await;
    assert_eq!(file.header("content-length"), file.body.len().to_string());
    assert_eq!(file.end, End::Whole);
    assert!(image::load_from_memory(&file.body).is_ok());
}

#[tokio::test]
async fn huge_files() {
    let test = TestSandbox::start().await;
    let samples = &test.sandbox.context().samples;
    for (path, length) in [("huge", "33554432"), ("huge?length=none", "")] {
        let file = fetch(&format!("{samples}/samples/{path}")).await;
        assert_eq!((file.header("content-length"), file.body.len()), (length, 32 << 20), "{path}");
        assert!(file.body.starts_with(b"\x89PNG"));
    }
}
