//! Every marker, on both wires, as a client sees it.

use std::collections::BTreeSet;
use std::io::Read as _;

use gatehouse_sandbox::text::{MARKERS, Protocol};
use serde_json::{Value, json};

use crate::client::{End, Reply, TestSandbox, Wire, answer_text, events, eventually, question, with};

const BOTH: [Wire; 2] = [Wire::Chat, Wire::Messages];

async fn stream(test: &TestSandbox, wire: Wire, text: &str) -> Reply {
    test.ask(wire, &question(wire, text, true)).await
}

async fn whole(test: &TestSandbox, wire: Wire, text: &str) -> Reply {
    test.ask(wire, &question(wire, text, false)).await
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
fn deltas(wire: Wire, reply: &Reply) -> usize {
    let events = reply.events();
    let is_delta = |data: &Value| match wire {
        Wire::Chat => {
            data["choices"][0]["finish_reason"].is_null()
                && data["choices"][0]["delta"]
                    .as_object()
                    .is_some_and(|it| !it.is_empty() && !it.contains_key("role"))
        }
        Wire::Messages => data["type"] == "content_block_delta",
    };
    events.iter().filter(|event| event.data != "[DONE]" && is_delta(&event.json())).count()
}

/// Whether the stream's last event came.
fn ended(wire: Wire, reply: &Reply) -> bool {
    reply.events().last().is_some_and(|event| match wire {
        Wire::Chat => event.data == "[DONE]",
        Wire::Messages => event.name == "message_stop",
    })
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
            let kind = if wire == Wire::Chat { chat } else { messages };
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
        let times = async |text: &str| {
            let mut seen = Vec::new();
            for _ in 0..4 {
                seen.push(whole(&test, wire, text).await.status);
            }
            seen
        };
        assert_eq!(times("[[529:1]]").await, [529, 200, 200, 200]);
        assert_eq!(times("[[500:2]][[429:1]] later").await, [500, 500, 429, 200]);
        assert_eq!(times("[[529:1]] other text").await, [529, 200, 200, 200], "every text is counted apart");
        let none = test.open(wire, &question(wire, "[[no-reply]]", false)).await.maybe().await;
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
            assert!(
                record.finished && !record.hung_up && record.usage.is_some(),
                "{wire:?} {text}: {record:?}"
            );
        }
        assert_eq!(stream(&test, wire, "[[cut:0]]").await.bytes(), b"");
        let told = stream(&test, wire, "[[error:2]]").await.events().pop().expect("an event");
        let (name, kind) = match wire {
            Wire::Chat => ("", "server_error"),
            Wire::Messages => ("error", "overloaded_error"),
        };
        assert_eq!((told.name.as_str(), told.json()["error"]["type"].as_str()), (name, Some(kind)));
        // The reset falls into a chunk: its length was told, not all of it came.
        let reset = stream(&test, wire, "[[reset:2]][[one-write]]").await;
        assert_eq!(reset.end, End::Reset);
        assert!(!reset.text().ends_with('\n'), "{}", reset.text());
        for (text, end) in [("[[cut]]", End::Whole), ("[[abort]]", End::Cut), ("[[reset]]", End::Reset)] {
            let reply = whole(&test, wire, text).await;
            assert_eq!(reply.end, end, "{wire:?} {text} in one piece");
            assert!(serde_json::from_slice::<Value>(&reply.bytes()).is_err());
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
            ("[[stall:2]]", true, "data: "),
            ("[[stall]]", false, "\r\n\r\n{"),
        ] {
            let mut open = test.open(wire, &question(wire, text, streams)).await;
            open.until(before).await;
            eventually(|| test.record(wire).held > 0).await;
            let record = test.last(wire);
            assert_eq!((record.finished, record.hung_up), (false, false));
            assert_eq!(record.status.is_some(), !before.is_empty(), "{wire:?} {text}");
            test.sandbox.release();
            let reply = open.finish().await;
            assert_eq!((reply.status, reply.end), (200, End::Whole), "{wire:?} {text}");
            assert!(!answer_text(wire, &reply).is_empty());
        }
        // A refusal too.
        let open = test.open(wire, &question(wire, "[[slow-start]][[503]]", true)).await;
        eventually(|| test.record(wire).held > 0).await;
        assert_eq!(test.last(wire).status, None);
        test.sandbox.release();
        assert_eq!(open.finish().await.status, 503);
    }
    // Or the settings' span ends it.
    let test = TestSandbox::with(|settings| settings.hold = std::time::Duration::from_millis(1)).await;
    assert_eq!(whole(&test, Wire::Chat, "[[slow-start]]").await.status, 200);
}

#[tokio::test]
async fn bodies_of_the_wrong_kind() {
    let test = TestSandbox::start().await;
    let sse = "text/event-stream; charset=utf-8";
    for wire in BOTH {
        for (text, streams, mime, is_json) in [
            ("[[wrong-type]]", true, "application/json", false),
            ("[[wrong-type]]", false, "text/html; charset=utf-8", true),
            ("[[json-for-stream]]", true, "application/json", true),
            ("[[json-for-stream]]", false, "application/json", true),
            ("[[stream-for-json]]", false, sse, false),
            ("[[error-200]]", false, "application/json", true),
            ("[[error-200]]", true, "application/json", true),
        ] {
            let reply = test.ask(wire, &question(wire, text, streams)).await;
            assert_eq!((reply.status, reply.header("content-type")), (200, mime), "{wire:?} {text}");
            let json = serde_json::from_slice::<Value>(&reply.bytes());
            assert_eq!(json.is_ok(), is_json, "{wire:?} {text}");
            assert_eq!(json.is_ok_and(|it| it["error"].is_object()), text == "[[error-200]]");
            assert_eq!(is_json, events(&reply.text()).is_empty());
        }
        for streams in [true, false] {
            let reply = test.ask(wire, &question(wire, "[[gzip]]", streams)).await;
            assert_eq!(reply.header("content-encoding"), "gzip");
            let mut text = String::new();
            flate2::read::GzDecoder::new(&reply.bytes()[..]).read_to_string(&mut text).expect("gzip");
            assert!(if streams { events(&text).len() > 3 } else { text.starts_with('{') });
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
        let longest = huge.events().iter().map(|event| event.data.len()).max();
        assert!(longest > Some(1 << 20) && ended(wire, &huge));
        assert!(huge.events().iter().all(|event| event.data == "[DONE]" || event.json().is_object()));
        let odd = stream(&test, wire, "[[odd-event]]").await;
        assert!(odd.text().contains("\"hint\":") && ended(wire, &odd));
        let paced = stream(&test, wire, "[[pace:1]][[one-write]]").await;
        assert_eq!(paced.chunks.len(), paced.events().len(), "an event a write");
        // Some writes end inside a character, whatever the answer is.
        let long = stream(&test, wire, "[[words:400]]").await;
        let inside = long.chunks.windows(2).any(|pair| pair[1][0] & 0xc0 == 0x80);
        assert!(inside && answer_text(wire, &long).split_whitespace().count() == 400);
    }
    let pings = |reply: &Reply| reply.events().iter().filter(|event| event.name == "ping").count();
    let reply = stream(&test, Wire::Messages, "[[pings:2]]").await;
    assert_eq!(pings(&reply), 1 + deltas(Wire::Messages, &reply) / 2);
    let filled = stream(&test, Wire::Chat, "[[obfuscation]]").await;
    let parts = filled.events();
    assert!(parts.iter().all(|event| event.data == "[DONE]" || event.json()["obfuscation"].is_string()));
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
            let word = if wire == Wire::Chat { "\"refusal\":\"I" } else { "\"stop_reason\":\"refusal\"" };
            assert!(refused.text().contains(word), "{}", refused.text());
        }
    }
    let filtered = whole(&test, Wire::Chat, "[[content-filter]]").await.json();
    assert_eq!(filtered["choices"][0]["finish_reason"], "content_filter");
    let paused = whole(&test, Wire::Messages, "[[pause-turn]]").await.json();
    assert_eq!(paused["stop_reason"], "pause_turn");
    let thinking = json!({ "thinking": { "type": "adaptive" } });
    let redacted =
        test.ask(Wire::Messages, &with(question(Wire::Messages, "[[redacted]]", false), &thinking)).await;
    assert_eq!(redacted.json()["content"][1]["type"], "redacted_thinking");
}

#[tokio::test]
async fn faulty_tool_calls() {
    let test = TestSandbox::start().await;
    // What a stream's pieces of arguments make together.
    let arguments = |wire: Wire, reply: &Reply| -> String {
        let pointer = match wire {
            Wire::Chat => "/choices/0/delta/tool_calls/0/function/arguments",
            Wire::Messages => "/delta/partial_json",
        };
        let bodies =
            reply.events().into_iter().filter(|event| event.data != "[DONE]").map(|event| event.json());
        bodies.filter_map(|body| body.pointer(pointer)?.as_str().map(str::to_owned)).collect()
    };
    for wire in BOTH {
        for (text, parses, reason) in [
            ("[[tool]]", true, "tool"),
            ("[[bad-arguments]]", false, "tool"),
            ("[[cut-tool]]", false, "max_tokens or length"),
        ] {
            let reply = test.ask(wire, &with_tool(wire, text, true)).await;
            let said = arguments(wire, &reply);
            assert!(
                !said.is_empty() && serde_json::from_str::<Value>(&said).is_ok() == parses,
                "{wire:?} {text} {said}"
            );
            let stop = reply.events().iter().rev().find_map(|event| {
                let body = serde_json::from_str::<Value>(&event.data).ok()?;
                let stop = body
                    .pointer("/delta/stop_reason")
                    .or_else(|| body.pointer("/choices/0/finish_reason"))?;
                stop.as_str().map(str::to_owned)
            });
            let stop = stop.expect("a reason");
            assert!(stop.starts_with(reason) || reason.contains(&stop), "{wire:?} {text} {stop}");
            let starts = reply.text().matches("event: content_block_start").count();
            let stops = reply.text().matches("event: content_block_stop").count();
            let open = usize::from(wire == Wire::Messages && text == "[[cut-tool]]");
            assert_eq!(starts - stops, open, "a cut call is never closed: {wire:?} {text}");
        }
        // A limit of tokens does the same without a marker: two words of text, and too few left for the call.
        let few = match wire {
            Wire::Chat => json!({ "max_tokens": 2, "tool_choice": "required" }),
            Wire::Messages => json!({ "max_tokens": 2, "tool_choice": { "type": "any" } }),
        };
        let reply = test.ask(wire, &with(with_tool(wire, "go", true), &few)).await;
        assert!(serde_json::from_str::<Value>(&arguments(wire, &reply)).is_err());
        assert_eq!(test.last(wire).usage.map(|usage| usage.output), Some(2));
        let parallel = test.ask(wire, &with_tool(wire, "[[tools:3]]", false)).await;
        assert_eq!(parallel.text().matches("\"name\":\"f\"").count(), 3);
    }
    let reply = test.ask(Wire::Chat, &with_tool(Wire::Chat, "[[interleaved]]", true)).await;
    let order: Vec<u64> = reply
        .events()
        .iter()
        .filter(|event| event.data != "[DONE]")
        .filter_map(|event| event.json().pointer("/choices/0/delta/tool_calls/0/index")?.as_u64())
        .collect();
    assert_eq!(order[..4], [0, 1, 0, 1], "calls take turns");
}

/// The rows above are found by reading this file: a marker without a test does not get past here.
#[test]
fn every_marker_is_tried() {
    let tests = include_str!("faults.rs");
    let named: BTreeSet<&str> = MARKERS.iter().map(|marker| marker.name).collect();
    assert_eq!(named.len(), MARKERS.len());
    for marker in MARKERS {
        let tried = [
            format!("[[{}]]", marker.name),
            format!("[[{}:", marker.name),
            format!("(\"{}\", ", marker.name),
        ];
        assert!(tried.iter().any(|text| tests.contains(text)), "{} is not tried", marker.name);
    }
    assert!(MARKERS.iter().any(|marker| marker.protocol == Protocol::Both));
}
