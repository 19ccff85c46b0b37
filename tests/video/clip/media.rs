//! References: what the host looks at, each limit from both sides, and how each mode reaches the provider.

use base64::Engine as _;
use gatehouse_harness::{message_of, run, send_to};
use serde_json::{Value, json};

use super::{seen, text};
use crate::faults::expect_all;
use crate::video::{TestGateway, film_of, with};

/// A completed task, or a failed one with these words.
type End = Result<(), &'static str>;

async fn check(gateway: &TestGateway, rows: Vec<(Value, End)>) {
    let looks = rows.into_iter().map(async |(fields, end)| {
        let task =
            gateway.finish(&text(with(json!({"resolution": "480p", "duration": 4}), fields.clone()))).await;
        let message = message_of(&task);
        let well = match end {
            Ok(()) => task["status"] == "completed" && film_of(&task).await.milliseconds == 4000,
            Err(words) => {
                let is_refunded = task["cost"] == 0.0;
                task["error"]["type"] == "invalid_request_error" && message.contains(words) && is_refunded
            }
        };
        if well { Ok(()) } else { Err(format!("{fields}: {task}")) }
    });
    expect_all(looks).await;
}

#[test]
fn images_have_limits() {
    run(async {
        let gateway = TestGateway::start().await;
        let urls = |names: &[&str]| json!({"image_urls": names.iter().map(|name| gateway.sample(name)).collect::<Vec<_>>()});
        #[rustfmt::skip]
        let rows = vec![
            (urls(&["300x300.png"]), Ok(())),
            (urls(&["299x300.png"]), Err("`image_urls[0]`: expected an image of 300 to 6000 pixels a side, got 299x300")),
            (urls(&["400x800.jpeg"]), Ok(())),
            (urls(&["399x800.jpeg"]), Err("`image_urls[0]`: expected an image whose width to height is 0.5 to 2.5, got 399x800")),
            (urls(&["1000x400.webp"]), Ok(())),
            (urls(&["300x300.png", "1001x400.webp"]), Err("`image_urls[1]`: expected an image whose width to height is 0.5 to 2.5")),
            (urls(&["640x640.png?bytes=31457280"]), Ok(())),
            (urls(&["640x640.png?bytes=31457281"]), Err("`image_urls[0]`: expected an image of at most 30 MB, got 31457281 bytes")),
            (urls(&["missing"]), Err("dependency unavailable: `image_urls[0]`: could not be fetched")),
            (urls(&["not-an-image"]), Err("`image_urls[0]`: expected an image")),
            (urls(&["5s.wav"]), Err("`image_urls[0]`: expected an image, got audio/wav")),
            (urls(&["redirect-to-private"]), Err("dependency unavailable: `image_urls[0]`: could not be fetched")),
        ];
        check(&gateway, rows).await;
        // A file in the request is known at once.
        let encoded = async |name: &str| {
            let file = send_to(&gateway.sample(name), &[]).await.body;
            format!("data:image/png;base64,{}", base64::engine::general_purpose::STANDARD.encode(&file))
        };
        let (good, bad) = (encoded("1600x1200.png").await, encoded("1600x400.png").await);
        assert!(good.len() > 8192 && bad.len() > 4096);
        let task = gateway.finish(&text(json!({"prompt": "an embedded kite", "image_urls": [good]}))).await;
        assert_eq!(task["status"], "completed", "{task}");
        let sent = seen(&gateway, "an embedded kite").body["content"][1]["image_url"]["url"].clone();
        assert!(sent.as_str().is_some_and(|url| url.starts_with("data:image/png;base64,(")), "{sent}");
        let body = text(json!({"image_urls": [bad]}));
        gateway
            .expect_refusal(&body, "`image_urls[0]`: expected an image whose width to height is 0.5 to 2.5")
            .await;
    });
}

#[test]
fn videos_have_limits() {
    run(async {
        let gateway = TestGateway::start().await;
        let urls = |names: &[&str]| json!({"video_urls": names.iter().map(|name| gateway.sample(name)).collect::<Vec<_>>()});
        let pixels = "expected a video of 480p to 720p (409600 to 927408 pixels)";
        let time = "`video_urls`: expected more than 1.8 s and less than 15.2 s of video together";
        #[rustfmt::skip]
        let rows = vec![
            (urls(&["640x640-5s.mp4"]), Ok(())),
            (urls(&["640x639-5s.mp4"]), Err(pixels)),
            (urls(&["1280x720-5s.mov"]), Ok(())),
            (urls(&["1112x834-5s-silent.mp4"]), Ok(())),
            (urls(&["1280x725-5s.mp4"]), Err(pixels)),
            (urls(&["1920x1080-5s.mp4"]), Err(pixels)),
            (urls(&["1600x400-5s.mp4"]), Err("`video_urls[0]`: expected a video whose width to height is 0.5 to 2.5")),
            (urls(&["1280x720-1801ms.mp4"]), Ok(())),
            (urls(&["1280x720-1800ms.mp4"]), Err(time)),
            (urls(&["1280x720-15199ms.mp4"]), Ok(())),
            (urls(&["1280x720-15200ms.mp4"]), Err(time)),
            (urls(&["1280x720-5s.mp4", "1280x720-5s.mp4", "1280x720-5199ms.mp4"]), Ok(())),
            (urls(&["1280x720-5s.mp4", "1280x720-5s.mp4", "1280x720-5200ms.mp4"]), Err(time)),
            (urls(&["1280x720-5s.mp4?bytes=52428800", "1280x720-5s.mov?bytes=52428800"]), Ok(())),
            (urls(&["1280x720-5s.mp4?bytes=52428801"]), Err("`video_urls[0]`: expected a video of at most 50 MB, got 52428801 bytes")),
            (urls(&["800x600.png"]), Err("`video_urls[0]`: expected a video, got image/png")),
        ];
        check(&gateway, rows).await;
    });
}

#[test]
fn audio_has_limits() {
    run(async {
        let gateway = TestGateway::start().await;
        let urls = |names: &[&str]| {
            let songs: Vec<_> = names.iter().map(|name| gateway.sample(name)).collect();
            json!({"image_urls": [gateway.sample("800x600.png")], "audio_urls": songs})
        };
        let time = "`audio_urls`: expected at most 15 s of audio together, got 15.201 s";
        #[rustfmt::skip]
        let rows = vec![
            (urls(&["5s.wav"]), Ok(())),
            (urls(&["5s.mp3"]), Ok(())),
            (urls(&["15s.wav"]), Ok(())),
            (urls(&["5s.mp3", "5s.mp3", "5s.mp3"]), Ok(())),
            (urls(&["15200ms.wav"]), Ok(())),
            (urls(&["15201ms.wav"]), Err(time)),
            (urls(&["5s.wav", "5s.wav", "5s.wav"]), Ok(())),
            (urls(&["5s.wav", "5s.wav", "5201ms.wav"]), Err(time)),
            (urls(&["5s.wav?bytes=15728640"]), Ok(())),
            (urls(&["5s.wav?bytes=15728641"]), Err("`audio_urls[0]`: expected an audio file of at most 15 MB, got 15728641 bytes")),
            (urls(&["5s.m4a"]), Err("`audio_urls[0]`: expected an audio file as WAV or MP3, got audio/mp4")),
            (urls(&["800x600.png"]), Err("`audio_urls[0]`: expected an audio file, got image/png")),
            // The provider takes no song of less than two seconds; its reason reaches the client.
            (urls(&["1s.wav"]), Err("1.8 to 15.2 seconds")),
        ];
        check(&gateway, rows).await;
    });
}

#[test]
fn each_mode_reaches_the_provider() {
    run(async {
        let gateway = TestGateway::start().await;
        let (day, night) = (gateway.sample("800x600.png"), gateway.sample("600x800.png"));
        let (film, song) = (gateway.sample("1280x720-5s.mp4"), gateway.sample("5s.wav"));
        let image =
            |url: &str, role: &str| json!({"type": "image_url", "image_url": {"url": url}, "role": role});
        let video = json!({"type": "video_url", "video_url": {"url": film}, "role": "reference_video"});
        let audio = json!({"type": "audio_url", "audio_url": {"url": song}, "role": "reference_audio"});
        let role = |url: &str, role: &str| json!({"url": url, "role": role});
        #[rustfmt::skip]
        let rows = [
            (json!({"image_urls": [day]}), vec![image(&day, "first_frame")]),
            (json!({"image_urls": [day, night]}), vec![image(&day, "reference_image"), image(&night, "reference_image")]),
            (json!({"image_urls": [day], "video_urls": [film]}), vec![image(&day, "reference_image"), video.clone()]),
            (json!({"image_urls": [day], "audio_urls": [song]}), vec![image(&day, "reference_image"), audio.clone()]),
            (json!({"video_urls": [film], "audio_urls": [song]}), vec![video.clone(), audio.clone()]),
            (json!({"image_with_roles": [role(&day, "first_frame")]}), vec![image(&day, "first_frame")]),
            (json!({"image_with_roles": [role(&day, "first_frame"), role(&night, "last_frame")]}), vec![image(&day, "first_frame"), image(&night, "last_frame")]),
            (json!({"image_with_roles": [role(&day, "reference_image")], "audio_urls": [song]}), vec![image(&day, "reference_image"), audio.clone()]),
            (json!({"image_urls": vec![day.clone(); 9]}), vec![image(&day, "reference_image"); 9]),
        ];
        for (number, (fields, expected)) in rows.into_iter().enumerate() {
            let prompt = format!("mode {number}");
            let task = gateway.finish(&text(with(fields, json!({"prompt": prompt})))).await;
            assert_eq!(task["status"], "completed", "{task}");
            let content = seen(&gateway, &prompt).body["content"].clone();
            assert_eq!(content.as_array().expect("a list")[1..], expected, "{prompt}");
        }
        let without = json!({"model": "clip-2.0-fast", "image_urls": [day]});
        assert_eq!(gateway.finish(&without).await["status"], "completed");
        assert_eq!(seen(&gateway, "").body["content"], json!([image(&day, "first_frame")]));
    });
}
