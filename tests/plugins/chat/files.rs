//! Documents and sounds for chat and responses: bounded by their bytes, and refused where they have no bound.

use chat::RESPONSES;
use gatehouse_sdk::{Facts, MediaKind, Protocol};
use serde_json::{Value, json};

use crate::chat::{asked, prepared, refusal, sent, written, written_to};

const BLOB: &str = "blob:blob_01ARZ3NDEKTSV4RRFFQ69G5FAV";

fn user(part: &Value) -> Value {
    json!({"messages": [{"role": "user", "content": [part]}]})
}

fn file(data: &str) -> Value {
    json!({"type": "file", "file": {"filename": "a", "file_data": data}})
}

/// What the host estimates from: pictures, and bytes of text.
fn estimate(part: &Value, facts: Option<Facts>) -> (u32, u32) {
    let mut request = asked(Protocol::Chat, json!({"pass": ["file_url"]}), user(part));
    request.blobs.extend(facts);
    let prepared = prepared(request);
    (prepared.pictures, prepared.input_bytes)
}

/// Without it a document of a hundred pages is held as one picture.
#[test]
fn a_file_counts_by_its_bytes() {
    let cut =
        |mime: &str, bytes| Facts { blob: Some(BLOB.into()), ..Facts::new(MediaKind::Other, mime, bytes) };
    let sound = |data: &str, format: &str| json!({"type": "input_audio", "input_audio": {"data": data, "format": format}});
    let base64 = "A".repeat(4000);
    let inline = |mime: &str| file(&format!("data:{mime};base64,{base64}"));
    for (part, facts, expected) in [
        (inline("application/pdf"), None, (2, 0)),
        (inline("text/plain"), None, (0, 3000)),
        (inline("image/png"), None, (2, 0)),
        (file(&format!("data:image/png;base64,{PNG}")), None, (1, 0)),
        (file(BLOB), Some(cut("application/octet-stream", 300_000)), (100, 0)),
        (file(BLOB), Some(cut("application/pdf", 20_000)), (10, 0)),
        (file("https://e.com/a.pdf"), None, (100, 0)),
        (sound(&base64, "wav"), None, (1, 0)),
        (sound(BLOB, "wav"), Some(cut("audio/wav", 10_000_000)), (9, 0)),
        (sound(BLOB, "mp3"), Some(cut("audio/mpeg", 10_000_000)), (65, 0)),
        (json!({"type": "text", "text": BLOB}), Some(cut("image/png", 300)), (0, 400)),
        (json!({"type": "image_url", "image_url": {"url": "https://e.com/a.png"}}), None, (1, 0)),
    ] {
        assert_eq!(estimate(&part, facts), expected, "{part:.80}");
    }
}

/// Without it a client reads a file of another customer of the same account, or one of any length.
#[test]
fn a_file_that_is_not_embedded_is_refused_unless_it_is_passed() {
    let by_id = json!({"type": "file", "file": {"file_id": "file-1"}});
    let both_ways = json!({"type": "file", "file": {"file_id": "file-1", "file_data": "data:application/pdf;base64,AAAA"}});
    let by_link = file("https://e.com/a.pdf");
    for protocol in [Protocol::Chat, Protocol::Messages] {
        for (part, field) in [(&by_id, "file_id"), (&both_ways, "file_id"), (&by_link, "file_data")] {
            let (named, said) = refusal(asked(protocol, json!({}), user(part)));
            assert_eq!(named, format!("messages[0].content[0].file.{field}"));
            assert!(said.contains("base64"), "{said}");
        }
    }
    for (part, pass) in [(by_id, "file_id"), (by_link, "file_url")] {
        let fields = user(&part);
        assert_eq!(
            sent(Protocol::Chat, json!({"pass": [pass]}), fields.clone())["messages"],
            fields["messages"]
        );
    }
    let named = |part: Value, place: fn(Value) -> Value| {
        let body = json!({"model": "m", "input": place(part)});
        refusal(written_to(RESPONSES, Protocol::Chat, json!({}), &body))
    };
    let in_message = |part| json!([{"role": "user", "content": [part]}]);
    let in_output = |part| {
        json!([
            {"role": "user", "content": "hi"},
            {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c", "output": [{"type": "input_text", "text": ""}, part]},
        ])
    };
    for (place, own) in
        [(in_message as fn(Value) -> Value, "input[0].content[0]"), (in_output, "input[2].output[1]")]
    {
        for (part, member) in [
            (json!({"type": "input_file", "file_id": "file-1"}), "file_id"),
            (json!({"type": "input_file", "file_url": "https://e.com/a.pdf"}), "file_url"),
            (json!({"type": "input_file", "file_data": "https://e.com/a.pdf"}), "file_data"),
            (json!({"type": "input_image", "file_id": "file-1"}), "file_id"),
            (json!({"type": "input_image", "image_url": "cat.png"}), "image_url"),
        ] {
            let (field, message) = named(part.clone(), place);
            assert_eq!(field, format!("{own}.{member}"), "{part}: {message}");
            assert!(!message.contains("messages"), "{message}");
        }
    }
}

/// A small picture and a small document.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUg==";
const PDF: &str = "JVBERi0xLjQKMSAwIG9iago=";

/// Without it a small file is refused or reaches the provider broken, in a form in which a large one is taken.
#[test]
fn a_small_file_is_taken_in_every_form() {
    let picture = |url: &str| json!({"type": "image_url", "image_url": {"url": url}});
    let (broken, url_safe) = ("iVBORw0KGgoAAAAN\nSUhEUg", "iVBORw0KGgoAAAANSUhEUg");
    for base64 in [PNG, broken, url_safe] {
        let uri = format!("data:image/png;base64,{PNG}");
        let fields = user(&picture(base64));
        let chat = sent(Protocol::Chat, json!({}), fields.clone());
        assert_eq!(chat["messages"][0]["content"][0]["image_url"]["url"], uri, "{base64}");
        let messages = sent(Protocol::Messages, json!({}), fields);
        let source = &messages["messages"][0]["content"][0]["source"];
        assert_eq!(*source, json!({"type": "base64", "media_type": "image/png", "data": PNG}), "{base64}");
        let input = json!([{"role": "user", "content": [{"type": "input_image", "image_url": base64}]}]);
        let body = json!({"model": "m", "input": input});
        let call = prepared(written_to(RESPONSES, Protocol::Chat, json!({}), &body)).call;
        assert_eq!(call.json_body()["messages"][0]["content"][0]["image_url"]["url"], uri, "{base64}");
    }
    let document = user(&file(PDF));
    let chat = sent(Protocol::Chat, json!({}), document.clone());
    assert_eq!(
        chat["messages"][0]["content"][0]["file"]["file_data"],
        format!("data:application/pdf;base64,{PDF}")
    );
    let messages = sent(Protocol::Messages, json!({}), document);
    assert_eq!(
        messages["messages"][0]["content"][0]["source"],
        json!({"type": "base64", "media_type": "application/pdf", "data": PDF})
    );
    // A sound has no head, in any size.
    let sound =
        |data: &str| user(&json!({"type": "input_audio", "input_audio": {"data": data, "format": "wav"}}));
    for data in ["data:audio/wav;base64,UklGRiQAAABXQVZF", "UklGRiQA\nAABXQVZF", "UklGRiQAAABXQVZF"] {
        let chat = sent(Protocol::Chat, json!({}), sound(data));
        assert_eq!(chat["messages"][0]["content"][0]["input_audio"]["data"], "UklGRiQAAABXQVZF", "{data}");
    }
    // A word is no file.
    for (part, field) in [(picture("cat"), "image_url.url"), (file("aGVsbG8="), "file.file_data")] {
        assert_eq!(
            refusal(asked(Protocol::Chat, json!({}), user(&part))).0,
            format!("messages[0].content[0].{field}")
        );
    }
}

/// Without it an address that the provider cannot read is sent, and fails there in other words, or one in capitals does.
#[test]
fn an_address_is_sent_in_one_form() {
    let picture = |url: &str| user(&json!({"type": "image_url", "image_url": {"url": url}}));
    for (written, expected) in [
        ("https://e.com/A.png", "https://e.com/A.png"),
        ("HTTPS://E.com/A.png", "https://E.com/A.png"),
        ("HTTP://e.com/\u{98ce}.png", "http://e.com/\u{98ce}.png"),
    ] {
        let chat = sent(Protocol::Chat, json!({}), picture(written));
        assert_eq!(chat["messages"][0]["content"][0]["image_url"]["url"], expected);
        let messages = sent(Protocol::Messages, json!({}), picture(written));
        let source = &messages["messages"][0]["content"][0]["source"];
        assert_eq!(*source, json!({"type": "url", "url": expected}));
    }
    for written in [
        "https://",
        "https:///a.png",
        "https://e.com/a b.png",
        "https://e.com/a.png\n",
        "https://e.com\\@b.com/",
        "https://e.com/\0",
    ] {
        for protocol in [Protocol::Chat, Protocol::Messages] {
            let (field, said) = refusal(asked(protocol, json!({}), picture(written)));
            assert_eq!(field, "messages[0].content[0].image_url.url", "{written}: {said}");
        }
    }
}

/// Without it a sound goes to the provider under a label that is not its own, or without being a file at all, in one size and not in
/// the other.
#[test]
fn a_sound_is_what_its_bytes_say() {
    let (wav, mp3) = ("UklGRiQAAABXQVZF", "SUQzBAAAAAAAAAAA");
    let cut =
        |mime: &str, bytes| Facts { blob: Some(BLOB.into()), ..Facts::new(MediaKind::Audio, mime, bytes) };
    let asked_with = |data: &str, format: &str, facts: Option<Facts>| {
        let part = json!({"type": "input_audio", "input_audio": {"data": data, "format": format}});
        let mut request = asked(Protocol::Chat, json!({}), user(&part));
        request.blobs.extend(facts);
        request
    };
    for format in ["wav", "mp3"] {
        for (data, facts, sent_data, sent_format) in [
            (wav, None, wav, "wav"),
            (mp3, None, mp3, "mp3"),
            ("data:audio/x;base64,SUQz\nBAAAAAAAAAAA", None, mp3, "mp3"),
            (BLOB, Some(cut("audio/wav", 9_000)), "blob:blob_01ARZ3NDEKTSV4RRFFQ69G5FAV:base64", "wav"),
            (BLOB, Some(cut("audio/mpeg", 9_000)), "blob:blob_01ARZ3NDEKTSV4RRFFQ69G5FAV:base64", "mp3"),
            // It tells no type: the client's word counts.
            ("aGVsbG8=", None, "aGVsbG8=", format),
        ] {
            let prepared = prepared(asked_with(data, format, facts));
            let sent = prepared.call.json_body();
            let sound = &sent["messages"][0]["content"][0]["input_audio"];
            assert_eq!(*sound, json!({"data": sent_data, "format": sent_format}), "{data} {format}");
        }
        let expected = "expected a WAV or MP3 file as base64, got";
        for (data, facts, came) in [
            ("a sound!", None, "the string \"a sound!\""),
            ("UklGRiQAAABXQVZFA", None, "the string \"UklGRiQAAABXQVZFA\""),
            (PNG, None, "image/png"),
            ("T2dnUwACAAAAAAAA", None, "audio/ogg"),
            (BLOB, Some(cut("audio/flac", 9_000)), "audio/flac"),
            (BLOB, Some(cut("application/octet-stream", 0)), "base64 that does not decode"),
        ] {
            let (field, said) = refusal(asked_with(data, format, facts));
            assert_eq!(field, "messages[0].content[0].input_audio.data", "{data}");
            assert!(said.contains(&format!("{expected} {came}")), "{data}: {said}");
        }
    }
}

/// Without it a sound goes to the provider under a wrong label, because its client names the format first.
#[test]
fn the_members_of_a_sound_stand_in_any_order() {
    let (data, format) = (r#""data":"data:audio/x;base64,UklGRiQAAABXQVZF""#, r#""format":"mp3""#);
    for [first, second] in [[data, format], [format, data]] {
        let sound = format!(r#"{{"type":"input_audio","input_audio":{{{first},{second}}}}}"#);
        let content = format!(r#"[{sound},{{"type":"text","text":"hear"}},{sound}]"#);
        let body = format!(r#"{{"model":"m","messages":[{{"role":"user","content":{content}}}]}}"#);
        let sent = prepared(written(Protocol::Chat, json!({}), &body)).call.json_body();
        for at in [0, 2] {
            let sound = &sent["messages"][0]["content"][at]["input_audio"];
            assert_eq!(*sound, json!({"data": "UklGRiQAAABXQVZF", "format": "wav"}), "{body}");
        }
    }
}

/// Without it broken base64 is refused when it is short, and reaches the provider as a file when it is long.
#[test]
fn what_does_not_decode_is_refused_at_every_size() {
    let empty =
        Facts { blob: Some(BLOB.into()), ..Facts::new(MediaKind::Other, "application/octet-stream", 0) };
    let picture = |url: &str| json!({"type": "image_url", "image_url": {"url": url}});
    for protocol in [Protocol::Chat, Protocol::Messages] {
        for write in [picture as fn(&str) -> Value, file] {
            for data in [
                BLOB,
                "data:application/pdf;base64,AAAAA",
                "data:application/pdf;base64,!!",
                "data:application/pdf,AAAA",
            ] {
                let mut request = asked(protocol, json!({}), user(&write(data)));
                request.blobs.push(empty.clone());
                let (field, said) = refusal(request);
                assert!(field.starts_with("messages[0].content[0]."), "{data}: {said}");
                assert!(said.contains("expected a") && said.contains("got "), "{data}: {said}");
            }
        }
    }
}
