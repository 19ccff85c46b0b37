//! Answers and events in the forms of further vendors as chunks of a chat: Bedrock's Converse, Cohere, Google, Ollama and TGI. Texts,
//! thinking, the reason of the end and the counts are read; a call, or anything else, in such a form fails the answer.

use serde_json::value::RawValue;

use crate::json::{Object, Raw, Writer, items};

use super::forms::is_error;

/// What events of one vendor have, and where.
struct Vendor {
    /// One of them is in each event that says something, as it is written.
    marks: &'static [&'static str],
    text: &'static str,
    thought: &'static str,
    end: &'static str,
    counts: &'static str,
    /// What is not read.
    lost: &'static [&'static str],
}

const BEDROCK: Vendor = Vendor {
    marks: &["\"contentBlockDelta\"", "\"contentBlockStart\"", "\"messageStop\"", "\"inputTokens\""],
    text: "contentBlockDelta.delta.text",
    thought: "contentBlockDelta.delta.reasoningContent.text",
    end: "messageStop.stopReason",
    counts: "metadata.usage",
    lost: &["contentBlockStart.start.toolUse", "contentBlockDelta.delta.toolUse"],
};
const COHERE: Vendor = Vendor {
    marks: &["\"content-delta\"", "\"message-end\"", "\"tool-call-start\""],
    text: "delta.message.content.text",
    thought: "delta.message.content.thinking",
    end: "delta.finish_reason",
    counts: "delta.usage",
    lost: &["delta.message.tool_calls"],
};
/// What its parts say is read in [`parts`].
const GOOGLE: Vendor = Vendor {
    marks: &["\"candidates\"", "\"usageMetadata\""],
    text: "",
    thought: "",
    end: "candidates.0.finishReason",
    counts: "usageMetadata",
    lost: &[],
};
const TGI: Vendor = Vendor {
    marks: &["\"token\""],
    text: "token.text",
    thought: "",
    end: "details.finish_reason",
    counts: "details",
    lost: &[],
};
const VENDORS: [Vendor; 4] = [BEDROCK, COHERE, GOOGLE, TGI];

/// How Cohere's begin, with a hyphen.
const START: &str = "message-start";
const DONE: &str = "\"done\"";
/// The error of an answer of which something would be lost.
const LOST: &str =
    r#"{"error":{"type":"server_error","message":"the model answered in a form that is not read"}}"#;

/// The answer, or the event, as a chunk; `None` where it is in none of these forms, or says nothing.
pub(super) fn chunk(json: &str) -> Option<String> {
    let has = |mark: &&str| json.contains(*mark);
    if !has(&DONE) && !VENDORS.iter().any(|vendor| vendor.marks.iter().any(has)) {
        return None;
    }
    let event = Object::parse(json)?;
    if event.get("choices").is_some() || event.get("error").is_some_and(is_error) {
        return None;
    }
    let of_vendor = |vendor: &Vendor| vendor.chunk(&event);
    ollama(&event).or_else(|| VENDORS.iter().filter(|it| it.marks.iter().any(has)).find_map(of_vendor))
}

/// Whether it is in one of these forms, as far as it begins an answer.
pub(super) fn is_one(json: &str) -> bool {
    let is_start = || Object::parse(json).is_some_and(|it| it.text("type").as_deref() == Some(START));
    chunk(json).is_some() || json.contains(START) && is_start()
}

impl Vendor {
    fn chunk(&self, event: &Object<'_>) -> Option<String> {
        let find = |path: &str| at(event, path);
        let (mut said, mut thought) = (String::new(), String::new());
        match find("candidates.0.content.parts").map(|list| parts(list, &mut said, &mut thought)) {
            Some(None) => return Some(LOST.to_owned()),
            _ if self.lost.iter().any(|path| find(path).is_some()) => return Some(LOST.to_owned()),
            _ => {}
        }
        // The mark of an end is no text.
        let is_special = find("token.special").is_some_and(|raw| raw.get() == "true");
        for (path, text) in [(self.text, &mut said), (self.thought, &mut thought)] {
            let found = find(path).filter(|_| !is_special).and_then(text_of);
            text.push_str(&found.unwrap_or_default());
        }
        let (end, counts) = (find(self.end).and_then(text_of), find(self.counts));
        let mut delta = Writer::new(64 + said.len() + thought.len());
        for (name, text) in [("content", said), ("reasoning_content", thought)] {
            if !text.is_empty() {
                delta.string(name, &text);
            }
        }
        let delta = delta.done();
        let says_nothing = delta == "{}" && end.is_none() && counts.is_none() && !is_special;
        (!says_nothing).then(|| written(&delta, end.as_deref(), counts.map(RawValue::get)))
    }
}

/// Ollama's have a message, or a text, and the counts beside it.
fn ollama(event: &Object<'_>) -> Option<String> {
    let is_done = event.get("done").map(|raw| raw.get() == "true")?;
    let text = || event.string("response").map(|text| format!("{{\"content\":{}}}", text.quoted()));
    let message = event.get("message").filter(|raw| raw.get().starts_with('{'));
    let delta = message.map(|raw| raw.get().to_owned()).or_else(text)?;
    if !is_done {
        return Some(written(&delta, None, None));
    }
    let end = event.text("done_reason").filter(|reason| !reason.is_empty());
    let mut counts = Writer::new(64);
    for name in ["prompt_eval_count", "eval_count"] {
        counts.optional(name, event.get(name));
    }
    let counts = counts.done();
    Some(written(
        &delta,
        Some(end.as_deref().unwrap_or("stop")),
        Some(&counts).filter(|it| *it != "{}").map(String::as_str),
    ))
}

fn written(delta: &str, end: Option<&str>, counts: Option<&str>) -> String {
    let mut choice = Writer::new(delta.len() + 64);
    choice.member("index", "0");
    choice.member("delta", delta);
    end.into_iter().for_each(|end| choice.string("finish_reason", end));
    let choice = if delta == "{}" && end.is_none() { String::new() } else { choice.done() };
    let mut out = Writer::new(delta.len() + 128);
    out.member("choices", &format!("[{choice}]"));
    counts.into_iter().for_each(|counts| out.member("usage", counts));
    out.done()
}

/// Reads Google's parts; `None` where one is no text.
fn parts(list: Raw<'_>, said: &mut String, thought: &mut String) -> Option<()> {
    for part in items(list)? {
        let part = Object::parse(part.get())?;
        let thinks = part.get("thought").is_some_and(|raw| raw.get() == "true");
        let has_signature_alone = part.get("thoughtSignature").is_some() && part.iter().count() == 1;
        match part.text("text") {
            Some(text) if thinks => thought.push_str(&text),
            Some(text) => said.push_str(&text),
            None if has_signature_alone => {}
            None => return None,
        }
    }
    Some(())
}

/// The value at a path of names, and numbers in lists.
fn at<'a>(object: &Object<'a>, path: &str) -> Option<Raw<'a>> {
    let mut path = path.split('.');
    let first = object.get(path.next()?)?;
    path.try_fold(first, |found, name| match name.parse::<usize>() {
        Ok(number) => items(found)?.get(number).copied(),
        Err(_) => Object::parse(found.get())?.get(name),
    })
}

fn text_of(raw: Raw<'_>) -> Option<String> {
    serde_json::from_str(raw.get()).ok()
}

#[cfg(test)]
mod tests {
    use gatehouse_sdk::Sse;
    use serde_json::{Value, json};

    use super::super::Incoming;
    use super::*;

    /// The events of `Hello`, cut by the token limit, with 3 tokens read and 2 written.
    fn streams() -> Vec<(&'static str, Vec<Value>)> {
        let cohere = |text: &str| json!({"type": "content-delta", "index": 0, "delta": {"message": {"content": {"text": text}}}});
        let bedrock =
            |text: &str| json!({"contentBlockDelta": {"delta": {"text": text}, "contentBlockIndex": 0}});
        let google = |text: &str| json!({"candidates": [{"content": {"parts": [{"text": text}], "role": "model"}, "index": 0}]});
        let mut ended = google("lo");
        ended["candidates"][0]["finishReason"] = json!("MAX_TOKENS");
        ended["usageMetadata"] =
            json!({"promptTokenCount": 3, "candidatesTokenCount": 2, "totalTokenCount": 5});
        let ollama = |text: &str| json!({"model": "m", "message": {"role": "assistant", "content": text}, "done": false});
        let token = |text: &str, special: bool| json!({"token": {"id": 1, "text": text, "special": special}, "generated_text": null});
        let mut last = token("</s>", true);
        last["generated_text"] = json!("Hello");
        last["details"] = json!({"finish_reason": "length", "generated_tokens": 2});
        vec![
            (
                "bedrock",
                vec![
                    json!({"messageStart": {"role": "assistant"}}),
                    bedrock("Hel"),
                    bedrock("lo"),
                    json!({"messageStop": {"stopReason": "max_tokens"}}),
                    json!({"metadata": {"usage": {"inputTokens": 3, "outputTokens": 2, "totalTokens": 5}}}),
                ],
            ),
            (
                "cohere",
                vec![
                    json!({"type": "message-start", "id": "c", "delta": {"message": {"role": "assistant"}}}),
                    cohere("Hel"),
                    cohere("lo"),
                    json!({"type": "message-end", "delta": {"finish_reason": "MAX_TOKENS", "usage": {"tokens": {"input_tokens": 3, "output_tokens": 2}}}}),
                ],
            ),
            ("google", vec![google("Hel"), ended]),
            (
                "ollama",
                vec![
                    ollama("Hel"),
                    ollama("lo"),
                    json!({"message": {"role": "assistant", "content": ""}, "done": true, "done_reason": "length", "prompt_eval_count": 3, "eval_count": 2}),
                ],
            ),
            ("tgi", vec![token("Hel", false), token("lo", false), last]),
        ]
    }

    /// Without it the stream of a server that speaks another vendor's form is a failure, though its answer is there.
    #[test]
    fn streams_of_other_vendors_are_chunks() {
        for (vendor, events) in streams() {
            let mut incoming = Incoming::new(true, "");
            let named = |data: &Value| Sse {
                event: data["type"].as_str().map(str::to_owned),
                data: data.to_string(),
            };
            let read = events.iter().map(named).flat_map(|event| incoming.event(event)).collect::<Vec<_>>();
            let chunks: Vec<Value> =
                read.iter().filter_map(|event| serde_json::from_str(&event.data).ok()).collect();
            let all = |path: &str| {
                chunks.iter().filter_map(|chunk| chunk.pointer(path)?.as_str()).collect::<String>()
            };
            assert_eq!(all("/choices/0/delta/content"), "Hello", "{vendor}");
            assert_eq!(all("/choices/0/finish_reason"), "length", "{vendor}");
            assert!(chunks.iter().any(|chunk| chunk["usage"].is_object()), "{vendor}");
            // What was asked for as a whole comes as a stream, too.
            let list = json!(events).to_string();
            let whole = Incoming::new(true, "").whole(&list).expect("an answer");
            let whole: Value = serde_json::from_str(&whole).expect("JSON");
            assert_eq!(whole["choices"][0]["message"]["content"], "Hello", "{vendor}: {whole}");
        }
    }

    #[test]
    fn what_is_not_read_fails_the_answer_and_other_events_stay() {
        for (event, expected) in [
            (json!({"candidates": [{"content": {"parts": [{"functionCall": {"name": "f"}}]}}]}), Some(LOST)),
            (json!({"contentBlockStart": {"start": {"toolUse": {"name": "f"}}}}), Some(LOST)),
            (
                json!({"type": "tool-call-start", "delta": {"message": {"tool_calls": {"id": "a"}}}}),
                Some(LOST),
            ),
            (json!({"choices": [], "token": {"text": "a"}}), None),
            (
                json!({"type": "message", "content": [{"type": "tool_use", "input": {"candidates": [], "done": true}}]}),
                None,
            ),
            (json!({"candidates": [], "error": {"message": "no"}}), None),
            (json!({"token": "abc"}), None),
            (json!({"done": true}), None),
        ] {
            assert_eq!(chunk(&event.to_string()).as_deref(), expected, "{event}");
        }
    }
}
