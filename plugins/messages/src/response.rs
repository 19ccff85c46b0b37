//! Whole answers: a message keeps its bytes but for its public model name; a chat completion becomes a
//! message.

pub(crate) mod completion;
pub(crate) mod message;

use std::borrow::Cow;

use gatehouse_sdk::{Answered, Context, Extra, Reply, TextFailure, Usage};
use gatehouse_text_protocols::halves::without_halves;
use gatehouse_text_protocols::incoming::{Incoming, is_error};
use gatehouse_text_protocols::json::{
    Edits, JsonString, Object, Raw, UniqueObject, Writer, is_null, items, last_members, quoted,
};
use gatehouse_text_protocols::relay::clamp;
use gatehouse_text_protocols::tool_names;
use gatehouse_text_protocols::usage::{TokenCounts, is_odd};
use serde_json::value::RawValue;

use crate::state::{State, Wire, unreadable};
use completion::{Completion, Content, ToolCall};
use message::{ContentBlock, Message, StopReason, UsageForm, message_id, tool_id};

/// A field of a text block: a list, or absent. As `null` it is left out.
pub(crate) const NO_CITATIONS: &str = "citations";

/// Reads an answer.
///
/// # Errors
/// Every error of the provider, also one inside an answer of 200.
pub(crate) fn read(cx: &Context, state: &State, reply: &Reply) -> Result<Answered, TextFailure> {
    if !reply.is_success() {
        return Err(state.failures().of_answer(reply.status, &reply.text()));
    }
    let text = reply.text();
    let text = text.trim_start_matches('\u{feff}');
    let turned = state.turned(text);
    let state = turned.as_ref().unwrap_or(state);
    let mended = Incoming::new(state.wire == Wire::Chat, &state.lead).whole(text);
    let text = mended.as_deref().unwrap_or(text);
    let has_answer = Object::parse(text).is_some_and(|whole| {
        whole.get("content").is_some() || whole.items("choices").is_some_and(|choices| !choices.is_empty())
    });
    if !has_answer && let Some(failure) = state.failures().instead(text) {
        return Err(failure);
    }
    let translate = |text: &str| match state.wire {
        Wire::Messages => message(cx, state, text),
        Wire::Chat => completion(cx, state, text),
    };
    translate(text).or_else(|failure| match last_members(text) {
        Some(text) => translate(&text),
        None => Err(failure),
    })
}

/// Keeps every byte but `model`, citations that are `null`, and an id and counts of a form that no client reads.
fn message(cx: &Context, state: &State, body: &str) -> Result<Answered, TextFailure> {
    let raw: Raw<'_> = serde_json::from_str(body).map_err(|_| unreadable())?;
    let fields: UniqueObject<'_> = serde_json::from_str(raw.get()).map_err(|_| unreadable())?;
    if fields.get("error").is_some_and(is_error) {
        return Err(state.failures().of_error(body));
    }
    let content = fields.get("content").filter(|_| fields.text("type").as_deref() == Some("message"));
    let blocks: Vec<UniqueObject<'_>> =
        content.and_then(|content| serde_json::from_str(content.get()).ok()).ok_or_else(unreadable)?;
    let written = blocks.iter().map(|block| output_bytes(block)).sum();
    let mut counts = TokenCounts::default();
    counts.read_event(&fields);
    let counts = counts.settled(written);
    let mut edits = Edits::default();
    let Some((_, model)) = fields.iter().find(|(name, _)| *name == "model") else {
        return Err(unreadable());
    };
    let counted = counts.usage();
    let lacking = completed(&fields, cx, UsageForm::full(counted), counted, &mut edits);
    edits.replace(model, quoted(&state.model) + &lacking);
    for (raw, block) in content.and_then(items).unwrap_or_default().into_iter().zip(&blocks) {
        // A client's schema may know no `null` here, and it says nothing.
        if block.iter().any(|(name, value)| name == NO_CITATIONS && is_null(value)) {
            let mut out = Writer::new(256);
            out.members(block.iter().filter(|(name, value)| *name != NO_CITATIONS || !is_null(value)));
            edits.replace(raw, out.done());
        }
    }
    Ok(Answered {
        body: edits.written(raw),
        usage: counts.reported(),
        counters: counts.counters(),
        output_bytes: clamp(written),
        extra: Extra::new(),
    })
}

/// Writes the id and the counts that every client reads in place of those of another form, or of less than was counted; where a
/// message has none, they are given as members that are still to be written.
pub(crate) fn completed(
    message: &Object<'_>,
    cx: &Context,
    usage: UsageForm,
    counted: Usage,
    edits: &mut Edits,
) -> String {
    let has_id = message.text("id").is_some_and(|id| !id.is_empty());
    let id = (!has_id).then(|| quoted(&message_id("", cx)));
    let has_counts = message.object("usage").is_some_and(|usage| has_counts(&usage, counted));
    let usage = (!has_counts).then(|| usage.json());
    let mut lacking = String::new();
    for (name, json) in [("id", id), ("usage", usage)] {
        let Some(json) = json else { continue };
        match message.iter().find(|(known, _)| *known == name) {
            Some((_, raw)) => edits.replace(raw, json),
            None => lacking += &format!(",\"{name}\":{json}"),
        }
    }
    lacking
}

/// Whether a `usage` has the counts that every client reads, each at least what was counted.
pub(crate) fn has_counts(usage: &Object<'_>, counted: Usage) -> bool {
    tells(usage, "input_tokens", counted.input)
        && tells(usage, "output_tokens", counted.output)
        && !is_odd(usage)
}

/// Whether a `usage` tells as much of something as was counted.
pub(crate) fn tells(usage: &Object<'_>, name: &str, counted: u64) -> bool {
    // Of several answers in one, the last is told beside all of them.
    let has_several = || usage.items("iterations").is_some_and(|all| !all.is_empty());
    usage.unsigned(name).is_some_and(|told| told >= counted || has_several())
}

/// Bytes of text the model wrote in a block.
fn output_bytes(block: &Object<'_>) -> u64 {
    let texts = ["text", "thinking"].into_iter().filter_map(|name| block.string(name)).map(JsonString::len);
    texts.chain(block.get("input").map(|input| input.get().len() as u64)).sum()
}

fn completion(cx: &Context, state: &State, body: &str) -> Result<Answered, TextFailure> {
    let mut whole: Completion<'_> = serde_json::from_str(body).map_err(|_| unreadable())?;
    if whole.error.is_some_and(is_error) {
        return Err(state.failures().of_error(body));
    }
    let choices = whole.choices.as_mut().filter(|choices| !choices.is_empty());
    let choice = choices.map(|choices| choices.swap_remove(0)).ok_or_else(unreadable)?;
    let message = choice.message.ok_or_else(unreadable)?;
    let mut content: Content<'_> = serde_json::from_str(message.get()).map_err(|_| unreadable())?;
    let counts = TokenCounts::of_completion(&Object::parse(body).unwrap_or_default());
    let id = message_id(whole.id.as_ref().map_or("", |id| &id.0), cx);
    let reason = choice.finish_reason.as_ref().map_or(Cow::Borrowed(""), |reason| reason.0.clone());
    let calls = tool_uses(content.tool_calls.take().unwrap_or_default(), &id, &reason, state)?;

    let reasoning = content.take_reasoning();
    let refusal = content.refusal.filter(|refusal| !refusal.0.is_empty());
    let text = content.content.filter(|content| !content.0.is_empty());
    let mut output_bytes: u64 = 0;
    let mut message = Message::new(&id, &state.model, UsageForm::full(counts.usage()));
    if let Some(reasoning) = &reasoning {
        output_bytes += reasoning.0.len() as u64;
        if state.shown {
            message.content.push(ContentBlock::Thinking { thinking: &reasoning.0, signature: "" });
        }
    }
    for text in text.iter().chain(&refusal) {
        output_bytes += text.0.len() as u64;
        message.content.push(ContentBlock::Text { text: &text.0 });
    }
    for (id, name, input) in &calls {
        output_bytes += input.get().len() as u64;
        message.content.push(ContentBlock::ToolUse { id, name, input });
    }
    let counts = counts.settled(output_bytes);
    message.usage = UsageForm::full(counts.usage());
    let sequence = choice.stopped_at(&state.stops);
    let stop = StopReason::of_chat(&reason, !calls.is_empty(), sequence.is_some());
    let stop = if refusal.is_some() { StopReason::Refusal } else { stop };
    message.stop_reason = Some(stop);
    message.stop_sequence = sequence.filter(|_| stop == StopReason::StopSequence);
    let body = serde_json::to_string(&message).map_err(|_| unreadable())?;
    Ok(Answered {
        body,
        usage: counts.reported(),
        counters: counts.counters(),
        output_bytes: clamp(output_bytes),
        extra: Extra::new(),
    })
}

type ToolUse<'a> = (String, Cow<'a, str>, Box<RawValue>);

/// The tools the model called: id, name, input. Arguments cut short by the token limit become `{}`.
fn tool_uses<'a>(
    calls: Vec<ToolCall<'a>>,
    message_id: &str,
    reason: &str,
    state: &State,
) -> Result<Vec<ToolUse<'a>>, TextFailure> {
    let object = |text: &str| {
        let text = text.trim();
        let text = if text.is_empty() || text == "null" { "{}" } else { text };
        let text = without_halves(text).unwrap_or_else(|| text.to_owned());
        let raw = RawValue::from_string(text).ok();
        raw.filter(|raw| raw.get().starts_with('{'))
    };
    calls
        .into_iter()
        .enumerate()
        .map(|(index, call)| {
            let id = tool_id(call.id.as_ref().map(|id| id.0.as_ref()), message_id, index);
            let function = call.function.unwrap_or_default();
            let name = function.name.ok_or_else(unreadable)?;
            let arguments = function.arguments.map_or(Cow::Borrowed(""), |text| text.0);
            let input = match object(&arguments) {
                Some(input) => input,
                None if reason == "length" => object("").ok_or_else(unreadable)?,
                None => {
                    return Err(TextFailure::upstream(
                        "the provider's arguments of a tool are no JSON object",
                    ));
                }
            };
            let own = tool_names::own(&state.names, &name.0);
            let name = if own == name.0 { name.0 } else { Cow::Owned(own.to_owned()) };
            Ok((id, name, input))
        })
        .collect()
}
