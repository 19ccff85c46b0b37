//! A request for a response as the body of a chat completion, and the model that answers it.

use gatehouse_sdk::{Refusal, log};

use crate::check::{Checked, boolean, instead, wrong};
use crate::field_names::{FieldNames, MessagePaths, Origins, Translation};
use crate::json::{JsonString, Object, Writer, quote};
use crate::path::Path;
use crate::rules::{MaxTokensField, Rules};

use super::echo::Echo;
use super::input::{Conversation, Entry, HISTORY, INPUT, Thinking};
use super::options::Options;
use super::sealed::Owner;
use super::tool_choice::ToolChoice;
use super::tools::Tools;

/// The model that answers the request, and the customer that asks.
#[derive(Clone, Copy, Debug)]
pub struct Target<'t> {
    /// The provider's name of the model.
    pub upstream: &'t str,
    /// Whether the provider speaks Messages.
    pub is_messages: bool,
    /// The operator's rules for the model.
    pub rules: &'t Rules,
    /// The host's name of the customer.
    pub customer: &'t str,
    /// The present, in milliseconds.
    pub now: u64,
    /// Makes the ids.
    pub seed: u64,
}

impl Target<'_> {
    /// Whether a field that responses do not have goes to the provider: the model's `pass` lists it. Two that a Messages provider is
    /// sent are made of others.
    pub(super) fn passes(&self, field: &str) -> bool {
        if self.is_messages {
            self.rules.passes(field) && !matches!(field, "output_config" | "thinking")
        } else {
            self.rules.chat_passes(field)
        }
    }
}

/// A request, translated.
#[derive(Debug)]
pub struct Translated {
    /// The body of a chat completion.
    pub body: String,
    /// What the response needs to know of the request.
    pub echo: Echo,
    /// Where the fields of the chat completion came from.
    pub fields: FieldNames,
}

/// Checks and translates a request.
///
/// # Errors
/// The first field that is wrong or not offered, by its path.
pub fn translate(json: &str, target: &Target<'_>) -> Checked<Translated> {
    let not_an_object = || Refusal::Invalid { field: None, message: "expected a JSON object".to_owned() };
    let body = Object::parse(json).ok_or_else(not_an_object)?;
    let options = Options::read(&body, target)?;
    let root = Path::BRACKETED;
    // A provider of Messages refuses `strict` with an open schema; others read it as they like.
    let tools = body.get("tools").map(|raw| Tools::read(&root.key("tools"), raw, target.is_messages));
    let tools = tools.transpose()?.unwrap_or_default();
    let choice = body.get("tool_choice").map(|raw| ToolChoice::read(&root.key("tool_choice"), raw, &tools));
    let choice = choice.transpose()?.unwrap_or_default();
    let conversation = conversation(&body, &options, target)?;

    let mut out = Writer::new(json.len() + 512);
    out.member("model", options.model.map_or("\"\"", JsonString::quoted));
    out.member("messages", &conversation.json());
    if options.streaming {
        out.member("stream", "true");
        out.member("stream_options", r#"{"include_usage":true}"#);
    }
    if let Some(tokens) = options.max_output_tokens {
        out.member("max_completion_tokens", &tokens.to_string());
    }
    for name in ["temperature", "top_p", "user", "safety_identifier"] {
        out.optional(name, body.get(name));
    }
    if let Some(effort) = options.effort {
        quote(effort, out.name("reasoning_effort"));
    }
    if let Some((_, format)) = &options.format {
        out.member("response_format", format);
    }
    if options.logprobs {
        out.member("logprobs", "true");
    }
    if options.top_logprobs > 0 {
        out.member("top_logprobs", &options.top_logprobs.to_string());
    }
    write_others(&mut out, &options, target);
    write_tools(&mut out, &body, &tools, &choice)?;
    // Compatible servers that keep the older name of the cap refuse fields that are newer still.
    if !target.is_messages && target.rules.max_tokens_field == MaxTokensField::MaxCompletionTokens {
        if let Some(verbosity) = options.verbosity {
            quote(verbosity, out.name("verbosity"));
        }
        for name in ["prompt_cache_key", "service_tier"] {
            out.optional(name, body.get(name));
        }
    }
    let is_text = body.string(INPUT).is_some();
    let fields = fields(conversation.origins, is_text, &tools, &choice);
    let echo = Echo::new(&body, &options, tools, target);
    Ok(Translated { body: out.done(), echo, fields })
}

/// Where the fields of the chat completion came from; `is_text`: the input has no items.
fn fields(messages: Vec<MessagePaths>, is_text: bool, tools: &Tools, choice: &ToolChoice) -> FieldNames {
    let own = |path: String| match path {
        path if path.starts_with(HISTORY) => "previous_response_id".to_owned(),
        path if is_text && path.starts_with(INPUT) => INPUT.to_owned(),
        path => path,
    };
    let place = |paths: MessagePaths| MessagePaths {
        own: own(paths.own),
        parts: paths.parts.into_iter().map(own).collect(),
    };
    let offered = tools.functions.iter().zip(&tools.places).filter(|((name, _), _)| choice.allows(name));
    FieldNames::of(Origins {
        messages: messages.into_iter().map(place).collect(),
        tools: offered.map(|(_, place)| place.clone()).collect(),
        ..Origins::new(Translation::ResponsesToChat, "max_output_tokens")
    })
}

fn conversation(body: &Object<'_>, options: &Options<'_>, target: &Target<'_>) -> Checked<Conversation> {
    let written;
    let history = body.get(HISTORY).map(|raw| Entry::list(HISTORY, raw)).transpose()?;
    let mut entries = history.unwrap_or_default();
    let path = Path::BRACKETED.key(INPUT);
    let raw = body.get(INPUT);
    match raw.and_then(JsonString::of) {
        Some(text) => {
            let item = format!("{{\"role\":\"user\",\"content\":{}}}", text.quoted());
            written = item;
            let item = Object::parse(&written).unwrap_or_default();
            entries.push(Entry { list: INPUT, at: 0, item });
        }
        None => {
            let raw = raw.filter(|raw| raw.get().starts_with('['));
            let raw = raw.ok_or_else(|| wrong(&path, "a string or an array of items", body.get(INPUT)))?;
            entries.extend(Entry::list(INPUT, raw)?);
        }
    }
    let thinking = match (target.is_messages, target.rules.reasoning_history) {
        (true, _) => Thinking::Blocks,
        (false, true) => Thinking::Text,
        (false, false) => Thinking::Nothing,
    };
    let owner = Owner { customer: target.customer, upstream: target.upstream };
    let instructions = options.instructions.filter(|text| !text.is_blank());
    let instructions = instructions.map(JsonString::quoted);
    let conversation = Conversation::write(instructions, &entries, owner, thinking)?;
    if conversation.is_empty() {
        return Err(instead(&path, "at least one item with a text or a file", "none"));
    }
    Ok(conversation)
}

/// What the protocol does not have: clients of responses send notes of their own and what is newer than this gateway.
fn write_others(out: &mut Writer, options: &Options<'_>, target: &Target<'_>) {
    let (sent, ignored): (Vec<_>, Vec<_>) = options.others.iter().partition(|(name, _)| target.passes(name));
    sent.into_iter().for_each(|(name, raw)| out.member(name, raw.get()));
    if let Some((first, _)) = ignored.first() {
        let (first, count): (String, _) = (first.chars().take(60).collect(), ignored.len().to_string());
        log::debug(
            "fields that responses do not have were ignored",
            &[("first", &first), ("fields", &count)],
        );
    }
}

/// Tools and what concerns them; a provider refuses the latter without the former.
fn write_tools(out: &mut Writer, body: &Object<'_>, tools: &Tools, choice: &ToolChoice) -> Checked<()> {
    let offered = tools.functions.iter().filter(|(name, _)| choice.allows(name));
    let offered: Vec<&str> = offered.map(|(_, function)| function.as_str()).collect();
    if offered.is_empty() {
        return Ok(());
    }
    out.member("tools", &format!("[{}]", offered.join(",")));
    if let Some(choice) = &choice.json {
        out.member("tool_choice", choice);
    }
    if let Some(raw) = body.get("parallel_tool_calls") {
        let parallel = boolean(&Path::BRACKETED.key("parallel_tool_calls"), raw)?;
        out.member("parallel_tool_calls", if parallel { "true" } else { "false" });
    }
    Ok(())
}
