//! Files in every form in which clients write them, at every place that takes one, short and long: the host cuts the long ones out,
//! families read the short ones, and a client must not notice which. And links, which a provider may fetch.
//! Asked by `dry_run`, but for texts, which are answered.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gatehouse_harness::{Response, run};
use serde_json::{Value, json};

use crate::public::Scene;

/// A place for a file: path, and the body around the file.
type MediaField = (&'static str, fn(&str) -> Value);

fn asked(model: &str, fields: Value) -> Value {
    gatehouse_harness::with(json!({"model": model, "prompt": "a kite", "dry_run": true}), fields)
}

fn said(part: Value) -> Value {
    json!({"model": "over-chat", "max_tokens": 9, "messages": [{"role": "user", "content": [part]}]})
}

fn heard(part: Value) -> Value {
    json!({"model": "over-chat", "input": [{"role": "user", "content": [part]}]})
}

const IMAGES: &str = "/v1/images/generations";
const VIDEOS: &str = "/v1/videos/generations";

/// The places of pictures.
const PICTURES: [MediaField; 12] = [
    ("/v1/chat/completions", |file| said(json!({"type": "image_url", "image_url": {"url": file}}))),
    ("/v1/messages", |file| {
        said(json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": file}}))
    }),
    ("/v1/messages", |file| said(json!({"type": "image", "source": {"type": "url", "url": file}}))),
    ("/v1/responses", |file| heard(json!({"type": "input_image", "image_url": file}))),
    (IMAGES, |file| asked("imagine-1.5-gw", json!({"image_urls": [file]}))),
    (IMAGES, |file| asked("ctx-pro", json!({"image_urls": [file]}))),
    (VIDEOS, |file| asked("motion-2.6", json!({"image_urls": [file]}))),
    (VIDEOS, |file| asked("motion-2.7", json!({"image_urls": [file]}))),
    (VIDEOS, |file| asked("clip-2.0", json!({"image_with_roles": [{"url": file, "role": "first_frame"}]}))),
    (VIDEOS, |file| asked("scene-3.1-fast-official", json!({"first_frame_image": file}))),
    ("/v1/journey/generations/imagine", |file| asked("", json!({"image_urls": [file]}))),
    ("/v1/images/edits", |file| asked("imagine-1.5-gw", json!({"image": file}))),
];

/// The places of sounds.
const SOUNDS: [MediaField; 4] = [
    ("/v1/chat/completions", |file| {
        said(json!({"type": "input_audio", "input_audio": {"data": file, "format": "mp3"}}))
    }),
    ("/v1/responses", |file| {
        heard(json!({"type": "input_audio", "input_audio": {"data": file, "format": "wav"}}))
    }),
    (VIDEOS, |file| asked("motion-2.6", json!({"audio_url": file}))),
    (VIDEOS, |file| asked("motion-2.7", json!({"audio_url": file}))),
];

/// A picture, black or of noise, which does not pack.
fn picture(noise: u32) -> Vec<u8> {
    let level = |x: u32, y: u32| image::Luma([((x * 7919 + y * 104_729).wrapping_mul(noise) >> 13) as u8]);
    let mut file = std::io::Cursor::new(Vec::new());
    image::GrayImage::from_fn(320, 320, level).write_to(&mut file, image::ImageFormat::Png).expect("a PNG");
    file.into_inner()
}

/// A second of silence at that rate.
fn sound(rate: u32) -> Vec<u8> {
    let mut file = [&b"RIFF"[..], &(36 + rate).to_le_bytes(), b"WAVEfmt \x10\0\0\0\x01\0\x01\0"].concat();
    file.extend(rate.to_le_bytes());
    file.extend(rate.to_le_bytes());
    file.extend(b"\x01\0\x08\0data");
    file.extend(rate.to_le_bytes());
    file.resize(file.len() + rate as usize, 0x80);
    file
}

/// The forms that are a file, and those that are not.
fn forms(file: &[u8], mime: &str) -> [Vec<String>; 2] {
    let base64 = STANDARD.encode(file);
    let bare = base64.trim_end_matches('=');
    let lines: Vec<&str> =
        base64.as_bytes().chunks(76).map(|line| std::str::from_utf8(line).expect("ASCII")).collect();
    let (lines, safe) = (lines.join("\r\n"), bare.replace('+', "-").replace('/', "_"));
    // One sign alone stands for no byte.
    let broken = &bare[..bare.len() / 4 * 4 - 3];
    let words = STANDARD.encode("no picture and no sound ".repeat(file.len() / 24));
    let good = [
        format!("data:{mime};base64,{base64}"),
        format!("data:{mime};base64,{bare}"),
        format!("data:{mime};base64,{safe}"),
        format!("DATA:{};CHARSET=utf-8;BASE64,{lines}", mime.to_uppercase()),
        format!(" data:text/plain ; base64 , {base64}\n"),
        format!("data:;base64,{base64}"),
        format!("data:{mime},{base64}"),
        base64.clone(),
        lines,
        safe,
    ];
    let mut bad = vec![
        format!("data:{mime};base64,{broken}"),
        format!("data:{mime};base64,{bare}*"),
        format!("data:{mime};base64,"),
        format!("{bare}*"),
        " ".to_owned(),
        String::new(),
    ];
    // Cut short: no program opens it, whatever its beginning says.
    for length in [file.len() / 2, file.len() - 9] {
        let cut = STANDARD.encode(&file[..length]);
        bad.extend([format!("data:{mime};base64,{cut}"), cut]);
    }
    // Of a sound that tells no type some providers know more.
    if mime.starts_with("image/") {
        bad.push(format!("data:{mime};base64,{words}"));
    }
    [good.into(), bad]
}

/// Whether it was taken; of the context family also whether its task would be.
fn is_taken(answer: &Response) -> bool {
    answer.status == 200 && !answer.text().contains("\"failure\":{")
}

/// Without it a client's file is taken or refused by its size.
#[test]
fn a_file_is_taken_in_every_form_and_size() {
    run(async {
        let scene = Scene::start(Duration::ZERO).await;
        let mut broken = Vec::new();
        let [small, large] = [picture(0), picture(2_654_435_761)];
        let [short, long] = [sound(400), sound(8_000)];
        assert!(
            STANDARD.encode(&small).len() < 4_000 && large.len() > 8_000,
            "on both sides of what is cut out"
        );
        for (places, mime, files) in
            [(&PICTURES[..], "image/png", [small, large]), (&SOUNDS, "audio/wav", [short, long])]
        {
            for file in files {
                let [good, bad] = forms(&file, mime);
                for (path, body) in places {
                    for (form, expected) in
                        good.iter().map(|form| (form, true)).chain(bad.iter().map(|form| (form, false)))
                    {
                        let answer = scene.caller.post(path, &body(form)).await;
                        let is_judged = matches!(answer.status, 200 | 400);
                        if !is_judged || is_taken(&answer) != expected {
                            let shown: String = form.chars().take(60).collect();
                            broken.push(format!(
                                "  {path} {} bytes {shown:?}\n    {} {}",
                                file.len(),
                                answer.status,
                                answer.text()
                            ));
                        } else if !expected && !answer.text().contains("expected ") {
                            broken.push(format!(
                                "  {path}: it does not say what was expected: {}",
                                answer.text()
                            ));
                        }
                    }
                }
            }
        }
        assert!(broken.is_empty(), "{} rows are broken:\n{}", broken.len(), broken.join("\n"));
    });
}

/// Without it a client's own text fails as if a plugin were at fault, or is taken for a file.
#[test]
fn a_text_that_is_the_name_of_a_file_is_refused() {
    run(async {
        let scene = Scene::start(Duration::ZERO).await;
        let name = "blob:blob_01ARZ3NDEKTSV4RRFFQ69G5FAV";
        for text in [name.to_owned(), format!("{name}:base64"), format!("{name}:text")] {
            for (path, body) in [
                (
                    "/v1/chat/completions",
                    json!({"model": "over-chat", "messages": [{"role": "user", "content": text}]}),
                ),
                (
                    "/v1/messages",
                    json!({"model": "over-messages", "max_tokens": 9, "messages": [{"role": "user", "content": text}]}),
                ),
                ("/v1/responses", json!({"model": "over-chat", "input": text})),
                (IMAGES, json!({"model": "ctx-pro", "prompt": text})),
                (VIDEOS, json!({"model": "clip-2.0", "prompt": text})),
            ] {
                let answer = scene.caller.post(path, &body).await;
                assert_eq!(answer.status, 400, "{path} {text}: {}", answer.text());
                assert!(answer.text().contains("send the file itself"), "{path} {text}: {}", answer.text());
            }
        }
        let about = json!({"model": "over-chat", "messages": [{"role": "user", "content": format!("what is {name}?")}]});
        assert_eq!(scene.caller.post("/v1/chat/completions", &about).await.status, 200);
    });
}

/// Further places of links. The gateway does not look at what they lead to: the provider fetches it.
const HANDED_ON: [MediaField; 5] = [
    ("/v1/clip2/private-avatar", |link| json!({"url": link, "name": "face", "dry_run": true})),
    ("/v1/journey/generations/imagine", |link| asked("", json!({"cref": link}))),
    ("/v1/journey/generations/imagine", |link| {
        asked("", json!({"prompt": format!("a cat --sref {link} --v 7")}))
    }),
    ("/v1/journey/generations/imagine", |link| asked("", json!({"prompt": format!("{link} a cat")}))),
    ("/v1/messages", |link| {
        let picture = json!({"type": "image", "source": {"type": "url", "url": link}});
        let call = json!({"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}});
        let result = json!({"type": "tool_result", "tool_use_id": "toolu_1", "content": [picture]});
        let messages = json!([{"role": "user", "content": "look"}, {"role": "assistant", "content": [call]},
            {"role": "user", "content": [result]}]);
        json!({"model": "over-messages", "max_tokens": 9, "messages": messages,
            "tools": [{"name": "look", "input_schema": {"type": "object"}}]})
    }),
];

/// Without it a client makes a provider that runs beside the gateway, or one that trusts its network, read what is not public.
#[test]
fn a_link_leads_no_provider_where_the_gateway_would_not_go() {
    run(async {
        let scene = Scene::start(Duration::ZERO).await;
        let mut broken = Vec::new();
        let takes_links =
            |(path, body): &&MediaField| *path != "/v1/messages" || !body("x").to_string().contains("base64");
        for (path, body) in PICTURES.iter().filter(takes_links).chain(&HANDED_ON) {
            for (link, reason) in [
                ("https://127.0.0.1/a.png", "127.0.0.1 is not a public address or does not exist"),
                ("https://2852039166/latest/meta-data", "169.254.169.254 is not a public address"),
                ("https://0x7f.1/a.png", "127.0.0.1 is not a public address"),
                ("https://012.0.0.1/a.png", "10.0.0.1 is not a public address"),
                ("https://[::ffff:192.168.0.1]/a.png", "is not a public address"),
                ("https://localhost/a.png", "localhost is not a public address"),
                (
                    "https://metadata.google.internal/a.png",
                    "metadata.google.internal is not a public address",
                ),
                ("https://user:word@example.com/a.png", "must not hold a user name or password"),
                ("https://example.com:8443/a.png", "only ports 80 and 443 are allowed"),
            ] {
                let answer = scene.caller.post(path, &body(link)).await;
                let text = answer.text();
                let is_told = text.contains("could not be fetched: ") && text.contains(reason);
                if is_taken(&answer) || !matches!(answer.status, 200 | 400) || !is_told {
                    broken.push(format!("  {path} {}\n    {} {text}", body(link), answer.status));
                }
            }
        }
        assert!(broken.is_empty(), "{} rows are broken:\n{}", broken.len(), broken.join("\n"));
        // What the operator allows for fetches is allowed here too, and a text about such an address is a text.
        let allowed = scene.sample("800x600.png");
        let jobs = PICTURES.iter().filter(|(path, _)| *path == VIDEOS).chain(&HANDED_ON);
        for (path, body) in jobs.filter(|(path, _)| *path != "/v1/messages") {
            let answer = scene.caller.post(path, &body(&allowed)).await;
            assert!(is_taken(&answer), "{path}: {} {}", answer.status, answer.text());
        }
        let about = json!({"model": "over-chat", "messages": [{"role": "user", "content": "http://127.0.0.1/a.png"}]});
        assert_eq!(scene.caller.post("/v1/chat/completions", &about).await.status, 200);
        // So is the prompt of a family whose provider reads no links there.
        for (path, model) in [
            (IMAGES, "ctx-pro"),
            (IMAGES, "imagine-1.5-gw"),
            (VIDEOS, "motion-2.7"),
            (VIDEOS, "clip-2.0"),
            (VIDEOS, "scene-3.1-fast-official"),
        ] {
            let prompt = asked(
                model,
                json!({"prompt": "http://127.0.0.1/a.png on a screen --sref http://10.0.0.1/b"}),
            );
            let answer = scene.caller.post(path, &prompt).await;
            assert!(is_taken(&answer), "{model}: {} {}", answer.status, answer.text());
        }
    });
}
