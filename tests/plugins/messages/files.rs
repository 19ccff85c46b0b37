//! Documents for messages: bounded by their bytes, and refused where they have no bound.

use gatehouse_sdk::{Facts, MediaKind, Protocol};
use messages::Messages;
use serde_json::{Value, json};

use crate::messages::{body, both, prepare, refused, text_request};

const BLOB: &str = "blob:blob_01ARZ3NDEKTSV4RRFFQ69G5FAV";

fn user(block: &Value) -> Value {
    body(json!({"messages": [{"role": "user", "content": [block]}]}))
}

fn document(source: Value) -> Value {
    json!({"type": "document", "source": source})
}

/// Without it a document of a hundred pages is held as one picture, and a text that the host cut out as nothing.
#[test]
fn a_document_counts_by_its_bytes() {
    let cut =
        |bytes| Facts { blob: Some(BLOB.into()), ..Facts::new(MediaKind::Other, "application/pdf", bytes) };
    let pdf = |data: &str| json!({"type": "base64", "media_type": "application/pdf", "data": data});
    let result = |content: Value| json!({"type": "tool_result", "tool_use_id": "t", "content": content});
    let text = "x".repeat(1000);
    let source = json!({"type": "text", "media_type": "text/plain", "data": text});
    let described = json!({"type": "document", "source": source, "title": "ab", "context": text});
    for (block, bytes, expected) in [
        (document(pdf(&"A".repeat(4000))), None, (2, 0)),
        (document(pdf(BLOB)), Some(300_000), (100, 0)),
        (result(json!([document(pdf(BLOB))])), Some(20_000), (10, 0)),
        (document(source), None, (0, 1000)),
        (described.clone(), None, (0, 2002)),
        (result(json!([described])), None, (0, 2002)),
        (
            document(json!({"type": "content", "content": [{"type": "text", "text": text},
                {"type": "image", "source": {"type": "url", "url": "https://e.com/a.png"}}]})),
            None,
            (1, 1000),
        ),
        (document(json!({"type": "content", "content": text})), None, (0, 1000)),
        (json!({"type": "text", "text": BLOB}), Some(300), (0, 400)),
        (result(json!(BLOB)), Some(300), (0, 400)),
    ] {
        let mut request = text_request(&user(&block), Protocol::Messages, json!({}));
        request.blobs.extend(bytes.map(cut));
        let prepared = both().prepare::<Messages>(&request).expect("a good request");
        assert_eq!((prepared.pictures, prepared.input_bytes), expected, "{block:.120}");
    }
    let unknown = json!({"type": "mcp_tool_result", "content": [
        {"type": "image", "source": {"type": "url", "url": "https://e.com/a.png"}}, {"type": "text", "text": text}]});
    let prepared = prepare(&user(&unknown), Protocol::Messages, json!({})).expect("a good request");
    assert!(prepared.pictures == 1 && prepared.input_bytes > 1000, "{prepared:?}");
}

/// Without it a client reads a file of another customer of the same account, or one of any length.
#[test]
fn a_file_that_is_not_embedded_is_refused_unless_it_is_passed() {
    let by_id = json!({"type": "file", "file_id": "file_1"});
    let by_link = json!({"type": "url", "url": "https://e.com/a.pdf"});
    let picture = json!({"type": "image", "source": by_id});
    let result = |content: Value| json!({"type": "tool_result", "tool_use_id": "t", "content": content});
    let nested = |block: Value| document(json!({"type": "content", "content": [block]}));
    for (block, path, pass) in [
        (document(by_id.clone()), "source.file_id", "file_id"),
        (picture.clone(), "source.file_id", "file_id"),
        (document(by_link.clone()), "source.url", "file_url"),
        (result(json!([document(by_id)])), "content.0.source.file_id", "file_id"),
        (result(json!([document(by_link.clone())])), "content.0.source.url", "file_url"),
        (nested(picture), "source.content.0.source.file_id", "file_id"),
        (json!({"type": "container_upload", "file_id": "file_1"}), "file_id", "file_id"),
        (
            json!({"type": "code_execution_tool_result", "content": {"content": [{"type": "x", "file_id": "file_1"}]}}),
            "content.content.0.file_id",
            "file_id",
        ),
        (
            json!({"type": "mcp_tool_result", "content": [document(by_link)]}),
            "content.0.source.url",
            "file_url",
        ),
    ] {
        for protocol in [Protocol::Messages, Protocol::Chat] {
            let said = refused(&user(&block), protocol, json!({}));
            assert!(said.contains(&format!("messages.0.content.0.{path}")), "{said}");
            assert!(said.contains("base64"), "{said}");
        }
        let passed = prepare(&user(&block), Protocol::Messages, json!({"pass": [pass]}));
        assert!(passed.expect("it is passed").pictures > 0, "{block}");
    }
    let strange = document(json!({"type": "bucket", "uri": "s3://a/b"}));
    let said = refused(&user(&strange), Protocol::Messages, json!({}));
    assert!(said.contains("expected `base64`, `text` or `content`"), "{said}");
}

/// A small picture and a small document.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUg==";
const PDF: &str = "JVBERi0xLjQKMSAwIG9iago=";

/// Without it a file goes to the provider under a label, or in a form, that the provider refuses; and another size of it would not.
#[test]
fn a_file_is_sent_under_the_type_of_its_bytes() {
    let result = |block: Value| json!({"type": "tool_result", "tool_use_id": "t", "content": [block]});
    let history = |block: &Value| {
        let call = json!({"type": "tool_use", "id": "t", "name": "f", "input": {}});
        json!({"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": [call]}, {"role": "user", "content": [block]}]})
    };
    let facts = |mime: &str| Facts { blob: Some(BLOB.into()), ..Facts::new(MediaKind::Other, mime, 9000) };
    let sent = |block: &Value, protocol, mime: &str| -> Value {
        let mut request = text_request(&body(history(block)), protocol, json!({}));
        request.blobs.push(facts(mime));
        let prepared =
            both().prepare::<Messages>(&request).unwrap_or_else(|refusal| panic!("{block}: {refusal:?}"));
        prepared.call.json_body()
    };
    for (kind, mime, small, labels) in [
        ("image", "image/png", PNG, ["image/png", "image/jpeg", "image/jpg", "application/octet-stream"]),
        (
            "document",
            "application/pdf",
            PDF,
            ["application/pdf", "application/octet-stream", "text/plain", ""],
        ),
    ] {
        let (broken, headed) = (small.replacen('A', "A\n", 1), format!("data:x/y;base64,{small}"));
        for label in labels {
            for (data, written, uri) in [
                (small, small.to_owned(), format!("data:{mime};base64,{small}")),
                (&broken, small.to_owned(), format!("data:{mime};base64,{small}")),
                (&headed, small.to_owned(), format!("data:{mime};base64,{small}")),
                (BLOB, format!("{BLOB}:base64"), BLOB.to_owned()),
            ] {
                let block =
                    json!({"type": kind, "source": {"type": "base64", "media_type": label, "data": data}});
                for block in [block.clone(), result(block)] {
                    let messages = sent(&block, Protocol::Messages, mime);
                    let last = &messages["messages"][2]["content"][0];
                    let source = if last["type"] == "tool_result" {
                        &last["content"][0]["source"]
                    } else {
                        &last["source"]
                    };
                    assert_eq!(
                        *source,
                        json!({"type": "base64", "media_type": mime, "data": written}),
                        "{block}"
                    );
                    let chat = sent(&block, Protocol::Chat, mime).to_string();
                    assert!(chat.contains(&uri), "{block}: {chat}");
                }
            }
        }
    }
    // What does not decode is refused in every size, and so is nothing.
    for data in ["", "!!", "aGVsb", BLOB] {
        for (kind, label) in [("image", "image/png"), ("document", "application/pdf")] {
            let block =
                json!({"type": kind, "source": {"type": "base64", "media_type": label, "data": data}});
            let mut request = text_request(&user(&block), Protocol::Messages, json!({}));
            request.blobs.push(Facts { bytes: 0, ..facts("application/octet-stream") });
            let said = format!("{:?}", both().prepare::<Messages>(&request).expect_err("it is no file"));
            assert!(said.contains("messages.0.content.0.source.data`: expected base64, got"), "{said}");
        }
    }
    // What is neither is refused by its label.
    let text = json!({"type": "image", "source": {"type": "base64", "media_type": "text/plain", "data": "aGVsbG8="}});
    assert!(refused(&user(&text), Protocol::Messages, json!({})).contains("image/png"));
}

/// Without it an address that the provider cannot read is sent, and fails there in other words, or one in capitals does.
#[test]
fn an_address_is_sent_in_one_form() {
    let picture = |url: &str| json!({"type": "image", "source": {"type": "url", "url": url}});
    for (protocol, place) in [(Protocol::Messages, "/source/url"), (Protocol::Chat, "/image_url/url")] {
        for (written, expected) in
            [("https://e.com/A.png", "https://e.com/A.png"), ("HTTPS://E.com/A.png", "https://E.com/A.png")]
        {
            let prepared = prepare(&user(&picture(written)), protocol, json!({})).expect("a good request");
            let sent = prepared.call.json_body();
            let part = &sent["messages"][0]["content"][0];
            assert_eq!(part.pointer(place), Some(&json!(expected)), "{sent}");
        }
        for written in [
            "https://",
            "https:///a.png",
            "https://e.com/a b.png",
            "https://e.com/a.png\n",
            "https://e.com\\@b.com/",
        ] {
            let said = refused(&user(&picture(written)), protocol, json!({}));
            assert!(
                said.contains("messages.0.content.0.source.url`: expected an http(s) URL, got"),
                "{said}"
            );
        }
    }
}

/// Without it a picture that no model reads reaches the provider under another name, and fails there in words about the wrong
/// type, or its refusal names a type that its client takes for a good one.
#[test]
fn a_picture_is_refused_by_what_its_bytes_are() {
    const EXPECTED: &str = "`messages.0.content.0.source.media_type`: expected `image/jpeg`, `image/png`, `image/gif` or `image/webp`, got ";
    for (data, called, known) in [
        ("AAAAGGZ0eXBoZWlj", "image/jpeg", "the bytes of image/heic"),
        ("AAAAGGZ0eXBhdmlm", "image/png", "the bytes of image/avif"),
        ("SUkqAAgAAAA=", "image/png", "the bytes of image/tiff"),
        ("Qk0QAAAAAAAAADYA", "image/bmp", "the string \"image/bmp\""),
        ("PHN2Zy8+", "image/svg+xml", "the string \"image/svg+xml\""),
        ("PHN2Zy8+", "image/png", "the bytes of image/svg+xml"),
    ] {
        let picture = |data: &str| json!({"type": "image", "source": {"type": "base64", "media_type": called, "data": data}});
        let mime = if called == "image/svg+xml" { called } else { known.trim_start_matches("the bytes of ") };
        let mime = if mime.starts_with("the") { called } else { mime };
        for protocol in [Protocol::Messages, Protocol::Chat] {
            for data in [data, BLOB] {
                let mut request = text_request(&user(&picture(data)), protocol, json!({}));
                let facts = Facts { blob: Some(BLOB.into()), ..Facts::new(MediaKind::Image, mime, 9_000) };
                request.blobs.push(facts);
                let refusal = both().prepare::<Messages>(&request).expect_err("no model reads it");
                assert!(
                    format!("{refusal:?}").contains(&format!("{EXPECTED}{known}").replace('"', "\\\"")),
                    "{data}: {refusal:?}"
                );
            }
        }
    }
}

/// Without it a client has the plugin run out of its stack, which counts as a fault of the plugin's version.
#[test]
fn documents_inside_of_each_other_have_an_end() {
    let nested = |deep: usize| {
        let open = r#"[{"type":"document","source":{"type":"content","content":"#.repeat(deep);
        let content = format!("{open}\"x\"{}", "}}]".repeat(deep));
        format!(r#"{{"model":"m","max_tokens":9,"messages":[{{"role":"user","content":{content}}}]}}"#)
    };
    for protocol in [Protocol::Messages, Protocol::Chat] {
        assert!(both().prepare::<Messages>(&text_request(&nested(3), protocol, json!({}))).is_ok());
        let refusal = both().prepare::<Messages>(&text_request(&nested(100_000), protocol, json!({})));
        let said = format!("{:?}", refusal.expect_err("too deep"));
        assert!(said.contains("expected a string, so deep inside of other blocks, got an array"), "{said}");
    }
}
