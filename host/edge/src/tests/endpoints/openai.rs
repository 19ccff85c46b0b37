//! Pictures, videos and completions in OpenAI's shape: which requests have it, how fields are translated, answers, errors.

use gatehouse_harness::Response;
use gatehouse_model::{ChatFormat, FailureKind, Media, MediaId, Status, Task, UnixMs};
use serde_json::{Value, json};

use crate::tests::support::samples::{complete, fail};
use crate::tests::{NOW, TestEdge};

/// The task that a scripted submission makes.
const TASK: u128 = 0x0198_0000;
const ID: &str = "task_000000000000000000000SG000";
const GENERATE: &str = "/v1/images/generations";

/// A request that asks for OpenAI's shape.
fn bare(edge: &TestEdge, path: &str, body: &Value) -> String {
    edge.post(path, &body.to_string()).replace("Host", "X-Response-Format: bare\r\nHost")
}

/// The answer to a request whose task ends like this, and the body that its family got.
async fn awaited(edge: &TestEdge, request: String, end: impl FnOnce(&mut Task)) -> (Response, Value) {
    let mut connection = edge.connect().await;
    connection.send(request).await;
    edge.until_submitted().await;
    edge.backend.put(TASK, end);
    let submitted = edge.backend.submitted.lock().unwrap().pop().unwrap();
    let body = serde_json::from_slice(submitted.body.bytes()).unwrap();
    (connection.read().await.unwrap(), body)
}

/// Completes a task with one file in such a list.
fn with_file(task: &mut Task, list: &str, mime: &str) {
    complete(task);
    task.public = json!({list: [{"url": ["media:0"]}]}).to_string().into_bytes();
    let (id, expires) = (MediaId::from_bits(9), UnixMs(NOW + 60_000));
    task.media = vec![Media { id, mime: mime.to_owned(), bytes: 10, expires }];
}

/// Without it OpenAI's SDKs would read a receipt as pictures, or the specification's clients pictures as a receipt.
#[tokio::test]
async fn the_header_or_the_key_asks_for_pictures_instead_of_a_receipt() {
    let edge = TestEdge::plain().await;
    let body = json!({"model": "ctx-pro", "prompt": "a kite", "size": "1792x1024", "response_format": "url",
        "quality": "auto", "user": "u", "n": 1, "stream": false, "seed": 5});
    let (reply, sent) = awaited(&edge, bare(&edge, GENERATE, &body), complete).await;
    let url = format!("http://gate.test/v1/media/{ID}");
    assert_eq!(reply.status, 200, "{reply:?}");
    assert_eq!(reply.json(), json!({"created": 1_800_000_007, "data": [{"url": url}]}));
    assert_eq!(reply.header("x-gateway-task-id"), ID);
    assert_eq!(sent, json!({"model": "ctx-pro", "prompt": "a kite", "size": "16:9", "seed": 5}));
    edge.backend.change_key(|key| key.chat_format = ChatFormat::Bare);
    let plain = edge.post(GENERATE, &body.to_string());
    let (reply, _) = awaited(&edge, plain.clone(), |task| with_file(task, "images", "image/png")).await;
    assert_eq!(reply.json()["data"].as_array().map(Vec::len), Some(1));
    let wrapped = edge.ask(plain.replace("Host", "X-Response-Format: wrapped\r\nHost")).await;
    assert_eq!(wrapped.json()["data"][0]["task_id"], ID);
}

/// Without it a client that cannot follow links has no picture.
#[tokio::test]
async fn pictures_come_inside_of_the_answer_where_the_client_says_so() {
    let edge = TestEdge::plain().await;
    let body = json!({"model": "ctx-pro", "prompt": "a kite", "response_format": "b64_json"});
    let request = bare(&edge, GENERATE, &body);
    let (reply, sent) = awaited(&edge, request, |task| with_file(task, "images", "image/png")).await;
    assert_eq!(reply.json(), json!({"created": 1_800_000_007, "data": [{"b64_json": "MDEyMzQ1Njc4OQ=="}]}));
    assert_eq!(sent, json!({"model": "ctx-pro", "prompt": "a kite"}));
}

/// Without it a client that is told of a store's outage believes its picture lost, or its SDK pays another one.
#[tokio::test]
async fn a_picture_that_cannot_be_read_is_not_made_again() {
    let edge = TestEdge::plain().await;
    let body = json!({"model": "ctx-pro", "prompt": "a kite", "response_format": "b64_json"});
    for (expires, status, code) in [(1000, 404, "not_found"), (2000, 503, "busy")] {
        let end = |task: &mut Task| {
            with_file(task, "images", "image/png");
            task.media[0].expires = UnixMs(expires);
        };
        let (reply, _) = awaited(&edge, bare(&edge, GENERATE, &body), end).await;
        assert_eq!(reply.refusal("code"), (status, json!(code)));
        let hints = (reply.header("x-should-retry"), reply.header("x-gateway-task-id"));
        assert_eq!(hints, ("false", ID), "{reply:?}");
    }
}

/// Without it a client would wait for a task that has failed, or repeat what no repetition helps.
#[tokio::test]
async fn a_failed_task_is_an_error_in_openai_s_envelope() {
    let edge = TestEdge::plain().await;
    for (kind, status, code, retry) in [
        (FailureKind::Request, 400, Value::Null, "false"),
        (FailureKind::Moderation, 400, json!("content_policy_violation"), "false"),
        (FailureKind::Cancelled, 409, json!("conflict"), "false"),
        (FailureKind::Limit, 429, json!("rate_limit_exceeded"), ""),
        (FailureKind::Upstream, 502, json!("upstream_error"), ""),
        (FailureKind::Timeout, 502, json!("upstream_timeout"), ""),
        (FailureKind::Internal, 500, json!("internal_error"), ""),
    ] {
        let request = bare(&edge, GENERATE, &json!({"model": "ctx-pro", "prompt": "a"}));
        let (reply, _) = awaited(&edge, request, |task| fail(task, kind, "why")).await;
        let error = reply.json()["error"].clone();
        assert_eq!((reply.status, &error["code"], error["message"].as_str()), (status, &code, Some("why")));
        let hints = (reply.header("x-should-retry"), reply.header("x-gateway-task-id"));
        assert_eq!(hints, (retry, ID), "{kind:?}");
    }
    let refused = edge.ask(bare(&edge, GENERATE, &json!({"refuse": "balance"}))).await;
    assert_eq!(refused.refusal("code"), (402, json!("insufficient_quota")));
}

#[tokio::test]
async fn what_a_family_has_no_word_for_is_refused_by_name() {
    let edge = TestEdge::plain().await;
    for (field, value, words) in [
        ("size", json!("1000x100"), "size: expected pixels such as \"1280x720\" that are one of 1:1, 16:9"),
        ("size", json!(5), "size: expected a text such as \"1024x1024\", got 5"),
        (
            "quality",
            json!("high"),
            "quality: expected nothing or \"auto\", \"standard\", as this model has no such",
        ),
        ("background", json!("transparent"), "background: expected nothing or \"auto\", \"opaque\""),
        (
            "output_format",
            json!("webp"),
            "output_format: expected nothing, as this model has no such setting",
        ),
        ("n", json!(2), "n: expected nothing or 1"),
        ("style", json!("vivid"), "style: expected nothing"),
        ("stream", json!(true), "stream: expected nothing or false"),
        ("response_format", json!("png"), "response_format: expected \"url\" or \"b64_json\""),
    ] {
        let reply =
            edge.ask(bare(&edge, GENERATE, &json!({"model": "ctx-pro", "prompt": "a", field: value}))).await;
        assert_eq!((reply.status, &reply.json()["error"]["param"]), (400, &json!(field)), "{reply:?}");
        assert!(reply.message().contains(words), "{reply:?}");
    }
    let reply = edge.call("/v1/images/edits", r#"{"model":"ctx-pro","prompt":"a"}"#).await;
    assert_eq!(reply.message(), "image: expected one or several pictures, got none");
    let body = json!({"model": "ctx-pro", "images": [{"file_id": "f"}]});
    let reply = edge.call("/v1/images/edits", &body.to_string()).await;
    assert_eq!(reply.message(), "image: expected a file, or the address of one in `image_url`");
    assert!(edge.backend.submitted.lock().unwrap().is_empty());
}

/// Without it clients that write every field they have get an error for what they did not ask for.
#[tokio::test]
async fn what_asks_for_nothing_is_left_out() {
    let edge = TestEdge::plain().await;
    let every = [
        "size",
        "n",
        "quality",
        "background",
        "moderation",
        "output_format",
        "output_compression",
        "style",
        "input_fidelity",
        "stream",
        "partial_images",
        "response_format",
    ];
    let words = &every[2..9];
    for (nothing, fields) in [
        (Value::Null, &every[..]),
        (json!(false), &every),
        (json!(""), &every),
        (json!([]), &every),
        (json!({}), &every),
        (json!("auto"), words),
        (json!("none"), words),
    ] {
        let mut body = json!({"model": "ctx-pro", "prompt": "a kite"});
        for field in fields {
            body[field] = nothing.clone();
        }
        let (reply, sent) = awaited(&edge, bare(&edge, GENERATE, &body), complete).await;
        assert_eq!(reply.status, 200, "{nothing}: {reply:?}");
        assert_eq!(sent, json!({"model": "ctx-pro", "prompt": "a kite"}), "{nothing}");
    }
}

/// Without it an edit's pictures or numbers would come to the family as something else.
#[tokio::test]
async fn an_edit_is_a_form_or_json() {
    let edge = TestEdge::plain().await;
    let part =
        |head: &str, body: &str| format!("--B\r\nContent-Disposition: form-data; {head}\r\n\r\n{body}\r\n");
    let form = [
        part("name=\"model\"", "ctx-pro"),
        part("name=\"prompt\"", "at night"),
        part("name=\"n\"", "1"),
        part("name=\"strength\"", "0.5"),
        part("name=\"image[]\"; filename=\"a.png\"\r\nContent-Type: image/png", "a"),
        part("name=\"image[]\"; filename=\"b.png\"\r\nContent-Type: image/png", "b"),
        "--B--\r\n".to_owned(),
    ];
    let request = edge.post("/v1/images/edits", &form.concat());
    let request = request.replace("application/json", "multipart/form-data; boundary=B");
    let (reply, sent) = awaited(&edge, request, complete).await;
    assert_eq!(reply.status, 200, "{reply:?}");
    let files = json!(["data:image/png;base64,YQ==", "data:image/png;base64,Yg=="]);
    let expected = json!({"model": "ctx-pro", "prompt": "at night", "image_urls": files, "strength": 0.5});
    assert_eq!(sent, expected);
    let body = json!({"model": "ctx-pro", "prompt": "b", "images": [{"image_url": "https://a/b.png"}]});
    let (_, sent) = awaited(&edge, edge.post("/v1/images/edits", &body.to_string()), complete).await;
    assert_eq!(sent["image_urls"], json!(["https://a/b.png"]));
}

/// Without it a video that was made in one shape would be lost in the other.
#[tokio::test]
async fn a_video_is_its_task() {
    let edge = TestEdge::plain().await;
    let body = json!({"model": "film-alias", "prompt": "waves", "seconds": "8", "size": "1280x720",
        "input_reference": {"image_url": "https://a/b.png"}});
    let made = edge.call("/v1/videos", &body.to_string()).await;
    let sent = edge.backend.submitted.lock().unwrap().pop().unwrap();
    let expected = json!({"model": "film-alias", "prompt": "waves", "duration": 8, "aspect_ratio": "16:9",
        "resolution": "720p", "first_frame_image": "https://a/b.png"});
    let found: Value = serde_json::from_slice(sent.body.bytes()).unwrap();
    assert_eq!((sent.surface, found), ("videos.generate", expected));
    let video = json!({"id": ID, "object": "video", "model": "ctx-pro", "status": "queued", "progress": 10,
        "created_at": 1_800_000_000, "completed_at": null, "expires_at": null, "error": null});
    assert_eq!((made.status, made.json()), (200, video));
    edge.backend.put(TASK, |task| {
        with_file(task, "videos", "video/mp4");
        task.surface = "videos.remix".to_owned();
    });
    let read = edge.read(&format!("/v1/videos/{ID}")).await.json();
    assert_eq!((&read["status"], &read["completed_at"]), (&json!("completed"), &json!(1_800_000_007)));
    assert_eq!(read["expires_at"], 1_800_000_060);
    let file = edge.read(&format!("/v1/videos/{ID}/content")).await;
    assert_eq!((file.status, &file.text()[..]), (200, "0123456789"));
    let part = edge.ask(edge.get(&format!("/v1/videos/{ID}/content"), "Range: bytes=2-4\r\n")).await;
    assert_eq!((part.status, &part.text()[..]), (206, "234"));
    let deleted = edge.delete(&format!("/v1/videos/{ID}")).await;
    assert_eq!(deleted.json(), json!({"id": ID, "object": "video.deleted", "deleted": true}));
    assert_eq!(edge.delete(&format!("/v1/videos/{ID}")).await.status, 404);
    assert_eq!(edge.read(&format!("/v1/videos/{ID}")).await.status, 404);
    let empty = json!({"object": "list", "data": [], "has_more": false, "first_id": null, "last_id": null});
    assert_eq!(edge.read("/v1/videos").await.json(), empty);
    assert_eq!(edge.read(&format!("/v1/tasks/{ID}")).await.status, 200, "the task stays");
}

#[tokio::test]
async fn a_video_that_is_none_or_not_there_yet_is_told_so() {
    let edge = TestEdge::plain().await;
    let picture = edge.backend.put(1, complete);
    let film = edge.backend.put(2, |task| {
        task.surface = "videos.generate".to_owned();
        task.status = Status::Processing;
    });
    let failed = edge.backend.put(3, |task| {
        fail(task, FailureKind::Moderation, "not that");
        task.surface = "videos.generate".to_owned();
    });
    for (path, status, words) in [
        (format!("/v1/videos/{picture}"), 404, "unknown video"),
        ("/v1/videos/video_1".to_owned(), 404, "unknown video \"video_1\""),
        (format!("/v1/videos/{picture}/content"), 404, "unknown video"),
        (format!("/v1/videos/{film}/content"), 409, "is in_progress: only a completed one has a file"),
        (format!("/v1/videos/{film}/content?variant=thumbnail"), 400, "variant: expected video"),
        ("/v1/videos?order=asc".to_owned(), 400, "order: expected desc"),
        ("/v1/videos?limit=0".to_owned(), 400, "limit: expected a number from 1 to 100"),
    ] {
        let reply = edge.read(&path).await;
        assert_eq!(reply.status, status, "{path}: {reply:?}");
        assert!(reply.message().contains(words), "{path}: {reply:?}");
        assert!(reply.json()["error"]["code"].as_u64().is_none(), "OpenAI's envelope: {reply:?}");
    }
    for (video, words) in [(film, "POST /v1/tasks/"), (failed, "it has no file to delete")] {
        let reply = edge.delete(&format!("/v1/videos/{video}")).await;
        assert!(reply.status == 409 && reply.message().contains(words), "{reply:?}");
    }
    let read = edge.read(&format!("/v1/videos/{failed}")).await.json();
    assert_eq!(read["error"], json!({"code": "moderation_blocked", "message": "not that"}));
    let page = edge.read("/v1/videos?limit=1").await.json();
    assert_eq!((&page["data"][0]["id"], &page["has_more"]), (&json!(failed), &json!(true)));
    assert_eq!(page["last_id"], json!(failed));
    let page = edge.read("/v1/videos").await.json();
    assert_eq!(page["data"].as_array().map(Vec::len), Some(2), "{page}");
}

/// Without it a client reads that it has no videos, because it made many pictures since.
#[tokio::test]
async fn the_first_video_of_a_page_is_found_behind_thousands_of_other_tasks() {
    let edge = TestEdge::plain().await;
    let film = edge.backend.put(1, |task| task.surface = "videos.generate".to_owned());
    for number in 2..2_150 {
        edge.backend.put(number, complete);
    }
    let page = edge.read("/v1/videos").await.json();
    assert_eq!((&page["data"][0]["id"], &page["has_more"]), (&json!(film.to_string()), &json!(false)));
}

/// Without it clients of the older API would find nothing, or the chunks of a chat.
#[tokio::test]
async fn a_completion_is_a_chat_completion_of_one_message() {
    let edge = TestEdge::plain().await;
    let whole = edge.call("/v1/completions", r#"{"model":"m","prompt":["a","b"]}"#).await;
    assert_eq!((whole.status, &whole.json()["object"]), (200, &json!("text_completion")));
    let chunk = |text: &str| {
        let delta = json!({"index": 0, "delta": {"content": text}, "finish_reason": null});
        json!({"data": {"id": "chatcmpl-1", "created": 7, "model": "m", "choices": [delta]}})
    };
    let body = json!({"model": "m", "prompt": "a", "stream": true, "echo": true, "events": [chunk("x"), chunk("y")]});
    let streamed = edge.call("/v1/completions", &body.to_string()).await;
    let text = streamed.text();
    let texts: Vec<String> = text
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line.strip_prefix("data: ")?).ok())
        .map(|piece| piece["choices"][0]["text"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(texts, ["a", "x", "y"]);
    assert!(text.ends_with("data: [DONE]\n\n"), "{text}");
    let failed =
        json!({"model": "m", "prompt": "a", "stream": true, "events": [chunk("x"), {"fail": "timeout"}]});
    let cut = edge.call("/v1/completions", &failed.to_string()).await.text();
    assert!(cut.contains("\"code\":\"upstream_timeout\"") && !cut.contains("[DONE]"), "{cut}");
    for (body, status) in [
        (json!({"model": "m", "prompt": "a", "refuse": "model"}), 404),
        (json!({"model": "m", "prompt": "a", "refuse": "rate", "stream": true}), 429),
        (json!({"model": "m", "prompt": "a", "logprobs": 1}), 400),
    ] {
        let refused = edge.call("/v1/completions", &body.to_string()).await;
        assert_eq!(refused.status, status, "{refused:?}");
        assert!(refused.json()["error"]["code"].as_u64().is_none(), "OpenAI's envelope: {refused:?}");
    }
    let dry = edge.call("/v1/completions", r#"{"model":"m","prompt":"a","dry_run":true}"#).await;
    assert_eq!(dry.json()["dry_run"], true);
    // Events that nobody asked for may be paid for all the same.
    let events = json!({"model": "m", "prompt": "a", "events": [chunk("x")]});
    let unexpected = edge.call("/v1/completions", &events.to_string()).await;
    assert_eq!((unexpected.status, unexpected.header("x-should-retry")), (500, "false"));
}
