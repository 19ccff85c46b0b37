//! The events of an item: that it is new, a piece of its text, that it is done. Numbers all events of a response. Never decides
//! when an item begins or ends.

use gatehouse_sdk::{Chunk, Sse};

use crate::json::Writer;
use crate::responses::echo::Echo;

use super::item::{Content, OutputItem, summary_part, text_part};

/// The position of the one part of a message, and of a summary.
const OF_MESSAGE: (&str, &str) = ("content_index", "0");
const OF_SUMMARY: (&str, &str) = ("summary_index", "0");

/// The events so far.
#[derive(Debug, Default)]
pub(super) struct ItemEvents {
    sequence: u64,
}

impl ItemEvents {
    /// The item at that position of the output is new.
    pub(super) fn added(&mut self, at: usize, item: &OutputItem, echo: &Echo, out: &mut Chunk) {
        self.item("response.output_item.added", at, &item.json(echo, true), out);
    }

    /// Its one part is new.
    pub(super) fn part_added(&mut self, at: usize, item: &OutputItem, out: &mut Chunk) {
        let kind = "response.content_part.added";
        match &item.content {
            Content::Text { .. } => {
                self.send_of(kind, at, item, &[OF_MESSAGE, ("part", &*text_part("", ""))], out);
            }
            Content::Refusal(_) => {
                let part = r#"{"type":"refusal","refusal":""}"#;
                self.send_of(kind, at, item, &[OF_MESSAGE, ("part", part)], out);
            }
            Content::Reasoning { .. } => {
                let kind = "response.reasoning_summary_part.added";
                self.send_of(kind, at, item, &[OF_SUMMARY, ("part", &*summary_part(""))], out);
            }
            Content::Call { .. } => {}
        }
    }

    /// A piece of its text, a string as JSON; `logprobs` are entries of a text, JSON without brackets.
    pub(super) fn delta(
        &mut self,
        at: usize,
        item: &OutputItem,
        piece: &str,
        logprobs: &str,
        out: &mut Chunk,
    ) {
        let delta = ("delta", piece);
        match &item.content {
            Content::Text { .. } => {
                let logprobs = format!("[{logprobs}]");
                let members = [OF_MESSAGE, delta, ("logprobs", &*logprobs)];
                self.send_of("response.output_text.delta", at, item, &members, out);
            }
            Content::Refusal(_) => {
                self.send_of("response.refusal.delta", at, item, &[OF_MESSAGE, delta], out);
            }
            Content::Reasoning { .. } => {
                self.send_of("response.reasoning_summary_text.delta", at, item, &[OF_SUMMARY, delta], out);
            }
            Content::Call { is_custom: true, .. } => {
                self.send_of("response.custom_tool_call_input.delta", at, item, &[delta], out);
            }
            Content::Call { .. } => {
                self.send_of("response.function_call_arguments.delta", at, item, &[delta], out);
            }
        }
    }

    /// It is done.
    pub(super) fn done(&mut self, at: usize, item: &OutputItem, echo: &Echo, out: &mut Chunk) {
        let part = item.part();
        let part = ("part", part.as_str());
        match &item.content {
            Content::Text { text, logprobs } => {
                let (text, logprobs) = (format!("\"{text}\""), format!("[{logprobs}]"));
                let members = [OF_MESSAGE, ("text", &*text), ("logprobs", &*logprobs)];
                self.send_of("response.output_text.done", at, item, &members, out);
                self.send_of("response.content_part.done", at, item, &[OF_MESSAGE, part], out);
            }
            Content::Refusal(text) => {
                let members = [OF_MESSAGE, ("refusal", &*format!("\"{text}\""))];
                self.send_of("response.refusal.done", at, item, &members, out);
                self.send_of("response.content_part.done", at, item, &[OF_MESSAGE, part], out);
            }
            Content::Reasoning { text, .. } if text.is_empty() => {}
            Content::Reasoning { text, .. } => {
                let members = [OF_SUMMARY, ("text", &*format!("\"{text}\""))];
                self.send_of("response.reasoning_summary_text.done", at, item, &members, out);
                self.send_of("response.reasoning_summary_part.done", at, item, &[OF_SUMMARY, part], out);
            }
            Content::Call { is_custom: true, .. } => {
                // The text of a custom tool is told once it is whole: a part of the JSON around it means nothing.
                let input = item.arguments();
                self.delta(at, item, &input, "", out);
                self.send_of("response.custom_tool_call_input.done", at, item, &[("input", &*input)], out);
            }
            Content::Call { .. } => {
                let members = [("arguments", &*item.arguments())];
                self.send_of("response.function_call_arguments.done", at, item, &members, out);
            }
        }
        self.item("response.output_item.done", at, &item.json(echo, false), out);
    }

    /// An event with these members, JSON each.
    pub(super) fn send(&mut self, kind: &str, members: &[(&str, &str)], out: &mut Chunk) {
        let size: usize = members.iter().map(|(_, json)| json.len() + 24).sum();
        let mut json = Writer::new(size + 96);
        json.member("type", &format!("\"{kind}\""));
        json.member("sequence_number", &self.sequence.to_string());
        for (name, value) in members {
            json.member(name, value);
        }
        self.sequence += 1;
        out.send.push(Sse { event: Some(kind.to_owned()), data: json.done() });
    }

    fn item(&mut self, kind: &str, at: usize, item: &str, out: &mut Chunk) {
        self.send(kind, &[("output_index", &at.to_string()), ("item", item)], out);
    }

    fn send_of(
        &mut self,
        kind: &str,
        at: usize,
        item: &OutputItem,
        members: &[(&str, &str)],
        out: &mut Chunk,
    ) {
        let (id, index) = (format!("\"{}\"", item.id), at.to_string());
        let mut all = vec![("item_id", id.as_str()), ("output_index", index.as_str())];
        all.extend(members);
        self.send(kind, &all, out);
    }
}
