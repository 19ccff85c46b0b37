//! A Messages provider's messages and events.

use std::collections::BTreeMap;

use gatehouse_sdk::Sse;

use crate::broken_json;
use crate::halves::{self, Halves};
use crate::json::{Edits, Object, Raw, items, quoted};
use crate::prefill::Lead;
use crate::standard::{Form, MESSAGES, Standard};
use crate::tools::unrepeated;

use super::message_forms::{self, Shapes};
use super::places::Places;
use super::plain;
use super::several_inputs::SeveralInputs;

const STARTS: &str = "\"content_block_start\"";
const STOPS: &str = "\"content_block_stop\"";

/// What a delta adds to the text of its block.
const TEXTS: [&str; 3] = ["text", "thinking", "partial_json"];

#[derive(Debug)]
pub(super) struct Messages {
    lead: Lead,
    halves: Halves,
    shapes: Shapes,
    /// The first block of text: the lead begins it.
    block: Option<u64>,
    /// The end of that block, while a part of the lead is held back: the reason of the answer's end decides about it.
    stop: Option<Sse>,
    inputs: Inputs,
    several: SeveralInputs,
    standard: Standard,
    places: Places,
}

/// The inputs of the open blocks, by number.
#[derive(Debug, Default)]
struct Inputs(BTreeMap<u64, Input>);

/// An input so far, until it is known how its pieces come.
#[derive(Debug, Default)]
struct Input {
    text: String,
    /// A piece has repeated all before it.
    repeats: bool,
    /// A piece has gone on from those before it, as pieces should.
    is_usual: bool,
}

impl Messages {
    pub(super) fn new(lead: Lead) -> Self {
        let (halves, shapes, several) = (Halves::default(), Shapes::default(), SeveralInputs::default());
        let (standard, places) = (Standard::new(MESSAGES), Places::default());
        Self {
            lead,
            halves,
            shapes,
            block: None,
            stop: None,
            inputs: Inputs::default(),
            several,
            standard,
            places,
        }
    }

    /// Whether a whole answer stays as it is for sure.
    pub(super) fn is_plain(&self, body: &str) -> bool {
        self.lead.is_over() && plain::is_message(body)
    }

    pub(super) fn whole(&mut self, body: &str) -> Option<String> {
        let shaped = match self.standard.read(body) {
            Form::Other(shaped) => Some(shaped),
            Form::Known | Form::Right => None,
        };
        let body = shaped.as_deref().unwrap_or(body);
        let standard = message_forms::whole(body);
        self.led(standard.as_deref().unwrap_or(body)).or(standard).or(shaped)
    }

    /// The message without the beginning that the client has already.
    fn led(&mut self, body: &str) -> Option<String> {
        if self.lead.is_over() {
            return None;
        }
        let raw: Raw<'_> = serde_json::from_str(body).ok()?;
        let message = Object::parse(body)?;
        let content = message.get("content")?;
        let is_cut = message.text("stop_reason").is_some_and(|reason| is_cut(&reason));
        let blocks = items(content)?;
        let is_text = |raw: &Raw<'_>| {
            Object::parse(raw.get()).is_some_and(|block| block.text("type").as_deref() == Some("text"))
        };
        let at = blocks.iter().position(is_text)?;
        let block = Object::parse(blocks[at].get())?;
        let text = block.text("text")?;
        let left = self.lead.take(&text) + &self.lead.finish(is_cut);
        if left == text {
            return None;
        }
        let mut edits = Edits::default();
        if left.is_empty() {
            // A block without text would be refused when it comes back.
            let others = blocks.iter().enumerate().filter(|(other, _)| *other != at);
            let others: Vec<&str> = others.map(|(_, raw)| raw.get()).collect();
            edits.replace(content, format!("[{}]", others.join(",")));
        } else {
            edits.replace(block.get("text")?, quoted(&left));
        }
        Some(edits.written(raw))
    }

    /// See [`super::Incoming::is_at_rest`].
    pub(super) fn is_at_rest(&self) -> bool {
        let are_open = self.shapes.has_inputs() || !self.several.is_empty();
        self.lead.is_over() && self.stop.is_none() && self.halves.is_empty() && !are_open
    }

    pub(super) fn event(&mut self, event: Sse) -> Vec<Sse> {
        let event = match self.standard.read(&event.data) {
            Form::Known => event,
            Form::Right => self.placed(event),
            Form::Other(data) => self.placed(Sse { data, ..event }),
        };
        let event = self.inputs.single(event);
        let events = self.shapes.event(&event).unwrap_or_else(|| vec![event]);
        let mut all = Vec::with_capacity(events.len());
        for event in events {
            for event in self.several.event(event, &mut self.shapes.ids) {
                all.extend(self.shaped(event));
            }
        }
        all
    }

    fn placed(&mut self, event: Sse) -> Sse {
        let (event, is_settled) = self.places.placed(event);
        if !is_settled {
            self.standard.forget();
        }
        event
    }

    /// What an event in the standard shape becomes.
    fn shaped(&mut self, event: Sse) -> Vec<Sse> {
        let has_halves = halves::may_have(&event.data) || !self.halves.is_empty();
        if self.lead.is_over() && self.stop.is_none() && !has_halves {
            return vec![event];
        }
        let Some(data) = Object::parse(&event.data) else { return vec![event] };
        let kind = data.text("type").map(std::borrow::Cow::into_owned).or_else(|| event.event.clone());
        let number = data.unsigned("index").unwrap_or(0);
        match kind.as_deref().unwrap_or_default() {
            "message" => {
                let whole = self.whole(&event.data).unwrap_or(event.data);
                vec![Sse { data: whole, ..event }]
            }
            "content_block_start" => {
                let mut events = self.held(false);
                let block = data.object("content_block").unwrap_or_default();
                if block.text("type").as_deref() == Some("text") && self.block.is_none() {
                    self.block = Some(number);
                }
                let changed = self.grown(number, &data, "content_block");
                events.push(Sse { data: changed.unwrap_or(event.data), ..event });
                events
            }
            "content_block_delta" => {
                let changed = self.grown(number, &data, "delta");
                vec![Sse { data: changed.unwrap_or(event.data), ..event }]
            }
            "content_block_stop" if self.block == Some(number) && self.lead.holds() => {
                self.stop = Some(event);
                vec![]
            }
            "ping" => vec![event],
            _ => {
                let reason =
                    data.object("delta").and_then(|delta| delta.text("stop_reason").map(|it| is_cut(&it)));
                let mut events = self.held(reason.unwrap_or(false));
                events.push(event);
                events
            }
        }
    }

    pub(super) fn end(&mut self) -> Vec<Sse> {
        self.held(false)
    }

    /// What is held back: the rest of the text, and the end of its block.
    fn held(&mut self, is_cut: bool) -> Vec<Sse> {
        let mut events = vec![];
        if self.lead.holds() {
            let text = self.lead.finish(is_cut);
            if !text.is_empty() {
                let index = self.block.unwrap_or(0);
                let delta = format!(r#"{{"type":"text_delta","text":{}}}"#, quoted(&text));
                let data = format!(r#"{{"type":"content_block_delta","index":{index},"delta":{delta}}}"#);
                events.push(Sse { event: Some("content_block_delta".to_owned()), data });
            }
        }
        events.extend(self.stop.take());
        events
    }

    /// The event with its text as it is to be read, if that changes it.
    fn grown(&mut self, number: u64, data: &Object<'_>, member: &str) -> Option<String> {
        let part = data.object(member)?;
        let name = TEXTS.iter().find(|name| part.string(name).is_some())?;
        let text = part.string(name)?;
        let joined = if halves::may_have(text.inner()) || !self.halves.is_empty() {
            self.halves.join(&format!("{name} {number}"), text.inner())
        } else {
            text.inner().to_owned()
        };
        let is_led = *name == "text" && self.block == Some(number) && !self.lead.is_over();
        let new = if is_led {
            let mended = format!("\"{joined}\"");
            let mended = halves::without_halves(&mended).unwrap_or(mended);
            let decoded: String = serde_json::from_str(&mended).ok()?;
            quoted(&self.lead.take(&decoded))
        } else {
            format!("\"{joined}\"")
        };
        if new == text.quoted() {
            return None;
        }
        Some(data.with(member, &part.with(name, &new)))
    }
}

impl Inputs {
    /// The event with what it adds to an input, where it repeats all so far.
    fn single(&mut self, event: Sse) -> Sse {
        let has = |word: &str| event.data.contains(word);
        let is_piece = has("\"partial_json\"");
        let are_usual = self.0.values().all(|input| input.is_usual) && self.0.len() == 1;
        if (is_piece && are_usual) || !(is_piece || has(STARTS) || has(STOPS)) {
            return event;
        }
        let data = self.read(&event.data);
        Sse { data: data.unwrap_or(event.data), ..event }
    }

    fn read(&mut self, data: &str) -> Option<String> {
        let object = Object::parse(data)?;
        let (number, kind) = (object.unsigned("index")?, object.text("type")?);
        match kind.as_ref() {
            "content_block_start" => {
                self.0.insert(number, Input::default());
                None
            }
            "content_block_stop" => {
                self.0.remove(&number);
                None
            }
            _ => {
                let input = self.0.entry(number).or_default();
                if input.is_usual { None } else { input.added(data) }
            }
        }
    }
}

impl Input {
    fn added(&mut self, data: &str) -> Option<String> {
        let delta = Object::parse(data)?.object("delta")?;
        let piece = delta.text("partial_json")?;
        let is_first = self.text.trim().is_empty();
        let meant = if is_first { broken_json::meant_by_piece(&piece) } else { None };
        let added = meant.as_deref().or_else(|| unrepeated(&self.text, &piece));
        self.repeats |= added.is_some() && !is_first;
        self.is_usual = !self.repeats && !is_first;
        self.text.push_str(added.unwrap_or(&piece));
        let mut edits = Edits::default();
        edits.replace(delta.get("partial_json")?, quoted(added?));
        Some(edits.written(serde_json::from_str(data).ok()?))
    }
}

/// Whether the answer was cut by its cap.
fn is_cut(reason: &str) -> bool {
    matches!(reason, "max_tokens" | "model_context_window_exceeded")
}
