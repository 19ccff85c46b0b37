//! A messages provider's stream as chunks, or its whole message if it sends that instead. Blocks become text,
//! calls and thinking; the end is said once the
//! provider has said why, with the tokens after it for whoever asked.

use gatehouse_sdk::{Context, Sse, TextFailure, Usage};

use super::{Out, early, is_idle};
use crate::json::{Object, Text, Writer, quoted};
use crate::state::State;
use crate::usage::{self, Counted};
use crate::{translated, trouble};

pub(super) struct Events {
    state: State,
    seed: u64,
    created: u64,
    /// A chunk up to its choices; empty until the first.
    head: String,
    counted: Counted,
    /// Open blocks under the provider's numbers.
    open: Vec<(u64, Block)>,
    calls: u32,
    thoughts: u32,
    stop: Option<&'static str>,
}

/// A block under way.
enum Block {
    /// The client's number of the call, whether its arguments have begun, and what the provider gave of them
    /// at the start.
    Call { index: u32, begun: bool, input: String },
    /// As written so far, without quotes.
    Thinking { thought: String, signature: String },
    /// The whole block.
    Redacted(String),
}

impl Events {
    pub(super) fn new(cx: &Context, state: State) -> Self {
        Self {
            state,
            seed: cx.seed,
            created: cx.now.0 / 1000,
            head: String::new(),
            counted: Counted::default(),
            open: Vec::new(),
            calls: 0,
            thoughts: 0,
            stop: None,
        }
    }

    pub(super) fn usage(&self) -> Option<Usage> {
        self.counted.usage()
    }

    pub(super) fn event(&mut self, event: &Sse, out: &mut Out) -> Result<(), TextFailure> {
        if is_idle(event) || event.data.trim() == "[DONE]" {
            return Ok(());
        }
        let Some(data) = Object::parse(&event.data) else {
            return Err(trouble::unreadable("an event of it is no JSON object", &event.data));
        };
        let kind = data.text("type").map(Text::decoded);
        match kind.as_deref().or(event.event.as_deref()).unwrap_or_default() {
            "message" => self.message(&data, out),
            "message_start" => {
                let message = data.object("message").unwrap_or_default();
                self.count(&message);
                self.begin(message.text("id"), out);
            }
            "content_block_start" => self.start(&data, out),
            "content_block_delta" => self.delta(&data, out),
            "content_block_stop" => {
                let number = data.count_in("index").unwrap_or(0);
                if let Some(at) = self.open.iter().position(|(open, _)| *open == number) {
                    let (_, block) = self.open.remove(at);
                    self.close(block, out);
                }
            }
            "message_delta" => {
                self.count(&data);
                let stop = data.object("delta").and_then(|delta| delta.text("stop_reason"));
                self.stop = stop.map(|stop| usage::finish(&stop.decoded())).or(self.stop);
            }
            "message_stop" => return self.finish(out),
            "error" => return Err(trouble::of_error(&self.state, &event.data)),
            // `ping`, and whatever newer versions bring.
            _ => {}
        }
        Ok(())
    }

    /// All of it at once, from a provider that does not stream: blocks that open with what they hold.
    fn message(&mut self, message: &Object<'_>, out: &mut Out) {
        self.count(message);
        self.begin(message.text("id"), out);
        for (place, block) in message.items("content").unwrap_or_default().into_iter().enumerate() {
            let Some(block) = Object::parse(block.get()) else { continue };
            self.block(place as u64, &block, out);
            if let Some((_, block)) = self.open.pop() {
                self.close(block, out);
            }
        }
        let stop = message.text("stop_reason").map(Text::decoded).unwrap_or_default();
        self.stop = Some(usage::finish(&stop));
    }

    /// `message_stop`, or the end of the stream: right only once the provider has said why it stopped.
    pub(super) fn finish(&mut self, out: &mut Out) -> Result<(), TextFailure> {
        let Some(stop) = self.stop else { return Err(early()) };
        self.begin(None, out);
        // Where the cap cut a call short its block stays open, and its arguments incomplete.
        if stop == "tool_calls" {
            for (_, block) in std::mem::take(&mut self.open) {
                self.close(block, out);
            }
        }
        self.send("{}", &quoted(stop), out);
        if self.state.counted && self.counted.usage().is_some() {
            out.send(format!("{}[],\"usage\":{}}}", self.head, self.counted.written()));
        }
        out.done();
        Ok(())
    }

    fn count(&mut self, object: &Object<'_>) {
        if let Some(usage) = object.object("usage") {
            self.counted.take(&usage);
        }
    }

    /// The first chunk, which says the role.
    fn begin(&mut self, id: Option<Text<'_>>, out: &mut Out) {
        if !self.head.is_empty() {
            return;
        }
        let id = translated::id(id.map(Text::decoded).as_deref(), self.seed);
        self.head = format!(
            "{{\"id\":{},\"object\":\"chat.completion.chunk\",\"created\":{},\"model\":{},\"choices\":",
            quoted(&id),
            self.created,
            quoted(&self.state.model)
        );
        self.send(r#"{"role":"assistant","content":""}"#, "null", out);
    }

    fn send(&self, delta: &str, finish: &str, out: &mut Out) {
        let counted = if self.state.counted { ",\"usage\":null" } else { "" };
        out.send(format!(
            "{}[{{\"index\":0,\"delta\":{delta},\"logprobs\":null,\"finish_reason\":{finish}}}]{counted}}}",
            self.head
        ));
    }

    /// A delta of one member.
    fn say(&mut self, name: &str, json: &str, out: &mut Out) {
        self.begin(None, out);
        self.send(&format!("{{\"{name}\":{json}}}"), "null", out);
    }

    fn start(&mut self, data: &Object<'_>, out: &mut Out) {
        let number = data.count_in("index").unwrap_or(0);
        self.block(number, &data.object("content_block").unwrap_or_default(), out);
    }

    fn block(&mut self, number: u64, block: &Object<'_>, out: &mut Out) {
        let kind = block.text("type").map(Text::decoded).unwrap_or_default();
        match kind.as_ref() {
            "text" => self.text("content", block.text("text"), out),
            "thinking" => {
                self.open
                    .push((number, Block::Thinking { thought: String::new(), signature: String::new() }));
                self.think(number, block.text("thinking"), out);
                self.sign(number, block.text("signature"));
            }
            "redacted_thinking" => {
                let mut whole = Writer::new(256);
                for (name, raw) in block.iter() {
                    whole.member(name, raw.get());
                }
                self.open.push((number, Block::Redacted(whole.done())));
            }
            "tool_use" => {
                let name = block.text("name").map_or("\"\"", Text::quoted);
                let id = block.text("id").map(|id| id.quoted().to_owned());
                let id = id.unwrap_or_else(|| format!("\"call_{:016x}_{}\"", self.seed, self.calls));
                let index = self.calls;
                self.calls += 1;
                out.wrote(block.text("name").map_or(0, Text::len));
                let call = format!(
                    "[{{\"index\":{index},\"id\":{id},\"type\":\"function\",\"function\":\
                     {{\"name\":{name},\"arguments\":\"\"}}}}]"
                );
                self.say("tool_calls", &call, out);
                let input = block.get("input").map_or("{}", |raw| raw.get()).to_owned();
                self.open.push((number, Block::Call { index, begun: false, input }));
            }
            _ => {}
        }
    }

    fn delta(&mut self, data: &Object<'_>, out: &mut Out) {
        let number = data.count_in("index").unwrap_or(0);
        let delta = data.object("delta").unwrap_or_default();
        let kind = delta.text("type").map(Text::decoded).unwrap_or_default();
        match kind.as_ref() {
            "text_delta" => self.text("content", delta.text("text"), out),
            "thinking_delta" => self.think(number, delta.text("thinking"), out),
            "signature_delta" => self.sign(number, delta.text("signature")),
            "input_json_delta" => {
                let Some(piece) = delta.text("partial_json").filter(|piece| !piece.is_empty()) else {
                    return;
                };
                let open = self.open.iter_mut().find(|(open, _)| *open == number);
                if let Some((_, Block::Call { index, begun, .. })) = open {
                    *begun = true;
                    let call = arguments(*index, piece.quoted());
                    out.wrote(piece.len());
                    self.say("tool_calls", &call, out);
                }
            }
            _ => {}
        }
    }

    fn text(&mut self, name: &str, text: Option<Text<'_>>, out: &mut Out) {
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            out.wrote(text.len());
            self.say(name, text.quoted(), out);
        }
    }

    fn think(&mut self, number: u64, piece: Option<Text<'_>>, out: &mut Out) {
        self.text("reasoning_content", piece, out);
        let open = self.open.iter_mut().find(|(open, _)| *open == number);
        if let (Some((_, Block::Thinking { thought, .. })), Some(piece)) = (open, piece) {
            thought.push_str(piece.inner());
        }
    }

    fn sign(&mut self, number: u64, piece: Option<Text<'_>>) {
        let open = self.open.iter_mut().find(|(open, _)| *open == number);
        if let (Some((_, Block::Thinking { signature, .. })), Some(piece)) = (open, piece) {
            signature.push_str(piece.inner());
        }
    }

    /// A block is whole: arguments that never came are the empty object, and thinking is handed out once
    /// more with its signature.
    fn close(&mut self, block: Block, out: &mut Out) {
        match block {
            Block::Call { begun: true, .. } => {}
            Block::Call { index, input, .. } => {
                out.wrote(input.len() as u64);
                self.say("tool_calls", &arguments(index, &quoted(&input)), out);
            }
            Block::Thinking { signature, .. } if signature.is_empty() => {}
            Block::Thinking { thought, signature } => {
                let members =
                    format!(r#""type":"thinking","thinking":"{thought}","signature":"{signature}"}}"#);
                self.hand_out(&members, out);
            }
            Block::Redacted(whole) => self.hand_out(whole.trim_start_matches('{'), out),
        }
    }

    /// `members` of a block of thinking, up to its closing brace. Its number lets a client's library join
    /// streams of them.
    fn hand_out(&mut self, members: &str, out: &mut Out) {
        let index = self.thoughts;
        self.thoughts += 1;
        self.say("thinking_blocks", &format!("[{{\"index\":{index},{members}]"), out);
    }
}

/// A piece of a call's arguments.
fn arguments(index: u32, piece: &str) -> String {
    format!("[{{\"index\":{index},\"function\":{{\"arguments\":{piece}}}}}]")
}
