//! What a plugin may have sent, told by the bytes that arrive: a call is refused before anything leaves, or it goes
//! where it may go and says what it may say, with the host's own headers and nothing smuggled in between.

use gatehouse_harness::{run, with};
use serde_json::{Value, json};

use crate::hostile::scene::gateway::Scene;
use crate::hostile::scene::secret_forms::SecretSearch;

/// What becomes of a call.
enum Verdict {
    /// The plugin broke a rule of the contract: the task fails, and the log says this.
    Fault(&'static str),
    /// The host refuses it and the plugin is told so; the log says this.
    Refused(&'static str),
    /// It arrives with this first line, and these headers besides the host's own.
    Sent(&'static str, &'static [&'static str]),
}
use Verdict::{Fault, Refused, Sent};

const ITS_OWN: &str = "is set by the host alone";

/// Targets: `TRAP` and `EVIL` stand for the two servers' addresses.
const PATHS: &[(&str, Verdict)] = &[
    ("/plain", Sent("GET /base/plain HTTP/1.1", &[])),
    ("/plain?a=b&c=http://EVIL/", Sent("GET /base/plain?a=b&c=http://EVIL/ HTTP/1.1", &[])),
    ("/@EVIL/x", Sent("GET /base/@EVIL/x HTTP/1.1", &[])),
    ("/:80@EVIL/x", Sent("GET /base/:80@EVIL/x HTTP/1.1", &[])),
    ("/x#/../..", Sent("GET /base/x HTTP/1.1", &[])),
    ("/\u{e9}\u{ff0e}\u{ff0e}/x", Sent("GET /base/%C3%A9%EF%BC%8E%EF%BC%8E/x HTTP/1.1", &[])),
    ("//EVIL/x", Fault("a path that begins with one slash")),
    ("///EVIL/x", Fault("a path that begins with one slash")),
    ("@EVIL/x", Fault("a path that begins with one slash")),
    (".EVIL/x", Fault("a path that begins with one slash")),
    ("", Fault("a path that begins with one slash")),
    ("http://EVIL/x", Fault("a path that begins with one slash")),
    ("/..", Fault("a path without `.` and `..` segments")),
    ("/../outside", Fault("a path without `.` and `..` segments")),
    ("/a/%2e%2E/../outside", Fault("a path without `.` and `..` segments")),
    ("/a/..%2foutside", Fault("a path without `.` and `..` segments")),
    ("/%2e%2e%5Coutside", Fault("a path without `.` and `..` segments")),
    ("/a\\..\\outside", Fault("no spaces, backslashes or control characters")),
    ("/\\EVIL/x", Fault("no spaces, backslashes or control characters")),
    ("/x HTTP/1.1\r\nHost: EVIL\r\n\r\nGET /", Fault("no spaces, backslashes or control characters")),
    ("/x\ty", Fault("no spaces, backslashes or control characters")),
    ("/x\0y", Fault("no spaces, backslashes or control characters")),
];

const URLS: &[(&str, Verdict)] = &[
    ("http://TRAP/outside", Sent("GET /outside HTTP/1.1", &[])),
    ("http://TRAP", Sent("GET / HTTP/1.1", &[])),
    ("http://TRAP/a/../b", Sent("GET /b HTTP/1.1", &[])),
    ("http://EVIL/x", Refused("not inside the provider's origins")),
    ("https://TRAP/x", Refused("not inside the provider's origins")),
    ("http://user:pass@TRAP/x", Refused("not inside the provider's origins")),
    ("http://TRAP@EVIL/x", Refused("not inside the provider's origins")),
    ("http://TRAP%2f@EVIL/x", Refused("not inside the provider's origins")),
    ("http://TRAP.example/x", Refused("not inside the provider's origins")),
    ("http://localhost/x", Refused("not inside the provider's origins")),
    ("http://169.254.169.254/latest", Refused("not inside the provider's origins")),
    ("http://TRAP\\@EVIL/x", Fault("no spaces, backslashes or control characters")),
    ("http://TRAP/\r\nX: y", Fault("no spaces, backslashes or control characters")),
    ("HTTP://TRAP/x", Fault("an http(s) URL")),
    ("ftp://TRAP/x", Fault("an http(s) URL")),
    ("file:///etc/passwd", Fault("an http(s) URL")),
    ("//EVIL/x", Fault("an http(s) URL")),
];

const METHODS: &[(&str, Verdict)] = &[
    ("PUT", Sent("PUT /base/plain HTTP/1.1", &["content-length: 0"])),
    ("DELETE", Sent("DELETE /base/plain HTTP/1.1", &["content-length: 0"])),
    ("CONNECT", Fault("got \"CONNECT\"")),
    ("TRACE", Fault("got \"TRACE\"")),
    ("OPTIONS", Fault("got \"OPTIONS\"")),
    ("get", Fault("got \"get\"")),
    ("", Fault("got \"\"")),
    ("GET /x HTTP/1.1\r\nHost: EVIL\r\n\r\nGET", Fault("got \"GET /x HTTP/1.1\\r\\n")),
];

const HEADERS: &[(&str, &str, Verdict)] = &[
    ("X-Fine", "a b", Sent("GET /base/plain HTTP/1.1", &["x-fine: a b"])),
    ("Accept", "image/png", Sent("GET /base/plain HTTP/1.1", &["accept: image/png"])),
    ("User-Agent", "me", Sent("GET /base/plain HTTP/1.1", &["user-agent: me"])),
    ("Host", "EVIL", Fault(ITS_OWN)),
    ("hOsT", "EVIL", Fault(ITS_OWN)),
    ("Content-Length", "0", Fault(ITS_OWN)),
    ("Transfer-Encoding", "chunked", Fault(ITS_OWN)),
    ("Connection", "x-fine, close", Fault(ITS_OWN)),
    ("Keep-Alive", "timeout=9999", Fault(ITS_OWN)),
    ("Upgrade", "h2c", Fault(ITS_OWN)),
    ("HTTP2-Settings", "AAMAAABkAAQAAP__", Fault(ITS_OWN)),
    ("TE", "trailers", Fault(ITS_OWN)),
    ("Trailer", "x", Fault(ITS_OWN)),
    ("Expect", "100-continue", Fault(ITS_OWN)),
    ("Accept-Encoding", "gzip", Fault(ITS_OWN)),
    ("Authorization", "Bearer mine", Fault(ITS_OWN)),
    ("Proxy-Authorization", "Basic eA==", Fault(ITS_OWN)),
    ("Cookie", "a=b", Fault(ITS_OWN)),
    ("X-Key", "mine", Fault(ITS_OWN)),
    ("X-Api-Key", "mine", Fault(ITS_OWN)),
    ("X-Goog-Api-Key", "mine", Fault(ITS_OWN)),
    ("X-Forwarded-For", "10.0.0.1", Fault(ITS_OWN)),
    ("Forwarded", "for=10.0.0.1", Fault(ITS_OWN)),
    ("Via", "1.1 me", Fault(ITS_OWN)),
    ("Sec-Fetch-Site", "none", Fault(ITS_OWN)),
    ("Authorization ", "Bearer mine", Fault("is not a header name")),
    (" Authorization", "Bearer mine", Fault("is not a header name")),
    ("Authorization:", "Bearer mine", Fault("is not a header name")),
    (":authority", "EVIL", Fault("is not a header name")),
    ("", "x", Fault("is not a header name")),
    ("x\r\nHost", "EVIL", Fault("is not a header name")),
    ("x\0", "y", Fault("is not a header name")),
    ("\u{212a}-key", "y", Fault("is not a header name")),
    ("x-fine", "a\r\nHost: EVIL", Fault("has control characters")),
    ("x-fine", "a\nb", Fault("has control characters")),
    ("x-fine", "a\0b", Fault("has control characters")),
    ("x-fine", "\u{e9}\u{560d}\u{560a}Host: EVIL", Fault("is not plain ASCII")),
];

/// Calls that fit no table above.
fn others() -> Vec<(Value, Verdict)> {
    let get = |more: Value| with(json!({"method": "GET"}), more);
    vec![
        (get(json!({"path": {"$repeat": ["/x", 50_000]}})), Fault("at most 8192 bytes are allowed")),
        (
            get(json!({"headers": {"$many": [["x-a", "b"], 10_000]}})),
            Fault("at most 64 are allowed, got 10000"),
        ),
        (get(json!({"headers": [["x-a", {"$repeat": ["b", 1_000_000]}]]})), Fault("at most 8192 bytes")),
        (get(json!({"headers": [[{"$repeat": ["b", 1_000_000]}, "x"]]})), Fault("at most 8192 bytes")),
        (get(json!({"timeout-ms": 0})), Fault("expected a timeout of 1 to 900000 ms, got 0")),
        (get(json!({"timeout-ms": u32::MAX})), Fault("expected a timeout of 1 to 900000 ms")),
        (get(json!({"provider": "elsewhere"})), Fault("provider \"elsewhere\" is not in the manifest")),
        (get(json!({"provider": "trap-header", "headers": [["X-Slot", "mine"]]})), Refused("header x-slot")),
        (
            get(json!({"provider": "trap-query", "path": "/x?key=mine"})),
            Refused("place on the request is taken"),
        ),
        (
            get(json!({"provider": "trap-query", "path": "/x?k%65y=mine"})),
            Refused("place on the request is taken"),
        ),
        (json!({"json": {"$raw": "7b"}}), Fault("call body is not acceptable: expected JSON")),
        (json!({"json": {"$raw": "2261"}}), Fault("call body is not acceptable: expected JSON")),
        (
            json!({"json": {"$file": "blob_00000000000000000000000000"}}),
            Refused("is not a blob of this task"),
        ),
        (
            json!({"form": [{"name": "f", "blob": "blob:../../pepper"}]}),
            Refused("is not a blob of this task"),
        ),
        (json!({"form": [{"name": "f", "blob": "/etc/passwd"}]}), Refused("is not a blob of this task")),
        (json!({"form": [{"name": "", "data": "x"}]}), Refused("unusable type or name")),
        (
            json!({"form": [{"name": "f", "mime": "a/b\r\nx: y", "data": "x"}]}),
            Refused("unusable type or name"),
        ),
        (
            json!({"form": {"$many": [{"name": "f", "data": "x"}, 65]}}),
            Fault("at most 64 are allowed, got 65"),
        ),
        (json!({"form": [{"name": {"$repeat": ["f", 9000]}, "data": "x"}]}), Fault("at most 8192 bytes")),
        (
            json!({"form": [{"name": "f", "data": "x"}], "headers": [["content-type", "text/plain"]]}),
            Refused("header content-type of a form"),
        ),
        // Only the provider could tell that this call is not safe; it is still sent once.
        (
            json!({"json": {"a": 1}, "replay": "safe"}),
            Sent("POST /base/plain HTTP/1.1", &["content-length: 7", "content-type: application/json"]),
        ),
    ]
}

#[test]
fn only_acceptable_calls_are_sent() {
    run(async {
        let scene = Scene::start("").await;
        let (trap, evil) = (scene.trap.url(), scene.evil.url());
        let named = |text: &str| text.replace("TRAP", &trap[7..]).replace("EVIL", &evil[7..]);
        let mut rows: Vec<(Value, &Verdict)> = Vec::new();
        rows.extend(
            PATHS.iter().map(|(path, verdict)| (json!({"method": "GET", "path": named(path)}), verdict)),
        );
        rows.extend(URLS.iter().map(|(url, verdict)| (json!({"method": "GET", "url": named(url)}), verdict)));
        rows.extend(METHODS.iter().map(|(method, verdict)| (json!({"method": named(method)}), verdict)));
        let pairs = HEADERS.iter().map(|(name, value, verdict)| (json!([[name, named(value)]]), verdict));
        rows.extend(pairs.map(|(headers, verdict)| (json!({"method": "GET", "headers": headers}), verdict)));
        let others = others();
        rows.extend(others.iter().map(|(call, verdict)| (call.clone(), verdict)));
        let mut broken = Vec::new();
        for (call, verdict) in &rows {
            let before = scene.trap.seen().len();
            let task = scene.finish(&json!({"steps": [{"call": call}]})).await;
            let seen = scene.trap.seen().split_off(before);
            let told = task["result"]["seen"].as_str().unwrap_or_default();
            let well = match verdict {
                Fault(_) => seen.is_empty() && task["status"] == "failed" && task["cost"] == 0.0,
                Refused(_) => seen.is_empty() && told.contains("Outage::Refused"),
                Sent(first, more) => {
                    let wanted = head(&named(first), more, &scene);
                    seen.len() == 1 && head_of(&seen[0]) == wanted
                }
            };
            if !well {
                let seen: Vec<_> = seen.iter().map(|bytes| String::from_utf8_lossy(bytes)).collect();
                broken.push(format!("  {call}: {task}\n    arrived: {seen:?}"));
            }
        }
        let log = scene.gateway.log_text();
        for (call, verdict) in &rows {
            match verdict {
                Fault(words) | Refused(words) if !log.contains(words) => {
                    broken.push(format!("  {call}: the log lacks {words:?}"));
                }
                _ => {}
            }
        }
        assert!(broken.is_empty(), "{} of {}:\n{}", broken.len(), rows.len(), broken.join("\n"));
        assert!(scene.evil.seen().is_empty(), "a server that is no provider was called");
        scene.gateway.expect_sound_ledger().await;
    });
}

/// The lines of a request's head, the first one first.
fn head_of(request: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(request);
    let head = text.split("\r\n\r\n").next().unwrap_or_default();
    let mut lines: Vec<String> = head.split("\r\n").map(str::to_owned).collect();
    lines[1..].sort();
    lines
}

/// The whole head that is expected: the host's own headers and `more`, which may take the place of some.
fn head(first: &str, more: &[&str], scene: &Scene) -> Vec<String> {
    let name = |line: &str| line.split(':').next().unwrap_or_default().to_owned();
    let own = [
        "accept: */*".to_owned(),
        "accept-encoding: identity".to_owned(),
        format!("authorization: Bearer {}", scene.secrets[0]),
        format!("host: {}", &scene.trap.url()[7..]),
        format!("user-agent: gatehouse/{}", env!("CARGO_PKG_VERSION")),
    ];
    let replaced = |line: &String| !more.iter().any(|other| name(other) == name(line));
    let mut lines: Vec<String> = own.into_iter().filter(replaced).collect();
    lines.extend(more.iter().map(|line| (*line).to_owned()));
    lines.sort();
    [vec![first.to_owned()], lines].concat()
}

#[test]
fn names_in_a_form_are_escaped() {
    run(async {
        let scene = Scene::start("").await;
        let form = json!([
            {"name": "a\"; filename=\"x\r\n\r\nb", "filename": "f\"\r\nx-evil: 1\r\n.png", "mime": "image/png", "data": "1"},
            {"name": "plain", "data": "--gatehouse-\r\n\r\n--"},
        ]);
        scene.finish(&json!({"steps": [{"call": {"form": form}}]})).await;
        let seen = scene.trap.seen_at("/plain").remove(0);
        let (head, body) = seen.split_once("\r\n\r\n").expect("a head");
        let kind = head.lines().find_map(|line| line.strip_prefix("content-type: ")).expect("a type");
        let boundary = kind.strip_prefix("multipart/form-data; boundary=").expect("a boundary");
        assert!(boundary.len() >= 16 + 10, "{boundary}");
        let expected = format!(
            "--{boundary}\r\ncontent-disposition: form-data; name=\"a%22; filename=%22x%0D%0A%0D%0Ab\"; \
             filename=\"f%22%0D%0Ax-evil: 1%0D%0A.png\"\r\ncontent-type: image/png\r\n\r\n1\r\n\
             --{boundary}\r\ncontent-disposition: form-data; name=\"plain\"\r\n\r\n--gatehouse-\r\n\r\n--\r\n--{boundary}--\r\n"
        );
        assert_eq!(body, expected);
    });
}

#[test]
fn a_task_cannot_use_the_files_of_another() {
    run(async {
        let scene = Scene::start("").await;
        let save = json!({"call": {"path": "/picture", "save-body": true}});
        let gate = json!({"call": {"path": "/gate"}});
        let owner = scene
            .submit(&json!({"steps": [save, {"call": {"path": "/told", "json": {"$seen": 0}}}, gate]}))
            .await;
        scene.until_called("/gate", 1).await;
        // The owner still runs and its file exists; the other task has learnt its name.
        let told = scene.trap.seen_at("/told").remove(0);
        let at = told.rfind("blob:").expect("the name of a file");
        let blob: String =
            told[at + 5..].chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
        let named = |name: &str| json!({"$file": name});
        let (base64, blob) = (named(&format!("{blob}:base64")), named(&blob));
        let before = scene.trap.seen().len();
        for (step, words) in [
            (json!({"call": {"json": {"image": blob}}}), "Outage::Refused"),
            (json!({"call": {"json": {"image": base64}}}), "Outage::Refused"),
            (json!({"call": {"form": [{"name": "image", "blob": blob}]}}), "Outage::Refused"),
            (json!({"done": {"products": [{"source": blob}]}}), "not a file of this task"),
            (json!({"probe": [blob]}), "Err("),
        ] {
            let task = scene.finish(&json!({"steps": [step]})).await;
            let told = task["result"]["seen"].as_str().unwrap_or_default();
            assert!(told.contains(words), "{step}: {task}");
        }
        assert_eq!(scene.trap.seen().len(), before, "nothing of it left the gateway");
        scene.trap.open_gate();
        assert_eq!(scene.caller.end_of(&owner.task_id()).await["status"], "completed");
    });
}

#[test]
fn a_call_without_credentials_brings_none() {
    run(async {
        let scene = Scene::start("").await;
        let (trap, evil) = (scene.trap.url(), scene.evil.url());
        // Each way to send a credential, at a path and at a full address inside the provider's origins.
        for (provider, target) in [
            ("trap", json!({"path": "/signed?signature=abc"})),
            ("trap", json!({"url": format!("{trap}/signed?signature=abc")})),
            ("trap-header", json!({"path": "/signed"})),
            ("trap-query", json!({"path": "/signed"})),
        ] {
            let before = scene.trap.seen().len();
            let call = json!({"provider": provider, "method": "PUT", "credentials": false, "mime": "image/png",
                "raw": {"data": "a picture"}});
            let task = scene.finish(&json!({"steps": [{"call": with(call, target.clone())}]})).await;
            assert_eq!(
                (&task["status"], &task["cost"]),
                (&json!("completed"), &json!(2)),
                "{target}: {task}"
            );
            let seen = scene.trap.seen().split_off(before);
            assert_eq!(seen.len(), 1, "{provider} {target}");
            let text = String::from_utf8_lossy(&seen[0]).to_ascii_lowercase();
            for name in ["authorization", "x-slot", "key="] {
                assert!(!text.contains(name), "{provider} {target}: {text}");
            }
            let mut search = SecretSearch::default();
            for secret in &scene.secrets {
                search = search.also_for(provider, secret.as_bytes());
            }
            assert!(search.found(&seen[0]).is_empty(), "{provider} {target}: {:?}", search.found(&seen[0]));
        }
        // Without a secret to lose, it still may not go anywhere else, nor bring one of its own.
        for (call, words) in [
            (json!({"url": format!("{evil}/x")}), "not inside the provider's origins"),
            (json!({"url": "http://169.254.169.254/latest"}), "not inside the provider's origins"),
        ] {
            let call = with(json!({"method": "GET", "credentials": false}), call);
            let task = scene.finish(&json!({"steps": [{"call": call}]})).await;
            assert!(
                task["result"]["seen"].as_str().is_some_and(|seen| seen.contains("Outage::Refused")),
                "{task}"
            );
            assert!(scene.gateway.log_text().contains(words), "{words}");
        }
        let own =
            json!({"method": "GET", "credentials": false, "headers": [["Authorization", "Bearer mine"]]});
        let task = scene.finish(&json!({"steps": [{"call": own}]})).await;
        assert!(task["status"] == "failed" && task["cost"] == 0.0, "{task}");
        assert!(scene.gateway.log_text().contains(ITS_OWN));
        assert!(scene.evil.seen().is_empty(), "a server that is no provider was called");
        scene.gateway.expect_sound_ledger().await;
    });
}
