//! Turns and their content blocks: judged once, kept as raw values. Blocks of kinds this build does not know
//! are for a Messages upstream to judge; a Chat upstream cannot be told of them.

use std::borrow::Cow;

use gatehouse_sdk::Refusal;

use crate::at::{At, words};
use crate::raw::{Edits, Fields, Raw, fields, inner, is_string, objects, text, text_len};

/// Picture types the upstream reads.
const PICTURES: [&str; 4] = ["image/jpeg", "image/png", "image/gif", "image/webp"];
/// Turns a request may have.
const MOST_TURNS: usize = 100_000;

/// What the model is given to read.
#[derive(Debug, Default)]
pub(crate) struct Weight {
    /// Bytes of text.
    pub(crate) read: u64,
    /// Pictures and documents.
    pub(crate) pictures: u32,
}

/// Collects, along the way, what the model reads and what must be rewritten for a Messages upstream.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    pub(crate) weight: Weight,
    pub(crate) edits: Edits,
}

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    User,
    Assistant,
}

/// One turn.
#[derive(Debug)]
pub(crate) struct Turn<'a> {
    pub(crate) role: Role,
    pub(crate) blocks: Vec<Block<'a>>,
}

/// One content block; strings are raw.
#[derive(Debug)]
pub(crate) enum Block<'a> {
    Text(Raw<'a>),
    Image(Source<'a>),
    Document(Source<'a>),
    Thinking(Raw<'a>),
    Redacted,
    ToolUse {
        id: Raw<'a>,
        name: Raw<'a>,
        input: Raw<'a>,
    },
    ToolResult {
        id: Raw<'a>,
        blocks: Vec<Block<'a>>,
        failed: bool,
    },
    /// Its type.
    Other(String),
}

/// Where a picture or a document comes from; strings are raw.
#[derive(Debug)]
pub(crate) enum Source<'a> {
    Base64 {
        media_type: Raw<'a>,
        data: Raw<'a>,
    },
    Text(Raw<'a>),
    Url(Raw<'a>),
    /// A kind only a Messages upstream knows.
    Other(String),
}

/// The conversation.
pub(crate) fn turns<'a>(at: &At<'_>, raw: Raw<'a>, notes: &mut Notes) -> Result<Vec<Turn<'a>>, Refusal> {
    let list = objects(at, raw)?;
    if list.is_empty() {
        return Err(at.says("at least one message is required"));
    }
    if list.len() > MOST_TURNS {
        return Err(Refusal::invalid(
            "messages",
            format!("expected at most {MOST_TURNS} turns, got {}", list.len()),
        ));
    }
    let last = list.len() - 1;
    list.into_iter()
        .enumerate()
        .map(|(index, given)| turn(&at.item(index), &given, index == last, notes))
        .collect()
}

fn turn<'a>(at: &At<'_>, given: &Fields<'a>, last: bool, notes: &mut Notes) -> Result<Turn<'a>, Refusal> {
    let role = match given.need(at, "role")? {
        role if role.get() == r#""user""# => Role::User,
        role if role.get() == r#""assistant""# => Role::Assistant,
        other => return Err(at.key("role").wrong("`user` or `assistant`", other)),
    };
    let blocks = content(&at.key("content"), given.need(at, "content")?, Some(role), notes)?;
    let empty = match blocks.as_slice() {
        [] => true,
        [Block::Text(raw)] => raw.get() == r#""""#,
        _ => false,
    };
    if empty && !(last && role == Role::Assistant) {
        let rule = "all messages must have non-empty content except for the optional final assistant message";
        return Err(at.says(rule));
    }
    Ok(Turn { role, blocks })
}

/// A text, or an array of blocks. `role` is `None` inside a tool result.
fn content<'a>(
    at: &At<'_>,
    raw: Raw<'a>,
    role: Option<Role>,
    notes: &mut Notes,
) -> Result<Vec<Block<'a>>, Refusal> {
    if is_string(raw) {
        notes.weight.read += text_len(raw);
        return Ok(vec![Block::Text(raw)]);
    }
    if !raw.get().starts_with('[') {
        return Err(at.wrong("a string or an array of blocks", raw));
    }
    objects(at, raw)?
        .into_iter()
        .enumerate()
        .map(|(index, given)| block(&at.item(index), &given, role, notes))
        .collect()
}

fn block<'a>(
    at: &At<'_>,
    given: &Fields<'a>,
    role: Option<Role>,
    notes: &mut Notes,
) -> Result<Block<'a>, Refusal> {
    let kind = kind_of(at, given)?;
    match kind.as_ref() {
        "text" => text_block(at, given, notes).map(Block::Text),
        "image" => {
            notes.weight.pictures = notes.weight.pictures.saturating_add(1);
            source(at, given, Some(&PICTURES), notes).map(Block::Image)
        }
        "document" => source(at, given, None, notes).map(Block::Document),
        "thinking" if role.is_some() => {
            only(at, role, Role::Assistant, "thinking")?;
            given.string(at, "signature")?;
            let thought = given.string(at, "thinking")?;
            notes.weight.read += text_len(thought);
            Ok(Block::Thinking(thought))
        }
        "redacted_thinking" if role.is_some() => {
            only(at, role, Role::Assistant, "redacted_thinking")?;
            given.string(at, "data").map(|_| Block::Redacted)
        }
        "tool_use" if role.is_some() => {
            only(at, role, Role::Assistant, "tool_use")?;
            let (id, name) = (given.string(at, "id")?, given.string(at, "name")?);
            let input = given.need(at, "input")?;
            if !input.get().starts_with('{') {
                return Err(at.key("input").wrong("an object", input));
            }
            notes.weight.read += text_len(name) + input.get().len() as u64;
            Ok(Block::ToolUse { id, name, input })
        }
        "tool_result" if role.is_some() => {
            only(at, role, Role::User, "tool_result")?;
            let id = given.string(at, "tool_use_id")?;
            let failed = given.flag(at, "is_error")?.unwrap_or(false);
            let blocks = match given.get("content") {
                Some(raw) => content(&at.key("content"), raw, None, notes)?,
                None => Vec::new(),
            };
            Ok(Block::ToolResult { id, blocks, failed })
        }
        _ => {
            notes.weight.read += given.0.iter().map(|(_, value)| value.get().len() as u64).sum::<u64>();
            Ok(Block::Other(kind.into_owned()))
        }
    }
}

/// The system prompt: its texts.
pub(crate) fn system<'a>(at: &At<'_>, raw: Raw<'a>, notes: &mut Notes) -> Result<Vec<Raw<'a>>, Refusal> {
    if is_string(raw) {
        notes.weight.read += text_len(raw);
        return Ok(vec![raw]);
    }
    if !raw.get().starts_with('[') {
        return Err(at.wrong("a string or an array of text blocks", raw));
    }
    let mut texts = Vec::new();
    for (index, given) in objects(at, raw)?.into_iter().enumerate() {
        let at = at.item(index);
        if kind_of(&at, &given)? != "text" {
            return Err(at.key("type").wrong("`text`", given.need(&at, "type")?));
        }
        texts.push(text_block(&at, &given, notes)?);
    }
    Ok(texts)
}

/// A text block's text. Upstream, an empty one is an error.
fn text_block<'a>(at: &At<'_>, given: &Fields<'a>, notes: &mut Notes) -> Result<Raw<'a>, Refusal> {
    let found = given.string(at, "text")?;
    if found.get() == r#""""# {
        let top = at.to_string();
        let top = top.split('.').next().unwrap_or_default();
        return Err(words(
            &at.key("text").to_string(),
            format!("{top}: text content blocks must be non-empty"),
        ));
    }
    notes.weight.read += text_len(found);
    Ok(found)
}

/// Where a picture or a document comes from; `types` are the media types base64 may have.
fn source<'a>(
    at: &At<'_>,
    given: &Fields<'a>,
    types: Option<&[&str]>,
    notes: &mut Notes,
) -> Result<Source<'a>, Refusal> {
    let raw = given.need(at, "source")?;
    let at = &at.key("source");
    let given = fields(at, raw)?;
    let kind = kind_of(at, &given)?;
    let is_document = types.is_none();
    if is_document && kind != "text" && kind != "content" {
        notes.weight.pictures = notes.weight.pictures.saturating_add(1);
    }
    match kind.as_ref() {
        "base64" => {
            let (media_type, data) = (given.string(at, "media_type")?, given.string(at, "data")?);
            let named = text(media_type);
            if types.is_some_and(|types| !named.is_some_and(|named| types.contains(&named.as_ref()))) {
                return Err(at
                    .key("media_type")
                    .wrong("`image/jpeg`, `image/png`, `image/gif` or `image/webp`", media_type));
            }
            // What the host cut out comes back as a `data:` URI unless base64 alone is asked for.
            if let Some(name) = blob(data) {
                notes.edits.replace(data, format!("\"{name}:base64\""));
            }
            Ok(Source::Base64 { media_type, data })
        }
        "url" => given.string(at, "url").map(Source::Url),
        "file" if !is_document => given.string(at, "file_id").map(|_| Source::Other(kind.into_owned())),
        "text" if is_document => {
            let data = given.string(at, "data")?;
            notes.weight.read += text_len(data);
            Ok(Source::Text(data))
        }
        _ if is_document => {
            notes.weight.read += raw.get().len() as u64;
            Ok(Source::Other(kind.into_owned()))
        }
        _ => Err(at.key("type").wrong("`base64`, `url` or `file`", given.need(at, "type")?)),
    }
}

/// The `blob:<id>` the host left in place of base64; base64 itself never has a colon.
pub(crate) fn blob(data: Raw<'_>) -> Option<&str> {
    let name = inner(data);
    (name.starts_with("blob:") && !name.ends_with(":base64")).then_some(name)
}

fn only(at: &At<'_>, came: Option<Role>, may: Role, kind: &str) -> Result<(), Refusal> {
    if came == Some(may) {
        return Ok(());
    }
    let role = if may == Role::User { "user" } else { "assistant" };
    Err(at.says(&format!("`{kind}` blocks can only be in `{role}` messages")))
}

fn kind_of<'a>(at: &At<'_>, given: &Fields<'a>) -> Result<Cow<'a, str>, Refusal> {
    let raw = given.string(at, "type")?;
    text(raw).ok_or_else(|| at.key("type").wrong("a string", raw))
}
