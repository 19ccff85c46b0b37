//! Every marker, in both protocols, as a client sees it.

use std::collections::BTreeSet;
use std::io::Read as _;

use crate::text::{MARKERS, Protocol};
use gatehouse_harness::until;
use serde_json::{Value, json};

use crate::tests::client::{End, Response, TestSandbox};
use crate::tests::text::wire::{BOTH, Wire, answer_text, bodies, events, joined, question, with};

const SSE: &str = "text/event-stream; charset=utf-8";

async fn stream(test: &TestSandbox, wire: Wire, text: &str) -> Response {
    test.ask(wire, &question(wire, text, true)).await
}

async fn whole(test: &TestSandbox, wire: Wire, text: &str) -> Response {
    test.ask(wire, &question(wire, text, false)).await
}

fn is_json(reply: &Response) -> bool {
    serde_json::from_slice::<Value>(&reply.body).is_ok()
}

fn with_tool(wire: Wire, text: &str, stream: bool) -> Value {
    let schema =
        json!({ "type": "object", "properties": { "a": { "type": "string" }, "b": { "type": "string" } } });
    let tools = match wire {
        Wire::Chat => json!([{ "type": "function", "function": { "name": "f", "parameters": schema } }]),
        Wire::Messages => json!([{ "name": "f", "input_schema": schema }]),
    };
    with(question(wire, text, stream), &json!({ "tools": tools }))
}

/// Deltas that came.
fn deltas(wire: Wire, reply: &Response) -> usize {
    let is_delta = |data: &&Value| {
        let choice = &data["choices"][0];
        let has_piece =
            |delta: &Value| delta.as_object().is_some_and(|it| !it.is_empty() && !it.contains_key("role"));
        wire.pick(
            choice["finish_reason"].is_null() && has_piece(&choice["delta"]),
            data["type"] == "content_block_delta",
        )
    };
    bodies(reply).iter().filter(is_delta).count()
}

/// Whether the stream's last event came.
fn ended(wire: Wire, reply: &Response) -> bool {
    let events = events(reply);
    events.last().is_some_and(|event| wire.pick(event.data == "[DONE]", event.name == "message_stop"))
}

#[tokio::test]
async fn refusals() {
    let test = TestSandbox::start().await;
    let table = [
        ("400", 400, "invalid_request_error", "invalid_request_error", ""),
        ("401", 401, "authentication_error", "invalid_request_error", ""),
        ("402", 402, "billing_error", "billing_error", ""),
        ("403", 403, "permission_error", "invalid_request_error", ""),
        ("404", 404, "not_found_error", "invalid_request_error", ""),
        ("413", 413, "request_too_large", "invalid_request_error", ""),
        ("429", 429, "rate_limit_error", "requests", "1"),
        ("429-bare", 429, "rate_limit_error", "requests", ""),
        ("500", 500, "api_error", "server_error", ""),
        ("502-html", 502, "", "", ""),
        ("503", 503, "api_error", "server_error", ""),
        ("504", 504, "timeout_error", "server_error", ""),
        ("529", 529, "overloaded_error", "server_error", ""),
        ("credit", 400, "invalid_request_error", "", ""),
        ("quota", 429, "", "insufficient_quota", ""),
    ];
    for wire in BOTH {
        for (name, status, messages, chat, retry_after) in table {
            let kind = wire.pick(chat, messages);
            if kind.is_empty() && name != "502-html" {
                continue;
            }
            for streams in [false, true] {
                let reply = test.ask(wire, &question(wire, &format!("[[{name}]]"), streams)).await;
                assert_eq!((reply.status, reply.end), (status, End::Whole), "{wire:?} {name}");
                assert_eq!(reply.header("retry-after"), retry_after, "{wire:?} {name}");
                if name == "502-html" {
                    assert_eq!(reply.header("content-type"), "text/html");
                    assert!(reply.text().starts_with("<html>"));
                } else {
                    assert_eq!(reply.json()["error"]["type"], kind, "{wire:?} {name}");
                }
                assert_eq!(test.last(wire).usage, None);
            }
        }
        for (text, statuses) in [
            ("[[529:1]]", [529, 200, 200, 200]),
            ("[[500:2]][[429:1]] later", [500, 500, 429, 200]),
            ("[[529:1]] other text", [529, 200, 200, 200]),
        ] {
            for status in statuses {
                assert_eq!(
                    whole(&test, wire, text).await.status,
                    status,
                    "every text is counted apart: {text}"
                );
            }
        }
        let none = test.open(wire, &question(wire, "[[no-reply]]", false)).await.try_read().await;
        assert!(none.is_none());
        let record = test.last(wire);
        assert_eq!((record.status, record.finished, record.hung_up), (None, true, false));
    }
}

#[tokio::test]
async fn broken_streams() {
    let test = TestSandbox::start().await;
    for wire in BOTH {
        for (text, end, count, last) in [
            ("hello", End::Whole, None, true),
            ("[[cut]]", End::Whole, Some(1), false),
            ("[[cut:3]]", End::Whole, Some(3), false),
            ("[[abort:2]]", End::Cut, Some(2), false),
            ("[[reset:2]]", End::Reset, Some(2), false),
            ("[[no-end]]", End::Whole, None, false),
            ("[[error:2]]", End::Whole, Some(2), false),
        ] {
            let reply = stream(&test, wire, text).await;
            assert_eq!((reply.status, reply.end, ended(wire, &reply)), (200, end, last), "{wire:?} {text}");
            if let Some(count) = count {
                assert_eq!(deltas(wire, &reply), count, "{wire:?} {text}");
            }
            let record = test.last(wire);
            let is_recorded = record.finished && !record.hung_up && record.usage.is_some();
            assert!(is_recorded, "{wire:?} {text}: {record:?}");
        }
        assert_eq!(stream(&test, wire, "[[cut:0]]").await.body, "");
        let error = events(&stream(&test, wire, "[[error:2]]").await).pop().expect("an event");
        assert_eq!(
            (error.name.as_str(), error.json()["error"]["type"].as_str()),
            wire.pick(("", Some("server_error")), ("error", Some("overloaded_error")))
        );
        // The reset falls into a chunk: its length was announced, not all of it came.
        let reset = stream(&test, wire, "[[reset:2]][[one-write]]").await;
        assert_eq!(reset.end, End::Reset);
        assert!(!reset.text().ends_with('\n'), "{}", reset.text());
        for (text, end) in [("[[cut]]", End::Whole), ("[[abort]]", End::Cut), ("[[reset]]", End::Reset)] {
            let reply = whole(&test, wire, text).await;
            assert_eq!(reply.end, end, "{wire:?} {text} in one piece");
            assert!(!is_json(&reply));
        }
    }
}

#[tokio::test]
async fn held_answers() {
    let test = TestSandbox::start().await;
    for wire in BOTH {
        for (text, streams, before) in [
            ("[[slow-start]]", true, ""),
            ("[[slow-start]]", false, ""),
            ("[[slow-event]]", true, "\r\n\r\n"),
            ("[[slow-event]]", false, "\r\n\r\n"),
            ("[[keep-alives]]", true, ": keep-alive\n\n"),
            ("[[stall:2]]", true, "data: "),
            ("[[stall]]", false, "\r\n\r\n{"),
        ] {
            let mut open = test.open(wire, &question(wire, text, streams)).await;
            open.until(before).await;
            until("an answer is held", async || test.record(wire).held > 0).await;
            let record = test.last(wire);
            assert_eq!((record.finished, record.hung_up), (false, false));
            assert_eq!(record.status.is_some(), !before.is_empty(), "{wire:?} {text}");
            test.sandbox.release();
            let reply = open.try_read().await.expect("a reply");
            assert_eq!((reply.status, reply.end), (200, End::Whole), "{wire:?} {text}");
            assert!(!answer_text(wire, &reply).is_empty());
        }
        // A refusal too.
        let mut open = test.open(wire, &question(wire, "[[slow-start]][[503]]", true)).await;
        until("a refusal is held", async || test.record(wire).held > 0).await;
        assert_eq!(test.last(wire).status, None);
        test.sandbox.release();
        assert_eq!(open.try_read().await.map(|reply| reply.status), Some(503));
    }
    // Or the settings' span ends it.
    let test = TestSandbox::with(|settings| settings.hold = std::time::Duration::from_millis(1)).await;
    assert_eq!(whole(&test, Wire::Chat, "[[slow-start]]").await.status, 200);
}

#[tokio::test]
async fn bodies_of_the_wrong_kind() {
    let test = TestSandbox::start().await;
    for wire in BOTH {
        for (text, streams, mime, expected) in [
            ("[[wrong-type]]", true, "application/json", false),
            ("[[wrong-type]]", false, "text/html; charset=utf-8", true),
            ("[[json-for-stream]]", true, "application/json", true),
            ("[[json-for-stream]]", false, "application/json", true),
            ("[[stream-for-json]]", false, SSE, false),
            ("[[error-200]]", false, "application/json", true),
            ("[[error-200]]", true, "application/json", true),
        ] {
            let reply = test.ask(wire, &question(wire, text, streams)).await;
            assert_eq!((reply.status, reply.header("content-type")), (200, mime), "{wire:?} {text}");
            assert_eq!(is_json(&reply), expected, "{wire:?} {text}");
            let is_error = is_json(&reply) && reply.json()["error"].is_object();
            assert_eq!(is_error, text == "[[error-200]]");
            assert_eq!(events(&reply).is_empty(), expected);
        }
        for streams in [true, false] {
            let mut reply = test.ask(wire, &question(wire, "[[gzip]]", streams)).await;
            assert_eq!(reply.header("content-encoding"), "gzip");
            let mut text = Vec::new();
            flate2::read::GzDecoder::new(&reply.body[..]).read_to_end(&mut text).expect("gzip");
            reply.body = text.into();
            assert!(if streams { events(&reply).len() > 3 } else { reply.text().starts_with('{') });
        }
    }
}

#[tokio::test]
async fn lines_and_writes() {
    let test = TestSandbox::start().await;
    for wire in BOTH {
        let crlf = stream(&test, wire, "[[crlf]]").await;
        assert_eq!(crlf.text().matches('\n').count(), crlf.text().matches("\r\n").count());
        assert!(ended(wire, &crlf));
        let comments = stream(&test, wire, "[[comments]]").await;
        assert!(comments.text().contains("\n\n: keep-alive\n\n") && ended(wire, &comments));
        let bytes = stream(&test, wire, "[[bytes]]").await;
        assert!(bytes.chunks.iter().all(|chunk| chunk.len() == 1) && ended(wire, &bytes));
        let one = stream(&test, wire, "[[one-write]]").await;
        assert_eq!((one.chunks.len(), ended(wire, &one)), (1, true));
        let huge = stream(&test, wire, "[[huge-line]]").await;
        let longest = events(&huge).iter().map(|event| event.data.len()).max();
        assert!(longest > Some(1 << 20) && ended(wire, &huge));
        assert!(bodies(&huge).iter().all(Value::is_object));
        let odd = stream(&test, wire, "[[odd-event]]").await;
        assert!(odd.text().contains("\"hint\":") && ended(wire, &odd));
        let paced = stream(&test, wire, "[[pace:1]][[one-write]]").await;
        assert_eq!(paced.chunks.len(), events(&paced).len(), "an event a write");
        // Some writes end inside a character, whatever the answer is.
        let long = stream(&test, wire, "[[words:400]]").await;
        let inside = long.chunks.windows(2).any(|pair| pair[1][0] & 0xc0 == 0x80);
        assert!(inside && answer_text(wire, &long).split_whitespace().count() == 400);
    }
    let reply = stream(&test, Wire::Messages, "[[pings:2]]").await;
    let pings = events(&reply).iter().filter(|event| event.name == "ping").count();
    assert_eq!(pings, 1 + deltas(Wire::Messages, &reply) / 2);
    let filled = stream(&test, Wire::Chat, "[[obfuscation]]").await;
    assert!(bodies(&filled).iter().all(|body| body["obfuscation"].is_string()));
    let early = stream(&test, Wire::Chat, "[[done-early]]").await;
    assert!(ended(Wire::Chat, &early) && !early.text().contains("\"finish_reason\":\"stop\""));
}

#[tokio::test]
async fn answers_with_something_missing() {
    let test = TestSandbox::start().await;
    for wire in BOTH {
        for streams in [false, true] {
            let mut body = question(wire, "[[no-usage]]", streams);
            if wire == Wire::Chat && streams {
                body["stream_options"] = json!({ "include_usage": true });
            }
            let bare = test.ask(wire, &body).await;
            assert!(!bare.text().contains("usage"), "{}", bare.text());
            assert!(test.last(wire).usage.is_some_and(|usage| usage.output > 0), "billed all the same");
            let empty = test.ask(wire, &question(wire, "[[no-output]]", streams)).await;
            assert_eq!(answer_text(wire, &empty), "");
            assert_eq!(test.last(wire).usage.map(|usage| usage.output), Some(0));
            let refused = test.ask(wire, &question(wire, "[[refusal]]", streams)).await;
            assert_eq!(answer_text(wire, &refused), "");
            let word = wire.pick("\"refusal\":\"I", "\"stop_reason\":\"refusal\"");
            assert!(refused.text().contains(word), "{}", refused.text());
        }
    }
    let filtered = whole(&test, Wire::Chat, "[[content-filter]]").await.json();
    assert_eq!(filtered["choices"][0]["finish_reason"], "content_filter");
    let paused = whole(&test, Wire::Messages, "[[pause-turn]]").await.json();
    assert_eq!(paused["stop_reason"], "pause_turn");
    let thinking = json!({ "thinking": { "type": "adaptive" } });
    let redacted = with(question(Wire::Messages, "[[redacted]]", false), &thinking);
    let redacted = test.ask(Wire::Messages, &redacted).await;
    assert_eq!(redacted.json()["content"][1]["type"], "redacted_thinking");
}

#[tokio::test]
async fn faulty_tool_calls() {
    let test = TestSandbox::start().await;
    for wire in BOTH {
        let pointer = wire.pick("/choices/0/delta/tool_calls/0/function/arguments", "/delta/partial_json");
        for (text, parses, reason) in [
            ("[[tool]]", true, wire.pick("tool_calls", "tool_use")),
            ("[[bad-arguments]]", false, wire.pick("tool_calls", "tool_use")),
            ("[[cut-tool]]", false, wire.pick("length", "max_tokens")),
        ] {
            let reply = test.ask(wire, &with_tool(wire, text, true)).await;
            let arguments = joined(&reply, pointer);
            let is_json = serde_json::from_str::<Value>(&arguments).is_ok();
            assert!(!arguments.is_empty() && is_json == parses, "{wire:?} {text} {arguments}");
            let stop = wire.pick("/choices/0/finish_reason", "/delta/stop_reason");
            assert_eq!(joined(&reply, stop), reason, "{wire:?} {text}");
            let starts = reply.text().matches("event: content_block_start").count();
            let stops = reply.text().matches("event: content_block_stop").count();
            let open = usize::from(wire == Wire::Messages && text == "[[cut-tool]]");
            assert_eq!(starts - stops, open, "a cut call is never closed: {wire:?} {text}");
        }
        // A limit of tokens does the same without a marker: two words of text, and too few left for the call.
        let choice = wire.pick(json!("required"), json!({ "type": "any" }));
        let few = json!({ "max_tokens": 2, "tool_choice": choice });
        let reply = test.ask(wire, &with(with_tool(wire, "go", true), &few)).await;
        assert!(serde_json::from_str::<Value>(&joined(&reply, pointer)).is_err());
        assert_eq!(test.last(wire).usage.map(|usage| usage.output), Some(2));
        let parallel = test.ask(wire, &with_tool(wire, "[[tools:3]]", false)).await;
        assert_eq!(parallel.text().matches("\"name\":\"f\"").count(), 3);
    }
    let reply = test.ask(Wire::Chat, &with_tool(Wire::Chat, "[[interleaved]]", true)).await;
    let bodies = bodies(&reply);
    let order =
        bodies.iter().filter_map(|body| body.pointer("/choices/0/delta/tool_calls/0/index")?.as_u64());
    assert_eq!(order.take(4).collect::<Vec<_>>(), [0, 1, 0, 1], "pieces of the calls alternate");
}

/// The rows are found by reading this file and that of embeddings: a marker without a test does not get past here.
#[test]
fn every_marker_is_tried() {
    let tests = concat!(include_str!("faults.rs"), include_str!("embeddings.rs"));
    let named: BTreeSet<&str> = MARKERS.iter().map(|marker| marker.name).collect();
    assert_eq!(named.len(), MARKERS.len());
    for marker in MARKERS {
        let name = marker.name;
        let tried = [format!("[[{name}]]"), format!("[[{name}:"), format!("(\"{name}\", ")];
        assert!(tried.iter().any(|text| tests.contains(text)), "{name} is not tried");
    }
    assert!(MARKERS.iter().any(|marker| marker.group == Protocol::All));
}
