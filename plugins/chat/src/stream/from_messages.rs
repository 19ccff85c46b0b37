//! A Messages provider's stream as chunks, or its whole message if it sends one instead. Blocks become text,
//! calls and thinking. The last chunks are the `finish_reason` and, if the client asked, the token counts.

use gatehouse_sdk::{Chunk, Context, Sse, TextFailure, Usage};

use gatehouse_text_protocols::failures::unreadable;
use gatehouse_text_protocols::incoming::is_error;
use gatehouse_text_protocols::json::{JsonString, Object, Repeated, Writer, quoted};
use gatehouse_text_protocols::relay::{Translation, count_bytes};
use gatehouse_text_protocols::tool_names;
use gatehouse_text_protocols::usage::{self, TokenCounts};

use super::{done, incomplete, send};
use crate::response::from_messages::{completion_id, finish_reason};
use crate::state::State;

pub(super) struct FromMessages {
    state: State,
    seed: u64,
    created: u64,
    /// A chunk up to its choices; empty until the first.
    head: String,
    counts: TokenCounts,
    /// Bytes that the model wrote.
    written: u64,
    /// Open blocks under the provider's numbers.
    open: Vec<(u64, Block)>,
    calls: u32,
    thoughts: u32,
    stop: Option<&'static str>,
    /// Deltas of plain text, one like the other.
    repeated: Repeated,
}

const DELTA: &str = "content_block_delta";

/// A block under way.
enum Block {
    /// The client's number of the call, whether a piece of its arguments came, and the `input` the block
    /// opened with.
    Call { index: u32, begun: bool, input: String },
    /// As received so far, without quotes.
    Thinking { thought: String, signature: String },
    /// The whole block.
    Redacted(String),
}

impl Translation for FromMessages {
    fn event(&mut self, event: Sse, out: &mut Chunk) -> Result<(), TextFailure> {
        if self.repeat(&event, out) {
            return Ok(());
        }
        let before = out.output_bytes;
        let done = self.read(event, out);
        self.written = self.written.saturating_add(out.output_bytes.saturating_sub(before).into());
        done
    }

    fn repeat(&mut self, event: &Sse, out: &mut Chunk) -> bool {
        let is_delta = event.event.as_deref().is_none_or(|name| name == DELTA);
        let repeated = || self.repeated.write(event.data.trim());
        let Some((chunk, bytes)) = is_delta.then(repeated).flatten() else { return false };
        self.written = self.written.saturating_add(bytes);
        count_bytes(out, bytes);
        send(out, chunk);
        true
    }

    fn end(&mut self, out: &mut Chunk) -> Result<(), TextFailure> {
        self.finish(out)
    }

    fn usage(&self) -> Option<Usage> {
        self.counts.reported()
    }

    fn counts(&self) -> &TokenCounts {
        &self.counts
    }
}

impl FromMessages {
    pub(super) fn new(cx: &Context, state: State) -> Self {
        Self {
            state,
            seed: cx.seed,
            created: cx.now.0 / 1000,
            head: String::new(),
            counts: TokenCounts::default(),
            written: 0,
            open: Vec::new(),
            calls: 0,
            thoughts: 0,
            stop: None,
            repeated: Repeated::default(),
        }
    }

    fn read(&mut self, event: Sse, out: &mut Chunk) -> Result<(), TextFailure> {
        if event.data.trim() == "[DONE]" {
            return Ok(());
        }
        let Some(data) = Object::parse(&event.data) else {
            // Some servers send named events that are not part of the answer.
            let name = event.event.as_deref().unwrap_or_default();
            if !name.is_empty() && !name.starts_with("message") && !name.starts_with("content") {
                return Ok(());
            }
            return Err(unreadable("an event of it is no JSON object", &event.data));
        };
        if usage::may_report(&event.data) {
            self.counts.read_event(&data);
        }
        let kind = data.text("type");
        if kind.is_none() && data.get("error").is_some_and(is_error) {
            return Err(self.state.failures().of_error(&event.data));
        }
        match kind.as_deref().or(event.event.as_deref()).unwrap_or_default() {
            "message" => self.message(&data, out),
            "message_start" => {
                let message = data.object("message").unwrap_or_default();
                self.begin(message.string("id"), out);
            }
            "content_block_start" => self.start(&data, out),
            DELTA => self.delta(&data, event.data.trim(), out),
            "content_block_stop" => {
                let number = data.unsigned("index").unwrap_or(0);
                if let Some(at) = self.open.iter().position(|(open, _)| *open == number) {
                    let (_, block) = self.open.remove(at);
                    self.close(block, out);
                }
            }
            "message_delta" => {
                let stop = data.object("delta").and_then(|delta| delta.string("stop_reason"));
                self.stop = stop.map(|stop| finish_reason(&stop.decoded(), self.calls > 0)).or(self.stop);
            }
            "message_stop" => {
                self.counts = self.counts.settled(self.written);
                // What the provider calls the end is one, with or without a reason.
                if !self.head.is_empty() {
                    self.stop.get_or_insert(if self.calls > 0 { "tool_calls" } else { "stop" });
                }
                return self.finish(out);
            }
            "error" => return Err(self.state.failures().of_error(&event.data)),
            // What Bedrock and servers between say in place of an event.
            kind if kind.is_empty() || kind.ends_with("xception") => {
                if let Some(failure) = self.state.failures().instead(&event.data) {
                    return Err(failure);
                }
            }
            // `ping`, and whatever newer versions bring.
            _ => {}
        }
        Ok(())
    }

    /// A whole message, from a provider that does not stream: each block opens with its content.
    fn message(&mut self, message: &Object<'_>, out: &mut Chunk) {
        self.begin(message.string("id"), out);
        for (index, block) in message.items("content").unwrap_or_default().into_iter().enumerate() {
            let Some(block) = Object::parse(block.get()) else { continue };
            self.block(index as u64, &block, out);
            if let Some((_, block)) = self.open.pop() {
                self.close(block, out);
            }
        }
        let stop = message.text("stop_reason").unwrap_or_default();
        self.stop = Some(finish_reason(&stop, self.calls > 0));
    }

    /// `message_stop` or the end of the stream. An error unless a `stop_reason` came.
    fn finish(&mut self, out: &mut Chunk) -> Result<(), TextFailure> {
        let Some(stop) = self.stop else { return Err(incomplete()) };
        self.begin(None, out);
        // A call the cap cut short keeps its block open, and its arguments stay incomplete.
        if stop == "tool_calls" {
            for (_, block) in std::mem::take(&mut self.open) {
                self.close(block, out);
            }
        }
        self.send("{}", &quoted(stop), out);
        if self.state.counted && self.counts.reported().is_some() {
            send(out, format!("{}[],\"usage\":{}}}", self.head, self.counts.chat_json()));
        }
        done(out);
        Ok(())
    }

    /// The first chunk, which has the role.
    fn begin(&mut self, id: Option<JsonString<'_>>, out: &mut Chunk) {
        if !self.head.is_empty() {
            return;
        }
        let id = completion_id(id.map(JsonString::decoded).as_deref(), self.seed);
        self.head = format!(
            "{{\"id\":{},\"object\":\"chat.completion.chunk\",\"created\":{},\"model\":{},\"choices\":",
            quoted(&id),
            self.created,
            quoted(&self.state.model)
        );
        self.send(r#"{"role":"assistant","content":""}"#, "null", out);
    }

    fn send(&self, delta: &str, finish: &str, out: &mut Chunk) {
        let counted = if self.state.counted { ",\"usage\":null" } else { "" };
        send(
            out,
            format!(
                "{}[{{\"index\":0,\"delta\":{delta},\"logprobs\":null,\"finish_reason\":{finish}}}]{counted}}}",
                self.head
            ),
        );
    }

    /// A delta of one member.
    fn send_member(&mut self, name: &str, json: &str, out: &mut Chunk) {
        self.begin(None, out);
        self.send(&format!("{{\"{name}\":{json}}}"), "null", out);
    }

    fn start(&mut self, data: &Object<'_>, out: &mut Chunk) {
        let number = data.unsigned("index").unwrap_or(0);
        self.block(number, &data.object("content_block").unwrap_or_default(), out);
    }

    fn block(&mut self, number: u64, block: &Object<'_>, out: &mut Chunk) {
        let kind = block.text("type").unwrap_or_default();
        match kind.as_ref() {
            "text" => self.text("content", block.string("text"), out),
            "thinking" => {
                self.open
                    .push((number, Block::Thinking { thought: String::new(), signature: String::new() }));
                self.add_thinking(number, block.string("thinking"), out);
                self.add_signature(number, block.string("signature"));
            }
            "redacted_thinking" => {
                let mut whole = Writer::new(256);
                whole.members(block.iter());
                self.open.push((number, Block::Redacted(whole.done())));
            }
            "tool_use" => {
                let name = block.text("name").unwrap_or_default();
                let name = quoted(tool_names::own(&self.state.names, &name));
                let id = block.string("id").map(|id| id.quoted().to_owned());
                let id = id.unwrap_or_else(|| format!("\"call_{:016x}_{}\"", self.seed, self.calls));
                let index = self.calls;
                self.calls += 1;
                count_bytes(out, block.string("name").map_or(0, JsonString::len));
                let call = format!(
                    "[{{\"index\":{index},\"id\":{id},\"type\":\"function\",\"function\":\
                     {{\"name\":{name},\"arguments\":\"\"}}}}]"
                );
                self.send_member("tool_calls", &call, out);
                let input = block.get("input").map_or("{}", |raw| raw.get()).to_owned();
                self.open.push((number, Block::Call { index, begun: false, input }));
            }
            _ => {}
        }
    }

    fn delta(&mut self, data: &Object<'_>, json: &str, out: &mut Chunk) {
        let number = data.unsigned("index").unwrap_or(0);
        let delta = data.object("delta").unwrap_or_default();
        let kind = delta.text("type").unwrap_or_default();
        match kind.as_ref() {
            "text_delta" => {
                let (text, sent) = (delta.string("text"), out.send.len());
                self.text("content", text, out);
                if let (Some(text), [chunk]) = (text.filter(|_| !usage::may_report(json)), &out.send[sent..])
                {
                    self.repeated.learn(json, &[text], &chunk.data);
                }
            }
            "thinking_delta" => self.add_thinking(number, delta.string("thinking"), out),
            "signature_delta" => self.add_signature(number, delta.string("signature")),
            "input_json_delta" => {
                let Some(piece) = delta.string("partial_json").filter(|piece| !piece.is_empty()) else {
                    return;
                };
                let open = self.open.iter_mut().find(|(open, _)| *open == number);
                if let Some((_, Block::Call { index, begun, .. })) = open {
                    *begun = true;
                    let call = arguments(*index, piece.quoted());
                    count_bytes(out, piece.len());
                    self.send_member("tool_calls", &call, out);
                }
            }
            _ => {}
        }
    }

    fn text(&mut self, name: &str, text: Option<JsonString<'_>>, out: &mut Chunk) {
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            count_bytes(out, text.len());
            self.send_member(name, text.quoted(), out);
        }
    }

    fn add_thinking(&mut self, number: u64, piece: Option<JsonString<'_>>, out: &mut Chunk) {
        self.text("reasoning_content", piece, out);
        let open = self.open.iter_mut().find(|(open, _)| *open == number);
        if let (Some((_, Block::Thinking { thought, .. })), Some(piece)) = (open, piece) {
            thought.push_str(piece.inner());
        }
    }

    fn add_signature(&mut self, number: u64, piece: Option<JsonString<'_>>) {
        let open = self.open.iter_mut().find(|(open, _)| *open == number);
        if let (Some((_, Block::Thinking { signature, .. })), Some(piece)) = (open, piece) {
            signature.push_str(piece.inner());
        }
    }

    /// The end of a block: arguments that never came are the block's `input`, and signed thinking is sent once
    /// more with its signature.
    fn close(&mut self, block: Block, out: &mut Chunk) {
        match block {
            Block::Call { begun: true, .. } => {}
            Block::Call { index, input, .. } => {
                count_bytes(out, input.len() as u64);
                self.send_member("tool_calls", &arguments(index, &quoted(&input)), out);
            }
            Block::Thinking { signature, .. } if signature.is_empty() => {}
            Block::Thinking { thought, signature } => {
                let members =
                    format!(r#""type":"thinking","thinking":"{thought}","signature":"{signature}"}}"#);
                self.send_thinking_block(&members, out);
            }
            Block::Redacted(whole) => self.send_thinking_block(whole.trim_start_matches('{'), out),
        }
    }

    /// Sends the `members` of a thinking block, up to its closing brace. Client libraries join the pieces of
    /// streams by `index`.
    fn send_thinking_block(&mut self, members: &str, out: &mut Chunk) {
        let index = self.thoughts;
        self.thoughts += 1;
        self.send_member("thinking_blocks", &format!("[{{\"index\":{index},{members}]"), out);
    }
}

/// A piece of a call's arguments.
fn arguments(index: u32, piece: &str) -> String {
    format!("[{{\"index\":{index},\"function\":{{\"arguments\":{piece}}}}}]")
}
