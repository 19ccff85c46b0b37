//! Whole answers: a message passed on with its public model, or a chat completion made into a message.

use std::borrow::Cow;

use gatehouse_sdk::{Answered, Context, Reply, TextFailure};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::errors;
use crate::ids;
use crate::raw::{Edits, Fields, Raw, Text, quoted, text_len};
use crate::shapes::{Content, Message, Reported, Stop};
use crate::usage::Tally;
use crate::{State, Wire};

/// Reads it.
///
/// # Errors
/// Every error of the provider, one inside a good status too.
pub(crate) fn read(cx: &Context, state: &State, reply: &Reply) -> Result<Answered, TextFailure> {
    if !reply.is_success() {
        return Err(errors::of_reply(reply));
    }
    let text = reply.text();
    match state.wire {
        Wire::Messages => message(state, &text),
        Wire::Chat => completion(cx, state, &text),
    }
}

/// Everything keeps its bytes but `model`.
fn message(state: &State, body: &str) -> Result<Answered, TextFailure> {
    let raw: Raw<'_> = serde_json::from_str(body).map_err(|_| errors::unreadable())?;
    let fields: Fields<'_> = serde_json::from_str(raw.get()).map_err(|_| errors::unreadable())?;
    if fields.get("error").is_some() {
        return Err(errors::inside(body));
    }
    let content = fields.get("content").filter(|_| fields.text("type").as_deref() == Some("message"));
    let blocks: Vec<Fields<'_>> = content
        .and_then(|content| serde_json::from_str(content.get()).ok())
        .ok_or_else(errors::unreadable)?;
    let mut tally = Tally::default();
    if let Some(usage) = fields.get("usage") {
        tally.messages(usage);
    }
    let mut edits = Edits::default();
    let Some((_, model)) = fields.0.iter().find(|(name, _)| name == "model") else {
        return Err(errors::unreadable());
    };
    edits.replace(model, quoted(&state.model));
    let mut out = String::with_capacity(body.len() + 64);
    edits.write(raw, &mut out);
    Ok(Answered { body: out, usage: tally.reported(), output_bytes: clamp(blocks.iter().map(wrote).sum()) })
}

/// Bytes of text the model wrote in a block.
fn wrote(block: &Fields<'_>) -> u64 {
    let texts = ["text", "thinking"].into_iter().filter_map(|name| block.get(name)).map(text_len);
    texts.chain(block.get("input").map(|input| input.get().len() as u64)).sum()
}

#[derive(Deserialize)]
struct Completion<'a> {
    #[serde(borrow, default)]
    id: Option<Text<'a>>,
    #[serde(borrow, default)]
    choices: Option<Vec<Choice<'a>>>,
    #[serde(borrow, default)]
    usage: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(borrow, default)]
    message: Option<Said<'a>>,
    #[serde(borrow, default)]
    finish_reason: Option<Text<'a>>,
}

#[derive(Deserialize)]
struct Said<'a> {
    #[serde(borrow, default)]
    content: Option<Text<'a>>,
    #[serde(borrow, default)]
    refusal: Option<Text<'a>>,
    #[serde(borrow, default)]
    reasoning_content: Option<Text<'a>>,
    /// The same under the name other servers give it.
    #[serde(borrow, default)]
    reasoning: Option<Text<'a>>,
    #[serde(borrow, default)]
    tool_calls: Option<Vec<Call<'a>>>,
}

#[derive(Deserialize)]
struct Call<'a> {
    #[serde(borrow, default)]
    id: Option<Text<'a>>,
    #[serde(borrow)]
    function: Function<'a>,
}

#[derive(Deserialize)]
struct Function<'a> {
    #[serde(borrow)]
    name: Text<'a>,
    #[serde(borrow, default)]
    arguments: Option<Text<'a>>,
}

fn completion(cx: &Context, state: &State, body: &str) -> Result<Answered, TextFailure> {
    let mut got: Completion<'_> = match serde_json::from_str(body) {
        Ok(got) => got,
        Err(_) => return Err(errors::unreadable()),
    };
    if got.error.is_some() {
        return Err(errors::inside(body));
    }
    let choices = got.choices.as_mut().filter(|choices| !choices.is_empty());
    let choice = choices.map(|choices| choices.swap_remove(0)).ok_or_else(errors::unreadable)?;
    let said = choice.message.ok_or_else(errors::unreadable)?;
    let mut tally = Tally::default();
    if let Some(usage) = got.usage {
        tally.chat(usage);
    }
    let id = ids::message(got.id.as_ref().map_or("", |id| &id.0), cx);
    let reason = choice.finish_reason.map_or(Cow::Borrowed(""), |reason| reason.0);
    let calls = calls(said.tool_calls.unwrap_or_default(), &id, &reason)?;

    let refused = said.refusal.filter(|refusal| !refusal.0.is_empty());
    let text = said.content.filter(|content| !content.0.is_empty());
    let thought = said.reasoning_content.or(said.reasoning).filter(|thought| !thought.0.is_empty());
    let mut written: u64 = 0;
    let mut message = Message::new(&id, &state.model, Reported::Full(tally.full()));
    if let Some(thought) = &thought {
        written += thought.0.len() as u64;
        if state.shown {
            message.content.push(Content::Thinking { thinking: &thought.0, signature: "" });
        }
    }
    for text in text.iter().chain(&refused) {
        written += text.0.len() as u64;
        message.content.push(Content::Text { text: &text.0 });
    }
    for (id, name, input) in &calls {
        written += input.get().len() as u64;
        message.content.push(Content::ToolUse { id, name, input });
    }
    let stop = Stop::of_chat(&reason, !calls.is_empty());
    message.stop_reason = Some(if refused.is_some() { Stop::Refusal } else { stop });
    let body = serde_json::to_string(&message).map_err(|_| errors::unreadable())?;
    Ok(Answered { body, usage: tally.reported(), output_bytes: clamp(written) })
}

type Called<'a> = (String, Cow<'a, str>, Box<RawValue>);

/// The tools the model called. Arguments the limit cut short are none at all.
fn calls<'a>(told: Vec<Call<'a>>, message: &str, reason: &str) -> Result<Vec<Called<'a>>, TextFailure> {
    let object = |text: &str| {
        let text = text.trim();
        let text = if text.is_empty() || text == "null" { "{}" } else { text };
        let raw = RawValue::from_string(text.to_owned()).ok();
        raw.filter(|raw| raw.get().starts_with('{'))
    };
    told.into_iter()
        .enumerate()
        .map(|(place, call)| {
            let id = ids::tool(call.id.as_ref().map(|id| id.0.as_ref()), message, place);
            let arguments = call.function.arguments.map_or(Cow::Borrowed(""), |text| text.0);
            let input = match object(&arguments) {
                Some(input) => input,
                None if reason == "length" => object("").ok_or_else(errors::unreadable)?,
                None => {
                    return Err(TextFailure::upstream(
                        "the provider's arguments of a tool are no JSON object",
                    ));
                }
            };
            Ok((id, call.function.name.0, input))
        })
        .collect()
}

/// As the contract counts it.
pub(crate) fn clamp(bytes: u64) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}
