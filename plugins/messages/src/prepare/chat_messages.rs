//! Messages of the one protocol as messages of the other: tool results come first, each in its own message;
//! images inside them follow in a user message; an assistant's text and calls stay in one message.

use std::borrow::Cow;

use gatehouse_sdk::{Refusal, TextRequest};
use gatehouse_text_protocols::check::in_provider_words;
use gatehouse_text_protocols::field_names::MessagePaths;
use gatehouse_text_protocols::json::{JsonString, Raw};
use gatehouse_text_protocols::path::Path;
use gatehouse_text_protocols::rules::Rules;
use gatehouse_text_protocols::tool_ids;
use gatehouse_text_protocols::tool_names::{CHAT_MAX, fitted};

use super::chat_request::{CalledFunction, File, ImageUrl, Message, Part, TextValue, ToolCall, UserContent};
use super::pairs::paired;
use crate::request::Request;
use crate::request::blocks::{self, Block, Role, Source, blob};

/// The messages, the system prompt first, and where each came from.
pub(crate) fn messages<'a>(
    request: &Request<'a>,
    text_request: &TextRequest,
    rules: &Rules,
) -> Result<(Vec<Message<'a>>, Vec<MessagePaths>), Refusal> {
    let (mut out, mut places) = (Vec::with_capacity(request.messages.len() + 1), Vec::new());
    if !request.system.is_empty() {
        out.push(Message::System { content: joined(&request.system) });
        places.push(whole("system".to_owned()));
    }
    for turn in sent(request, rules).chunk_by(|_, next| next.goes_on) {
        let [.., Sent { index, message, .. }] = turn else { continue };
        match message.role {
            Role::System => between(message, rules, &mut out),
            Role::User => user(turn, &mut out, &mut places)?,
            Role::Assistant => out.push(assistant(turn, text_request, rules)?),
        }
        places.resize_with(out.len(), || whole(format!("messages.{index}")));
    }
    let ids = rules.call_ids_of(&text_request.route.upstream);
    let (mut out, mut places): (Vec<_>, Vec<_>) =
        paired(out.into_iter().zip(places).collect(), ids).into_iter().unzip();
    if let Some(told) = &request.told {
        add_to_user(told, &mut out);
        places.resize_with(out.len(), || whole("messages".to_owned()));
    }
    Ok((out, places))
}

/// A message that is sent.
struct Sent<'r, 'a> {
    index: usize,
    message: &'r blocks::Message<'a>,
    /// Not every server takes two turns of one side: where one was left out between two, the second goes on with the first.
    goes_on: bool,
}

/// The messages in order, without those that say nothing, which many servers refuse.
fn sent<'r, 'a>(request: &'r Request<'a>, rules: &Rules) -> Vec<Sent<'r, 'a>> {
    let count = request.order.as_ref().map_or(request.messages.len(), Vec::len);
    let (mut all, mut is_apart) = (Vec::<Sent<'_, '_>>::with_capacity(count), false);
    for at in 0..count {
        let index = request.order.as_ref().map_or(at, |order| order[at]);
        let message = &request.messages[index];
        let is_last = index + 1 == request.messages.len();
        if is_silent(message, rules) && (message.role == Role::Assistant || !is_last) {
            is_apart |= message.role != Role::System;
            continue;
        }
        let goes_on = is_apart && all.last().is_some_and(|before| before.message.role == message.role);
        all.push(Sent { index, message, goes_on });
        is_apart = false;
    }
    all
}

/// Whether nothing of a message would be sent.
fn is_silent(message: &blocks::Message<'_>, rules: &Rules) -> bool {
    message.blocks.iter().all(|block| match block {
        Block::Redacted => true,
        Block::Thinking(_) => !rules.reasoning_history,
        block => block.is_blank(),
    })
}

/// Where a message came from whose parts are told by its own path.
fn whole(own: String) -> MessagePaths {
    MessagePaths { own, parts: Vec::new() }
}

/// A message of the client's program between the turns.
fn between<'a>(message: &blocks::Message<'a>, rules: &Rules, out: &mut Vec<Message<'a>>) {
    let texts = message.blocks.iter().filter_map(|block| match block {
        Block::Text(text) => Some(*text),
        _ => None,
    });
    if rules.system_messages {
        let texts: Vec<JsonString<'_>> = texts.collect();
        return out.push(Message::System { content: joined(&texts) });
    }
    let added = texts.map(blocks::reminder).collect::<Vec<_>>().join("\n");
    add_to_user(&added, out);
}

/// Adds to the user's last text: not every compatible server takes two messages of a user.
fn add_to_user(added: &str, out: &mut Vec<Message<'_>>) {
    if let Some(Message::User { content: UserContent::Text(text) }) = out.last_mut() {
        *text = TextValue::Made(format!("{}\n{added}", text.text()).into());
    } else {
        out.push(Message::User { content: UserContent::Text(TextValue::Made(added.to_owned().into())) });
    }
}

fn user<'a>(
    turn: &[Sent<'_, 'a>],
    out: &mut Vec<Message<'a>>,
    places: &mut Vec<MessagePaths>,
) -> Result<(), Refusal> {
    let messages = Path::DOTTED.key("messages");
    let own = messages.index(turn.last().map_or(0, |last| last.index));
    let mut parts = Parts::default();
    let mut media = Parts::default();
    let before = out.len();
    let blocks = turn.iter().flat_map(|sent| {
        sent.message.blocks.iter().enumerate().map(|(block_index, block)| (sent.index, block_index, block))
    });
    for (index, block_index, block) in blocks {
        let message = messages.index(index);
        let content = message.key("content");
        let at = content.index(block_index);
        let Block::ToolResult { id, blocks, failed } = block else {
            parts.add(index, &at, block)?;
            continue;
        };
        let mut texts = Vec::new();
        let mut inner = Parts::default();
        for (block_index, block) in blocks.iter().enumerate() {
            inner.add(index, &at.key("content").index(block_index), block)?;
        }
        for (part, path) in inner.0 {
            match part {
                Part::Text { text } if text.is_blank() => {}
                Part::Text { text } => texts.push(text),
                other => media.0.push((other, path)),
            }
        }
        let content = match (failed, joined(&texts)) {
            (false, text) => text,
            (true, text) => TextValue::Made(format!("Error: {}", text.text()).into()),
        };
        out.push(Message::Tool { tool_call_id: own_id(*id), content });
        places.push(whole(at.to_string()));
    }
    media.0.append(&mut parts.0);
    // Not every server takes a text that says nothing.
    let is_blank = |part: &Part<'_>| matches!(part, Part::Text { text } if text.is_blank());
    if out.len() > before || media.0.iter().any(|(part, _)| !is_blank(part)) {
        media.0.retain(|(part, _)| !is_blank(part));
    }
    if !media.0.is_empty() {
        let (media, paths): (Vec<Part<'_>>, Vec<String>) = media.0.into_iter().unzip();
        let content = user_content(media);
        // The texts of a message are one.
        let parts = if matches!(content, UserContent::Parts(_)) { paths } else { Vec::new() };
        out.push(Message::User { content });
        places.push(MessagePaths { own: own.to_string(), parts });
    }
    Ok(())
}

/// One text if there are only texts: not every compatible server reads parts.
fn user_content(parts: Vec<Part<'_>>) -> UserContent<'_> {
    let texts: Option<Vec<JsonString<'_>>> = parts
        .iter()
        .map(|part| match part {
            Part::Text { text } => Some(*text),
            Part::ImageUrl { .. } | Part::File { .. } => None,
        })
        .collect();
    match texts {
        Some(texts) => UserContent::Text(joined(&texts)),
        None => UserContent::Parts(parts),
    }
}

/// Parts of a message, and the client's paths of them.
#[derive(Default)]
struct Parts<'a>(Vec<(Part<'a>, String)>);

impl<'a> Parts<'a> {
    /// Adds the part of a block; a document of blocks is as many parts.
    fn add(&mut self, index: usize, at: &Path<'_>, block: &Block<'a>) -> Result<(), Refusal> {
        let Block::Document(Source::Blocks(blocks)) = block else {
            self.0.push((part(index, block)?, at.to_string()));
            return Ok(());
        };
        let source = at.key("source");
        let content = source.key("content");
        blocks.iter().enumerate().try_for_each(|(at, block)| self.add(index, &content.index(at), block))
    }
}

fn part<'a>(index: usize, block: &Block<'a>) -> Result<Part<'a>, Refusal> {
    match block {
        Block::Text(text) => Ok(Part::Text { text: *text }),
        Block::Image(Source::Base64 { media_type, data, mended }) => {
            Ok(Part::ImageUrl { image_url: ImageUrl { url: data_uri(media_type, *data, mended.as_deref()) } })
        }
        Block::Image(Source::Url(url)) => {
            Ok(Part::ImageUrl { image_url: ImageUrl { url: TextValue::Made(Cow::Owned(url.clone())) } })
        }
        Block::Document(Source::Text(text)) => Ok(Part::Text { text: *text }),
        // A model reads which tools there are from their names.
        Block::ToolReference(name) => Ok(Part::Text { text: *name }),
        Block::Document(Source::Base64 { media_type, data, mended }) => {
            let file_data = data_uri(media_type, *data, mended.as_deref());
            Ok(Part::File { file: File { filename: "document.pdf", file_data } })
        }
        other => Err(unsupported_block(index, &block_name(other))),
    }
}

/// A block's name in a refusal.
fn block_name(block: &Block<'_>) -> String {
    match block {
        Block::Text(_) => "a `text` block".to_owned(),
        Block::Image(Source::Other(kind)) => format!("a picture whose source is a `{kind}`"),
        Block::Image(_) => "an `image` block".to_owned(),
        Block::Document(Source::Other(kind)) => format!("a document whose source is a `{kind}`"),
        Block::Document(_) => "a document by its URL".to_owned(),
        Block::Thinking(_) | Block::Unsigned => "a `thinking` block".to_owned(),
        Block::Redacted => "a `redacted_thinking` block".to_owned(),
        Block::ToolReference(_) => "a `tool_reference` block".to_owned(),
        Block::ToolUse { .. } => "a `tool_use` block".to_owned(),
        Block::ToolResult { .. } => "a `tool_result` block".to_owned(),
        Block::Other(kind) => format!("a `{kind}` block"),
    }
}

fn assistant<'a>(
    turn: &[Sent<'_, 'a>],
    text_request: &TextRequest,
    rules: &Rules,
) -> Result<Message<'a>, Refusal> {
    let (mut texts, mut thoughts, mut tool_calls) = (Vec::new(), Vec::new(), Vec::new());
    let blocks = turn.iter().flat_map(|sent| sent.message.blocks.iter().map(|block| (sent.index, block)));
    for (index, block) in blocks {
        match block {
            Block::Text(text) if text.is_blank() => {}
            Block::Text(text) => texts.push(*text),
            Block::Thinking(thought) => thoughts.push(*thought),
            Block::Redacted | Block::Unsigned => {}
            Block::ToolUse { id, name, input } => {
                if embeds(input, text_request) {
                    return Err(unsupported_block(index, "a file inside a tool's `input`"));
                }
                let function = CalledFunction { name: fitted_name(*name), arguments: input.get() };
                tool_calls.push(ToolCall { id: own_id(*id), kind: "function", function });
            }
            other => return Err(unsupported_block(index, &block_name(other))),
        }
    }
    let with_reasoning = rules.reasoning_history && !thoughts.is_empty();
    let calls_only = texts.is_empty() && !tool_calls.is_empty();
    Ok(Message::Assistant {
        content: (!calls_only).then(|| joined(&texts)),
        reasoning_content: with_reasoning.then(|| joined(&thoughts)),
        tool_calls,
    })
}

/// The provider's own id of a call.
fn own_id(id: JsonString<'_>) -> TextValue<'_> {
    let text = id.decoded();
    match tool_ids::decoded(&text) {
        Cow::Owned(own) => TextValue::Made(own.into()),
        Cow::Borrowed(_) => TextValue::Raw(id),
    }
}

fn fitted_name(name: JsonString<'_>) -> TextValue<'_> {
    let text = name.decoded();
    match fitted(&text, CHAT_MAX) {
        Cow::Owned(fitted) => TextValue::Made(fitted.into()),
        Cow::Borrowed(_) => TextValue::Raw(name),
    }
}

/// Whether it has a blob name: inside quoted JSON the host would not replace the name by the file.
fn embeds(input: Raw<'_>, text_request: &TextRequest) -> bool {
    let names = text_request.blobs.iter().filter_map(|facts| facts.blob.as_deref());
    names.into_iter().any(|name| input.get().contains(name))
}

/// A `data:` URI; the host writes one for a blob when it sends the call.
fn data_uri<'a>(media_type: &str, data: JsonString<'a>, mended: Option<&str>) -> TextValue<'a> {
    if blob(data).is_some() {
        return TextValue::Raw(data);
    }
    let base64 = mended.map_or_else(|| data.decoded(), Cow::Borrowed);
    TextValue::Made(format!("data:{media_type};base64,{base64}").into())
}

/// Several texts as one, a line each.
fn joined<'a>(texts: &[JsonString<'a>]) -> TextValue<'a> {
    match texts {
        [] => TextValue::Made("".into()),
        [one] => TextValue::Raw(*one),
        several => {
            let texts: Vec<Cow<'_, str>> = several.iter().map(|text| text.decoded()).collect();
            TextValue::Made(texts.join("\n").into())
        }
    }
}

/// The refusal of a block chat completions do not have.
fn unsupported_block(index: usize, kind: &str) -> Refusal {
    let shown: String = kind.chars().take(60).collect();
    let field = format!("messages.{index}.content");
    let message = format!("`{field}`: this model does not take {shown}");
    in_provider_words(&field, message)
}
