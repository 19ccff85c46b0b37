//! What the host finds out about a sound or a video before the submission.

use gatehouse_sdk::{Blame, Facts, MediaKind, Probe};
use gatehouse_testkit::Script;
use motion::SURFACE;
use serde_json::{Value, json};

use crate::motion::{accepted, play, text26};
use crate::over;

const CLIP: &str = "https://example.com/a.mp4";
const SOUND: &str = "https://example.com/a.mp3";

fn asked(body: Value, source: &'static str) -> Script {
    accepted(body).start().expect_probe(move |probes| assert_eq!(*probes, [Probe::look(source)]))
}

fn clip_of(seconds: u32) -> Script {
    asked(json!({"model": "motion-2.7", "video_urls": [CLIP, SOUND], "duration": seconds}), CLIP)
}

fn video(width: u32, height: u32, milliseconds: u64, bytes: u64) -> Facts {
    Facts {
        width: Some(width),
        height: Some(height),
        milliseconds: Some(milliseconds),
        ..Facts::new(MediaKind::Video, "video/mp4", bytes)
    }
}

/// Without it a request is refused for what it would not have used.
#[test]
fn only_the_first_video_is_judged() {
    for other in [json!(SOUND), json!(5), json!(null), json!("ftp://example.com/b.mp4")] {
        play(&asked(json!({"model": "motion-2.7", "video_urls": [CLIP, other, other]}), CLIP));
    }
}

#[test]
fn a_video_to_continue_has_limits() {
    let good = |facts: Facts| {
        let sent = |call: &gatehouse_sdk::Call| {
            assert_eq!(call.json_body()["input"]["media"], json!([{"type": "first_clip", "url": CLIP}]));
        };
        play(&clip_of(15).probed([Ok(facts)]).expect_call(sent));
    };
    let bad = |facts: Facts, message: &str| {
        let message = format!("`video_urls[0]`: {message}");
        play(&clip_of(15).probed([Ok(facts)]).expect_fail(Blame::Request, &message));
    };
    let most = 100 * 1024 * 1024;
    good(video(240, 1920, 2000, 1));
    good(video(4096, 512, 10_000, most));
    good(Facts { mime: "video/quicktime".to_owned(), ..video(4096, 4096, 5000, 1) });
    bad(video(640, 480, 1999, 1), "expected a video of 2 to 10 s, got 1.999 s");
    bad(video(640, 480, 10_001, 1), "expected a video of 2 to 10 s, got 10.001 s");
    bad(video(640, 480, 5000, most + 1), "expected at most 100 MB (104857600 bytes), got 104857601 bytes");
    for (width, height) in [(239, 240), (240, 239), (4097, 4096), (4096, 4097)] {
        let message = format!("expected width and height of 240 to 4096 pixels, got {width}x{height}");
        bad(video(width, height, 5000, 1), &message);
    }
    bad(video(240, 1921, 5000, 1), "expected a ratio of width to height between 1:8 and 8:1, got 240:1921");
    bad(video(1921, 240, 5000, 1), "expected a ratio of width to height between 1:8 and 8:1, got 1921:240");
    bad(
        Facts { milliseconds: None, ..video(640, 480, 0, 1) },
        "expected a file that says its length, got video/mp4 of unreadable length",
    );
    bad(
        Facts { width: None, ..video(640, 480, 5000, 1) },
        "expected a file that says its size, got video/mp4 of unreadable size",
    );
    bad(Facts::new(MediaKind::Video, "video/webm", 1), "expected an mp4 or mov video, got video/webm");
    bad(
        Facts::new(MediaKind::Other, "application/octet-stream", 1),
        "expected an mp4 or mov video, got application/octet-stream",
    );
}

#[test]
fn a_continuation_is_longer_than_its_beginning() {
    let short = "`duration`: expected more seconds than the video to continue has (5.25), as it is the length of the \
                 whole, got 5";
    play(&clip_of(5).probed([Ok(video(640, 480, 5250, 1))]).expect_fail(Blame::Request, short));
    play(&clip_of(5).probed([Ok(video(640, 480, 4999, 1))]).expect_call(|_| ()));
    let equal = "`duration`: expected more seconds than the video to continue has (5), as it is the length of the whole, \
                 got 5";
    play(&clip_of(5).probed([Ok(video(640, 480, 5000, 1))]).expect_fail(Blame::Request, equal));
}

/// Without it every continuation that leaves `duration` out fails: the default of 5 s is shorter than most clips.
#[test]
fn a_continuation_without_a_duration_is_five_seconds_longer() {
    for (milliseconds, seconds) in
        [(2000, 7), (2499, 7), (2500, 8), (3000, 8), (3041, 8), (5250, 10), (9999, 15), (10_000, 15)]
    {
        let body = json!({"model": "motion-2.7", "video_urls": [CLIP]});
        let held = Script::new().submit(SURFACE, body).expect_accepted(|accepted| {
            assert_eq!(accepted.charge.lines[0].quantity, 15, "the most it can be");
        });
        let done = held
            .start()
            .expect_probe(|_| ())
            .probed([Ok(video(640, 480, milliseconds, 1))])
            .expect_call(move |call| assert_eq!(call.json_body()["parameters"]["duration"], seconds))
            .reply(200, json!({"output": {"task_id": crate::motion::ID, "task_status": "PENDING"}}))
            .expect_wait(|_| ())
            .timer()
            .expect_call(|_| ())
            .reply(
                200,
                json!({"output": {"task_id": crate::motion::ID, "task_status": "SUCCEEDED",
                "video_url": crate::motion::VIDEO}}),
            )
            .expect_done(move |outcome| {
                let settle = outcome.settle.as_ref().expect("less than was held");
                assert_eq!(
                    (settle.lines[0].keys[0].as_str(), settle.lines[0].quantity),
                    ("motion-2.7@1080p", seconds)
                );
            });
        play(&done);
    }
}

#[test]
fn a_sound_of_motion_26_is_not_longer_than_the_video() {
    let asked =
        |seconds: u32| asked(text26(json!({"audio_url": SOUND, "audio": false, "duration": seconds})), SOUND);
    let sound = |ms| Facts { milliseconds: Some(ms), ..Facts::new(MediaKind::Audio, "audio/mpeg", 1) };
    for (seconds, ms) in [(5, 3000), (5, 5000), (5, 5200), (15, 15_200)] {
        let sent = |call: &gatehouse_sdk::Call| {
            let body = call.json_body();
            assert_eq!(body["input"], over(json!({"prompt": "a red kite"}), json!({"audio_url": SOUND})));
            assert_eq!(body["parameters"].get("audio"), None, "the sound has priority");
        };
        play(&asked(seconds).probed([Ok(sound(ms))]).expect_call(sent));
    }
    let long = "`audio_url`: expected a sound of at most `duration`, 10 s, got 10.201 s";
    play(&asked(10).probed([Ok(sound(10_201))]).expect_fail(Blame::Request, long));
    let unknown = "`audio_url`: expected a file that says its length, got audio/mpeg of unreadable length";
    let facts = Facts { milliseconds: None, ..sound(0) };
    play(&asked(5).probed([Ok(facts)]).expect_fail(Blame::Request, unknown));
    let picture = "`audio_url`: expected a sound file, got image/png";
    play(
        &asked(5)
            .probed([Ok(Facts::new(MediaKind::Image, "image/png", 1))])
            .expect_fail(Blame::Request, picture),
    );
}

#[test]
fn what_cannot_be_fetched_fails_the_task() {
    let gone = "dependency unavailable: `video_urls[0]`: could not be fetched: the server answered 404";
    let missing = "could not be fetched: the server answered 404";
    play(&clip_of(5).probed([Err(missing)]).expect_fail(Blame::Request, gone));
}
