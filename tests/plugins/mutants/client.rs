//! What a client has of an answer, by the protocol that it speaks: the texts and calls that its library reads, no more.

use chat::{Chat, RESPONSES};
use gatehouse_sdk::{
    Chunk, Context, DialectRequest, Extra, FrameReader as _, Protocol, Relay as _, Reply, Sse, Text,
    TextFailure, TextRequest, UnixMs, Usage, run,
};
use generatecontent::{DIALECT, GenerateContent};
use messages::Messages;
use serde_json::{Value, json};

use super::recorded::Provider;

/// The protocol of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Client {
    Chat,
    Messages,
    Responses,
}

pub(super) const CLIENTS: [Client; 3] = [Client::Chat, Client::Messages, Client::Responses];

/// What a client has read.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Heard {
    pub(super) text: String,
    /// Names and arguments.
    pub(super) calls: Vec<(String, String)>,
    /// The ids of the calls.
    pub(super) ids: Vec<String>,
    pub(super) reason: String,
    /// What is charged by, if it was told.
    pub(super) usage: Option<Usage>,
    /// What it reads of that: tokens read, of these from a cache, and tokens written.
    pub(super) counts: Option<[u64; 3]>,
}

fn cx() -> Context {
    Context { seed: 0xabc, ..Context::at(UnixMs(1_790_000_000_500)) }
}

/// A request that has the tool and asks for thinking.
fn request(client: Client, provider: Provider, streaming: bool) -> TextRequest {
    let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}});
    let turns = json!([{"role": "user", "content": "where to?"}]);
    let function = json!({"name": "find_harbour", "parameters": schema});
    let (surface, mut body) = match client {
        Client::Chat => (
            chat::SURFACE,
            json!({"messages": turns, "tools": [{"type": "function", "function": function}], "reasoning_effort": "low",
            "stream_options": {"include_usage": true}}),
        ),
        Client::Responses => (
            RESPONSES,
            json!({"input": "where to?", "reasoning": {"effort": "low", "summary": "auto"},
            "tools": [{"type": "function", "name": "find_harbour", "parameters": schema}]}),
        ),
        Client::Messages => (
            messages::SURFACE,
            json!({"messages": turns, "max_tokens": 4096, "thinking": {"type": "enabled", "budget_tokens": 1024},
            "tools": [{"name": "find_harbour", "input_schema": schema}]}),
        ),
    };
    body["model"] = json!("lm");
    body["stream"] = json!(streaming);
    if !streaming {
        body.as_object_mut().expect("an object").remove("stream_options");
    }
    let protocol = if provider == Provider::Chat { Protocol::Chat } else { Protocol::Messages };
    crate::text_request(surface, &body, crate::route("lm", "m", protocol, json!({})))
}

/// What the dialect of that provider keeps of a request.
fn dialect_state(streaming: bool) -> Vec<u8> {
    let body = json!({"model": "m", "max_tokens": 4096, "stream": streaming, "messages": [{"role": "user", "content": "where to?"}],
        "tools": [{"name": "find_harbour", "input_schema": {"type": "object"}}]});
    let request = DialectRequest {
        streaming,
        upstream: "m".into(),
        body: body.to_string(),
        blobs: vec![],
        dialect: DIALECT.into(),
        model: "lm".into(),
        provider: "google".into(),
        rules: json!({}),
        extra: Extra::new(),
    };
    run::translate::<GenerateContent>(&cx(), request).expect("a good request").state
}

impl Client {
    /// What it has of a whole answer.
    pub(super) fn whole(self, provider: Provider, body: &str) -> Result<Heard, TextFailure> {
        self.refused(provider, 200, body)
    }

    /// The same, of any status.
    pub(super) fn refused(self, provider: Provider, status: u16, body: &str) -> Result<Heard, TextFailure> {
        let mut body = body.to_owned();
        if provider == Provider::Google {
            let state = dialect_state(false);
            body = run::read_answer::<GenerateContent>(&cx(), &state, Reply::raw(status, body.as_str()))?;
        }
        match self {
            Self::Messages => self.answered::<Messages>(provider, status, &body),
            Self::Chat | Self::Responses => self.answered::<Chat>(provider, status, &body),
        }
    }

    fn answered<F: Text>(self, provider: Provider, status: u16, body: &str) -> Result<Heard, TextFailure> {
        let state = run::prepare::<F>(&cx(), request(self, provider, false)).expect("a good request").state;
        let answered = run::answer::<F>(&cx(), &state, Reply::raw(status, body))?;
        let answer: Value = serde_json::from_str(&answered.body).expect("an answer is JSON");
        let mut heard = self.read(&answer);
        heard.usage = crate::together(answered.usage, &answered.counters);
        Ok(heard)
    }

    /// What it has of a stream, event by event as they come.
    pub(super) fn stream(self, provider: Provider, data: &[String]) -> Result<Heard, TextFailure> {
        let named = |data: &String| {
            let read: Value = serde_json::from_str(data).unwrap_or_default();
            let name = read["type"].as_str().filter(|_| provider == Provider::Messages);
            Sse { event: name.map(str::to_owned), data: data.clone() }
        };
        let mut events: Vec<Sse> = data.iter().map(named).collect();
        if provider == Provider::Google {
            let mut reader = run::reader::<GenerateContent>(&cx(), &dialect_state(true));
            let mut translated = Vec::new();
            for event in events {
                translated.extend(reader.push(vec![event])?);
            }
            translated.extend(reader.end()?);
            events = translated;
        }
        match self {
            Self::Messages => self.relayed::<Messages>(provider, events),
            Self::Chat | Self::Responses => self.relayed::<Chat>(provider, events),
        }
    }

    fn relayed<F: Text>(self, provider: Provider, events: Vec<Sse>) -> Result<Heard, TextFailure> {
        let state = run::prepare::<F>(&cx(), request(self, provider, true)).expect("a good request").state;
        let mut relay = run::relay::<F>(&cx(), &state);
        let mut heard = Heard::default();
        let (mut sent, mut is_last) = (Vec::new(), false);
        let mut take = |chunk: Chunk, heard: &mut Heard| {
            if chunk.usage.is_some() {
                heard.usage = crate::together(chunk.usage, &chunk.counters);
            }
            is_last |= chunk.last;
            sent.extend(
                chunk.send.into_iter().filter_map(|event| serde_json::from_str::<Value>(&event.data).ok()),
            );
        };
        for event in events {
            take(relay.push(vec![event])?, &mut heard);
        }
        take(relay.end()?, &mut heard);
        if !is_last {
            return Err(TextFailure::upstream("the host finds it cut"));
        }
        let usage = heard.usage;
        // Of messages each event says what it has, and the last one counts.
        let mut counted = json!({});
        for event in &sent {
            let usage = [&event["message"]["usage"], &event["usage"]].into_iter().find_map(Value::as_object);
            for (name, count) in usage.into_iter().flatten().filter(|(_, count)| !count.is_null()) {
                counted["usage"][name] = count.clone();
            }
        }
        let counts = self.counts(&counted);
        let joined = self.joined(&sent);
        Ok(Heard { usage, counts: counts.or(joined.counts), ..joined })
    }

    /// A whole answer.
    fn read(self, answer: &Value) -> Heard {
        let mut heard = Heard { counts: self.counts(answer), ..Heard::default() };
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        match self {
            Self::Chat => {
                let choice = &answer["choices"][0];
                heard.text = text(&choice["message"]["content"]);
                for call in choice["message"]["tool_calls"].as_array().into_iter().flatten() {
                    heard.calls.push((text(&call["function"]["name"]), text(&call["function"]["arguments"])));
                    heard.ids.push(text(&call["id"]));
                }
                heard.reason = text(&choice["finish_reason"]);
            }
            Self::Responses => {
                for item in answer["output"].as_array().into_iter().flatten() {
                    if item["type"] == "function_call" {
                        heard.calls.push((text(&item["name"]), text(&item["arguments"])));
                        heard.ids.push(text(&item["call_id"]));
                    }
                    if item["type"] == "message" {
                        heard.text += &text(&item["content"][0]["text"]);
                    }
                }
                heard.reason = text(&answer["status"]);
            }
            Self::Messages => {
                for block in answer["content"].as_array().into_iter().flatten() {
                    match block["type"].as_str() {
                        Some("text") => heard.text += &text(&block["text"]),
                        Some("tool_use") => {
                            heard.calls.push((text(&block["name"]), block["input"].to_string()));
                            heard.ids.push(text(&block["id"]));
                        }
                        _ => {}
                    }
                }
                heard.reason = text(&answer["stop_reason"]);
            }
        }
        heard
    }

    /// The counts in a whole answer, or in an event, as a library with strict types reads them.
    fn counts(self, answer: &Value) -> Option<[u64; 3]> {
        let usage = answer.get("usage").filter(|usage| !usage.is_null())?;
        let count = |value: &Value| match value {
            Value::Null => 0,
            count => count.as_u64().unwrap_or_else(|| panic!("{usage}")),
        };
        let (read, details, written) = match self {
            Self::Chat => ("prompt_tokens", "prompt_tokens_details", "completion_tokens"),
            Self::Messages | Self::Responses => ("input_tokens", "input_tokens_details", "output_tokens"),
        };
        // The beginning of a message, which says what was read, may be lost.
        assert!(usage[written].is_u64() && (usage[read].is_u64() || self == Self::Messages), "{usage}");
        if self == Self::Messages {
            let [cached, new] =
                ["cache_read_input_tokens", "cache_creation_input_tokens"].map(|name| count(&usage[name]));
            return Some([count(&usage[read]) + cached + new, cached, count(&usage[written])]);
        }
        assert_eq!(count(&usage["total_tokens"]), count(&usage[read]) + count(&usage[written]), "{usage}");
        Some([count(&usage[read]), count(&usage[details]["cached_tokens"]), count(&usage[written])])
    }

    /// The events of a stream, as libraries join them.
    fn joined(self, events: &[Value]) -> Heard {
        let mut heard = Heard::default();
        if self == Self::Responses {
            return self.read(&events.last().unwrap_or(&Value::Null)["response"]);
        }
        for event in events {
            let choice = &event["choices"][0];
            heard.text += choice["delta"]["content"].as_str().unwrap_or_default();
            heard.text += event["delta"]["text"].as_str().unwrap_or_default();
            for call in choice["delta"]["tool_calls"].as_array().into_iter().flatten() {
                let at = usize::try_from(call["index"].as_u64().expect("a number")).expect("few");
                heard.calls.resize(heard.calls.len().max(at + 1), Default::default());
                heard.ids.resize(heard.calls.len(), String::new());
                heard.ids[at] += call["id"].as_str().unwrap_or_default();
                heard.calls[at].0 += call["function"]["name"].as_str().unwrap_or_default();
                heard.calls[at].1 += call["function"]["arguments"].as_str().unwrap_or_default();
            }
            if event["content_block"]["type"] == "tool_use" {
                heard.ids.push(event["content_block"]["id"].as_str().unwrap_or_default().into());
                heard.calls.push((
                    event["content_block"]["name"].as_str().unwrap_or_default().into(),
                    String::new(),
                ));
            }
            if let (Some(piece), Some(call)) =
                (event["delta"]["partial_json"].as_str(), heard.calls.last_mut())
            {
                call.1 += piece;
            }
            let reason = choice["finish_reason"].as_str().or_else(|| event["delta"]["stop_reason"].as_str());
            heard.reason += reason.unwrap_or_default();
        }
        if self == Self::Messages {
            heard.calls.iter_mut().filter(|call| call.1.is_empty()).for_each(|call| call.1 = "{}".to_owned());
        }
        heard
    }
}
