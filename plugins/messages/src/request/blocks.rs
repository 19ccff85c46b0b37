//! Messages and their content blocks: checked once, kept as raw values. Blocks of an unknown type are for a
//! Messages provider to check; a chat provider has no form for them.

use std::borrow::Cow;

use gatehouse_sdk::Refusal;
use gatehouse_sdk::source::{self, Embedded};

use gatehouse_text_protocols::check::{in_provider_words, instead};
use gatehouse_text_protocols::files::{MAX_PAGES, decoded_bytes, no_file_id, no_file_url, pages};
use gatehouse_text_protocols::json::{
    Edits, JsonString, Object, Raw, UniqueObject, items, last_members, quoted,
};
use gatehouse_text_protocols::limits::{IMAGE_TYPES, MAX_MESSAGES};
use gatehouse_text_protocols::path::Path;

use super::fields::{boolean, object, objects, required, string, wrong};
use super::findings::Findings;
use super::unknown;

/// The type of bytes that tell none.
const UNKNOWN: &str = "application/octet-stream";
/// The one type of documents that providers read as base64.
const PDF: &str = "application/pdf";

/// How deep a content may be in the request. One in a document in a tool's result is nine names and numbers deep, and nothing
/// that a provider takes is deeper; a client that writes more would have the plugin run out of its stack.
const MAX_DEPTH: usize = 16;

/// The author of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    User,
    Assistant,
    /// The client's program, between the turns. Never the first message.
    System,
}

/// One message.
#[derive(Debug)]
pub(crate) struct Message<'a> {
    pub(crate) role: Role,
    pub(crate) blocks: Vec<Block<'a>>,
}

impl Message<'_> {
    /// Whether it has nothing but white space.
    pub(crate) fn is_blank(&self) -> bool {
        self.blocks.iter().all(Block::is_blank)
    }
}

impl Block<'_> {
    pub(crate) fn is_blank(&self) -> bool {
        matches!(self, Block::Text(text) if text.is_blank()) || matches!(self, Block::Unsigned)
    }
}

/// One content block.
#[derive(Debug)]
pub(crate) enum Block<'a> {
    Text(JsonString<'a>),
    Image(Source<'a>),
    Document(Source<'a>),
    Thinking(JsonString<'a>),
    /// Thinking of a chat provider, which no Messages provider takes.
    Unsigned,
    Redacted,
    /// The name of a tool that a search has found.
    ToolReference(JsonString<'a>),
    ToolUse {
        id: JsonString<'a>,
        name: JsonString<'a>,
        input: Raw<'a>,
    },
    ToolResult {
        id: JsonString<'a>,
        blocks: Vec<Block<'a>>,
        failed: bool,
    },
    /// The block's type.
    Other(String),
}

/// The data of an image or a document.
#[derive(Debug)]
pub(crate) enum Source<'a> {
    Base64 {
        /// By its bytes, or else as the client calls it.
        media_type: Cow<'a, str>,
        data: JsonString<'a>,
        /// The data as it is sent, where that differs.
        mended: Option<String>,
    },
    Text(JsonString<'a>),
    /// A link, its scheme in lower case.
    Url(String),
    /// A document of blocks.
    Blocks(Vec<Block<'a>>),
    /// A type only a Messages provider knows.
    Other(String),
}

/// The conversation.
pub(crate) fn messages<'a>(
    at: &Path<'_>,
    raw: Raw<'a>,
    findings: &mut Findings,
) -> Result<Vec<Message<'a>>, Refusal> {
    let list = objects(at, raw)?;
    if list.is_empty() {
        return Err(at.sentence("at least one message is required"));
    }
    if list.len() > MAX_MESSAGES {
        return Err(Refusal::invalid(
            "messages",
            format!("expected at most {MAX_MESSAGES} turns, got {}", list.len()),
        ));
    }
    let last = list.len() - 1;
    list.into_iter()
        .enumerate()
        .map(|(index, given)| {
            let message = message(&at.index(index), &given, index == 0, index == last, findings)?;
            if index == 0 && message.role == Role::System {
                return Err(no_system_message(&at.index(0)));
            }
            Ok(message)
        })
        .collect()
}

fn message<'a>(
    at: &Path<'_>,
    given: &UniqueObject<'a>,
    is_first: bool,
    is_last: bool,
    findings: &mut Findings,
) -> Result<Message<'a>, Refusal> {
    let role = match required(at, given, "role")? {
        role if role.get() == r#""user""# => Role::User,
        role if role.get() == r#""assistant""# => Role::Assistant,
        role if role.get() == r#""system""# => Role::System,
        other => return Err(wrong(&at.key("role"), "`user` or `assistant`", other)),
    };
    if role == Role::Assistant {
        findings.ids.begin();
    }
    let raw = required(at, given, "content")?;
    let blocks = content(&at.key("content"), raw, Some(role), findings)?;
    let is_empty = blocks.iter().all(|block| matches!(block, Block::Text(text) if text.is_empty()));
    // Between others it is left out.
    if is_empty && role != Role::Assistant && (is_last || is_first) {
        if !blocks.is_empty() && raw.get().starts_with('[') {
            let field = at.key("content").index(0).key("text").to_string();
            return Err(in_provider_words(&field, "messages: text content blocks must be non-empty"));
        }
        let rule = "all messages must have non-empty content except for the optional final assistant message";
        return Err(at.sentence(rule));
    }
    let is_blank = !findings.is_chat && blocks.iter().all(Block::is_blank);
    if is_blank && role == Role::User && (is_last || is_first) {
        return Err(in_provider_words(
            &at.key("content").to_string(),
            "messages: text content blocks must contain non-whitespace text",
        ));
    }
    if role == Role::System {
        system_message(at, given, &blocks, findings)?;
    } else if !findings.is_chat {
        mark_last(given, &mut findings.edits);
    }
    Ok(Message { role, blocks })
}

/// A mark for the cache at a message, as clients of other servers have it, is that of its last block: the provider takes it at
/// blocks alone.
fn mark_last(given: &UniqueObject<'_>, edits: &mut Edits) {
    let Some(at) = given.iter().position(|(name, _)| name == CACHE) else { return };
    if !edits.remove_member(given, at) {
        return;
    }
    let (Some(mark), Some(content)) = (given.get(CACHE), given.get("content")) else { return };
    if let Some(text) = JsonString::of(content) {
        if !text.is_blank() {
            let (text, mark) = (text.quoted(), mark.get());
            edits.replace(content, format!("[{{\"type\":\"text\",\"text\":{text},\"{CACHE}\":{mark}}}]"));
        }
        return;
    }
    let last = items(content).and_then(|blocks| Object::parse(blocks.last()?.get()));
    let Some(last) = last.filter(|last| !last.iter().any(|(name, _)| name == CACHE)) else { return };
    let takes_it = |kind: &Raw<'_>| !kind.get().contains("thinking");
    if let Some(kind) = last.get("type").filter(takes_it) {
        edits.replace(kind, format!("{},\"{CACHE}\":{}", kind.get(), mark.get()));
    }
}

/// A message of the client's program has text alone. Where the provider does not take it, it becomes text of the user.
fn system_message(
    at: &Path<'_>,
    given: &UniqueObject<'_>,
    blocks: &[Block<'_>],
    findings: &mut Findings,
) -> Result<(), Refusal> {
    for block in blocks {
        let Block::Text(text) = block else { return Err(no_system_message(at)) };
        if findings.folds_system {
            findings.edits.replace(text.raw(), quoted(&reminder(*text)));
        }
    }
    if findings.folds_system {
        findings.edits.replace(required(at, given, "role")?, r#""user""#.to_owned());
    }
    Ok(())
}

/// A system message as text of a user, marked as not being the user's own words.
pub(crate) fn reminder(text: JsonString<'_>) -> String {
    let text = text.decoded();
    if text.trim_start().starts_with("<system-reminder>") {
        return text.into_owned();
    }
    format!("<system-reminder>\n{text}\n</system-reminder>")
}

/// The refusal of a system message, in the words by which clients recover.
fn no_system_message(at: &Path<'_>) -> Refusal {
    in_provider_words(
        &at.key("role").to_string(),
        "messages: Unexpected role \"system\". The Messages API accepts a top-level `system` parameter, not \"system\" \
         as an input message role.",
    )
}

/// A text, or an array of blocks. `role` is `None` inside a tool result.
fn content<'a>(
    at: &Path<'_>,
    raw: Raw<'a>,
    role: Option<Role>,
    findings: &mut Findings,
) -> Result<Vec<Block<'a>>, Refusal> {
    if let Some(text) = JsonString::of(raw) {
        findings.count(text);
        return Ok(vec![Block::Text(text)]);
    }
    if !raw.get().starts_with('[') {
        return Err(wrong(at, "a string or an array of blocks", raw));
    }
    if at.depth() > MAX_DEPTH {
        return Err(instead(at, "a string, so deep inside of other blocks", "an array"));
    }
    let given = objects(at, raw)?.into_iter().enumerate();
    let blocks = given.map(|(index, given)| block(&at.index(index), &given, role, findings));
    let blocks: Vec<Block<'a>> = blocks.collect::<Result<_, _>>()?;
    without_blanks(at, raw, &blocks, role, findings);
    Ok(blocks)
}

/// Leaves out texts that say nothing: a Messages provider refuses them. A message of nothing else is left out as a whole.
fn without_blanks(
    at: &Path<'_>,
    raw: Raw<'_>,
    blocks: &[Block<'_>],
    role: Option<Role>,
    findings: &mut Findings,
) {
    let blank = blocks.iter().filter(|block| block.is_blank()).count();
    if findings.is_chat || blank == 0 {
        return;
    }
    if blank < blocks.len() {
        findings.leave_out(at, raw, |at| blocks[at].is_blank());
    } else if role.is_none() {
        // The result of a tool may be empty.
        findings.edits.replace(raw, "\"\"".to_owned());
    }
}

fn block<'a>(
    at: &Path<'_>,
    given: &UniqueObject<'a>,
    role: Option<Role>,
    findings: &mut Findings,
) -> Result<Block<'a>, Refusal> {
    let kind = kind_of(at, given)?;
    match kind.as_ref() {
        "text" => text_block(at, given, findings).map(Block::Text),
        "image" => {
            findings.count_pictures(1);
            source(at, given, Some(&IMAGE_TYPES), findings).map(Block::Image)
        }
        "document" => {
            // A chat provider is sent neither.
            for name in ["title", "context"] {
                if let Some(text) = given.string(name).filter(|_| !findings.is_chat) {
                    findings.count(text);
                }
            }
            source(at, given, None, findings).map(Block::Document)
        }
        "thinking" if role.is_some() => {
            check_role(at, role, Role::Assistant, "thinking")?;
            let signature = string(at, given, "signature")?;
            if signature.is_empty() && !findings.is_chat {
                return Ok(Block::Unsigned);
            }
            let thinking = string(at, given, "thinking")?;
            findings.count(thinking);
            Ok(Block::Thinking(thinking))
        }
        "redacted_thinking" if role.is_some() => {
            check_role(at, role, Role::Assistant, "redacted_thinking")?;
            string(at, given, "data").map(|_| Block::Redacted)
        }
        "tool_use" if role.is_some() => {
            check_role(at, role, Role::Assistant, "tool_use")?;
            let (id, name) = (string(at, given, "id")?, string(at, given, "name")?);
            let input = required(at, given, "input")?;
            if !input.get().starts_with('{') {
                return Err(wrong(&at.key("input"), "an object", input));
            }
            findings.count(name);
            findings.count_raw(input);
            // A model wrote it, perhaps with a name twice, and every later request has it again.
            if let Some(mended) = last_members(input.get()) {
                findings.edits.replace(input, mended);
            }
            fit_id(id, true, findings);
            Ok(Block::ToolUse { id, name, input })
        }
        "tool_result" if role.is_some() => {
            check_role(at, role, Role::User, "tool_result")?;
            let id = string(at, given, "tool_use_id")?;
            fit_id(id, false, findings);
            let failed = boolean(at, given, "is_error")?.unwrap_or(false);
            let blocks = match given.get("content") {
                Some(raw) => content(&at.key("content"), raw, None, findings)?,
                None => Vec::new(),
            };
            Ok(Block::ToolResult { id, blocks, failed })
        }
        "tool_reference" => {
            let name = string(at, given, "tool_name")?;
            findings.count(name);
            Ok(Block::ToolReference(name))
        }
        _ => {
            given.iter().for_each(|(_, value)| findings.count_raw(value));
            unknown::check(at, given, findings)?;
            Ok(Block::Other(kind.into_owned()))
        }
    }
}

/// Writes the id of a call, or of a result, as a Messages provider takes it.
fn fit_id(id: JsonString<'_>, is_call: bool, findings: &mut Findings) {
    if findings.is_chat {
        return;
    }
    let own = id.decoded();
    let sent = if is_call { findings.ids.call(&own) } else { findings.ids.result(&own) };
    if sent != own {
        findings.edits.replace(id.raw(), quoted(&sent));
    }
}

/// The system prompt: its texts.
pub(crate) fn system<'a>(
    at: &Path<'_>,
    raw: Raw<'a>,
    findings: &mut Findings,
) -> Result<Vec<JsonString<'a>>, Refusal> {
    if let Some(text) = JsonString::of(raw) {
        findings.count(text);
        return Ok(if text.is_blank() { vec![] } else { vec![text] });
    }
    if !raw.get().starts_with('[') {
        return Err(wrong(at, "a string or an array of text blocks", raw));
    }
    let mut texts = Vec::new();
    for (index, given) in objects(at, raw)?.into_iter().enumerate() {
        let at = at.index(index);
        if kind_of(&at, &given)? != "text" {
            return Err(wrong(&at.key("type"), "`text`", required(&at, &given, "type")?));
        }
        texts.push(text_block(&at, &given, findings)?);
    }
    let blank = texts.iter().filter(|text| text.is_blank()).count();
    if blank > 0 && blank < texts.len() {
        findings.leave_out(at, raw, |at| texts[at].is_blank());
    }
    texts.retain(|text| !text.is_blank());
    Ok(texts)
}

/// A text block's text.
fn text_block<'a>(
    at: &Path<'_>,
    given: &UniqueObject<'a>,
    findings: &mut Findings,
) -> Result<JsonString<'a>, Refusal> {
    let found = string(at, given, "text")?;
    findings.count(found);
    Ok(found)
}

/// The source of an image or a document; `types` are the media types base64 may have.
fn source<'a>(
    at: &Path<'_>,
    given: &UniqueObject<'a>,
    types: Option<&[&str]>,
    findings: &mut Findings,
) -> Result<Source<'a>, Refusal> {
    let raw = required(at, given, "source")?;
    let at = &at.key("source");
    let given = object(at, raw)?;
    let kind = kind_of(at, &given)?;
    let is_document = types.is_none();
    match kind.as_ref() {
        "base64" => {
            let (named, data) = (string(at, &given, "media_type")?, string(at, &given, "data")?);
            let (media_type, mended) = file(at, named, data, is_document, findings)?;
            if types.is_some_and(|types| !types.contains(&media_type.as_ref())) {
                let (at, expected) =
                    (at.key("media_type"), "`image/jpeg`, `image/png`, `image/gif` or `image/webp`");
                return Err(match media_type == named.decoded() {
                    true => wrong(&at, expected, named.raw()),
                    false => instead(&at, expected, &format!("the bytes of {media_type}")),
                });
            }
            if is_document {
                let bytes = findings.cut(data).unwrap_or_else(|| decoded_bytes(data.len()));
                findings.count_pictures(pages(bytes));
            }
            // The host writes a `data:` URI for a blob unless base64 alone is asked for.
            if let Some(name) = blob(data) {
                findings.edits.replace(data.raw(), format!("\"{name}:base64\""));
            }
            Ok(Source::Base64 { media_type, data, mended })
        }
        "url" if is_document && !findings.takes_file_urls => Err(no_file_url(&at.key("url"))),
        "url" => {
            let url = string(at, &given, "url")?;
            let child = at.key("url");
            let Some(link) = link(&url.decoded()) else {
                return match is_document {
                    true => Err(wrong(&child, LINK, url.raw())),
                    false => embedded(&child, raw, url, findings),
                };
            };
            if is_document {
                findings.count_pictures(MAX_PAGES);
            }
            if link != url.decoded() {
                findings.edits.replace(url.raw(), quoted(&link));
            }
            Ok(Source::Url(link))
        }
        "file" if !findings.takes_file_ids => {
            Err(no_file_id(&at.key("file_id"), required(at, &given, "file_id")?))
        }
        "file" => {
            findings.count_pictures(if is_document { MAX_PAGES } else { 0 });
            string(at, &given, "file_id").map(|_| Source::Other(kind.into_owned()))
        }
        "text" if is_document => {
            let data = string(at, &given, "data")?;
            findings.count(data);
            Ok(Source::Text(data))
        }
        "content" if is_document => {
            let content_at = at.key("content");
            content(&content_at, required(at, &given, "content")?, None, findings).map(Source::Blocks)
        }
        _ => {
            let expected = if is_document { "`base64`, `text` or `content`" } else { "`base64` or `url`" };
            Err(wrong(&at.key("type"), expected, required(at, &given, "type")?))
        }
    }
}

/// The type of an embedded file by its bytes, however large it is and whatever the client calls it, and its data where a
/// provider would not read it as it is written.
fn file<'a>(
    source: &Path<'_>,
    named: JsonString<'a>,
    data: JsonString<'a>,
    is_document: bool,
    findings: &mut Findings,
) -> Result<(Cow<'a, str>, Option<String>), Refusal> {
    let small = blob(data).is_none().then(|| Embedded::read(&data.decoded())).flatten();
    let at = source.key("data");
    if findings.cut(data) == Some(0) {
        return Err(instead(&at, "base64", "base64 that does not decode"));
    }
    if small.is_none() && !data.inner().starts_with("blob:") {
        return Err(wrong(&at, "base64", data.raw()));
    }
    let by_bytes = match (&small, findings.facts(data)) {
        (Some(small), _) => Some(small.mime.unwrap_or(UNKNOWN)),
        (None, Some(facts)) => Some(facts.mime.as_str()),
        (None, None) => None,
    };
    let written = named.decoded();
    let media_type = match by_bytes {
        Some(PDF) if is_document => Cow::Borrowed(PDF),
        // What is called a picture is one by its bytes, or none.
        Some(known) if !is_document && (known != UNKNOWN || IMAGE_TYPES.contains(&written.as_ref())) => {
            Cow::Owned(known.to_owned())
        }
        _ => written.clone(),
    };
    if media_type != written {
        findings.edits.replace(named.raw(), quoted(&media_type));
    }
    let mended = small.map(|small| small.base64).filter(|base64| *base64 != data.decoded());
    if let Some(mended) = &mended {
        findings.edits.replace(data.raw(), quoted(mended));
    }
    Ok((media_type, mended))
}

/// A mark for the cache.
const CACHE: &str = "cache_control";
const LINK: &str = "an http(s) URL";

/// Nothing else is an address that a provider may be told to read: its own files would be one.
fn link(url: &str) -> Option<String> {
    let is_link = matches!(source::Source::of(url), Some(source::Source::Link(_)));
    is_link.then(|| source::normalised(url))
}

/// A picture in the place of its link, as clients send it that know one field for both. It is sent as base64.
fn embedded<'a>(
    at: &Path<'_>,
    source: Raw<'_>,
    url: JsonString<'a>,
    findings: &mut Findings,
) -> Result<Source<'a>, Refusal> {
    let cut = blob(url).map(|name| format!("{name}:base64"));
    let small = if cut.is_none() { Embedded::read(&url.decoded()) } else { None };
    let of_small = small.as_ref().and_then(|small| small.mime.map(str::to_owned));
    let mime = of_small.or_else(|| findings.facts(url).map(|facts| facts.mime.clone()));
    let mended = small.map(|small| small.base64);
    let picture =
        mime.filter(|mime| IMAGE_TYPES.contains(&mime.as_str())).zip(cut.or_else(|| mended.clone()));
    let Some((mime, data)) = picture else {
        return Err(wrong(at, LINK, url.raw()));
    };
    let (named, data) = (quoted(&mime), quoted(&data));
    let as_base64 = format!("{{\"type\":\"base64\",\"media_type\":{named},\"data\":{data}}}");
    findings.edits.replace(source, as_base64);
    Ok(Source::Base64 { media_type: Cow::Owned(mime), data: url, mended })
}

/// The `blob:<id>` the host wrote in place of base64; base64 has no colon.
pub(crate) fn blob(data: JsonString<'_>) -> Option<&str> {
    let name = data.inner();
    (name.starts_with("blob:") && !name.ends_with(":base64")).then_some(name)
}

fn check_role(at: &Path<'_>, came: Option<Role>, may: Role, kind: &str) -> Result<(), Refusal> {
    if came == Some(may) {
        return Ok(());
    }
    let role = if may == Role::User { "user" } else { "assistant" };
    Err(at.sentence(&format!("`{kind}` blocks can only be in `{role}` messages")))
}

fn kind_of<'a>(at: &Path<'_>, given: &UniqueObject<'a>) -> Result<Cow<'a, str>, Refusal> {
    let kind = string(at, given, "type")?;
    kind.decode().ok_or_else(|| wrong(&at.key("type"), "a string", kind.raw()))
}
