//! Providers with forms of their own vendor: MiniMax's verdict beside an answer, and streams that are no chat's.

use gatehouse_sdk::{Obstacle, Protocol};
use serde_json::{Value, json};

use crate::chat::provider_forms::{read, whole};
use crate::chat::{answer, data, named, relayed, streaming};

/// Without it what a server held back, or failed to make, is an empty answer that its client pays for.
#[test]
fn a_verdict_beside_an_answer_is_read() {
    let chunk = |verdict: u64, text: &str, reason: Value| {
        json!({"id": "c", "choices": [{"index": 0, "delta": {"role": "assistant", "content": text}, "finish_reason": reason}],
               "base_resp": {"status_code": verdict, "status_msg": "m"}}).to_string()
    };
    let stream = streaming(Protocol::Chat, false);
    for (code, obstacle) in [
        (1002, Obstacle::RateLimited),
        (1004, Obstacle::Account),
        (1008, Obstacle::Account),
        (1026, Obstacle::Invalid),
        (1027, Obstacle::Invalid),
        (1033, Obstacle::Upstream),
        (1039, Obstacle::RateLimited),
        (2049, Obstacle::Account),
    ] {
        let verdict = json!({"status_code": code, "status_msg": "m"});
        let mut empty = whole(json!({"role": "assistant", "content": ""}), "stop");
        empty["base_resp"] = verdict.clone();
        for body in [
            empty,
            json!({"choices": [], "base_resp": verdict}),
            json!({"choices": null, "base_resp": verdict}),
        ] {
            let failure = answer(Protocol::Chat, 200, &body.to_string()).expect_err("a failure");
            assert_eq!(failure.obstacle, obstacle, "{body}");
        }
        for events in [
            vec![chunk(code, "", json!("stop"))],
            vec![chunk(0, "", Value::Null), chunk(code, "", json!("stop"))],
        ] {
            let stopped = relayed(&stream, &data(&events), 1).stopped;
            assert_eq!(stopped.map(|failure| failure.obstacle), Some(obstacle), "{events:?}");
        }
    }
    let mut held = whole(json!({"role": "assistant", "content": "Hello"}), "stop");
    held["base_resp"] = json!({"status_code": 1027, "status_msg": "m"});
    assert_eq!(read(Protocol::Chat, &held)["choices"][0]["finish_reason"], "content_filter");
    for last in [chunk(1027, "", json!("stop")), json!({"base_resp": held["base_resp"]}).to_string()] {
        let events = [chunk(0, "Hello", Value::Null), last, "[DONE]".to_owned()];
        let relayed = relayed(&stream, &data(&events), 1);
        assert!(relayed.stopped.is_none(), "{events:?}");
        assert_eq!(relayed.deltas().last().expect("an end")["finish"], "content_filter", "{events:?}");
    }
}

/// Without it the stream of a server that speaks a vendor's own form is a failure, whichever protocol it was asked in.
#[test]
fn streams_in_a_vendors_own_form_are_read() {
    let google = |text: &str, reason: Value| json!({"candidates": [{"content": {"parts": [{"text": text}]}, "finishReason": reason}], "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 2}});
    let cohere =
        |text: &str| json!({"type": "content-delta", "delta": {"message": {"content": {"text": text}}}});
    let ended = json!({"type": "message-end", "delta": {"finish_reason": "COMPLETE", "usage": {"tokens": {"input_tokens": 3, "output_tokens": 2}}}});
    let call = json!({"type": "tool-call-start", "delta": {"message": {"tool_calls": {"id": "a", "function": {"name": "f"}}}}});
    let start = json!({"type": "message-start", "delta": {"message": {"role": "assistant"}}});
    for protocol in [Protocol::Chat, Protocol::Messages] {
        let stream = streaming(protocol, false);
        for events in [
            vec![google("Hel", Value::Null), google("lo", json!("STOP"))],
            vec![start.clone(), cohere("Hel"), cohere("lo"), ended.clone()],
        ] {
            let heard = relayed(&stream, &named(&events), 1);
            let deltas = heard.deltas();
            let text: String = deltas
                .iter()
                .filter_map(|it| it["content"].as_str().or_else(|| it["delta"]["content"].as_str()))
                .collect();
            assert_eq!((text.as_str(), &deltas.last().expect("an end")["finish"]), ("Hello", &json!("stop")));
            assert_eq!(heard.usage.map(|it| (it.input, it.output)), Some((3, 2)), "{protocol:?}");
        }
        let lost = relayed(&stream, &named(&[start.clone(), cohere("Hel"), call.clone(), ended.clone()]), 1);
        assert!(lost.stopped.is_some(), "a call is not left out");
    }
}
