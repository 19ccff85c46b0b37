//! What a call looks like on the wire, what it may not be, and what a plugin sees of the answer.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use gatehouse_harness::until;
use gatehouse_model::{Outage, Part};
use tokio::sync::Semaphore;

use super::*;

async fn call(upstream: &Upstream, call: &Call, blobs: &dyn Blobs) -> Result<Reply, Outage> {
    let (_place, permit) = upstream.acquire_account("p", &acme(), None).unwrap();
    permit.call(call, blobs, NEVER).await
}

#[tokio::test]
async fn the_credential_goes_into_its_slot_and_nowhere_else() {
    for (auth, permit, expected, target) in [
        ("", "authorization", Some(format!("Bearer {SECRET}")), "/v1/a?b=c".to_owned()),
        ("auth = { header = \"x-key\" }", "x-key", Some(SECRET.to_owned()), "/v1/a?b=c".to_owned()),
        ("auth = { query = \"key\" }", "authorization", None, format!("/v1/a?b=c&key={SECRET}")),
        ("auth = \"none\"", "authorization", None, "/v1/a?b=c".to_owned()),
    ] {
        let server = Provider::start(|_| reply(200, &[], "ok")).await;
        let upstream = upstream(&provider(&format!("{}/v1", server.url()), auth));
        let reply = call(&upstream, &get(path("/a?b=c")), &Memory::default()).await.unwrap();
        assert_eq!((reply.status, text(&reply)), (200, "ok"));
        let seen = server.only();
        assert_eq!(seen.header(permit), expected.as_deref(), "{auth}");
        assert_eq!((seen.method.as_str(), seen.target.as_str()), ("GET", target.as_str()), "{auth}");
        let leaks = seen.headers.values().filter(|value| value.to_str().unwrap().contains(SECRET)).count();
        assert_eq!(leaks, usize::from(expected.is_some()), "{auth}");
        assert_eq!(seen.header("accept-encoding"), Some("identity"));
    }
}

/// A process that was stopped while it made a request ready, or while it connected, would send what another one sends as well.
#[tokio::test]
async fn a_call_waits_before_it_leaves_and_once_more_on_a_new_connection() {
    let server = Provider::start(|_| reply(200, &[], "ok")).await;
    let upstream = upstream(&provider(&server.url(), ""));
    let (asked, may) = (Arc::<AtomicUsize>::default(), Arc::new(Semaphore::new(0)));
    let gate = (Arc::clone(&asked), Arc::clone(&may));
    upstream.begin_calls_when(move || {
        let (asked, may) = gate.clone();
        Box::pin(async move {
            asked.fetch_add(1, Ordering::SeqCst);
            may.acquire().await.unwrap().forget();
        })
    });
    // Nobody waits for longer than the call may take, and then nothing was sent.
    let short = Call { timeout_ms: 20, ..post("{}") };
    assert_eq!(call(&upstream, &short, &Memory::default()).await, Err(Outage::Unreachable));
    for (number, waits) in [(1, 2), (2, 1)] {
        asked.store(0, Ordering::SeqCst);
        let call = async { call(&upstream, &post("{}"), &Memory::default()).await.unwrap().status };
        let opens = async {
            for wait in 1..=waits {
                until("it waits", async || asked.load(Ordering::SeqCst) == wait).await;
                assert_eq!(server.received().len(), number - 1);
                may.add_permits(1);
            }
        };
        assert_eq!(tokio::join!(call, opens).0, 200);
        assert_eq!((server.received().len(), asked.load(Ordering::SeqCst)), (number, waits));
    }
}

#[tokio::test]
async fn a_full_url_must_lie_inside_the_origins() {
    let server = Provider::start(|_| reply(200, &[], "poll")).await;
    let other = Provider::start(|_| reply(200, &[], "stolen")).await;
    let more = format!("origins = [\"{}\", \"https://*.bfl.ai\"]", server.url());
    let upstream = upstream(&provider("https://api.example.com", &more));
    let url = |text: String| get(Target::Url(text));
    let reply =
        call(&upstream, &url(format!("{}/poll?id=1", server.url())), &Memory::default()).await.unwrap();
    assert_eq!(text(&reply), "poll");
    assert_eq!(server.only().header("authorization"), Some(format!("Bearer {SECRET}").as_str()));
    for foreign in [
        other.url(),
        format!("http://user@{}/", server.address),
        format!("https://{}/", server.address),
        format!("{}.evil.com/", server.url()),
        "https://bfl.ai/".to_owned(),
        "https://bfl.ai.evil.com/".to_owned(),
        "file:///etc/passwd".to_owned(),
        "/relative".to_owned(),
    ] {
        assert_eq!(
            call(&upstream, &url(foreign.clone()), &Memory::default()).await,
            Err(Outage::Refused),
            "{foreign}"
        );
    }
    assert!(other.received().is_empty());
}

#[tokio::test]
async fn a_path_stays_below_the_base() {
    let server = Provider::start(|_| reply(200, &[], "")).await;
    let upstream = upstream(&provider(&format!("{}/v1/", server.url()), ""));
    for (asked, arrives) in [
        ("/a", Some("/v1/a")),
        ("/a/../b", Some("/v1/b")),
        ("//evil.com/x", Some("/v1//evil.com/x")),
        ("/@evil.com", Some("/v1/@evil.com")),
        ("/a%2e%2e/b", Some("/v1/a%2e%2e/b")),
        ("/..", None),
        ("/../v2", None),
        ("/%2e%2e/v2", None),
        ("/\\..\\..\\v2", None),
        ("a", None),
        ("@evil.com/", None),
        (".evil.com/", None),
        (":1/", None),
        ("", None),
    ] {
        let before = server.received().len();
        let outcome = call(&upstream, &get(path(asked)), &Memory::default()).await;
        match arrives {
            Some(target) => assert_eq!(server.received().last().unwrap().target, target),
            None => assert_eq!(outcome, Err(Outage::Refused), "{asked}"),
        }
        assert_eq!(server.received().len() - before, usize::from(arrives.is_some()), "{asked}");
    }
}

#[tokio::test]
async fn what_is_not_the_plugins_to_say_is_refused() {
    let server = Provider::start(|_| reply(200, &[], "")).await;
    let upstream = upstream(&provider(&server.url(), "auth = { query = \"key\" }"));
    let base = get(path("/"));
    for call_ in [
        Call { headers: vec![header("Authorization", "Bearer x")], ..base.clone() },
        Call { headers: vec![header("Host", "evil.com")], ..base.clone() },
        Call { method: "CONNECT".to_owned(), ..base.clone() },
        Call { method: "get".to_owned(), ..base.clone() },
        Call { target: path("/?key=mine"), ..base.clone() },
        Call { provider: "q".to_owned(), ..base.clone() },
    ] {
        assert_eq!(call(&upstream, &call_, &Memory::default()).await, Err(Outage::Refused), "{call_:?}");
    }
    assert!(server.received().is_empty());
}

#[tokio::test]
async fn blobs_are_spliced_into_json() {
    let server = Provider::start(|_| reply(200, &[], "")).await;
    let upstream = upstream(&provider(&server.url(), ""));
    let bytes: Vec<u8> = (0..=255).collect();
    let (memory, id) = Memory::with(&bytes);
    let json =
        format!(r#"{{"uri":"blob:{id}","bare":["blob:{id}:base64"],"text":"see blob:{id}","n":1.50}}"#);
    call(&upstream, &post(&json), &memory).await.unwrap();
    let base64 = STANDARD.encode(&bytes);
    let expected = format!(
        r#"{{"uri":"data:image/png;base64,{base64}","bare":["{base64}"],"text":"see blob:{id}","n":1.50}}"#
    );
    let seen = server.only();
    assert_eq!(seen.text(), expected);
    assert_eq!(seen.header("content-length"), Some(expected.len().to_string().as_str()));
    assert_eq!(seen.header("content-type"), Some("application/json"));
    assert_eq!(seen.header("transfer-encoding"), None);
}

#[tokio::test]
async fn a_text_is_spliced_as_text() {
    let server = Provider::start(|_| reply(200, &[], "")).await;
    let upstream = upstream(&provider(&server.url(), ""));
    let text = "a \"red\" kite\\\n\u{1f3a8} over blob:x";
    let (memory, id) = Memory::with(text.as_bytes());
    let json = format!(r#"{{"text":"blob:{id}:text","n":1.50}}"#);
    call(&upstream, &post(&json), &memory).await.unwrap();
    let seen = server.only();
    let read: serde_json::Value = serde_json::from_str(seen.text()).unwrap();
    assert_eq!(read, serde_json::json!({"text": text, "n": 1.5}));
    assert_eq!(seen.header("content-length"), Some(seen.text().len().to_string().as_str()));
}

#[tokio::test]
async fn a_blob_of_another_task_and_one_that_is_no_text_are_refused() {
    let server = Provider::start(|_| reply(200, &[], "")).await;
    let upstream = upstream(&provider(&server.url(), ""));
    let (memory, id) = Memory::with(b"\xff\xfe");
    for (json, blobs) in [
        (format!(r#"{{"text":"blob:{id}:text"}}"#), &memory),
        (format!(r#"{{"uri":"blob:{id}"}}"#), &Memory::default()),
    ] {
        assert_eq!(call(&upstream, &post(&json), blobs).await, Err(Outage::Refused), "{json}");
    }
    assert!(server.received().is_empty());
}

#[tokio::test]
async fn a_form_is_written_as_browsers_do() {
    let server = Provider::start(|_| reply(200, &[], "")).await;
    let upstream = upstream(&provider(&server.url(), ""));
    let (memory, id) = Memory::with(b"\x89PNG picture");
    let part = |name: &str, filename: Option<&str>, mime: Option<&str>, data| Part {
        name: name.to_owned(),
        filename: filename.map(str::to_owned),
        mime: mime.map(str::to_owned),
        data,
    };
    let form = Payload::Form(vec![
        part("prompt", None, None, Body::Inline(b"a kite".as_slice().into())),
        part("i\"m\r\nage", Some("a\"b.png"), Some("image/png"), Body::Blob(format!("blob:{id}"))),
    ]);
    call(&upstream, &Call { body: form, ..post("") }, &memory).await.unwrap();
    let seen = server.only();
    let boundary =
        seen.header("content-type").unwrap().strip_prefix("multipart/form-data; boundary=").unwrap();
    let expected = [
        format!("--{boundary}\r\ncontent-disposition: form-data; name=\"prompt\"\r\n\r\na kite\r\n").as_bytes(),
        format!("--{boundary}\r\ncontent-disposition: form-data; name=\"i%22m%0D%0Aage\"; filename=\"a%22b.png\"\r\n")
            .as_bytes(),
        b"content-type: image/png\r\n\r\n\x89PNG picture\r\n",
        format!("--{boundary}--\r\n").as_bytes(),
    ]
    .concat();
    assert_eq!(seen.body, expected);
    let typed =
        Call { headers: vec![header("content-type", "text/plain")], body: Payload::Form(vec![]), ..post("") };
    assert_eq!(call(&upstream, &typed, &memory).await, Err(Outage::Refused));
    let odd = Payload::Form(vec![part("a", None, Some("a\r\nb: c"), Body::Inline(Bytes::new()))]);
    assert_eq!(call(&upstream, &Call { body: odd, ..post("") }, &memory).await, Err(Outage::Refused));
}

#[tokio::test]
async fn a_reply_is_stripped_and_an_echoed_secret_masked() {
    let headers = [("set-cookie", "a=b"), ("x-request", "1"), ("x-key", "k"), ("retry-after", "2")];
    let server = Provider::start(move |seen| {
        let key = seen.header("authorization").unwrap().to_owned();
        reply(422, &headers, format!("your key {key} is bad"))
    })
    .await;
    let upstream = upstream(&provider(&server.url(), ""));
    let reply = call(&upstream, &get(path("/")), &Memory::default()).await.unwrap();
    assert_eq!((reply.status, text(&reply)), (422, "your key Bearer (secret) is bad"));
    assert_eq!((reply.header("x-request"), reply.header("retry-after")), (Some("1"), Some("2")));
    assert_eq!((reply.header("set-cookie"), reply.header("x-key")), (None, None));
}

#[tokio::test]
async fn a_redirect_is_handed_on_not_followed() {
    let server = Provider::start(|_| reply(302, &[("location", "/elsewhere")], "")).await;
    let upstream = upstream(&provider(&server.url(), ""));
    let reply = call(&upstream, &get(path("/")), &Memory::default()).await.unwrap();
    assert_eq!((reply.status, reply.header("location")), (302, Some("/elsewhere")));
    assert_eq!(server.received().len(), 1);
}

#[tokio::test]
async fn a_saved_body_becomes_a_blob_unless_it_explains_an_error() {
    let server = Provider::start(|seen| match seen.target.as_str() {
        "/good" => reply(200, &[], vec![7; 100_000]),
        _ => reply(404, &[], "no such file"),
    })
    .await;
    let upstream = upstream(&provider(&server.url(), ""));
    let memory = Memory::default();
    let saved = |target| Call { reading: Reading::Saved, ..get(path(target)) };
    let reply = call(&upstream, &saved("/good"), &memory).await.unwrap();
    let Body::Blob(name) = reply.body else { panic!("not saved") };
    let id: BlobId = name.strip_prefix("blob:").unwrap().parse().unwrap();
    assert_eq!(memory.0.lock().unwrap()[&id], vec![7; 100_000]);
    let reply = call(&upstream, &saved("/bad"), &memory).await.unwrap();
    assert_eq!((reply.status, text(&reply)), (404, "no such file"));
}

#[tokio::test]
async fn https_speaks_http2_where_the_provider_does() {
    let made = rcgen::generate_simple_self_signed(vec!["provider.test".to_owned()]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let roots = folder.path().join("roots.pem");
    std::fs::write(&roots, made.cert.pem()).unwrap();
    for (alpn, version) in [(&b"h2"[..], http::Version::HTTP_2), (b"http/1.1", http::Version::HTTP_11)] {
        let acceptor = acceptor(&made, vec![alpn.to_vec()]);
        let server = Provider::start_over(
            |_| reply(200, &[], "ok"),
            move |stream| {
                let acceptor = acceptor.clone();
                async move { acceptor.accept(stream).await.ok() }
            },
        )
        .await;
        let base = format!("https://provider.test:{}", server.address.port());
        let resolver = Table::of(&[("provider.test", &["127.0.0.1"])]);
        let trusting = format!("{}[fetch]\nextra_roots_file = {roots:?}\n", provider(&base, ""));
        let trusted = upstream_with(&trusting, TestClock::skipping_pauses_at(0), resolver.clone());
        call(&trusted, &post("{}"), &Memory::default()).await.unwrap();
        assert_eq!(server.only().version, version);
        let doubting = upstream_with(&provider(&base, ""), TestClock::skipping_pauses_at(0), resolver);
        assert_eq!(call(&doubting, &post("{}"), &Memory::default()).await, Err(Outage::Unreachable));
        assert_eq!(server.received().len(), 1);
    }
}
