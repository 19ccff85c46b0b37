//! Rules that only the media can decide, each limit from both sides.

use futures_util::future::join_all;
use gatehouse_harness::{message_of, run};
use serde_json::{Value, json};

use super::{text26, text27};
use crate::video::TestGateway;

const UNAVAILABLE: &str =
    "dependency unavailable: an image, video or sound of the request could not be fetched";

/// Submits all at once; gives each task at its end.
async fn ends(gateway: &TestGateway, bodies: &[Value]) -> Vec<Value> {
    join_all(bodies.iter().map(|body| gateway.finish(body))).await
}

/// Completed, or failed as a request, before anything was sent, with these words.
fn check(body: &Value, task: &Value, expected: Option<&str>) {
    match expected {
        None => assert_eq!(task["status"], "completed", "{body}: {task}"),
        Some(words) => {
            assert!(task["status"] == "failed" && task["cost"] == 0.0, "{body}: {task}");
            assert_eq!(task["error"]["type"], "invalid_request_error", "{body}: {task}");
            assert!(message_of(task).contains(words), "{body}: {task}");
        }
    }
}

#[test]
fn media_have_limits() {
    run(async {
        let gateway = TestGateway::start().await;
        a_video_to_continue_has_limits(&gateway).await;
        a_sound_of_motion_26_is_not_longer_than_the_video(&gateway).await;
        what_the_provider_finds_in_the_media_fails_the_task(&gateway).await;
        gateway.process.expect_sound_ledger().await;
    });
}

async fn a_video_to_continue_has_limits(gateway: &TestGateway) {
    #[rustfmt::skip]
        let rows = [
            ("640x480-2s.mp4", 5, None),
            ("640x480-1999ms.mp4", 5, Some("`video_urls[0]`: expected a video of 2 to 10 s, got 1.999 s")),
            ("640x480-10s-silent.mov", 15, None),
            ("640x480-10001ms.mp4", 15, Some("`video_urls[0]`: expected a video of 2 to 10 s, got 10.001 s")),
            ("240x1920-3s.mp4", 5, None),
            ("239x1000-3s.mp4", 5, Some("expected width and height of 240 to 4096 pixels, got 239x1000")),
            ("1000x239-3s.mp4", 5, Some("expected width and height of 240 to 4096 pixels, got 1000x239")),
            ("4096x512-3s.mp4", 5, None),
            ("4097x600-3s.mp4", 5, Some("expected width and height of 240 to 4096 pixels, got 4097x600")),
            ("600x4097-3s.mp4", 5, Some("expected width and height of 240 to 4096 pixels, got 600x4097")),
            ("4096x511-3s.mp4", 5, Some("expected a ratio of width to height between 1:8 and 8:1, got 4096:511")),
            ("240x1922-3s.mp4", 5, Some("expected a ratio of width to height between 1:8 and 8:1, got 240:1922")),
            ("640x480-3s.mp4?bytes=104857600", 5, None),
            ("640x480-3s.mp4?bytes=104857601", 5, Some("100 MB")),
            // The length is that of the whole.
            ("640x480-4999ms.mp4", 5, None),
            ("640x480-5s.mp4", 5, Some("`duration`: expected more seconds than the video to continue has (5)")),
            ("640x480-9s.mp4", 5, Some("`duration`: expected more seconds than the video to continue has (9)")),
            ("512x512.png", 5, Some("`video_urls[0]`: expected an mp4 or mov video, got image/png")),
            ("3s.m4a", 5, Some("`video_urls[0]`: expected an mp4 or mov video, got audio/mp4")),
            ("not-an-image", 5, Some("`video_urls[0]`: expected an mp4 or mov video")),
            ("missing", 5, Some("dependency unavailable: `video_urls[0]`: could not be fetched: the server answered 404")),
            ("redirect-to-private", 5, Some("dependency unavailable: `video_urls[0]`: could not be fetched")),
        ];
    let bodies: Vec<Value> = rows
        .iter()
        .map(|(name, duration, _)| {
            let clip = gateway.sample(name);
            json!({"model": "motion-2.7", "video_urls": [clip], "duration": duration})
        })
        .collect();
    for ((body, task), (_, _, expected)) in bodies.iter().zip(ends(gateway, &bodies).await).zip(rows) {
        check(body, &task, expected);
    }
    let good = rows.iter().filter(|(_, _, expected)| expected.is_none()).count();
    let record = gateway.sandbox.dashscope_record();
    assert_eq!((record.accepted, record.declined), (good as u64, vec![]), "the rest was never sent");
}

async fn a_sound_of_motion_26_is_not_longer_than_the_video(gateway: &TestGateway) {
    #[rustfmt::skip]
        let rows = [
            ("3s.wav", 5, None),
            ("5s.wav", 5, None),
            ("5s.mp3", 5, None),
            ("5s.m4a", 5, None),
            ("5200ms.wav", 5, None),
            ("5201ms.wav", 5, Some("`audio_url`: expected a sound of at most `duration`, 5 s, got 5.201 s")),
            ("6s.wav", 5, Some("`audio_url`: expected a sound of at most `duration`, 5 s, got 6 s")),
            ("6s.mp3", 5, Some("`audio_url`: expected a sound of at most `duration`, 5 s, got 6 s")),
            ("6s.m4a", 5, Some("`audio_url`: expected a sound of at most `duration`, 5 s, got 6 s")),
            ("6s.m4a", 10, None),
            ("15s.wav", 15, None),
            ("16s.wav", 15, Some("`audio_url`: expected a sound of at most `duration`, 15 s, got 16 s")),
            ("640x480-3s.mp4", 5, Some("`audio_url`: expected a sound file, got video/mp4")),
            ("missing", 5, Some("dependency unavailable: `audio_url`: could not be fetched: the server answered 404")),
        ];
    let bodies: Vec<Value> = rows
        .iter()
        .map(|(name, duration, _)| text26(json!({"audio_url": gateway.sample(name), "duration": duration})))
        .collect();
    for ((body, task), (_, _, expected)) in bodies.iter().zip(ends(gateway, &bodies).await).zip(rows) {
        check(body, &task, expected);
    }
}

async fn what_the_provider_finds_in_the_media_fails_the_task(gateway: &TestGateway) {
    let image = |name| json!({"model": "motion-2.6", "image_urls": [gateway.sample(name)]});
    let rows = [
        (image("239x512.png"), Some("the upstream refused the request: The sides of the image")),
        (image("missing"), Some(UNAVAILABLE)),
        (json!({"model": "motion-2.6", "image_urls": ["https://nohost.invalid/x.png"]}), Some(UNAVAILABLE)),
        (text27(json!({"image_urls": ["https://nohost.invalid/x.png"]})), Some(UNAVAILABLE)),
        (image("huge"), Some("the upstream refused the request: The image must not be larger than 10 MB.")),
        (image("not-an-image"), Some("the upstream refused the request: The format of the file")),
        (
            text27(json!({"audio_url": gateway.sample("31s.wav")})),
            Some("the upstream refused the request: The length of the audio"),
        ),
    ];
    let bodies: Vec<Value> = rows.iter().map(|(body, _)| body.clone()).collect();
    for ((body, task), (_, expected)) in bodies.iter().zip(ends(gateway, &bodies).await).zip(&rows) {
        check(body, &task, *expected);
    }
}
