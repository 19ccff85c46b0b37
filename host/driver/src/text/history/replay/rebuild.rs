//! The events of a stream, made again of its response and its outline. Pure.

use std::collections::BTreeMap;

use gatehouse_model::Sse;
use serde_json::value::RawValue;

use super::items::{Item, Output};
use super::outline::{Kind, Step};

/// Members that an item gets piece by piece, as they are at its beginning.
const NEW_ITEM: &[(&str, Option<&str>)] = &[
    ("content", Some("[]")),
    ("summary", Some("[]")),
    ("arguments", Some("\"\"")),
    ("input", Some("\"\"")),
    ("status", Some("\"in_progress\"")),
    ("encrypted_content", None),
];
/// The same of a part.
const NEW_PART: &[(&str, Option<&str>)] =
    &[("text", Some("\"\"")), ("refusal", Some("\"\"")), ("logprobs", Some("[]"))];
/// The same of a response.
const NEW_RESPONSE: &[(&str, Option<&str>)] = &[
    ("output", Some("[]")),
    ("status", Some("\"in_progress\"")),
    ("completed_at", Some("null")),
    ("incomplete_details", Some("null")),
    ("usage", Some("null")),
];

/// The events; `None` if the outline is of another response.
pub(super) fn events(response: &str, output: Output<'_>, steps: &[Step]) -> Option<Vec<Sse>> {
    let whole: &RawValue = serde_json::from_str(response).ok()?;
    let mut items: Vec<Telling<'_>> = output.items.into_iter().map(Telling::new).collect();
    let mut events = Vec::with_capacity(steps.len());
    for (number, step) in steps.iter().enumerate() {
        let members = match step.kind {
            Kind::Created | Kind::InProgress => vec![("response", edited(whole, NEW_RESPONSE)?)],
            Kind::Completed | Kind::Incomplete => vec![("response", response.to_owned())],
            _ => items.get_mut(step.item)?.members(step)?,
        };
        let name = step.kind.as_str();
        let mut data = format!("{{\"type\":\"{name}\",\"sequence_number\":{number}");
        for (member, json) in members {
            data.push_str(&format!(",\"{member}\":{json}"));
        }
        data.push('}');
        events.push(Sse { event: Some(name.to_owned()), data });
    }
    Some(events)
}

/// An item, and how much of it was told.
struct Telling<'a> {
    item: Item<'a>,
    text: usize,
    logprobs: usize,
}

impl<'a> Telling<'a> {
    fn new(item: Item<'a>) -> Self {
        Self { item, text: 0, logprobs: 0 }
    }

    /// The members of an event of the item, JSON each.
    fn members(&mut self, step: &Step) -> Option<Vec<(&'static str, String)>> {
        let position = ("output_index", step.item.to_string());
        match step.kind {
            Kind::ItemAdded => return Some(vec![position, ("item", edited(self.item.json, NEW_ITEM)?)]),
            Kind::ItemDone => return Some(vec![position, ("item", self.item.json.get().to_owned())]),
            _ => {}
        }
        let mut members = vec![("item_id", self.item.id.get().to_owned()), position];
        match step.kind {
            Kind::SummaryPartAdded | Kind::SummaryPartDone | Kind::SummaryDelta | Kind::SummaryDone => {
                members.push(("summary_index", "0".to_owned()));
            }
            Kind::ArgumentsDelta | Kind::ArgumentsDone | Kind::InputDelta | Kind::InputDone => {}
            _ => members.push(("content_index", "0".to_owned())),
        }
        members.push(match step.kind {
            Kind::PartAdded | Kind::SummaryPartAdded => ("part", edited(self.item.part?, NEW_PART)?),
            Kind::PartDone | Kind::SummaryPartDone => ("part", self.item.part?.get().to_owned()),
            Kind::TextDone | Kind::SummaryDone => ("text", self.item.text?.get().to_owned()),
            Kind::RefusalDone => ("refusal", self.item.text?.get().to_owned()),
            Kind::ArgumentsDone => ("arguments", self.item.text?.get().to_owned()),
            Kind::InputDone => ("input", self.item.text?.get().to_owned()),
            _ => ("delta", self.delta(step.delta)?),
        });
        match step.kind {
            Kind::TextDelta => {
                let end = self.logprobs.checked_add(step.logprobs)?;
                members.push(("logprobs", list(self.item.logprobs.get(self.logprobs..end)?)));
                self.logprobs = end;
            }
            Kind::TextDone => members.push(("logprobs", list(&self.item.logprobs))),
            _ => {}
        }
        Some(members)
    }

    /// The next bytes of the text, as JSON.
    fn delta(&mut self, length: usize) -> Option<String> {
        let text = self.item.text?.get();
        let text = text.strip_prefix('"')?.strip_suffix('"')?;
        let end = self.text.checked_add(length)?;
        let delta = text.get(self.text..end)?;
        self.text = end;
        Some(format!("\"{delta}\""))
    }
}

fn list(entries: &[&RawValue]) -> String {
    let entries: Vec<&str> = entries.iter().map(|entry| entry.get()).collect();
    format!("[{}]", entries.join(","))
}

/// An object with other values for those of its members that it has; `None` takes one out.
fn edited(json: &RawValue, edits: &[(&str, Option<&'static str>)]) -> Option<String> {
    let mut members: BTreeMap<String, &RawValue> = serde_json::from_str(json.get()).ok()?;
    for (name, value) in edits.iter().copied() {
        match value {
            Some(value) => {
                if let Some(member) = members.get_mut(name) {
                    *member = serde_json::from_str(value).ok()?;
                }
            }
            None => {
                members.remove(name);
            }
        }
    }
    serde_json::to_string(&members).ok()
}
