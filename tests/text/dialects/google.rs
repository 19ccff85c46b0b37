//! Google's dialect, which is built in: a tool loop of every surface, whole and streamed, in which Google's signatures and ids
//! come back to it.

use gatehouse_harness::run;
use serde_json::{Value, json};

use super::{Provider, SURFACES, request, send};
use crate::text::scene::Scene;

fn response(parts: &Value, reason: &str) -> Value {
    json!({"candidates": [{"content": {"parts": parts, "role": "model"}, "finishReason": reason, "index": 0}],
        "usageMetadata": {"promptTokenCount": 10, "cachedContentTokenCount": 4, "candidatesTokenCount": 2, "thoughtsTokenCount": 1},
        "responseId": "r1", "modelVersion": "gemini-3-pro"})
}

/// What `response` costs: six tokens read at 2, four from a cache at 1, three written at 5.
const PRICE: i64 = 31;

impl Provider {
    /// Answers with these parts, whole, or a frame each.
    fn say_parts(&self, parts: &Value, stream: bool) {
        if !stream {
            return self.say(200, "application/json", response(parts, "STOP").to_string());
        }
        let all = parts.as_array().expect("parts");
        let frames = all.iter().map(|part| format!("data: {}\r\n\r\n", response(&json!([part]), "STOP")));
        self.say(200, "text/event-stream", frames.collect::<String>());
    }
}

/// The tool of each surface, and what a client sends after its call: the whole conversation, with what it was given.
struct Surface {
    path: &'static str,
    tools: fn() -> Value,
    next: fn(&Value, &Value) -> Value,
}

fn schema() -> Value {
    json!({"type": "object", "properties": {"city": {"type": "string"}}, "additionalProperties": false})
}

fn tool_loops() -> [Surface; 3] {
    [
        Surface {
            path: SURFACES[0],
            tools: || json!([{"type": "function", "function": {"name": "weather", "parameters": schema()}}]),
            next: |asked, answer| {
                let mut next = asked.clone();
                let said = answer["choices"][0]["message"].clone();
                let id = &said["tool_calls"][0]["id"];
                let result = json!({"role": "tool", "tool_call_id": id, "content": "rain"});
                next["messages"].as_array_mut().expect("messages").extend([said.clone(), result]);
                next
            },
        },
        Surface {
            path: SURFACES[1],
            tools: || json!([{"name": "weather", "input_schema": schema()}]),
            next: |asked, answer| {
                let mut next = asked.clone();
                let blocks = answer["content"].as_array().expect("blocks");
                let call = blocks.iter().find(|block| block["type"] == "tool_use").expect("a call");
                let result = json!({"type": "tool_result", "tool_use_id": call["id"], "content": "rain"});
                let said = json!({"role": "assistant", "content": blocks});
                next["messages"]
                    .as_array_mut()
                    .expect("messages")
                    .extend([said, json!({"role": "user", "content": [result]})]);
                next
            },
        },
        Surface {
            path: SURFACES[2],
            tools: || json!([{"type": "function", "name": "weather", "parameters": schema()}]),
            next: |asked, answer| {
                let mut next = asked.clone();
                let items = answer["output"].as_array().expect("items");
                let call = items.iter().find(|item| item["type"] == "function_call").expect("a call");
                let result =
                    json!({"type": "function_call_output", "call_id": call["call_id"], "output": "rain"});
                next["input"] = json!([result]);
                next["previous_response_id"] = answer["id"].clone();
                next
            },
        },
    ]
}

async fn whole(scene: &Scene, path: &str, body: &Value) -> Value {
    let before = scene.spent().await;
    let answer = send(scene, path, body).await;
    assert_eq!(answer.status, 200, "{path}: {}", answer.text());
    assert_eq!(scene.spent().await - before, PRICE, "{path}");
    answer.json()
}

/// Without it a model of Google's third generation refuses every second request of an agent.
#[test]
fn a_tool_loop_brings_back_what_google_signed() {
    run(async {
        let provider = Provider::default();
        let scene = provider.scene("").await;
        for surface in tool_loops() {
            let mut asked = request(surface.path, "over-google", "What is the weather in Oslo?", false);
            asked["tools"] = (surface.tools)();
            provider.say_parts(
                &json!([{"functionCall": {"id": "8f2b", "name": "weather", "args": {"city": "Oslo"}}, "thoughtSignature": "c2lnbmVk"}]),
                false,
            );
            let answer = whole(&scene, surface.path, &asked).await;
            let first = provider.last();
            assert_eq!(first.path, "/v1beta/models/gemini-3-pro:generateContent");
            assert!(!first.key.is_empty(), "the account's key is in the header of the provider");
            let declared = json!([{"functionDeclarations": [{"name": "weather", "description": "",
                "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}]}]);
            assert_eq!(first.body["tools"], declared, "{}", surface.path);

            provider.say_parts(&json!([{"text": "It rains."}]), false);
            let last = whole(&scene, surface.path, &(surface.next)(&asked, &answer)).await;
            assert!(last.to_string().contains("It rains."), "{last}");
            let contents = provider.last().body["contents"].clone();
            let call = json!({"functionCall": {"id": "8f2b", "name": "weather", "args": {"city": "Oslo"}}, "thoughtSignature": "c2lnbmVk"});
            let result = json!({"functionResponse": {"id": "8f2b", "name": "weather", "response": {"output": "rain"}}});
            assert_eq!(contents[1], json!({"role": "model", "parts": [call]}), "{}", surface.path);
            assert_eq!(contents[2], json!({"role": "user", "parts": [result]}), "{}", surface.path);
        }
        scene.gateway.expect_sound_ledger().await;
    });
}

/// Without it a client of one surface reads no thoughts, no calls or no words of a stream, or pays otherwise than for a whole
/// answer.
#[test]
fn a_stream_has_thoughts_words_and_calls_on_every_surface() {
    run(async {
        let provider = Provider::default();
        let scene = provider.scene("").await;
        for surface in tool_loops() {
            let mut asked = request(surface.path, "over-google", "What is the weather in Oslo?", true);
            asked["tools"] = (surface.tools)();
            match surface.path {
                "/v1/chat/completions" => asked["reasoning_effort"] = "low".into(),
                "/v1/messages" => asked["thinking"] = json!({"type": "adaptive"}),
                _ => asked["reasoning"] = json!({"effort": "low", "summary": "auto"}),
            }
            provider.say_parts(
                &json!([
                    {"text": "They ask for Oslo.", "thought": true},
                    {"text": "Let me look."},
                    {"functionCall": {"id": "8f2b", "name": "weather", "args": {"city": "Oslo"}}, "thoughtSignature": "c2lnbmVk"},
                ]),
                true,
            );
            let before = scene.spent().await;
            let answer = send(&scene, surface.path, &asked).await;
            let text = answer.text();
            assert_eq!(answer.status, 200, "{}: {text}", surface.path);
            for part in ["They ask for Oslo.", "Let me look.", "weather", "Oslo\\\"}", "8f2b"] {
                assert!(text.contains(part), "{}: {part}: {text}", surface.path);
            }
            assert_eq!(scene.spent().await - before, PRICE, "{}", surface.path);
            let sent = provider.last();
            assert_eq!(sent.path, "/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse");
            assert_eq!(
                sent.body["generationConfig"]["thinkingConfig"]["includeThoughts"], true,
                "{}",
                sent.body
            );
        }
        scene.gateway.expect_sound_ledger().await;
    });
}

#[test]
fn googles_errors_are_told_to_each_client_in_its_own_words() {
    run(async {
        let provider = Provider::default();
        let scene = provider.scene("").await;
        let error = |code: u16, status: &str, message: &str| {
            json!({"error": {"code": code, "message": message, "status": status}}).to_string()
        };
        for stream in [false, true] {
            for surface in SURFACES {
                let asked = request(surface, "over-google", "hi", stream);
                let long =
                    "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).";
                provider.say(400, "application/json", error(400, "INVALID_ARGUMENT", long));
                let told = send(&scene, surface, &asked).await;
                let words =
                    if surface == "/v1/messages" { "prompt is too long" } else { "maximum context length" };
                assert!(told.status == 400 && told.text().contains(words), "{surface}: {}", told.text());

                if stream {
                    let begun = response(&json!([{"text": "Hel"}]), "STOP").to_string();
                    let body = format!("data: {begun}\n\ndata: {}\n\n", error(400, "INVALID_ARGUMENT", long));
                    provider.say(200, "text/event-stream", body);
                    let told = send(&scene, surface, &asked).await;
                    assert!(told.text().contains(words), "{surface}: {}", told.text());
                }

                let cap =
                    "* GenerateContentRequest.generation_config.max_output_tokens: must be at most 65536";
                provider.say(400, "application/json", error(400, "INVALID_ARGUMENT", cap));
                let told = send(&scene, surface, &asked).await;
                let field = if surface == "/v1/responses" { "max_output_tokens" } else { "max_tokens" };
                assert!(told.status == 400 && told.text().contains(field), "{surface}: {}", told.text());
                assert!(!told.text().contains("generation_config"), "{surface}: {}", told.text());
            }
        }
        let blocked =
            json!({"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 10}});
        provider.say(200, "application/json", blocked.to_string());
        let told = send(&scene, SURFACES[0], &request(SURFACES[0], "over-google", "hi", false)).await;
        assert_eq!(told.json()["choices"][0]["finish_reason"], "content_filter", "{}", told.text());
        scene.gateway.expect_sound_ledger().await;
    });
}

/// Without it an answer that was paid is lost, because its server streams it and calls that a text.
#[test]
fn a_stream_in_place_of_one_body_is_read_whatever_it_is_called() {
    run(async {
        let provider = Provider::default();
        let scene = provider.scene("").await;
        let frames = ["It ", "rains."].map(|text| response(&json!([{"text": text}]), "STOP").to_string());
        let events = frames.iter().map(|frame| format!("data: {frame}\r\n\r\n")).collect::<String>();
        for (mime, body) in [
            ("text/event-stream", events.clone()),
            ("text/plain; charset=utf-8", events.clone()),
            ("application/json", format!("\u{feff}{events}")),
            ("application/json", format!("[{}]", frames.join(",\r\n"))),
        ] {
            for surface in SURFACES {
                provider.say(200, mime, body.clone());
                let answer = whole(&scene, surface, &request(surface, "over-google", "hi", false)).await;
                assert!(answer.to_string().contains("It rains."), "{surface} {mime}: {answer}");
            }
        }
        scene.gateway.expect_sound_ledger().await;
    });
}
