//! The items of a kept response, as far as a stream tells them. Pure.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::outline::{Kind, Step};

/// An item of the output. What it has of the model's text is a string as JSON.
#[derive(Debug)]
pub(super) struct Item<'a> {
    pub(super) json: &'a RawValue,
    pub(super) id: &'a RawValue,
    /// The one part of a message or of a summary.
    pub(super) part: Option<&'a RawValue>,
    /// The text of the part, the arguments or the input of a call.
    pub(super) text: Option<&'a RawValue>,
    pub(super) logprobs: Vec<&'a RawValue>,
    form: Form,
    /// It was cut short.
    is_cut: bool,
}

/// How an item is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Text,
    Refusal,
    Reasoning,
    Function,
    Custom,
    Other,
}

#[derive(Deserialize)]
struct Response<'a> {
    #[serde(borrow)]
    output: Vec<&'a RawValue>,
    status: String,
}

#[derive(Deserialize)]
struct Members<'a> {
    #[serde(borrow)]
    id: &'a RawValue,
    #[serde(rename = "type")]
    kind: String,
    status: Option<String>,
    #[serde(default)]
    content: Vec<&'a RawValue>,
    #[serde(default)]
    summary: Vec<&'a RawValue>,
    arguments: Option<&'a RawValue>,
    input: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
struct Part<'a> {
    #[serde(borrow)]
    text: Option<&'a RawValue>,
    refusal: Option<&'a RawValue>,
    #[serde(default)]
    logprobs: Vec<&'a RawValue>,
}

/// The output of a response; `None` if it is none.
pub(super) fn read(response: &str) -> Option<Output<'_>> {
    let response: Response<'_> = serde_json::from_str(response).ok()?;
    let end = if response.status == "incomplete" { Kind::Incomplete } else { Kind::Completed };
    let items = response.output.into_iter().map(item).collect::<Option<_>>()?;
    Some(Output { items, end })
}

/// Its items, and how its stream ends.
#[derive(Debug)]
pub(super) struct Output<'a> {
    pub(super) items: Vec<Item<'a>>,
    end: Kind,
}

fn item(json: &RawValue) -> Option<Item<'_>> {
    let members: Members<'_> = serde_json::from_str(json.get()).ok()?;
    let part = members.content.first().or_else(|| members.summary.first()).copied();
    let Part { text, refusal, logprobs } = match part {
        Some(part) => serde_json::from_str(part.get()).ok()?,
        None => Part::default(),
    };
    let form = match members.kind.as_str() {
        "message" if refusal.is_some() => Form::Refusal,
        "message" => Form::Text,
        "reasoning" => Form::Reasoning,
        "function_call" => Form::Function,
        "custom_tool_call" => Form::Custom,
        _ => Form::Other,
    };
    let text = text.or(refusal).or(members.arguments).or(members.input);
    let is_cut = members.status.as_deref() == Some("incomplete");
    Some(Item { json, id: members.id, part, text, logprobs, form, is_cut })
}

/// The events of a response that was answered whole: each text at once, item after item.
pub(super) fn steps(output: &Output<'_>) -> Vec<Step> {
    let mut steps = vec![Step::plain(Kind::Created, 0), Step::plain(Kind::InProgress, 0)];
    for (at, item) in output.items.iter().enumerate() {
        let (before, delta, after): (Option<Kind>, Option<Kind>, &[Kind]) = match item.form {
            Form::Text => (Some(Kind::PartAdded), Some(Kind::TextDelta), &[Kind::TextDone, Kind::PartDone]),
            Form::Refusal => {
                (Some(Kind::PartAdded), Some(Kind::RefusalDelta), &[Kind::RefusalDone, Kind::PartDone])
            }
            Form::Reasoning if item.part.is_some() => (
                Some(Kind::SummaryPartAdded),
                Some(Kind::SummaryDelta),
                &[Kind::SummaryDone, Kind::SummaryPartDone],
            ),
            Form::Function => (None, Some(Kind::ArgumentsDelta), &[Kind::ArgumentsDone]),
            Form::Custom => (None, Some(Kind::InputDelta), &[Kind::InputDone]),
            Form::Reasoning | Form::Other => (None, None, &[]),
        };
        steps.push(Step::plain(Kind::ItemAdded, at));
        steps.extend(before.map(|kind| Step::plain(kind, at)));
        let length = item.text.map_or(0, |text| text.get().len().saturating_sub(2));
        let logprobs = item.logprobs.len();
        steps.extend(delta.filter(|_| length > 0).map(|kind| Step {
            kind,
            item: at,
            delta: length,
            logprobs,
        }));
        // Clients run a call that is told as done.
        if item.is_cut && matches!(item.form, Form::Function | Form::Custom) {
            continue;
        }
        steps.extend(after.iter().map(|kind| Step::plain(*kind, at)));
        steps.push(Step::plain(Kind::ItemDone, at));
    }
    steps.push(Step::plain(output.end, 0));
    steps
}
