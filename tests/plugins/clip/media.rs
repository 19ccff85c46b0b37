//! What references must be: each limit from both sides, when the host has looked at them.

use clip::VIDEOS;
use gatehouse_sdk::{Blame, Facts, MediaKind, Submission};
use gatehouse_testkit::Script;
use serde_json::{Value, json};

use crate::clip::{accepted, audio, body, image, play, video};

const URL: &str = "https://example.com/a";
const MB: u64 = 1024 * 1024;

fn looked_at(fields: Value, facts: Vec<Facts>) -> Script {
    accepted(fields).start().expect_probe(|_| ()).probed(facts.into_iter().map(Ok))
}

fn good(fields: Value, facts: Vec<Facts>) {
    play(&looked_at(fields, facts).expect_call(|call| assert_eq!(call.method, "POST")));
}

fn bad(fields: Value, facts: Vec<Facts>, message: &str) {
    play(&looked_at(fields, facts).expect_fail(Blame::Request, message));
}

fn of_type(facts: Facts, mime: &str) -> Facts {
    Facts { mime: mime.to_owned(), ..facts }
}

fn of_bytes(facts: Facts, bytes: u64) -> Facts {
    Facts { bytes, ..facts }
}

#[test]
fn ratios_are_half_to_two_and_a_half() {
    let one = || json!({"image_urls": [URL]});
    for (width, height) in [(400, 800), (1000, 400), (300, 300), (6000, 6000), (6000, 2400), (3000, 6000)] {
        good(one(), vec![image(width, height)]);
    }
    for (width, height) in [(399, 800), (1001, 400), (400, 1600)] {
        let message = format!(
            "`image_urls[0]`: expected an image whose width to height is 0.5 to 2.5, got {width}x{height}"
        );
        bad(one(), vec![image(width, height)], &message);
    }
    for (width, height) in [(299, 400), (400, 299), (6001, 6000), (6000, 6001)] {
        let message =
            format!("`image_urls[0]`: expected an image of 300 to 6000 pixels a side, got {width}x{height}");
        bad(one(), vec![image(width, height)], &message);
    }
    let roles = json!({"image_with_roles": [{"url": URL, "role": "reference_image"}]});
    let message =
        "`image_with_roles[0].url`: expected an image whose width to height is 0.5 to 2.5, got 300x900";
    bad(roles, vec![image(300, 900)], message);
}

#[test]
fn videos_are_480p_to_720p() {
    let one = || json!({"video_urls": [URL]});
    for (width, height) in [(640, 640), (864, 496), (496, 864), (1280, 720), (834, 1112)] {
        good(one(), vec![video(width, height, 5000)]);
    }
    for (width, height) in [(640, 639), (1280, 725), (1920, 1080), (426, 240)] {
        let pixels = width * height;
        let message = format!(
            "`video_urls[0]`: expected a video of 480p to 720p (409600 to 927408 pixels), got {width}x{height} \
             ({pixels} pixels)"
        );
        bad(one(), vec![video(width, height, 5000)], &message);
    }
    let message = "`video_urls[0]`: expected a video whose width to height is 0.5 to 2.5, got 1700x500";
    bad(one(), vec![video(1700, 500, 5000)], message);
}

#[test]
fn videos_have_a_time_together() {
    let of = |lengths: &[u64]| {
        let fields = json!({"video_urls": vec![URL; lengths.len()]});
        (fields, lengths.iter().map(|ms| video(1280, 720, *ms)).collect::<Vec<_>>())
    };
    for lengths in [&[1801][..], &[15_199], &[900, 901], &[5000, 5000, 5199]] {
        let (fields, facts) = of(lengths);
        good(fields, facts);
    }
    for (lengths, sum) in [
        (&[1800][..], "1.800"),
        (&[15_200], "15.200"),
        (&[900, 900], "1.800"),
        (&[5000, 5000, 5200], "15.200"),
    ] {
        let (fields, facts) = of(lengths);
        let message = format!(
            "`video_urls`: expected more than 1.8 s and less than 15.2 s of video together, got {sum} s"
        );
        bad(fields, facts, &message);
    }
    // A length that cannot be read is the provider's to judge.
    let unknown = Facts { milliseconds: None, ..video(1280, 720, 0) };
    good(json!({"video_urls": [URL, URL]}), vec![video(1280, 720, 1000), unknown.clone()]);
    let message =
        "`video_urls`: expected more than 1.8 s and less than 15.2 s of video together, got 15.200 s";
    bad(json!({"video_urls": [URL, URL]}), vec![video(1280, 720, 15_200), unknown], message);
}

#[test]
fn audio_has_a_time_together() {
    let of = |lengths: &[u64]| {
        let fields = json!({"image_urls": [URL], "audio_urls": vec![URL; lengths.len()]});
        let mut facts = vec![image(800, 600)];
        facts.extend(lengths.iter().map(|ms| audio(*ms)));
        (fields, facts)
    };
    // Three MP3 files of 5 s, too: their frames make each some milliseconds longer.
    for lengths in [&[15_000][..], &[5000, 5000, 5000], &[5016, 5016, 5000], &[15_200], &[100]] {
        let (fields, facts) = of(lengths);
        good(fields, facts);
    }
    for lengths in [&[15_201][..], &[5100, 5100, 5001]] {
        let (fields, facts) = of(lengths);
        let message = "`audio_urls`: expected at most 15 s of audio together, got 15.201 s";
        bad(fields, facts, message);
    }
}

#[test]
fn kinds_types_and_sizes_are_checked() {
    for mime in ["image/jpeg", "image/png", "image/webp", "image/bmp", "image/tiff", "image/gif"] {
        good(json!({"image_urls": [URL]}), vec![of_type(image(800, 600), mime)]);
    }
    let formats = "`image_urls[0]`: expected an image as JPEG, PNG, WebP, BMP, TIFF or GIF, got image/heic";
    bad(json!({"image_urls": [URL]}), vec![of_type(image(800, 600), "image/heic")], formats);
    good(json!({"image_urls": [URL]}), vec![of_bytes(image(800, 600), 30 * MB)]);
    bad(
        json!({"image_urls": [URL]}),
        vec![of_bytes(image(800, 600), 30 * MB + 1)],
        "`image_urls[0]`: expected an image of at most 30 MB, got 31457281 bytes",
    );
    good(json!({"video_urls": [URL]}), vec![of_type(video(1280, 720, 4000), "video/quicktime")]);
    bad(
        json!({"video_urls": [URL]}),
        vec![of_type(video(1280, 720, 4000), "video/webm")],
        "`video_urls[0]`: expected a video as MP4 or MOV, got video/webm",
    );
    bad(
        json!({"video_urls": [URL]}),
        vec![of_bytes(video(1280, 720, 4000), 50 * MB + 1)],
        "`video_urls[0]`: expected a video of at most 50 MB, got 52428801 bytes",
    );
    let song = |facts| vec![image(800, 600), facts];
    let fields = || json!({"image_urls": [URL], "audio_urls": [URL]});
    good(fields(), song(of_type(audio(4000), "audio/mpeg")));
    bad(
        fields(),
        song(of_type(audio(4000), "audio/ogg")),
        "`audio_urls[0]`: expected an audio file as WAV or MP3, got audio/ogg",
    );
    for (milliseconds, came) in
        [(Some(0), "with sound in it, got 0 s"), (None, "got audio/mpeg of unreadable length")]
    {
        let silent = Facts { milliseconds, ..of_type(audio(4000), "audio/mpeg") };
        let glue = if milliseconds.is_some() { " " } else { ", " };
        bad(fields(), song(silent), &format!("`audio_urls[0]`: expected an audio file{glue}{came}"));
    }
    bad(
        fields(),
        song(of_bytes(audio(4000), 15 * MB + 1)),
        "`audio_urls[0]`: expected an audio file of at most 15 MB, got 15728641 bytes",
    );
    bad(
        json!({"image_urls": [URL]}),
        vec![Facts::new(MediaKind::Other, "text/html", 300)],
        "`image_urls[0]`: expected an image, got text/html",
    );
    bad(
        json!({"image_urls": [URL]}),
        vec![Facts::new(MediaKind::Image, "image/png", 300)],
        "`image_urls[0]`: expected an image, got image/png of unreadable size",
    );
}

#[test]
fn what_cannot_be_fetched_fails_the_task() {
    let script = accepted(json!({"image_urls": [URL]})).start().expect_probe(|_| ());
    let script = script.probed([Err("could not be fetched: the server answered 404")]);
    let message = "dependency unavailable: `image_urls[0]`: could not be fetched: the server answered 404";
    play(&script.expect_fail(Blame::Request, message));
}

/// A file in the request is known at once, so a bad one is a 400.
#[test]
fn embedded_files_are_judged_at_once() {
    let request = |facts: Facts| {
        let facts = Facts { blob: Some("blob:blob_1".to_owned()), ..facts };
        let body = body(json!({"image_urls": ["blob:blob_1"]}));
        Script::new().submit_whole(Submission { blobs: vec![facts], ..Submission::new(VIDEOS, body) })
    };
    let good = request(image(800, 600))
        .expect_accepted(|_| ())
        .start()
        .expect_probe(|probes| assert_eq!(probes[0].source, "blob:blob_1"))
        .probed([Ok(image(800, 600))])
        .expect_call(|call| assert_eq!(call.json_body()["content"][1]["image_url"]["url"], "blob:blob_1"));
    play(&good);
    let message = "`image_urls[0]`: expected an image whose width to height is 0.5 to 2.5, got 100x600";
    play(&request(image(100, 600)).expect_refused("image_urls[0]", message));
    let message = "`image_urls[0]`: expected an image, got audio/wav";
    play(&request(audio(1000)).expect_refused("image_urls[0]", message));
}
