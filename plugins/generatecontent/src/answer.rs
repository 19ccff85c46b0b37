//! Whole answers: one message, or the failure that a reply is.

use gatehouse_sdk::{Context, Reply, Sse, TextFailure};
use gatehouse_text_protocols::failures::unreadable;
use gatehouse_text_protocols::halves::without_halves;
use gatehouse_text_protocols::incoming::{is_harmless, is_notice, without_number_words};
use gatehouse_text_protocols::json::{Writer, quoted};
use gatehouse_text_protocols::standard::{Form, GOOGLE, Standard};
use serde_json::value::RawValue;

use crate::content::GenerateContentResponse;
use crate::errors::ErrorReader;
use crate::pieces::{Piece, Pieces, stop_reason};
use crate::state::State;
use crate::usage::UsageMetadata;

pub(crate) fn answer(cx: &Context, state: &State, reply: &Reply) -> Result<String, TextFailure> {
    let body = reply.text();
    let mended = without_number_words(&body);
    let body = mended.as_deref().unwrap_or(&body).trim_start_matches('\u{feff}');
    if !reply.is_success() {
        return Err(ErrorReader { state }.of_reply(reply.status, body));
    }
    let mut whole =
        Whole { state, pieces: Pieces::new(cx.seed, state), said: vec![], response: Response::default() };
    let (frames, has_words) = if is_list(body) { frames(body) } else { (vec![body], false) };
    if frames.is_empty() {
        return Err(ErrorReader { state }.of_frame(body));
    }
    for frame in &frames {
        whole.read(frame)?;
    }
    let Whole { pieces, said, response, .. } = whole;
    let stop = match &response.reason {
        // As in a stream.
        Some(_) if has_words && !response.lacks_reason => {
            return Err(unreadable("it ends with words that nobody knows", body));
        }
        Some(reason) => stop_reason(reason, pieces.has_called())?,
        None if !response.has_candidate && response.is_blocked => "refusal",
        None if !response.has_candidate => return Err(unreadable("it has no candidates", body)),
        None if is_list(body) => return Err(unreadable("the last frame of it is missing", body)),
        None => stop_reason("STOP", pieces.has_called())?,
    };
    let id = message_id(response.id.as_deref(), cx.seed);
    let content = format!("[{}]", blocks(said.into_iter()).join(","));
    Ok(message(&id, &state.upstream, &content, Some(stop), response.usage))
}

/// An answer as it is read: one body, or the frames of a stream in a list.
struct Whole<'s> {
    state: &'s State,
    pieces: Pieces,
    said: Vec<Piece>,
    response: Response,
}

/// What of an answer is not its content.
#[derive(Default)]
struct Response {
    id: Option<String>,
    usage: Option<UsageMetadata>,
    reason: Option<String>,
    has_candidate: bool,
    /// A frame of the answer had no reason.
    lacks_reason: bool,
    is_blocked: bool,
}

impl Whole<'_> {
    fn read(&mut self, body: &str) -> Result<(), TextFailure> {
        let shaped = shaped(body, &mut Standard::new(GOOGLE));
        let body = shaped.as_deref().unwrap_or(body);
        let mut standard = None;
        let read = GenerateContentResponse::read(body, &mut standard);
        let mut read = read.ok_or_else(|| unreadable("it is no GenerateContentResponse", body))?;
        if read.error.is_some() {
            return Err(ErrorReader { state: self.state }.of_frame(body));
        }
        let Response { id, usage, reason, has_candidate, lacks_reason, is_blocked } = &mut self.response;
        *is_blocked |= read.is_blocked();
        *id = id.take().or_else(|| read.response_id.take());
        *usage = read.usage_metadata.map(|now| usage.map_or(now, |known| now.with(known))).or(*usage);
        let Some(candidate) = read.candidate() else { return Ok(()) };
        *has_candidate = true;
        *lacks_reason |= candidate.finish_reason.is_none();
        *reason = candidate.finish_reason.or_else(|| reason.take());
        for part in candidate.content.and_then(|content| content.parts).unwrap_or_default() {
            self.said.extend(self.pieces.of(part)?);
        }
        Ok(())
    }
}

/// An answer, or a frame, in Google's shape and without halves of characters, if that changes it.
pub(crate) fn shaped(json: &str, standard: &mut Standard) -> Option<String> {
    let whole = without_halves(json);
    match standard.read(whole.as_deref().unwrap_or(json)) {
        Form::Other(shaped) => Some(shaped),
        Form::Known | Form::Right => whole,
    }
}

/// Whether a body is a list, as streams without `alt=sse` are, and errors where a stream was asked for.
pub(crate) fn is_list(body: &str) -> bool {
    body.trim_start().starts_with('[')
}

/// The frames of a list: all of it but the end of a stream and words that say nothing; and whether it ends with words that nobody
/// knows.
fn frames(list: &str) -> (Vec<&str>, bool) {
    let items: Vec<&RawValue> = serde_json::from_str(list).unwrap_or_default();
    let (mut frames, mut has_words) = (Vec::new(), false);
    for item in items.into_iter().map(RawValue::get) {
        let data = serde_json::from_str(item).unwrap_or_else(|_| item.to_owned());
        if data == "[DONE]" {
            continue;
        }
        let is_unknown = !is_harmless(&data);
        if is_notice(&Sse { event: None, data }) {
            has_words |= is_unknown;
        } else {
            has_words = false;
            frames.push(item);
        }
    }
    (frames, has_words)
}

/// The id of a message; the same answer always has the same.
pub(crate) fn message_id(response: Option<&str>, seed: u64) -> String {
    match response {
        Some(id) if !id.is_empty() => format!("msg_{id}"),
        _ => format!("msg_{seed:016x}"),
    }
}

/// A message; `content` is JSON of its blocks, and `stop` why it has ended.
pub(crate) fn message(
    id: &str,
    model: &str,
    content: &str,
    stop: Option<&str>,
    usage: Option<UsageMetadata>,
) -> String {
    let mut out = Writer::new(512 + content.len());
    out.string("id", id);
    out.string("type", "message");
    out.string("role", "assistant");
    out.string("model", model);
    out.member("content", content);
    out.member("stop_reason", &stop.map_or_else(|| "null".to_owned(), quoted));
    out.member("stop_sequence", "null");
    if let Some(usage) = usage {
        out.member("usage", &usage.json());
    }
    out.done()
}

/// A block.
enum Block {
    Text(String),
    Thinking { thought: String, signature: String },
    Call { id: String, name: String, input: String },
}

/// The blocks of a message. Pieces of one kind are one block; a signature closes the thought before it, or is a block alone.
fn blocks(pieces: impl Iterator<Item = Piece>) -> Vec<String> {
    let mut all: Vec<Block> = Vec::new();
    for piece in pieces {
        let block = match (piece, all.last_mut()) {
            (Piece::Text(more), Some(Block::Text(text))) => {
                text.push_str(&more);
                continue;
            }
            (Piece::Thought(more), Some(Block::Thinking { thought, signature })) if signature.is_empty() => {
                thought.push_str(&more);
                continue;
            }
            (Piece::Signature(signed), Some(Block::Thinking { signature, .. })) if signature.is_empty() => {
                *signature = signed;
                continue;
            }
            (Piece::Text(text), _) => Block::Text(text),
            (Piece::Thought(thought), _) => Block::Thinking { thought, signature: String::new() },
            (Piece::Signature(signature), _) => Block::Thinking { thought: String::new(), signature },
            (Piece::Call { id, name, input }, _) => Block::Call { id, name, input },
        };
        all.push(block);
    }
    all.into_iter().map(written).collect()
}

fn written(block: Block) -> String {
    let (Block::Text(longest)
    | Block::Thinking { thought: longest, .. }
    | Block::Call { input: longest, .. }) = &block;
    let mut out = Writer::new(longest.len() + 128);
    match block {
        Block::Text(text) => {
            out.string("type", "text");
            out.string("text", &text);
        }
        Block::Thinking { thought, signature } => {
            out.string("type", "thinking");
            out.string("thinking", &thought);
            out.string("signature", &signature);
        }
        Block::Call { id, name, input } => {
            out.string("type", "tool_use");
            out.string("id", &id);
            out.string("name", &name);
            out.member("input", &input);
        }
    }
    out.done()
}
